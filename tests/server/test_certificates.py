"""Certificates: where they come from, what is refused, and that a change costs nobody a request."""

from __future__ import annotations

import contextlib
import ctypes
import datetime
import gc
import socket
import ssl
import threading
import time
from pathlib import Path

import attrs
import pytest
import trustme
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from tests.server.client import wait_until
from tests.server.conftest import Running, Serve, pair_of
from webhook.clock import SystemClock
from webhook.serving.ledger import HANDSHAKES, Handshake
from webhook.serving.selfsigned import make_self_signed
from webhook.serving.server import AdmissionServer
from webhook.serving.tls import CertificateError, Certificates, FileCertificates, HeldCertificates, KeyPair, build_context
from webhook.telemetry import Telemetry

PAST = datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC)


def served(running: Running) -> bytes:
    """The certificate that a new connection sees, DER."""
    with running.connect() as client:
        assert isinstance(client.socket, ssl.SSLSocket)
        return client.socket.getpeercert(binary_form=True) or b""


def der(pair: KeyPair) -> bytes:
    return x509.load_pem_x509_certificate(pair.certificate).public_bytes(serialization.Encoding.DER)


def encrypted(pair: KeyPair) -> KeyPair:
    key = serialization.load_pem_private_key(pair.key, None)
    pem = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.BestAvailableEncryption(b"secret")
    )
    return attrs.evolve(pair, key=pem)


@pytest.fixture
def bad(authority: trustme.CA, pair: KeyPair) -> dict[str, KeyPair]:
    """Pairs that cannot be served, by what is wrong with them."""
    other = pair_of(authority)
    return {
        "mismatched": attrs.evolve(pair, key=other.key),
        "expired": pair_of(authority, not_after=PAST),
        "unloadable": attrs.evolve(pair, key=pair.key[: len(pair.key) // 2]),
    }


@pytest.mark.parametrize("reason", ["mismatched", "expired", "unloadable"])
def test_a_bad_pair_leaves_the_last_good_one_served_and_is_counted(
    serve: Serve, pair: KeyPair, bad: dict[str, KeyPair], reason: str
) -> None:
    source = HeldCertificates(pair)
    running = serve(certificates=source)

    source.replace(bad[reason])
    assert not running.server.refresh_certificates()
    assert not running.server.refresh_certificates()  # the same fault is not counted twice

    assert served(running) == der(pair)
    assert running.metric("gatehouse_certificate_reloads_total", result=reason) == 1


def test_a_new_pair_is_served_to_new_connections_while_old_ones_go_on(
    serve: Serve, authority: trustme.CA, pair: KeyPair
) -> None:
    source = HeldCertificates(pair)
    running = serve(certificates=source)

    with running.connect() as old:
        old.post(b"x")
        source.replace(pair_of(authority))
        assert running.server.refresh_certificates()
        assert served(running) == der(source.read())
        assert old.post(b"still here").body == b"still here"
    assert running.metric("gatehouse_certificate_reloads_total", result="ok") == 2
    expiry = x509.load_pem_x509_certificate(source.read().certificate).not_valid_after_utc.timestamp()
    assert running.metric("gatehouse_certificate_expiry_timestamp_seconds") == expiry


def test_the_names_told_are_those_of_the_pair_that_is_served(serve: Serve) -> None:
    one, two = (make_self_signed([name], now_s=time.time()) for name in ("one.example.com", "two.example.com"))
    source = HeldCertificates(KeyPair(one.certificate, one.key))
    running = serve(certificates=source)
    leaf = running.server.leaf
    assert leaf is not None and "one.example.com" in leaf.names

    source.replace(KeyPair(two.certificate, two.key))
    assert running.server.leaf == leaf  # not before it is served
    assert running.server.refresh_certificates()

    leaf = running.server.leaf
    assert leaf is not None and "two.example.com" in leaf.names and "one.example.com" not in leaf.names


def test_files_are_watched(serve: Serve, authority: trustme.CA, pair: KeyPair, tmp_path: Path) -> None:
    source = FileCertificates(tmp_path / "tls.crt", tmp_path / "tls.key")
    source.certificate.write_bytes(pair.certificate)
    source.key.write_bytes(pair.key)
    running = serve(certificates=source)
    new = pair_of(authority)

    source.certificate.write_bytes(new.certificate)  # torn: the key is still the old one
    assert not running.server.refresh_certificates()
    assert served(running) == der(pair)
    source.key.write_bytes(new.key)
    assert running.server.refresh_certificates()
    assert served(running) == der(new)
    source.key.unlink()
    assert not running.server.refresh_certificates()
    assert served(running) == der(new)
    assert running.metric("gatehouse_certificate_reloads_total", result="unreadable") == 1


def test_a_mounted_secret_is_followed_through_its_symlink_swap(
    serve: Serve, authority: trustme.CA, pair: KeyPair, tmp_path: Path
) -> None:
    def mount(name: str, content: KeyPair) -> None:
        (tmp_path / name).mkdir()
        (tmp_path / name / "tls.crt").write_bytes(content.certificate)
        (tmp_path / name / "tls.key").write_bytes(content.key)
        (tmp_path / "..new").symlink_to(name)
        (tmp_path / "..new").rename(tmp_path / "..data")

    mount("one", pair)
    running = serve(certificates=FileCertificates(tmp_path / "..data/tls.crt", tmp_path / "..data/tls.key"))
    new = pair_of(authority)

    mount("two", new)

    assert running.server.refresh_certificates()
    assert served(running) == der(new)


def test_a_hundred_replacements_under_load_lose_no_request(
    serve: Serve, authority: trustme.CA, pair: KeyPair, bad: dict[str, KeyPair]
) -> None:
    source = HeldCertificates(pair)
    running = serve(certificates=source)
    pairs = [pair, pair_of(authority), pair_of(authority)]
    failures: list[BaseException] = []
    answered = 0
    over = threading.Event()

    def call() -> None:
        nonlocal answered
        try:
            while not over.is_set():
                with running.connect() as client:
                    for _ in range(5):
                        assert client.post(b"x").body == b"x"
                answered += 1
        except BaseException as error:
            failures.append(error)

    callers = [threading.Thread(target=call) for _ in range(2)]
    for caller in callers:
        caller.start()
    for number in range(100):
        source.replace(pairs[number % 3] if number % 2 else list(bad.values())[number % 3])
        running.server.refresh_certificates()
    over.set()
    for caller in callers:
        caller.join(20)

    assert failures == []
    assert answered > 0
    assert running.metric("gatehouse_certificate_reloads_total", result="ok") > 30
    assert sum(running.metric("gatehouse_certificate_reloads_total", result=reason) for reason in bad) > 30


def test_a_pair_that_is_not_valid_yet_is_taken_once_it_is(authority: trustme.CA, pair: KeyPair) -> None:
    class Clock(SystemClock):
        now_s = time.time()

        def wall_s(self) -> float:
            return self.now_s

    clock, later = Clock(), datetime.datetime.now(datetime.UTC) + datetime.timedelta(hours=1)
    source = HeldCertificates(pair)
    certificates = Certificates(source, Telemetry(), clock)
    certificates.load()

    source.replace(pair_of(authority, not_before=later))
    assert not certificates.refresh()
    clock.now_s += 7200
    assert certificates.refresh()


def test_an_encrypted_key_is_refused_without_asking_for_its_password(pair: KeyPair) -> None:
    with pytest.raises(CertificateError, match="encrypted") as caught:
        build_context(encrypted(pair), time.time())

    assert caught.value.reason == "unloadable"


def test_a_pair_that_loads_but_that_no_client_accepts_is_refused() -> None:
    key = ec.generate_private_key(ec.SECP256K1())  # not a curve of TLS
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    begin = datetime.datetime.now(datetime.UTC) - datetime.timedelta(hours=1)
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), 1, begin, begin + datetime.timedelta(days=1))
        .sign(key, hashes.SHA256())
        .public_bytes(serialization.Encoding.PEM)
    )
    pem = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())

    with pytest.raises(CertificateError, match="handshake"):
        build_context(KeyPair(certificate, pem), time.time())


def test_a_server_without_a_certificate_does_not_start(tmp_path: Path) -> None:
    server = AdmissionServer(
        lambda environ, start_response: [],
        bind=("127.0.0.1", 0),
        certificates=FileCertificates(tmp_path / "none.crt", tmp_path / "none.key"),
        telemetry=Telemetry(),
    )

    with pytest.raises(CertificateError, match=r"none\.crt"):
        server.start()
    assert not server.alive()
    assert server.stop(1.0)


def test_keys_are_not_shown(pair: KeyPair) -> None:
    assert "PRIVATE" not in repr(pair)
    assert "PRIVATE" not in repr(make_self_signed(now_s=time.time()))


def test_the_common_name_of_a_verified_client_reaches_the_application(
    serve: Serve, authority: trustme.CA, pair: KeyPair, trusting: ssl.SSLContext
) -> None:
    running = serve(certificates=HeldCertificates(attrs.evolve(pair, client_ca=authority.cert_pem.bytes())))
    context = ssl.create_default_context()
    authority.configure_trust(context)
    authority.issue_cert("ignored.example", common_name="kube-apiserver").configure_cert(context)

    for known, name in ((context, "kube-apiserver"), (trusting, "")):
        with running.connect(known) as client:
            assert client.post().status == 200
        assert running.application.seen[-1]["gatehouse.client"] == name


def test_a_client_certificate_of_a_stranger_is_refused(serve: Serve, authority: trustme.CA, pair: KeyPair) -> None:
    running = serve(certificates=HeldCertificates(attrs.evolve(pair, client_ca=authority.cert_pem.bytes())))
    context = ssl.create_default_context()
    authority.configure_trust(context)
    trustme.CA().issue_cert("a.example", common_name="kube-apiserver").configure_cert(context)

    with pytest.raises((ssl.SSLError, ConnectionError, EOFError)), running.connect(context) as client:
        client.post()
    assert running.application.seen == []
    wait_until(lambda: running.metric("gatehouse_server_handshakes_total", result="certificate") == 1)


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
@pytest.mark.parametrize(
    ("trusts", "called"), [(False, "localhost"), (True, "elsewhere.example")], ids=["unknown_ca", "bad_certificate"]
)
def test_a_caller_who_does_not_take_our_certificate_is_counted_as_that(
    serve: Serve, authority: trustme.CA, version: ssl.TLSVersion, trusts: bool, called: str
) -> None:
    running = serve()
    context = ssl.create_default_context()
    context.minimum_version = context.maximum_version = version
    (authority if trusts else trustme.CA()).configure_trust(context)

    with socket.create_connection(running.server.address, timeout=5) as plain, pytest.raises(ssl.SSLCertVerificationError):
        context.wrap_socket(plain, server_hostname=called)

    wait_until(lambda: running.metric(f"{HANDSHAKES}_total", result=Handshake.CERTIFICATE) == 1)
    assert running.metric(f"{HANDSHAKES}_total", result=Handshake.ALERT) == 0


@pytest.mark.parametrize(
    ("number", "result"),
    [
        *((number, Handshake.CERTIFICATE) for number in (42, 43, 44, 45, 46, 48)),  # bad_certificate to unknown_ca
        *((number, Handshake.ALERT) for number in (40, 47, 70, 80)),  # handshake_failure, illegal_parameter, and so on
    ],
)
def test_an_alert_is_of_certificates_where_its_number_says_so(serve: Serve, number: int, result: Handshake) -> None:
    running = serve()
    fatal = 2

    with socket.create_connection(running.server.address, timeout=5) as plain:
        plain.sendall(client_hello())
        assert plain.recv(100_000)
        plain.sendall(bytes([21, 3, 3, 0, 2, fatal, number]))  # in the clear, as before the keys of TLS 1.2 are in use
        wait_until(lambda: running.metric(f"{HANDSHAKES}_total", result=result) == 1)


def client_hello() -> bytes:
    """The first flight of a client that speaks TLS 1.2 and no other version."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    outgoing = ssl.MemoryBIO()
    with contextlib.suppress(ssl.SSLWantReadError):
        context.wrap_bio(ssl.MemoryBIO(), outgoing, server_hostname="localhost").do_handshake()
    return outgoing.read()


def test_a_self_signed_pair_serves_every_local_name(serve: Serve) -> None:
    made = make_self_signed(["gatehouse.kube-system.svc", "::1"], now_s=time.time())
    running = serve(certificates=HeldCertificates(KeyPair(made.certificate, made.key)))
    context = ssl.create_default_context(cadata=made.ca.decode())

    with running.connect(context) as client:
        assert client.post(b"x").body == b"x"
    leaf = x509.load_pem_x509_certificate(made.certificate)
    names = leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["localhost", "gatehouse.kube-system.svc"]
    assert [str(address) for address in names.get_values_for_type(x509.IPAddress)] == ["127.0.0.1", "::1"]
    assert leaf.not_valid_before_utc.timestamp() < time.time() - 3000


class Heap(ctypes.Structure):
    """Glibc's struct mallinfo2."""

    _fields_ = [
        (name, ctypes.c_size_t) for name in ("arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "used")
    ]
    _fields_ += [(name, ctypes.c_size_t) for name in ("fordblks", "keepcost")]


def heap_bytes() -> int:
    """Bytes that C code holds, among it all of OpenSSL."""
    mallinfo = ctypes.CDLL(None).mallinfo2
    mallinfo.restype = Heap
    gc.collect()
    return int(mallinfo().used)


def test_a_connection_leaves_no_memory_behind(serve: Serve) -> None:
    running = serve()

    def connect(times: int) -> None:
        for _ in range(times):
            with running.connect() as client:
                client.post(b"x", headers=["Connection: close"])
            running.application.seen.clear()
        wait_until(lambda: running.metric("gatehouse_server_connections") == 0)

    connect(100)
    before = heap_bytes()
    connect(400)

    assert (heap_bytes() - before) / 400 < 400  # reading SSLSocket.session alone would leave 1200 each


def test_a_session_is_never_resumed_so_no_client_certificate_goes_unchecked(serve: Serve, trusting: ssl.SSLContext) -> None:
    running = serve()

    with running.connect() as client:
        client.post()
        assert isinstance(client.socket, ssl.SSLSocket)
        assert client.socket.session is None or not client.socket.session.has_ticket
