"""What certificates say and who has signed them, read through OpenSSL alone.

Whoever only serves a pair needs no more of X.509 than this; the cryptography package costs 45 ms and 16 MiB, and is left to who
issues certificates. OpenSSL tells a certificate's dates and names to a client that verifies it, so each is shown to one in
memory: a handshake takes a millisecond and proves besides that the pair can be served.

Keys never touch the disk: OpenSSL reads the PEM from a memfd.
Errors: ChainError with a label: unloadable, mismatched.
Thread rule: any thread.
Source: RFC 5280, RFC 7468; openssl-verification-options(1).
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import ipaddress
import os
import re
import ssl
from collections.abc import Iterator
from typing import Any, Final

import attrs

# A client whose clock is behind must not find what we issue "not yet valid".
BACKDATE_S: Final = 3600.0
_BLOCK: Final = re.compile(rb"-----BEGIN CERTIFICATE-----([A-Za-z0-9+/=\s]*)-----END CERTIFICATE-----")
# X509_V_FLAG_NO_CHECK_TIME: what is expired is for the caller to say, whose clock is an argument.
_WHATEVER_THE_TIME: Final = 0x200000
_FLIGHTS: Final = 8  # a full TLS 1.2 handshake takes four


class ChainError(Exception):
    """A certificate or pair that OpenSSL cannot use. *reason* is a label: unloadable, mismatched."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason


@attrs.frozen
class Leaf:
    """A server's certificate. Seconds since the epoch."""

    not_before_s: float
    not_after_s: float
    names: frozenset[str]  # of its SAN, each as `canonical_name` writes it


@attrs.frozen
class Authority:
    """A certificate that may sign others. Seconds since the epoch."""

    pem: bytes
    not_before_s: float
    not_after_s: float

    def is_over(self, now_s: float) -> bool:
        """Whether nothing that it signed is believed any more. That it is not valid yet says only whose clock is wrong."""
        return now_s >= self.not_after_s


def canonical_name(name: str) -> str:
    """A DNS name or an IP literal as it is compared: in lower case; an address in its short form, without a zone."""
    try:
        # From its bytes, which are all that a SAN holds of it.
        return str(ipaddress.ip_address(ipaddress.ip_address(name).packed))
    except ValueError:
        return name.lower()


def certificates_in(pem: bytes) -> tuple[bytes, ...]:
    """Each certificate in *pem*, written one way, so that equal ones are equal bytes; without what stands between them."""
    return tuple(_armoured(der) for body in _BLOCK.findall(pem) if (der := _decoded(body)) is not None)


def authorities(pem: bytes) -> tuple[Authority, ...]:
    """The certificates in *pem* that may sign others, each once, in their order. What OpenSSL cannot read is left out."""
    found = (_authority(one) for one in dict.fromkeys(certificates_in(pem)))
    return tuple(one for one in found if one is not None)


def load_pair(context: ssl.SSLContext, certificate: bytes, key: bytes) -> None:
    """Let *context* serve the pair (PEM; the certificate first, then intermediates). Raises ChainError."""
    try:
        with _in_memory(certificate + b"\n" + key) as path:
            context.load_cert_chain(path, password=_no_password)
    except ssl.SSLError as error:
        mismatched = "MISMATCH" in (error.reason or "")
        raise ChainError(
            "mismatched" if mismatched else "unloadable",
            "the key does not belong to the certificate" if mismatched else f"OpenSSL refuses the pair ({error.reason})",
        ) from None


def served_leaf(context: ssl.SSLContext, certificate: bytes) -> Leaf:
    """What the certificate that *context* serves says, after one handshake with it. Raises ChainError.

    certificate: as given to `load_pair`. What loads may still not work: a curve or a signature that no client accepts.
    """
    client = _client(certificates_in(certificate)[:1])
    client.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN  # it vouches for itself: who signed it is another question
    try:
        shown = _shown(context, client)
        begin_s, end_s = ssl.cert_time_to_seconds(shown["notBefore"]), ssl.cert_time_to_seconds(shown["notAfter"])
        return Leaf(begin_s, end_s, frozenset(_names(shown)))
    except ssl.SSLError as error:
        raise ChainError("unloadable", f"a handshake with the pair fails ({error.reason})") from None
    except (KeyError, ValueError):
        raise ChainError("unloadable", "the certificate's dates cannot be read") from None


def is_trusted(context: ssl.SSLContext, bundle: bytes) -> bool:
    """Whether who trusts the CAs in *bundle* (PEM) believes what *context* serves, whatever the time and the name."""
    found = certificates_in(bundle)
    if not found:
        return False
    try:
        client = _client(found)
        client.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN  # as the API server, to which each CA of a bundle is a root
        _shown(context, client)
    except (ssl.SSLError, ChainError):
        return False
    return True


def is_key_of(certificate: bytes, key: bytes) -> bool:
    """Whether *key* is that of *certificate*, both PEM."""
    try:
        load_pair(ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), certificate, key)
    except ChainError:
        return False
    return True


def _decoded(body: bytes) -> bytes | None:
    try:
        return base64.b64decode(b"".join(body.split()), validate=True) or None
    except binascii.Error:
        return None


def _armoured(der: bytes) -> bytes:
    return ssl.DER_cert_to_PEM_cert(der).encode("ascii")


def _authority(pem: bytes) -> Authority | None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    try:
        context.load_verify_locations(cadata=pem.decode("ascii"))
        shown: Any = context.get_ca_certs()  # of CAs only
        (said,) = shown
        begin_s, end_s = ssl.cert_time_to_seconds(said["notBefore"]), ssl.cert_time_to_seconds(said["notAfter"])
    except (ssl.SSLError, ValueError, KeyError):
        return None
    return Authority(pem, begin_s, end_s)


def _client(trusted: tuple[bytes, ...]) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_flags |= _WHATEVER_THE_TIME
    try:
        context.load_verify_locations(cadata=b"".join(trusted).decode("ascii"))
    except (ssl.SSLError, ValueError):
        raise ChainError("unloadable", "the certificate is not PEM") from None
    return context


def _shown(context: ssl.SSLContext, client: ssl.SSLContext) -> Any:
    """What *client* is told of the certificate that *context* serves. Raises ssl.SSLError, ChainError."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    server_side = context.wrap_bio(to_server, to_client, server_side=True)
    client_side = client.wrap_bio(to_client, to_server, server_side=False)
    for _ in range(_FLIGHTS):
        waiting = 0
        for side in (client_side, server_side):
            try:
                side.do_handshake()
            except ssl.SSLWantReadError:
                waiting += 1
        if not waiting:
            return client_side.getpeercert()
    raise ChainError("unloadable", "a handshake with the pair does not end")


def _names(shown: Any) -> Iterator[str]:
    for kind, name in shown.get("subjectAltName", ()):
        if kind in ("DNS", "IP Address"):
            yield canonical_name(name.strip())


@contextlib.contextmanager
def _in_memory(content: bytes) -> Iterator[str]:
    """A path under which *content* can be read by this process only, and which is no file."""
    fd = os.memfd_create("pair", os.MFD_CLOEXEC)
    try:
        with open(fd, "wb", closefd=False) as memory:
            memory.write(content)
        yield f"/proc/self/fd/{fd}"
    finally:
        os.close(fd)


def _no_password() -> str:
    # Without this OpenSSL would ask on the terminal, and wait.
    raise ChainError("unloadable", "the key is encrypted")
