"""A certificate authority of our own and the server certificates that it signs. Pure but for chance. EC P-256.

Importing this module imports cryptography (45 ms, 16 MiB): import it where something is issued, not before.
Source: RFC 5280; Kubernetes docs, "Certificates and Certificate Signing Requests" (names are checked against the SAN only).
"""

from __future__ import annotations

import datetime
import ipaddress
from collections.abc import Iterable

import attrs
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from webhook.serving.chains import BACKDATE_S

LOCAL_NAMES = ("localhost", "127.0.0.1")
LIFETIME_S = 365 * 86400.0
_SIGNS = (ec.EllipticCurvePrivateKey, rsa.RSAPrivateKey, ed25519.Ed25519PrivateKey)  # of a CA that somebody brings along


@attrs.frozen
class SelfSigned:
    """PEM bytes. *ca* is what callers verify with; its key is thrown away, so nothing else can be signed with it."""

    ca: bytes
    certificate: bytes
    key: bytes = attrs.field(repr=False)


@attrs.frozen
class Issued:
    """PEM bytes: a certificate and its key."""

    certificate: bytes
    key: bytes = attrs.field(repr=False)


def make_self_signed(names: Iterable[str] = (), *, now_s: float, lifetime_s: float = LIFETIME_S) -> SelfSigned:
    """A fresh authority and a certificate for `localhost`, 127.0.0.1 and *names* (DNS names or IP literals).

    now_s: seconds since the epoch; both are valid from an hour before it, for *lifetime_s* after it.
    """
    authority = make_authority(now_s=now_s, lifetime_s=lifetime_s, name="gatehouse local CA")
    leaf = issue(authority, dict.fromkeys([*LOCAL_NAMES, *names]), now_s=now_s, lifetime_s=lifetime_s)
    return SelfSigned(authority.certificate, leaf.certificate, leaf.key)


def make_authority(*, now_s: float, lifetime_s: float, name: str) -> Issued:
    """A fresh authority, called *name*, which may sign servers' certificates only.

    now_s: seconds since the epoch; it is valid from an hour before it, for *lifetime_s* after it.
    """
    begin, end = _period(now_s, now_s + lifetime_s)
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    certificate = (
        _builder(subject, subject, key.public_key(), begin, end)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(ca=True), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )
    return Issued(certificate.public_bytes(serialization.Encoding.PEM), _key_pem(key))


def issue(authority: Issued, names: Iterable[str], *, now_s: float, lifetime_s: float) -> Issued:
    """A server's certificate for *names* (DNS names or IP literals), signed by *authority*, whom it does not outlive.

    now_s, lifetime_s: as of `make_authority`.
    """
    ca = x509.load_pem_x509_certificate(authority.certificate)
    ca_key = serialization.load_pem_private_key(authority.key, None)
    if not isinstance(ca_key, _SIGNS):
        raise ValueError(f"the CA's key cannot sign: {type(ca_key).__name__}")
    key = ec.generate_private_key(ec.SECP256R1())
    begin, end = _period(now_s, now_s + lifetime_s)
    certificate = (
        _builder(
            x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "gatehouse")]),
            ca.subject,
            key.public_key(),
            begin,
            min(end, ca.not_valid_after_utc),
        )
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(ca=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectAlternativeName([_general_name(name) for name in names]), critical=False)
        .add_extension(_signer(ca), critical=False)
        .sign(ca_key, None if isinstance(ca_key, ed25519.Ed25519PrivateKey) else hashes.SHA256())
    )
    return Issued(certificate.public_bytes(serialization.Encoding.PEM), _key_pem(key))


def _period(now_s: float, end_s: float) -> tuple[datetime.datetime, datetime.datetime]:
    return (
        datetime.datetime.fromtimestamp(now_s - BACKDATE_S, datetime.UTC),
        datetime.datetime.fromtimestamp(end_s, datetime.UTC),
    )


def _signer(ca: x509.Certificate) -> x509.AuthorityKeyIdentifier:
    """How clients find *ca*: by what it calls its key, which another tool may have chosen in another way than we do."""
    try:
        own = ca.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value
    except x509.ExtensionNotFound:
        own = x509.SubjectKeyIdentifier.from_public_key(ca.public_key())
    return x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(own)


def _key_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, begin: datetime.datetime, end: datetime.datetime
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(begin)
        .not_valid_after(end)
    )


def _usage(*, ca: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not ca,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=ca,
        crl_sign=ca,
        encipher_only=False,
        decipher_only=False,
    )


def _general_name(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)
