"""The server's certificate: where it comes from, how it is tested, how it is replaced while connections go on.

A new pair becomes a new `ssl.SSLContext`, which must load, match, be valid now and complete a handshake with itself in
memory before new connections get it; open ones keep theirs. Loading a pair into the live context is no way: a
mismatched pair would leave it without a certificate. Whatever fails leaves the last good pair in use, and says so.
Keys never touch the disk (`chains`).

Errors: CertificateError, with a label: unreadable, unloadable, mismatched, expired, not-yet-valid.
Thread rule: any thread.
Source: RFC 8446; Kubernetes kubernetes.io/tls Secrets (PEM, leaf first).
"""

from __future__ import annotations

import ssl
import stat
import threading
from pathlib import Path
from typing import Any, Final, Protocol

import attrs

from webhook.clock import Clock
from webhook.logs import get_log
from webhook.objects.meta import format_time
from webhook.serving.chains import ChainError, Leaf, load_pair, served_leaf
from webhook.telemetry import Telemetry

# Long enough for a person to act, also over a weekend with holidays; as the alert GatehouseCertificateExpiresSoon has it.
EXPIRES_SOON_S: Final = 7 * 86400.0


class CertificateError(Exception):
    """A pair that cannot be served. *reason* is the label of the reload counter."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason


@attrs.frozen
class KeyPair:
    """PEM bytes: the certificate (leaf first, then intermediates), its key, and optionally the CAs of clients."""

    certificate: bytes
    key: bytes = attrs.field(repr=False)
    client_ca: bytes = b""


class CertificateSource(Protocol):
    """Where the current pair comes from. Any thread."""

    def read(self) -> KeyPair:
        """The pair as it is now. Raises CertificateError."""


@attrs.frozen
class FileCertificates:
    """A pair in files, read anew each time: renames and the symlink swap of mounted Secrets both work."""

    certificate: Path = attrs.field(converter=Path)
    key: Path = attrs.field(converter=Path)
    client_ca: Path | None = attrs.field(default=None, converter=attrs.converters.optional(Path))

    def read(self) -> KeyPair:
        """The files' present content; it may be torn between two writes, which the test of the pair finds out."""
        return KeyPair(content_of(self.certificate), content_of(self.key), content_of(self.client_ca))


@attrs.frozen
class MadeCertificates:
    """A pair that was made at start, with the CAs of clients from a file, which is read anew each time."""

    pair: KeyPair
    client_ca: Path | None = None

    def read(self) -> KeyPair:
        """The pair, with the file's present content."""
        return attrs.evolve(self.pair, client_ca=content_of(self.client_ca))


@attrs.frozen
class WithoutClients:
    """The pair of another source, for a server that asks no client for a certificate."""

    source: CertificateSource

    def read(self) -> KeyPair:
        """The other's present pair."""
        return attrs.evolve(self.source.read(), client_ca=b"")


class HeldCertificates:
    """A pair in memory, for one that comes from a Secret or was made at start. Any thread may replace it."""

    def __init__(self, pair: KeyPair | None = None) -> None:
        self._pair = pair  # replaced as one value

    def replace(self, pair: KeyPair) -> None:
        """Serve *pair* from the next poll on."""
        self._pair = pair

    def read(self) -> KeyPair:
        """The pair last given."""
        pair = self._pair
        if pair is None:
            raise CertificateError("unreadable", "no certificate has arrived yet")
        return pair


class Certificates:
    """The context that new connections get, kept up to date with a source."""

    def __init__(self, source: CertificateSource, telemetry: Telemetry, clock: Clock) -> None:
        self._source = source
        self._clock = clock
        self._log = get_log("certificates")
        self._lock = threading.Lock()  # one refresh at a time; held while the source is read and tried
        self._context: ssl.SSLContext | None = None  # replaced as one value
        self._leaf: Leaf | None = None  # what the served one says; replaced as one value
        self._warn_again_s = 0.0
        self._settled: KeyPair | None = None  # tried, with an outcome that only another pair can change
        self._complained: object = None  # what the log has been told last
        self._reloads = telemetry.counter(
            "gatehouse_certificate_reloads", "Attempts to serve a new certificate, by result", ["result"]
        )
        self._expiry = telemetry.gauge(
            "gatehouse_certificate_expiry_timestamp_seconds", "When the served certificate expires, seconds since the epoch"
        )

    @property
    def context(self) -> ssl.SSLContext:
        """The context of new connections; only after `load`."""
        assert self._context is not None
        return self._context

    def load(self) -> None:
        """Read the source for the first time. Raises CertificateError."""
        pair = self._source.read()
        self._serve(pair)
        self._settled = pair

    def refresh(self) -> bool:
        """Read the source again; True when a new pair is served from now on. Never raises. Any thread."""
        with self._lock:
            return self._refresh()

    def _refresh(self) -> bool:
        try:
            pair = self._source.read()
        except CertificateError as error:
            self._complain(error, str(error))
            return False
        if pair == self._settled:
            self._watch_expiry()
            return False
        try:
            self._serve(pair)
        except CertificateError as error:
            self._complain(error, pair)
            self._settled = None if error.reason == "not-yet-valid" else pair
            return False
        self._settled = pair
        return True

    @property
    def leaf(self) -> Leaf | None:
        """What the served certificate says; None before `load`."""
        return self._leaf

    def _watch_expiry(self) -> None:
        """Say once a day that the served certificate is about to expire, and once an hour that it has."""
        assert self._leaf is not None
        now_s, expiry_s = self._clock.wall_s(), self._leaf.not_after_s
        left_s = expiry_s - now_s
        if left_s > EXPIRES_SOON_S or now_s < self._warn_again_s:
            return
        self._warn_again_s = now_s + (86400.0 if left_s > 0 else 3600.0)
        if left_s > 0:
            self._log.warning("the served certificate expires soon", expires=format_time(expiry_s))
        else:
            self._log.error("the served certificate has expired: callers refuse it", expired=format_time(expiry_s))

    def _serve(self, pair: KeyPair) -> None:
        context, leaf = build_context(pair, self._clock.wall_s())
        self._context = context
        self._leaf, self._warn_again_s = leaf, 0.0
        self._complained = None
        self._expiry.set(leaf.not_after_s)
        self._reloads.labels("ok").inc()
        self._log.info("certificate loaded", expires=format_time(leaf.not_after_s), client_ca=bool(pair.client_ca))

    def _complain(self, error: CertificateError, about: object) -> None:
        if about == self._complained:
            return
        self._complained = about
        self._reloads.labels(error.reason).inc()
        self._log.warning("certificate refused, the last good one stays", reason=error.reason, detail=str(error))


def content_of(file: Path | None) -> bytes:
    """What *file* holds now; b"" without one. Raises CertificateError."""
    if file is None:
        return b""
    try:
        if not stat.S_ISREG(file.stat().st_mode):
            raise CertificateError("unreadable", f"cannot read {file}: not a regular file")
        return file.read_bytes()
    except OSError as error:
        raise CertificateError("unreadable", f"cannot read {error.filename}: {error.strerror}") from None


def build_context(pair: KeyPair, now_s: float) -> tuple[ssl.SSLContext, Leaf]:
    """A tested server context for *pair*, and what its certificate says. Raises CertificateError.

    now_s: seconds since the epoch.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    # Renegotiation lets a client spend our time; a ticket is sent per handshake and Go's webhook client keeps none.
    context.options |= ssl.OP_NO_RENEGOTIATION | ssl.OP_NO_COMPRESSION | ssl.OP_NO_TICKET
    context.num_tickets = 0
    try:
        load_pair(context, pair.certificate, pair.key)
        leaf = served_leaf(context, pair.certificate)
    except ChainError as error:
        raise CertificateError(error.reason, str(error)) from None
    if now_s >= leaf.not_after_s:
        raise CertificateError("expired", f"the certificate expired at {format_time(leaf.not_after_s)}")
    if now_s < leaf.not_before_s:
        raise CertificateError("not-yet-valid", f"the certificate is not valid before {format_time(leaf.not_before_s)}")
    if pair.client_ca:
        try:
            context.load_verify_locations(cadata=pair.client_ca.decode("ascii"))
        except (ssl.SSLError, ValueError):
            raise CertificateError("unloadable", "the client CA is not PEM") from None
        context.verify_mode = ssl.CERT_OPTIONAL
    return context, leaf


def client_name(tls: ssl.SSLObject) -> str:
    """The common name of the verified client certificate, as Kubernetes names users; "" without one, or with several."""
    if tls.context.verify_mode is ssl.CERT_NONE:
        return ""
    parts: Any = (tls.getpeercert() or {}).get("subject", ())
    names = [str(value) for part in parts for kind, value in part if kind == "commonName"]
    return names[0] if len(names) == 1 else ""
