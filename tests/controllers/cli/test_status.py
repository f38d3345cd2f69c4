"""`gatehouse status`: where it asks. And a kubeconfig that names no server."""

from __future__ import annotations

import json
import logging
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import trustme

from controllers.authorization.decision import Outcome, Verdict
from controllers.authorization.gate import protected
from controllers.cli.main import main
from controllers.process.probes import Probes, health_application, metrics_application
from webhook.objects.faults import quoted
from webhook.serving.server import AdmissionServer
from webhook.serving.tls import HeldCertificates, KeyPair
from webhook.telemetry import Telemetry


@pytest.fixture(autouse=True)
def logs_as_they_were() -> Iterator[None]:
    root = logging.getLogger("gatehouse")
    handlers, propagate, level = root.handlers[:], root.propagate, root.level

    yield

    for handler in root.handlers:
        if handler not in handlers:
            handler.close()
    root.handlers[:], root.propagate = handlers, propagate
    root.setLevel(level)


@pytest.mark.parametrize(
    "address",
    [
        "http://127.0.0.1:8080",
        "https://127.0.0.1:8080",
        "127.0.0.1:8080/statusz",
        "127.0.0.1",
        "127.0.0.1:",
        "127.0.0.1:http",
        "127.0.0.1:99999",
        "user@host:8080",
        "",
        "::1:8080",
        "[::1:8080",
    ],
)
def test_an_address_that_is_no_host_and_port_is_wrong_use(address: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["status", "--address", address]) == 2

    assert f"--address {address or quoted('')}: expected HOST:PORT" in capsys.readouterr().err


@pytest.mark.parametrize("address", ["127.0.0.1:1", ":1", "localhost:1", "[::1]:1"])
def test_a_process_that_does_not_answer_is_not_ready(address: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["status", "--address", address]) == 1

    assert "/statusz: " in capsys.readouterr().err


@pytest.mark.parametrize(
    ("server", "why"),
    [("garbage::://", "is no URL: expected https://HOST:PORT"), (42, "a field of the wrong type, perhaps the server")],
)
def test_a_kubeconfig_whose_server_is_no_url_is_wrong_use_and_says_so(
    server: object, why: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "x",
        "contexts": [{"name": "x", "context": {"cluster": "x", "user": "x"}}],
        "clusters": [{"name": "x", "cluster": {"server": server}}],
        "users": [{"name": "x", "user": {"token": "t"}}],
    }
    path = tmp_path / "kubeconfig"
    path.write_text(json.dumps(config))

    assert main(["serve", "--kubeconfig", str(path)]) == 2

    text = capsys.readouterr().err
    assert why in text
    assert "Traceback" not in text


# -- with TLS and a token


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@contextmanager
def protected_page(authority: trustme.CA, token: str) -> Iterator[str]:
    """host:port of a status page over TLS, valid for gatehouse.kube-system.svc, for whoever shows *token*."""

    class Table:
        def authorize(self, header: str, verb: str, path: str, peer: str) -> Verdict:
            return Verdict(Outcome.ALLOWED if header == f"Bearer {token}" else Outcome.UNAUTHENTICATED)

    leaf = authority.issue_cert("gatehouse.kube-system.svc")
    pair = KeyPair(b"".join(pem.bytes() for pem in leaf.cert_chain_pems), leaf.private_key_pem.bytes())
    pages = metrics_application(Telemetry(), lambda: {"process": {"ready": True}}, lambda: 0.0)
    app = protected(pages, Table(), trust_loopback=False)
    source = HeldCertificates(pair)
    server = AdmissionServer(app, bind=("127.0.0.1", 0), certificates=source, telemetry=Telemetry(), threads=1)
    server.start()
    try:
        yield f"127.0.0.1:{server.address[1]}"
    finally:
        assert server.stop(5.0)


@contextmanager
def handshaking(leaf: trustme.LeafCert) -> Iterator[str]:
    """host:port of somebody who shows *leaf* to one client, and serves nothing: we do not start with one that has expired."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    leaf.configure_cert(context)

    def shake() -> None:
        with listening.accept()[0] as peer, suppress(OSError):
            context.wrap_socket(peer, server_side=True).close()

    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=shake)
        thread.start()
        yield f"127.0.0.1:{listening.getsockname()[1]}"
        thread.join(10)


def test_a_page_behind_the_gate_is_read_with_a_token_over_verified_tls(
    authority: trustme.CA, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "token").write_text("abc\n")
    authority.cert_pem.write_to_path(tmp_path / "ca.crt")
    flags = ["--ca-file", str(tmp_path / "ca.crt"), "--server-name", "gatehouse.kube-system.svc"]
    with protected_page(authority, "abc") as address:
        assert main(["status", "--address", address, *flags, "--token-file", str(tmp_path / "token"), "-o", "json"]) == 0
        assert json.loads(capsys.readouterr().out) == {"process": {"ready": True}}

        assert main(["status", "--address", address, *flags]) == 1
        assert "401 Unauthorized: a bearer token" in capsys.readouterr().err


def test_another_name_than_the_certificate_s_is_refused(
    authority: trustme.CA, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    authority.cert_pem.write_to_path(tmp_path / "ca.crt")
    with protected_page(authority, "abc") as address:
        assert main(["status", "--address", address, "--ca-file", str(tmp_path / "ca.crt")]) == 1

    said = capsys.readouterr().err
    assert said.endswith(": its certificate is not for 127.0.0.1: --server-name NAME says what it is for\n")


@pytest.mark.parametrize("command", [["status"], ["explain", "node", "edge-1", "--from-replica"]], ids=["status", "explain"])
def test_a_certificate_that_cannot_be_trusted_says_what_to_do(
    command: list[str], authority: trustme.CA, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trustme.CA().cert_pem.write_to_path(tmp_path / "ca.crt")
    with protected_page(authority, "abc") as address:
        assert main([*command, "--address", address, "--ca-file", str(tmp_path / "ca.crt")]) == 1

    said = capsys.readouterr().err
    assert "its certificate is not trusted (" in said
    assert "--ca-file FILE names its CA" in said
    assert "port-forward" not in said


def test_an_expired_certificate_is_said_to_be_that(
    authority: trustme.CA, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    authority.cert_pem.write_to_path(tmp_path / "ca.crt")
    flags = ["--ca-file", str(tmp_path / "ca.crt"), "--server-name", "gatehouse.kube-system.svc"]
    leaf = authority.issue_cert("gatehouse.kube-system.svc", not_after=datetime.now(UTC) - timedelta(days=1))
    with handshaking(leaf) as address:
        assert main(["status", "--address", address, *flags]) == 1

    assert capsys.readouterr().err.endswith("/statusz: its certificate has expired\n")


@pytest.mark.parametrize("page", ["metrics", "health"])
def test_a_port_of_another_kind_says_which_one_is_meant(page: str, capsys: pytest.CaptureFixture[str]) -> None:
    app = health_application(Probes({}, {}, {})) if page == "health" else metrics_application(Telemetry(), dict, lambda: 0.0)
    server = AdmissionServer(app, bind=("127.0.0.1", 0), certificates=None, telemetry=Telemetry(), threads=1)
    server.start()
    try:
        address = f"127.0.0.1:{server.address[1]}"
        plain, tls = main(["status", "--address", address]), main(["status", "--address", address, "--tls"])
    finally:
        assert server.stop(5.0)

    said = capsys.readouterr().err
    assert (plain, tls) == (1, 1)
    assert "this port does not speak TLS: leave out --tls" in said
    assert ("this is not the metrics port (--metrics-bind-address)" in said) is (page == "health")


def test_on_loopback_tls_needs_no_ca(authority: trustme.CA, tmp_path: Path) -> None:
    (tmp_path / "token").write_text("abc")
    with protected_page(authority, "abc") as address:
        assert main(["status", "--address", address, "--tls", "--token-file", str(tmp_path / "token")]) == 0


@pytest.mark.parametrize(
    ("flags", "why"),
    [
        (["--server-name", "x"], "--server-name is about a certificate"),
        (["--ca-file", "nowhere.crt"], "--ca-file nowhere.crt: cannot be read"),
        (["--token-file", "nowhere"], "--token-file nowhere: cannot be read"),
        (["--token-file", "setup.cfg"], "--token-file setup.cfg: is no token"),
        (["--ca-file", "setup.cfg"], "--ca-file setup.cfg: holds no certificate"),
    ],
)
def test_flags_that_cannot_be_meant_are_wrong_use(flags: list[str], why: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["status", *flags]) == 2

    assert why in capsys.readouterr().err


def test_without_an_api_server_nobody_can_be_authorized(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = "apiVersion: gatehouse.dev/v1alpha1\nkind: GatehouseConfiguration\nmetrics: {authorization: kubernetes}\n"
    (tmp_path / "gatehouse.yaml").write_text(config)

    assert main(["serve", "--local", str(tmp_path), "--config", str(tmp_path / "gatehouse.yaml")]) == 2
    assert "metrics.authorization: kubernetes needs an API server" in capsys.readouterr().err
