"""What certificates say, read through OpenSSL: held against what the cryptography package reads."""

from __future__ import annotations

import datetime
import ssl
from collections.abc import Callable

import pytest
import trustme
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.server.conftest import pair_of
from webhook.serving.chains import (
    Authority,
    ChainError,
    authorities,
    canonical_name,
    certificates_in,
    is_key_of,
    is_trusted,
    load_pair,
    served_leaf,
)
from webhook.serving.selfsigned import Issued, issue, make_authority
from webhook.serving.tls import KeyPair

NAMES = ["Gatehouse.kube-system.svc", "10.0.0.1", "fd00::1"]
PAST = datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC)


def serving(pair: KeyPair) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    load_pair(context, pair.certificate, pair.key)
    return context


def ca_pem(authority: trustme.CA) -> bytes:
    return authority.cert_pem.bytes()


def test_a_leaf_says_its_dates_and_names() -> None:
    made = issue(make_authority(now_s=1e9, lifetime_s=1e6, name="ca"), NAMES, now_s=1e9, lifetime_s=1000.0)

    leaf = served_leaf(serving(KeyPair(made.certificate, made.key)), made.certificate)

    assert (leaf.not_before_s, leaf.not_after_s) == (1e9 - 3600, 1e9 + 1000)
    assert leaf.names == {"gatehouse.kube-system.svc", "10.0.0.1", "fd00::1"}


def test_an_expired_leaf_still_says_what_it_is(authority: trustme.CA) -> None:
    pair = pair_of(authority, not_after=PAST)

    assert served_leaf(serving(pair), pair.certificate).not_after_s == PAST.timestamp()


def test_who_has_signed_is_told_by_the_signature(authority: trustme.CA, pair: KeyPair) -> None:
    other = trustme.CA()

    assert is_trusted(serving(pair), ca_pem(authority))
    assert is_trusted(serving(pair), ca_pem(other) + ca_pem(authority))
    assert not is_trusted(serving(pair), ca_pem(other))
    assert not is_trusted(serving(pair), b"")
    assert not is_trusted(serving(pair), b"rubbish")


def test_an_intermediate_in_the_chain_is_followed_to_its_root(authority: trustme.CA) -> None:
    leaf = authority.create_child_ca().issue_cert("gatehouse.example.com")
    chain = b"".join(pem.bytes() for pem in leaf.cert_chain_pems)

    assert is_trusted(serving(KeyPair(chain, leaf.private_key_pem.bytes())), ca_pem(authority))


def test_an_intermediate_that_is_trusted_is_enough(authority: trustme.CA) -> None:
    child = authority.create_child_ca()
    leaf = child.issue_cert("gatehouse.example.com")
    chain = b"".join(pem.bytes() for pem in leaf.cert_chain_pems)

    assert is_trusted(serving(KeyPair(chain, leaf.private_key_pem.bytes())), ca_pem(child))


@pytest.mark.parametrize("make", [lambda: rsa.generate_private_key(65537, 2048), ed25519.Ed25519PrivateKey.generate])
def test_a_ca_that_another_tool_has_made_may_sign(make: Callable[[], rsa.RSAPrivateKey | ed25519.Ed25519PrivateKey]) -> None:
    key = make()
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "theirs")])
    builder = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key()).serial_number(1)
    builder = builder.not_valid_before(PAST).not_valid_after(PAST + datetime.timedelta(days=9000))
    builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    builder = builder.add_extension(x509.SubjectKeyIdentifier(b"their own"), critical=False)
    theirs = builder.sign(key, hashes.SHA256() if isinstance(key, rsa.RSAPrivateKey) else None)
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())

    made = issue(Issued(theirs.public_bytes(Encoding.PEM), pem), NAMES, now_s=1.8e9, lifetime_s=1000.0)

    assert is_trusted(serving(KeyPair(made.certificate, made.key)), theirs.public_bytes(Encoding.PEM))


def test_two_cas_of_one_name_are_told_apart() -> None:
    one, two = (make_authority(now_s=1e9, lifetime_s=1e6, name="ca") for _ in range(2))
    made = issue(one, NAMES, now_s=1e9, lifetime_s=1000.0)
    context = serving(KeyPair(made.certificate, made.key))

    assert is_trusted(context, two.certificate + one.certificate)
    assert not is_trusted(context, two.certificate)


def test_authorities_are_read_once_each_in_their_order_and_nothing_else_is(authority: trustme.CA, pair: KeyPair) -> None:
    other = ca_pem(trustme.CA())
    text = b"Certificate:\n    Data:\n" + other + ca_pem(authority) + b"\r\n" + other + pair.certificate + pair.key

    found = authorities(text)

    assert [one.pem for one in found] == [*certificates_in(other), *certificates_in(ca_pem(authority))]
    read = x509.load_pem_x509_certificate(other)
    assert found[0].not_before_s == read.not_valid_before_utc.timestamp()
    assert found[0].not_after_s == read.not_valid_after_utc.timestamp()


@pytest.mark.parametrize(
    "name", ["Hook.Example.com", "fd00:0::1", "FD00::1", "fe80::1%eth0", "::ffff:10.0.0.1", "10.0.0.1", "*.Edge.example"]
)
def test_a_name_is_read_from_a_certificate_as_it_is_compared(name: str) -> None:
    made = issue(make_authority(now_s=1e9, lifetime_s=1e6, name="ca"), [name], now_s=1e9, lifetime_s=1000.0)

    leaf = served_leaf(serving(KeyPair(made.certificate, made.key)), made.certificate)

    assert leaf.names == {canonical_name(name)}
    assert canonical_name(canonical_name(name)) == canonical_name(name)


def test_a_key_fits_its_own_certificate_only(authority: trustme.CA, pair: KeyPair) -> None:
    assert is_key_of(pair.certificate, pair.key)
    assert not is_key_of(pair.certificate, pair_of(authority).key)
    assert not is_key_of(pair.certificate, b"")
    assert not is_key_of(b"", pair.key)


def test_a_pair_that_no_client_accepts_is_refused(pair: KeyPair) -> None:
    context = serving(pair)
    context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1_2
    context.set_ciphers("ECDHE-RSA-AES128-GCM-SHA256")  # the certificate's key is on a curve

    with pytest.raises(ChainError, match="a handshake with the pair fails"):
        served_leaf(context, pair.certificate)


@given(st.binary(max_size=200) | st.text(max_size=200).map(str.encode))
@settings(max_examples=200)
def test_whatever_is_no_certificate_is_none(content: bytes) -> None:
    wrapped = b"-----BEGIN CERTIFICATE-----\n" + content + b"\n-----END CERTIFICATE-----\n"

    assert authorities(content) == ()
    assert authorities(wrapped) == ()
    assert not is_key_of(wrapped, wrapped)


def test_an_authority_is_over_at_its_end_not_before_its_begin() -> None:
    one = Authority(b"", 100.0, 200.0)

    assert [one.is_over(at_s) for at_s in (0.0, 199.9, 200.0)] == [False, False, True]
