"""The sections `webhook`, `metrics`, `probes`: servers, their certificate, their clients and their limits."""

from __future__ import annotations

import ipaddress
import re
from enum import StrEnum
from typing import ClassVar, Final

import attrs

from controllers.certificates.wanted import Files, Followed, Timing, Wanted
from controllers.config.address import Address
from controllers.config.bounds import label_fault
from controllers.config.decoder import Rule, address, choice, duration, flag, integer, section, setting, text, texts
from webhook.admission.settings import Settings
from webhook.names import PROJECT
from webhook.serving.limits import ServerLimits

_SETTINGS = Settings()
_SERVER = ServerLimits()
_MIB = 2**20
_TIMING = Timing()
_LONGEST_CA_S = 10 * 365 * 86400.0


class CertificateOrigin(StrEnum):
    """Where the serving certificate comes from."""

    SELF = "self"  # made by us, with a CA of its own: in memory, or in the Secret secretName, which all replicas share
    FILES = "files"  # certFile and keyFile, read again when they change
    SECRET = "secret"  # the Secret secretName, which somebody else writes
    CERT_MANAGER = "cert-manager"  # the same, and its injector writes caBundle


_SECRETS: Final = (CertificateOrigin.SECRET, CertificateOrigin.CERT_MANAGER)
_HOST_LABEL: Final = r"[A-Za-z0-9_]([-A-Za-z0-9_]{0,61}[A-Za-z0-9_])?"
_HOST: Final = re.compile(rf"(\*\.)?{_HOST_LABEL}(\.{_HOST_LABEL})*")
_SUBDOMAIN: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")


def _secret_fault(value: str) -> str | None:
    if not value or (len(value) <= 253 and _SUBDOMAIN.fullmatch(value)):
        return None
    return "must be the name of a Secret: lower case letters, digits, '-' and '.', at most 253"


def _host_fault(value: str) -> str | None:
    """A certificate can hold nothing else; found out at the start it would end the process."""
    try:
        ipaddress.ip_address(value)
    except ValueError:
        if len(value) <= 253 and _HOST.fullmatch(value):
            return None
        return "must be an IP address, or a DNS name in ASCII, which may begin with '*.'"
    return None


def _distinct(*names: str) -> tuple[str, ...]:
    from webhook.serving.chains import canonical_name  # only now: whoever only reads a configuration needs no OpenSSL

    return tuple(dict.fromkeys(map(canonical_name, names)))


class ClientAuthMode(StrEnum):
    """What a caller must show."""

    NONE = "none"
    CERTIFICATE = "certificate"  # one that caFile signed, for a subject in allowedSubjects


@attrs.frozen
class CertificateSection:
    """webhook.certificate: what the server shows its callers (docs/certificates.md)"""

    #: where the serving certificate comes from: made by Gatehouse, from files, from a Secret that somebody else writes, or
    #: from cert-manager
    source: CertificateOrigin = setting(CertificateOrigin.SELF, choice(CertificateOrigin))
    #: with `files`: PEM, leaf first, then intermediates; read again when it changes
    cert_file: str = setting("", text())
    #: with `files`: the private key, PEM
    key_file: str = setting("", text())
    #: with `files`: the CA that callers are to trust; the leader writes it into `caBundle`
    ca_file: str = setting("", text())
    #: a Secret of our own namespace; with `self`, empty: kept in memory, one for each process
    secret_name: str = setting("", text(check=_secret_fault))
    #: with `self` and a Secret: the certificate is valid for `<serviceName>.<namespace>.svc`
    service_name: str = setting(PROJECT, text(check=label_fault))
    #: with `self`: more DNS names and IP addresses that it is valid for
    hosts: tuple[str, ...] = setting((), texts(check=_host_fault))
    #: with `self` and a Secret: of the CA; replaced at two thirds of it
    ca_lifetime_s: float = setting(_TIMING.ca_s, duration(at_least_s=1, at_most_s=_LONGEST_CA_S))
    #: with `self` and a Secret: of the certificate; renewed at two thirds of it
    leaf_lifetime_s: float = setting(_TIMING.leaf_s, duration(at_least_s=1))
    #: from when a new CA is trusted everywhere to the first certificate that it signs
    rotation_grace_s: float = setting(_TIMING.grace_s, duration(at_most_s=3600))

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            ("cert_file", "source"),
            lambda it, given: it.source is CertificateOrigin.FILES and not it.cert_file,
            "must name a file when the certificate's source is files",
        ),
        Rule(
            ("key_file", "source"),
            lambda it, given: it.source is CertificateOrigin.FILES and not it.key_file,
            "must name a file when the certificate's source is files",
        ),
        Rule(
            ("source", "cert_file", "key_file", "ca_file"),
            lambda it, given: it.source is not CertificateOrigin.FILES and bool(it.cert_file or it.key_file or it.ca_file),
            "must be files when certFile, keyFile or caFile is set",
        ),
        Rule(
            ("hosts", "source"),
            lambda it, given: it.source is CertificateOrigin.FILES and bool(it.hosts),
            "has no meaning when the certificate comes from files",
        ),
        Rule(
            ("hosts", "source"),
            lambda it, given: it.source in _SECRETS and bool(it.hosts),
            "has no meaning when somebody else makes the certificate",
        ),
        Rule(
            ("secret_name", "source"),
            lambda it, given: it.source in _SECRETS and not it.secret_name,
            "must name the Secret that the certificate comes from",
        ),
        Rule(
            ("secret_name", "source"),
            lambda it, given: it.source is CertificateOrigin.FILES and bool(it.secret_name),
            "has no meaning when the certificate comes from files",
        ),
        Rule(
            ("leaf_lifetime_s", "ca_lifetime_s"),
            lambda it, given: it.leaf_lifetime_s > it.ca_lifetime_s,
            "must not be above caLifetime: nothing outlives the CA that has signed it",
        ),
        Rule(
            ("rotation_grace_s", "leaf_lifetime_s"),
            lambda it, given: it.rotation_grace_s > it.leaf_lifetime_s / 4,
            "must be at most a quarter of leafLifetime: a certificate must not expire while a new CA is waited for",
        ),
    )

    def is_for_localhost_only(self) -> bool:
        """Whether what is served is made in memory and names no host: no API server believes it for a Service."""
        return self.source is CertificateOrigin.SELF and not self.secret_name and not self.hosts

    def timing(self) -> Timing:
        """The same for the plan."""
        return Timing(self.ca_lifetime_s, self.leaf_lifetime_s, self.rotation_grace_s)

    def wanted(self, namespace: str) -> Wanted | None:
        """The Secret of *namespace* that the certificate is in; None when it is in none."""
        if not self.secret_name:
            return None
        ours = self.source is CertificateOrigin.SELF
        names = _distinct(f"{self.service_name}.{namespace}.svc", *self.hosts) if ours else ()
        return Wanted(namespace, self.secret_name, names, self.timing(), ours)

    def followed(self, namespace: str) -> Followed | None:
        """What is followed of it in the cluster; None when that is nothing. *namespace*: our own."""
        if self.source is CertificateOrigin.FILES:
            files = Files(self.cert_file, self.key_file, self.ca_file)
            return Followed(None, files, keeps_bundle=True) if self.ca_file else None
        wanted = self.wanted(namespace)
        keeps_bundle = self.source is not CertificateOrigin.CERT_MANAGER  # whose injector does it
        return None if wanted is None else Followed(wanted, None, keeps_bundle)


@attrs.frozen
class ClientAuthSection:
    """webhook.clientAuth: who may ask"""

    #: `certificate`: callers show one that caFile signed, for a subject in allowedSubjects
    mode: ClientAuthMode = setting(ClientAuthMode.NONE, choice(ClientAuthMode))
    #: PEM, the CA of the callers
    ca_file: str = setting("", text())
    #: common names of callers
    allowed_subjects: tuple[str, ...] = setting((), texts())

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            ("ca_file", "mode"),
            lambda it, given: it.mode is ClientAuthMode.CERTIFICATE and not it.ca_file,
            "must name the file with the CA of the callers when mode is certificate",
        ),
        Rule(
            ("allowed_subjects", "mode"),
            lambda it, given: it.mode is ClientAuthMode.CERTIFICATE and not it.allowed_subjects,
            "must name at least one subject when mode is certificate: the cluster's CA signs every kubelet's certificate too",
        ),
        Rule(
            ("mode", "ca_file", "allowed_subjects"),
            lambda it, given: it.mode is ClientAuthMode.NONE and bool(it.ca_file or it.allowed_subjects),
            "must be certificate when caFile or allowedSubjects is set",
        ),
    )


@attrs.frozen
class LimitsSection:
    """webhook.limits: what callers may take"""

    #: of one review: two objects of at most 3 MiB, and 1 MiB around them
    body_bytes: int = setting(_SETTINGS.body_limit_bytes, integer(at_least=64 * 1024, at_most=64 * _MIB))
    #: of one request's head
    head_bytes: int = setting(_SERVER.head_bytes, integer(at_least=4 * 1024, at_most=_MIB))
    #: of all reviews that are not yet answered, together
    buffered_bytes: int = setting(_SERVER.buffered_bytes, integer(at_least=_MIB, at_most=2**34))
    #: reviews of one service at a time; beyond it callers get 503 at once
    max_in_flight: int = setting(_SETTINGS.max_in_flight, integer(at_least=1, at_most=10_000))
    #: that decide reviews
    threads: int = setting(16, integer(at_least=1, at_most=512))
    #: whole requests that wait for a thread
    queue_length: int = setting(_SERVER.queue_length, integer(at_least=1, at_most=100_000))
    #: open at once; the oldest idle one makes room
    connections: int = setting(_SERVER.connections, integer(at_least=16, at_most=1_000_000))
    #: of these, those that have not completed a request yet
    unproven_connections: int = setting(_SERVER.unproven_connections, integer(at_least=8, at_most=1_000_000))
    #: for the TLS handshake
    handshake_timeout_s: float = setting(_SERVER.handshake_s, duration(at_least_s=0.1, at_most_s=60))
    #: for a request's head
    head_timeout_s: float = setting(_SERVER.head_s, duration(at_least_s=0.1, at_most_s=60))
    #: for an answer that the caller does not read
    write_timeout_s: float = setting(_SERVER.write_s, duration(at_least_s=0.1, at_most_s=300))
    #: for a connection that nothing is asked on
    idle_timeout_s: float = setting(_SERVER.idle_s, duration(at_least_s=1, at_most_s=24 * 3600))

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            ("max_in_flight", "threads"),
            lambda it, given: it.max_in_flight >= it.threads,
            "must be below threads: else one slow service could take them all",
        ),
        Rule(
            ("buffered_bytes", "body_bytes"),
            lambda it, given: it.buffered_bytes < 2 * it.body_bytes,
            "must be at least twice bodyBytes: else one large review keeps every other out",
        ),
        Rule(
            ("unproven_connections", "connections"),
            lambda it, given: it.unproven_connections > it.connections,
            "must not be above connections, of which these are a part",
        ),
        Rule(
            ("idle_timeout_s",),
            lambda it, given: it.idle_timeout_s <= 90,
            "must be above 1m30s: the API server keeps idle connections that long, and would write into closed ones",
        ),
    )

    def server_limits(self) -> ServerLimits:
        """The same for `webhook.serving`."""
        return ServerLimits(
            handshake_s=self.handshake_timeout_s,
            head_s=self.head_timeout_s,
            idle_s=self.idle_timeout_s,
            write_s=self.write_timeout_s,
            head_bytes=self.head_bytes,
            body_bytes=self.body_bytes,
            buffered_bytes=self.buffered_bytes,
            connections=self.connections,
            unproven_connections=self.unproven_connections,
            queue_length=self.queue_length,
        )


@attrs.frozen
class WebhookSection:
    """webhook: the server that the API server asks"""

    #: where reviews are answered; port 0 takes a free one
    bind_address: Address = setting(Address("", 9443), address())
    certificate: CertificateSection = section(CertificateSection)
    client_auth: ClientAuthSection = section(ClientAuthSection)
    limits: LimitsSection = section(LimitsSection)
    #: how long a replica that leaves still answers, until everyone knows that it is unready
    shutdown_delay_s: float = setting(5.0, duration(at_most_s=300))
    #: prove each patch with a second implementation, and drop and count one that does not fit
    verify_patches: bool = setting(False, flag())


class MetricsAuthorization(StrEnum):
    """Who may read the pages of the metrics port."""

    NONE = "none"  # /metrics whoever reaches it, the rest who comes from inside the pod
    KUBERNETES = "kubernetes"  # whoever shows a bearer token that the cluster allows to get the page's path


@attrs.frozen
class MetricsSection:
    """metrics: what the process says of itself"""

    #: where /metrics and /statusz are served
    bind_address: Address = setting(Address("", 8080), address())
    #: `kubernetes`: each page needs a bearer token; the cluster says whose it is and whether they may `get` its path
    authorization: MetricsAuthorization = setting(MetricsAuthorization.NONE, choice(MetricsAuthorization))
    #: serve the certificate of the webhook; the pages are there once it is
    tls: bool = setting(False, flag())
    #: with `kubernetes`: who comes from inside the pod (`kubectl port-forward`, `exec`) needs no token; not with `hostNetwork`
    trust_loopback: bool = setting(False, flag())

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            ("trust_loopback", "authorization"),
            lambda it, given: it.trust_loopback and it.authorization is MetricsAuthorization.NONE,
            "has no meaning while authorization is none, which trusts whoever comes from inside the pod",
        ),
    )

    def asks_the_cluster(self) -> bool:
        """Whether the cluster says who may read."""
        return self.bind_address.enabled and self.authorization is MetricsAuthorization.KUBERNETES


@attrs.frozen
class ProbesSection:
    """probes: what kubelets ask"""

    #: where /healthz and /readyz are served
    bind_address: Address = setting(Address("", 8081), address())
