"""A certificate authority and a server certificate of our own, for a process that nobody gave one. Pure but for chance.

Source: RFC 5280; Kubernetes docs, "Certificates and Certificate Signing Requests" (names are checked against the SAN only).
"""

from __future__ import annotations

import datetime
import ipaddress
from collections.abc import Iterable

import attrs
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

LOCAL_NAMES = ("localhost", "127.0.0.1")
# A client whose clock is behind must not find the certificate "not yet valid".
BACKDATE_S = 3600.0
LIFETIME_S = 365 * 86400.0


@attrs.frozen
class SelfSigned:
    """PEM bytes. *ca* is what callers verify with; its key is thrown away, so nothing else can be signed with it."""

    ca: bytes
    certificate: bytes
    key: bytes = attrs.field(repr=False)


def make_self_signed(names: Iterable[str] = (), *, now_s: float, lifetime_s: float = LIFETIME_S) -> SelfSigned:
    """A fresh authority and a certificate for `localhost`, 127.0.0.1 and *names* (DNS names or IP literals).

    now_s: seconds since the epoch; both are valid from an hour before it, for *lifetime_s* after it. EC P-256.
    """
    begin = datetime.datetime.fromtimestamp(now_s - BACKDATE_S, datetime.UTC)
    end = datetime.datetime.fromtimestamp(now_s + lifetime_s, datetime.UTC)
    ca_key = ec.generate_private_key(ec.SECP256R1())
    ca_name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "gatehouse local CA")])
    ca = (
        _builder(ca_name, ca_name, ca_key.public_key(), begin, end)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(ca=True), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(ca_key.public_key()), critical=False)
        .sign(ca_key, hashes.SHA256())
    )
    key = ec.generate_private_key(ec.SECP256R1())
    every_name = list(dict.fromkeys([*LOCAL_NAMES, *names]))
    leaf = (
        _builder(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "gatehouse")]), ca_name, key.public_key(), begin, end)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(ca=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectAlternativeName([_general_name(name) for name in every_name]), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(ca_key.public_key()), critical=False)
        .sign(ca_key, hashes.SHA256())
    )
    return SelfSigned(
        ca=ca.public_bytes(serialization.Encoding.PEM),
        certificate=leaf.public_bytes(serialization.Encoding.PEM),
        key=key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()),
    )


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
