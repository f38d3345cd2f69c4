# The image of `make image`, for machines with an engine but without Debian: the same steps by the same files.
FROM python:3.11-bookworm AS made
WORKDIR /src
COPY . .
RUN apt-get update -qq && make binary && mkdir /image && python3 -m release.image dist/gatehouse /image

FROM scratch
COPY --from=made /image/ /
ENV PATH=/usr/local/bin SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt
USER 65532:65532
ENTRYPOINT ["/usr/local/bin/gatehouse"]
