"""The whole process with its certificate in a Secret of a scripted API server."""

from __future__ import annotations

import base64
import json
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from controllers.config.document import parse
from controllers.process.assembly import Options, Process
from controllers.testing import FakeApi
from tests.controllers.certificates.builders import configuration, content, register_configurations, secret
from tests.controllers.followers import ONLY_ADMISSION, READY_WITHIN_S, arguments, fill
from tests.controllers.served import Served, command, serve
from tests.server.client import wait_until
from webhook.clock import SystemClock

SECRET = "kube-system/gatehouse-tls"
SHARED = {"source": "self", "secretName": "gatehouse-tls", "hosts": ["localhost"]}


@pytest.fixture
def api() -> Iterator[FakeApi]:
    with FakeApi() as server:
        register_configurations(server)
        fill(server)
        yield server


def configured(certificate: dict[str, Any], **controllers: dict[str, bool]) -> str:
    more = {"controllers": ONLY_ADMISSION["controllers"] | controllers}  # type: ignore[operator]
    return json.dumps(ONLY_ADMISSION | more | {"webhook": {"certificate": certificate, "shutdownDelay": "0s"}})


@contextmanager
def running(api: FakeApi, folder: Path, config: str) -> Iterator[Served]:
    file = folder / "config.json"
    file.write_text(config)
    with serve(folder, arguments=arguments(api.kubeconfig(folder), f"--config={file}")) as served:
        yield served


def ready(served: Served) -> bool:
    return served.get("healthProbe", "/readyz")[0] == 200


def stored(api: FakeApi) -> dict[str, bytes]:
    data = api.objects.all("Secret").get(SECRET, {}).get("data", {})
    return {key: base64.b64decode(value) for key, value in data.items()}


def shown(served: Served) -> bytes:
    """The certificate of a new, verified connection, PEM."""
    with served.connect() as client:
        assert isinstance(client.socket, ssl.SSLSocket)
        return ssl.DER_cert_to_PEM_cert(client.socket.getpeercert(binary_form=True) or b"").encode()


def test_a_process_makes_its_secret_serves_it_and_restores_it(api: FakeApi, tmp_path: Path) -> None:
    with running(api, tmp_path, configured(SHARED)) as served:
        wait_until(lambda: ready(served), READY_WITHIN_S)
        first = stored(api)
        assert shown(served) == first["tls.crt"]
        assert base64.b64decode(served.addresses["caBundle"]) == first["ca.crt"]
        metrics = served.get("metrics", "/metrics")[1]
        assert 'gatehouse_certificate_expiry_seconds{kind="leaf"} 7.7' in metrics
        assert 'gatehouse_certificate_expiry_seconds{kind="ca"} 3.1' in metrics
        page = json.loads(served.get("metrics", "/statusz")[1])["certificate"]
        assert (page["source"], page["secret"], page["authorities"]) == ("self", SECRET, 1)

        api.objects.drop("Secret", SECRET)
        wait_until(lambda: bool(stored(api)), READY_WITHIN_S)

        again = stored(api)
        assert again["tls.crt"] == first["tls.crt"]
        assert again["ca.crt"].endswith(first["ca.crt"])
        assert served.stop() == 0
        assert "PRIVATE KEY" not in served.log()


def test_a_name_that_a_configuration_calls_and_the_certificate_lacks_is_in_the_status(api: FakeApi, tmp_path: Path) -> None:
    webhook = {"name": "mutate.gatehouse.dev", "clientConfig": {"service": {"name": "admission", "namespace": "kube-system"}}}
    api.objects.put(configuration("MutatingWebhookConfiguration", b"") | {"webhooks": [webhook]})

    with running(api, tmp_path, configured(SHARED)) as served:

        def uncovered() -> object:
            return json.loads(served.get("metrics", "/statusz")[1])["certificate"]["uncovered"]

        wait_until(lambda: uncovered() == ["admission.kube-system.svc"], READY_WITHIN_S)


def test_a_caller_that_does_not_trust_the_ca_and_one_without_tls_are_in_the_status(api: FakeApi, tmp_path: Path) -> None:
    with running(api, tmp_path, configured(SHARED)) as served:
        wait_until(lambda: ready(served), READY_WITHIN_S)
        host, _, port = served.addresses["webhook"].rpartition(":")
        with socket.create_connection((host, int(port)), timeout=READY_WITHIN_S) as plain:
            plain.sendall(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            assert b"HTTPS" in plain.recv(1000)
        with socket.create_connection((host, int(port)), timeout=READY_WITHIN_S) as distrustful, pytest.raises(ssl.SSLError):
            ssl.create_default_context(cadata=content("other").ca.decode()).wrap_socket(
                distrustful, server_hostname="localhost"
            )

        def failed() -> object:
            return json.loads(served.get("metrics", "/statusz")[1])["certificate"]["handshakes"]["failed"]

        wait_until(lambda: failed() == {"certificate": 1, "plain-http": 1}, READY_WITHIN_S)


def test_an_expired_certificate_makes_the_replica_unready(api: FakeApi, tmp_path: Path) -> None:
    short = SHARED | {"leafLifetime": "8s", "rotationGrace": "0s"}  # a busy machine needs some of them for the start
    with running(api, tmp_path, configured(short, certificates={"enabled": False})) as served:
        # Not ready it is at first, too, and the check fails for another reason.
        wait_until(lambda: not ready(served) and "certificate has expired" in served.log(), READY_WITHIN_S)
        wait_until(lambda: "[-]certificate failed" in served.get("healthProbe", "/readyz?verbose")[1], READY_WITHIN_S)

        said = "check=readyz/certificate why=the served certificate has expired"
        wait_until(lambda: said in served.log().replace('"', ""), READY_WITHIN_S)  # a thread of its own writes the log
        assert served.get("healthProbe", "/healthz")[0] == 200


@contextmanager
def waiting(api: FakeApi, folder: Path) -> Iterator[tuple[Process, list[int]]]:
    """A process whose Secret never comes, and its exit code once it has been stopped."""
    certificate = {"source": "secret", "secretName": "gatehouse-tls"}
    connection = {"clientConnection": {"kubeconfig": api.kubeconfig(folder)}}
    anywhere = {name: {"bindAddress": "127.0.0.1:0"} for name in ("metrics", "probes")}
    config = parse(json.dumps(json.loads(configured(certificate)) | connection | anywhere), "config.json")
    codes: list[int] = []
    process = Process(Options(config), SystemClock())
    main = threading.Thread(target=lambda: codes.append(process.supervisor.run()))
    main.start()
    try:
        api.until(lambda: api.count("get", "/api/v1/namespaces/kube-system/secrets") > 1)
        yield process, codes
    finally:
        process.supervisor.request_stop()
        main.join(READY_WITHIN_S)


def test_a_process_whose_secret_never_comes_can_be_stopped(api: FakeApi, tmp_path: Path) -> None:
    with waiting(api, tmp_path) as (_, codes):
        assert codes == []

    assert codes == [0]
    assert api.count("watch") == 0  # it had not come so far


def test_a_process_that_waits_for_its_secret_is_alive(api: FakeApi, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    with waiting(api, tmp_path) as (process, _):
        assert vars(process)["_probes"].answer("/healthz", "") == ("200 OK", "ok")

    assert "check fails" not in caplog.text


def test_somebody_elses_secret_is_served(api: FakeApi, tmp_path: Path) -> None:
    theirs = content(now_s=time.time(), names=("example.com",))
    api.objects.put(secret(theirs))
    certificate = {"source": "cert-manager", "secretName": "gatehouse-tls"}

    with running(api, tmp_path, configured(certificate)) as served:
        wait_until(lambda: ready(served), READY_WITHIN_S)

        assert base64.b64decode(served.addresses["caBundle"]) == theirs.ca
        assert api.count("list", "/apis/admissionregistration") == api.count("watch", "/apis/admissionregistration") == 0


def test_on_files_the_certificate_is_in_memory_whatever_the_configuration_says(tmp_path: Path) -> None:
    file = tmp_path / "config.json"
    file.write_text(configured(SHARED))

    with serve(tmp_path, arguments=command("--config", str(file))) as served:
        assert shown(served)
        assert ready(served)
