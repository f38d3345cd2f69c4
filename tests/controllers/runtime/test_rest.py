"""The client over real HTTP: what it sends, what it raises, how long it takes."""

from __future__ import annotations

import re
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
import trustme

from controllers.runtime import errors
from controllers.runtime.errors import ClientConfigError
from controllers.runtime.rest import Limits, RestClient
from controllers.testing import FakeApi, FakeClock
from controllers.testing.answers import Answer, Exchange, body, cut, drip, hang, status, stream
from tests.controllers.runtime.builders import Json, event, node
from webhook.clock import SystemClock
from webhook.telemetry import Telemetry

NODES = "/api/v1/nodes"


def connect(api: FakeApi, directory: Path, telemetry: Telemetry | None = None, **limits: float) -> RestClient:
    return RestClient.from_kubeconfig(
        api.kubeconfig(directory),
        telemetry or Telemetry(),
        SystemClock(),
        Limits(**limits),  # type: ignore[arg-type]
    )


# -- requests


def test_objects_are_created_read_updated_patched_and_deleted(api: FakeApi, client: RestClient) -> None:
    made = client.create(NODES, node("a"))
    made["spec"]["unschedulable"] = True
    assert client.update(f"{NODES}/a", made)["spec"]["unschedulable"] is True
    client.patch_merge(f"{NODES}/a", {"metadata": {"labels": {"x": "1"}}})
    client.patch_json(f"{NODES}/a", [{"op": "add", "path": "/metadata/labels/y", "value": "2"}])

    assert client.get(f"{NODES}/a")["metadata"]["labels"] == {"x": "1", "y": "2"}

    client.delete(f"{NODES}/a", uid=made["metadata"]["uid"])
    with pytest.raises(errors.NotFound):
        client.get(f"{NODES}/a")


def test_a_strategic_patch_of_an_older_version_is_a_conflict(api: FakeApi, client: RestClient) -> None:
    made = client.create(NODES, node("a"))
    patch = {"status": {"conditions": [{"type": "Ready", "status": "Unknown"}]}}
    guarded = {**patch, "metadata": {"uid": made["metadata"]["uid"], "resourceVersion": made["metadata"]["resourceVersion"]}}

    client.patch_strategic(f"{NODES}/a/status", guarded)

    (condition,) = client.get(f"{NODES}/a")["status"]["conditions"]
    assert (condition["status"], condition["lastTransitionTime"]) == ("Unknown", "2026-01-01T00:00:00Z")
    with pytest.raises(errors.Conflict):
        client.patch_strategic(f"{NODES}/a/status", guarded)


def test_unknown_fields_survive_a_round_trip(api: FakeApi, client: RestClient) -> None:
    client.create(NODES, {**node("a"), "future": {"n": 1, "list": [None, 1.5]}})

    assert client.get(f"{NODES}/a")["future"] == {"n": 1, "list": [None, 1.5]}


def test_a_stale_update_conflicts(api: FakeApi, client: RestClient) -> None:
    stale = client.create(NODES, node("a"))
    client.patch_merge(f"{NODES}/a", {"metadata": {"labels": {"x": "1"}}})
    stale["spec"]["unschedulable"] = True

    with pytest.raises(errors.Conflict):
        client.update(f"{NODES}/a", stale)


def test_a_second_create_says_that_it_exists(client: RestClient) -> None:
    client.create(NODES, node("a"))

    with pytest.raises(errors.AlreadyExists):
        client.create(NODES, node("a"))


def test_deletion_preconditions_are_sent(api: FakeApi, client: RestClient) -> None:
    client.create(NODES, node("a"))

    with pytest.raises(errors.Conflict):
        client.delete(f"{NODES}/a", uid="another")

    assert client.get(f"{NODES}/a")["metadata"]["name"] == "a"


def test_a_failed_test_operation_is_invalid(client: RestClient) -> None:
    client.create(NODES, node("a"))

    with pytest.raises(errors.Invalid):
        client.patch_json(f"{NODES}/a", [{"op": "test", "path": "/metadata/name", "value": "b"}])


def test_we_say_who_we_are(api: FakeApi, client: RestClient) -> None:
    client.get(NODES)

    headers = api.requests[0].headers
    assert headers["user-agent"].startswith("gatehouse/")
    assert headers["accept"] == "application/json"
    assert headers["authorization"] == "Bearer fake-token"


def test_parameters_are_escaped(api: FakeApi, client: RestClient) -> None:
    client.get(NODES, {"fieldManager": "a in (b, c)&x=/?"})

    assert api.requests[0].params == {"fieldManager": "a in (b, c)&x=/?"}


def test_connections_are_kept(api: FakeApi, client: RestClient) -> None:
    ports: list[int] = []

    def answer(exchange: Exchange) -> None:
        ports.append(exchange._handler.client_address[1])
        exchange.respond(200, b"{}")

    api.always("get", answer)

    for _ in range(3):
        client.get(f"{NODES}/a")

    assert len(set(ports)) == 1


# -- faults


@pytest.mark.parametrize(
    "call",
    [
        lambda client: client.get(f"{NODES}/a"),
        lambda client: client.create(NODES, node("a")),
        lambda client: client.update(f"{NODES}/a", node("a")),
        lambda client: client.delete(f"{NODES}/a"),
        lambda client: client.watch(NODES, {}, 5.0),
    ],
    ids=["get", "create", "update", "delete", "watch"],
)
@pytest.mark.parametrize(
    ("answer", "kind"), [(cut, errors.Unreachable), (status(500), errors.ServerError), (status(429), errors.Throttled)]
)
def test_nothing_is_ever_repeated_behind_the_callers_back(
    api: FakeApi, client: RestClient, call: Callable[[RestClient], object], answer: Answer, kind: type[Exception]
) -> None:
    api.always("any", answer)

    with pytest.raises(kind):
        call(client)

    assert len(api.requests) == 1


def test_nobody_listening_is_unreachable(tmp_path: Path) -> None:
    with FakeApi() as api:
        client = connect(api, tmp_path)

    with pytest.raises(errors.Unreachable, match=r"^GET /api/v1/nodes: ") as caught:
        client.get(NODES)

    assert not isinstance(caught.value, errors.TimedOut)


def test_a_server_that_never_answers_times_out(api: FakeApi, client: RestClient) -> None:
    api.always("any", hang)
    began_s = time.monotonic()

    with pytest.raises(errors.TimedOut):
        client.get(NODES, timeout_s=0.1)

    assert time.monotonic() - began_s < 5.0


def test_a_dripping_answer_does_not_outlive_its_timeout(api: FakeApi, client: RestClient) -> None:
    api.always("any", drip(b"{" + b" " * 1000, 0.01))
    began_s = time.monotonic()

    with pytest.raises(errors.TimedOut):
        client.get(f"{NODES}/a", timeout_s=0.15)

    assert time.monotonic() - began_s < 5.0


def test_a_connection_that_timed_out_is_not_used_again(api: FakeApi, client: RestClient) -> None:
    api.next("get", drip(b'{"stale": true}', 0.02))
    with pytest.raises(errors.TimedOut):
        client.get(f"{NODES}/a", timeout_s=0.05)
    client.create(NODES, node("a"))

    assert client.get(f"{NODES}/a")["kind"] == "Node"


def test_a_body_beyond_the_limit_is_refused(api: FakeApi, tmp_path: Path) -> None:
    client = connect(api, tmp_path, body_bytes=1000)
    api.always("any", body(b" " * 5000))

    with pytest.raises(errors.Unreachable, match="exceeds 1000 bytes"):
        client.get(NODES)
    client.close()


@pytest.mark.parametrize("answer", [b"<html>", b"", b"[]", b"\xff", b'{"a":' * 5000 + b"1" + b"}" * 5000])
def test_a_success_that_is_no_object_is_undecodable(api: FakeApi, client: RestClient, answer: bytes) -> None:
    api.always("any", body(answer))

    with pytest.raises(errors.UndecodableAnswer):
        client.get(NODES)


def test_retry_after_reaches_the_caller(api: FakeApi, client: RestClient) -> None:
    api.next("get", status(429, retry_after_s=3))

    with pytest.raises(errors.Throttled) as caught:
        client.get(f"{NODES}/a")

    assert caught.value.retry_after_s == 3.0


def test_redirects_are_not_followed(api: FakeApi, client: RestClient) -> None:
    api.next("get", lambda exchange: exchange.respond(302, b"", {"Location": "http://elsewhere.invalid/"}))

    with pytest.raises(errors.UnexpectedStatus):
        client.get(f"{NODES}/a")


# -- watches


def test_a_watch_yields_raw_lines(api: FakeApi, client: RestClient) -> None:
    first, second = event("ADDED", node("a")), event("DELETED", node("a"))
    api.next("watch", stream(first, b"", second))

    lines = list(client.watch(NODES, {"resourceVersion": "1"}, 5.0))

    assert [line[:15] for line in lines] == [b'{"type": "ADDED', b'{"type": "DELET']
    assert api.requests[0].params == {"resourceVersion": "1", "watch": "true"}


def test_a_line_in_many_chunks_is_one_line(api: FakeApi, client: RestClient) -> None:
    api.next("watch", drip(b'{"type":"ADDED"}\n{"type":"DELETED"}\n', 0.0))

    assert list(client.watch(NODES, {}, 5.0)) == [b'{"type":"ADDED"}', b'{"type":"DELETED"}']


def test_a_cut_watch_raises_and_an_ended_one_just_ends(api: FakeApi, client: RestClient) -> None:
    api.next("watch", stream(event("ADDED", node("a")), then="cut"), stream(then="end"))

    with pytest.raises(errors.Unreachable):
        list(client.watch(NODES, {}, 5.0))
    assert list(client.watch(NODES, {}, 5.0)) == []


def test_a_silent_watch_times_out(api: FakeApi, client: RestClient) -> None:
    api.next("watch", stream(event("ADDED", node("a")), then="hang"))
    lines = iter(client.watch(NODES, {}, 0.1))
    next(lines)

    with pytest.raises(errors.TimedOut):
        next(lines)


def test_a_cancellation_ends_the_read_of_a_watch_in_another_thread(api: FakeApi, client: RestClient) -> None:
    cancellation = client.cancellation()
    watch = client.watch(NODES, {}, 60.0, cancellation=cancellation)
    ends: list[Exception] = []
    reading = threading.Event()

    def read() -> None:
        reading.set()
        try:
            list(watch)
        except errors.Cancelled as error:
            ends.append(error)

    reader = threading.Thread(target=read)
    reader.start()
    assert reading.wait(5.0)
    began_s = time.monotonic()

    cancellation.cancel()
    reader.join(5.0)
    watch.close()

    assert not reader.is_alive()
    assert len(ends) == 1
    assert time.monotonic() - began_s < 5.0


def test_a_cancelled_client_thread_sends_nothing_more(api: FakeApi, client: RestClient) -> None:
    cancellation = client.cancellation()
    cancellation.cancel()

    with pytest.raises(errors.Cancelled):
        client.list_page(NODES, {}, cancellation=cancellation)
    with pytest.raises(errors.Cancelled):
        client.watch(NODES, {}, 5.0, cancellation=cancellation)

    assert api.requests == []


# -- credentials


def test_a_broken_kubeconfig_is_a_typed_error(tmp_path: Path, telemetry: Telemetry) -> None:
    for content in ("", "][", "apiVersion: v1\nkind: Config\n", '{"current-context": "x", "contexts": []}'):
        (tmp_path / "broken").write_text(content)
        with pytest.raises(errors.ClientConfigError, match="broken"):
            RestClient.from_kubeconfig(str(tmp_path / "broken"), telemetry, SystemClock())
    with pytest.raises(errors.ClientConfigError, match="absent"):
        RestClient.from_kubeconfig(str(tmp_path / "absent"), telemetry, SystemClock())


def test_outside_a_pod_there_is_no_service_account(monkeypatch: pytest.MonkeyPatch, telemetry: Telemetry) -> None:
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)

    with pytest.raises(errors.ClientConfigError, match="service account"):
        RestClient.in_cluster(telemetry, SystemClock())


def test_a_pod_uses_its_service_account(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, telemetry: Telemetry) -> None:
    from kubernetes.config import incluster_config

    authority = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    authority.cert_pem.write_to_path(str(tmp_path / "ca.crt"))
    (tmp_path / "token").write_text("pod-token\n")
    monkeypatch.setattr(incluster_config, "SERVICE_TOKEN_FILENAME", str(tmp_path / "token"))
    monkeypatch.setattr(incluster_config, "SERVICE_CERT_FILENAME", str(tmp_path / "ca.crt"))
    with FakeApi(tls=context) as api:
        monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "127.0.0.1")
        monkeypatch.setenv("KUBERNETES_SERVICE_PORT", api.url.rsplit(":", 1)[1])
        monkeypatch.delenv("KUBECONFIG", raising=False)
        client = RestClient.auto("", telemetry, SystemClock())

        client.get(NODES)

        assert api.requests[0].headers["authorization"] == "bearer pod-token"
        client.close()


def test_auto_prefers_the_kubeconfig_it_is_given(api: FakeApi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    client = RestClient.auto(api.kubeconfig(tmp_path), Telemetry(), SystemClock())

    assert client.host == api.url.removeprefix("http://")
    client.close()


def test_credentials_are_read_again_after_a_401(api: FakeApi, tmp_path: Path) -> None:
    clock = FakeClock()
    client = RestClient.from_kubeconfig(api.kubeconfig(tmp_path), Telemetry(), clock)
    api.kubeconfig(tmp_path, user={"token": "rotated"})
    clock.advance(60.0)
    api.next("get", status(401))

    with pytest.raises(errors.Unauthorized):
        client.get(f"{NODES}/a")
    with pytest.raises(errors.NotFound):
        client.get(f"{NODES}/a")

    assert [request.headers["authorization"] for request in api.requests] == ["Bearer fake-token", "Bearer rotated"]
    client.close()


def test_an_exec_plugin_gives_the_token(api: FakeApi, tmp_path: Path) -> None:
    credential = '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"from-plugin"}}'
    user: Json = {
        "exec": {
            "apiVersion": "client.authentication.k8s.io/v1",
            "command": "/bin/echo",
            "args": [credential],
            "interactiveMode": "Never",
        }
    }
    client = RestClient.from_kubeconfig(api.kubeconfig(tmp_path, user=user), Telemetry(), SystemClock())

    client.get(NODES)

    assert api.requests[0].headers["authorization"] == "Bearer from-plugin"
    client.close()


def test_an_unknown_authority_is_unreachable(tmp_path: Path) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    trustme.CA().issue_cert("127.0.0.1").configure_cert(context)
    other = trustme.CA()
    other.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    with FakeApi(tls=context) as api:
        config = api.kubeconfig(tmp_path, cluster={"certificate-authority": str(tmp_path / "ca.pem")})
        client = RestClient.from_kubeconfig(config, Telemetry(), SystemClock())

        with pytest.raises(errors.Unreachable, match="certificate verify failed"):
            client.get(NODES)
        client.close()


def test_requests_go_through_the_proxy_of_the_kubeconfig(api: FakeApi, tmp_path: Path) -> None:
    # A plain HTTP proxy gets the whole URL; FakeApi looks at its path.
    config = api.kubeconfig(tmp_path, cluster={"server": "http://cluster.invalid:6443", "proxy-url": api.url})
    client = RestClient.from_kubeconfig(config, Telemetry(), SystemClock())
    watch = client.watch(NODES, {}, 5.0)

    assert client.get(NODES)["kind"] == "NodeList"

    assert [request.headers["host"] for request in api.requests] == ["cluster.invalid:6443"] * 2
    watch.close()
    client.close()


# -- limits and metrics


def test_our_own_rate_limit_holds_requests_back(api: FakeApi, tmp_path: Path) -> None:
    clock = FakeClock(auto_advance=True)
    client = RestClient.from_kubeconfig(api.kubeconfig(tmp_path), Telemetry(), clock, Limits(per_second=2.0, burst=1))

    for _ in range(3):
        client.get(NODES)

    assert clock.waits == pytest.approx([0.5, 0.5])
    client.close()


def test_who_cannot_wait_for_the_rate_limit_times_out(api: FakeApi, tmp_path: Path) -> None:
    client = connect(api, tmp_path, per_second=0.1, burst=1)
    client.get(NODES)

    with pytest.raises(errors.TimedOut, match="our own rate limit"):
        client.get(NODES, timeout_s=0.3)

    assert len(api.requests) == 1
    client.close()


def test_requests_are_counted_by_code_and_method(api: FakeApi, client: RestClient, telemetry: Telemetry) -> None:
    client.get(NODES)
    api.next("get", status(500), cut)
    for _ in range(2):
        with pytest.raises(errors.ApiError):
            client.get(f"{NODES}/a")

    exposed = telemetry.expose().decode()

    for code in ("200", "500", "<error>"):
        assert f'rest_client_requests_total{{code="{code}",host="{client.host}",method="GET"}} 1.0' in exposed
    assert f'rest_client_request_duration_seconds_count{{host="{client.host}",verb="GET"}} 3.0' in exposed


def test_the_kubernetes_package_is_not_imported_before_a_client_is_made() -> None:
    script = "import sys, controllers.runtime.rest, controllers.runtime.lister; print('kubernetes' in sys.modules)"

    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=30, check=True)

    assert done.stdout.strip() == "False"


def test_a_watch_that_falls_silent_condemns_the_idle_connections(api: FakeApi, client: RestClient) -> None:
    # Whatever swallows the packets of one connection swallows those of all that are as old: the next watches need new ones.
    watch = client.watch(NODES, {}, 0.5)
    client.get(NODES)  # leaves an idle connection
    api.forget_connections()

    with closing(watch), pytest.raises(errors.TimedOut):
        list(watch)

    with closing(client.watch(NODES, {}, 5.0)), closing(client.watch(NODES, {}, 5.0)):
        pass


@pytest.mark.parametrize("server", ["garbage::://", 42, "", "127.0.0.1:6443", "https://", "https://host:port", "https://[::1"])
def test_a_server_that_is_no_url_is_told_as_such(api: FakeApi, tmp_path: Path, server: object) -> None:
    path = api.kubeconfig(tmp_path, cluster={"server": server})

    with pytest.raises(ClientConfigError, match=re.escape(path) + "|is no URL"):
        RestClient.from_kubeconfig(path, Telemetry(), SystemClock())
