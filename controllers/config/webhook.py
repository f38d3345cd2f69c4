"""The sections `webhook`, `metrics`, `probes`: servers, their certificate, their clients and their limits."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import ClassVar, Final

import attrs

from controllers.certificates.plan import Files, Followed, Timing, Wanted
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


class CertificateSource(StrEnum):
    """Where the serving certificate comes from."""

    SELF = "self"  # made by us, with a CA of its own: in memory, or in the Secret secretName, which all replicas share
    FILES = "files"  # certFile and keyFile, read again when they change
    SECRET = "secret"  # the Secret secretName, which somebody else writes
    CERT_MANAGER = "cert-manager"  # the same, and its injector writes caBundle


_SECRETS: Final = (CertificateSource.SECRET, CertificateSource.CERT_MANAGER)
_SUBDOMAIN: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")


def _secret_fault(value: str) -> str | None:
    if not value or (len(value) <= 253 and _SUBDOMAIN.fullmatch(value)):
        return None
    return "must be the name of a Secret: lower case letters, digits, '-' and '.', at most 253"


class ClientAuthMode(StrEnum):
    """What a caller must show."""

    NONE = "none"
    CERTIFICATE = "certificate"  # one that caFile signed, for a subject in allowedSubjects


@attrs.frozen
class CertificateSection:
    """webhook.certificate"""

    source: CertificateSource = setting(CertificateSource.SELF, choice(CertificateSource))
    cert_file: str = setting("", text())  # PEM, leaf first, then intermediates
    key_file: str = setting("", text())
    ca_file: str = setting("", text())  # with files: the CA that callers are to trust; the leader writes it into caBundle
    secret_name: str = setting("", text(check=_secret_fault))  # of our own namespace; "" with self: kept in memory
    service_name: str = setting(PROJECT, text(check=label_fault))  # in a Secret ours is valid for <it>.<namespace>.svc
    hosts: tuple[str, ...] = setting((), texts())  # DNS names and IP addresses that a self-made one is valid for
    ca_lifetime_s: float = setting(_TIMING.ca_s, duration(at_least_s=1, at_most_s=_LONGEST_CA_S))
    leaf_lifetime_s: float = setting(_TIMING.leaf_s, duration(at_least_s=1))
    rotation_grace_s: float = setting(_TIMING.grace_s, duration(at_most_s=3600))  # from a new CA to its first certificate

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            ("cert_file", "source"),
            lambda it, given: it.source is CertificateSource.FILES and not it.cert_file,
            "must name a file when the certificate's source is files",
        ),
        Rule(
            ("key_file", "source"),
            lambda it, given: it.source is CertificateSource.FILES and not it.key_file,
            "must name a file when the certificate's source is files",
        ),
        Rule(
            ("source", "cert_file", "key_file", "ca_file"),
            lambda it, given: it.source is not CertificateSource.FILES and bool(it.cert_file or it.key_file or it.ca_file),
            "must be files when certFile, keyFile or caFile is set",
        ),
        Rule(
            ("hosts", "source"),
            lambda it, given: it.source is CertificateSource.FILES and bool(it.hosts),
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
            lambda it, given: it.source is CertificateSource.FILES and bool(it.secret_name),
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

    def timing(self) -> Timing:
        """The same for the plan."""
        return Timing(self.ca_lifetime_s, self.leaf_lifetime_s, self.rotation_grace_s)

    def wanted(self, namespace: str) -> Wanted | None:
        """The Secret of *namespace* that the certificate is in; None when it is in none."""
        if not self.secret_name:
            return None
        ours = self.source is CertificateSource.SELF
        names = (f"{self.service_name}.{namespace}.svc", *self.hosts) if ours else ()
        return Wanted(namespace, self.secret_name, names, self.timing(), ours)

    def followed(self, namespace: str) -> Followed | None:
        """What is followed of it in the cluster; None when that is nothing. *namespace*: our own."""
        if self.source is CertificateSource.FILES:
            files = Files(self.cert_file, self.key_file, self.ca_file)
            return Followed(None, files, keeps_bundle=True) if self.ca_file else None
        wanted = self.wanted(namespace)
        keeps_bundle = self.source is not CertificateSource.CERT_MANAGER  # whose injector does it
        return None if wanted is None else Followed(wanted, None, keeps_bundle)


@attrs.frozen
class ClientAuthSection:
    """webhook.clientAuth"""

    mode: ClientAuthMode = setting(ClientAuthMode.NONE, choice(ClientAuthMode))
    ca_file: str = setting("", text())
    allowed_subjects: tuple[str, ...] = setting((), texts())  # common names

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

    body_bytes: int = setting(_SETTINGS.body_limit_bytes, integer(at_least=64 * 1024, at_most=64 * _MIB))
    head_bytes: int = setting(_SERVER.head_bytes, integer(at_least=4 * 1024, at_most=_MIB))
    buffered_bytes: int = setting(_SERVER.buffered_bytes, integer(at_least=_MIB, at_most=2**34))
    max_in_flight: int = setting(_SETTINGS.max_in_flight, integer(at_least=1, at_most=10_000))  # reviews of one service
    threads: int = setting(16, integer(at_least=1, at_most=512))
    queue_length: int = setting(_SERVER.queue_length, integer(at_least=1, at_most=100_000))
    connections: int = setting(_SERVER.connections, integer(at_least=16, at_most=1_000_000))
    unproven_connections: int = setting(_SERVER.unproven_connections, integer(at_least=8, at_most=1_000_000))
    handshake_timeout_s: float = setting(_SERVER.handshake_s, duration(at_least_s=0.1, at_most_s=60))
    head_timeout_s: float = setting(_SERVER.head_s, duration(at_least_s=0.1, at_most_s=60))
    write_timeout_s: float = setting(_SERVER.write_s, duration(at_least_s=0.1, at_most_s=300))
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
    """webhook"""

    bind_address: Address = setting(Address("", 9443), address())
    certificate: CertificateSection = section(CertificateSection)
    client_auth: ClientAuthSection = section(ClientAuthSection)
    limits: LimitsSection = section(LimitsSection)
    # How long a replica that leaves still answers: until every API server and proxy knows that it is unready.
    shutdown_delay_s: float = setting(5.0, duration(at_most_s=300))
    verify_patches: bool = setting(False, flag())


@attrs.frozen
class MetricsSection:
    """metrics"""

    bind_address: Address = setting(Address("", 8080), address())


@attrs.frozen
class ProbesSection:
    """probes"""

    bind_address: Address = setting(Address("", 8081), address())
