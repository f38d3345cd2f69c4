"""POST /explain on the metrics port: for loopback and whom the cluster lets in, bounded, and never a write."""

from __future__ import annotations

import io
import json
import threading
from typing import Any

import pytest

from controllers.authorization.gate import AUTHORIZED
from controllers.explaining.explainer import Explainer
from controllers.explaining.late import BODY_BYTES
from controllers.explaining.objects import PARTS
from controllers.explaining.page import ExplainPage
from controllers.process.probes import metrics_application
from webhook.admission.gate import Gate
from webhook.admission.registry import SERVICES
from webhook.admission.settings import Settings
from webhook.cluster import Cluster
from webhook.objects.meta import Json
from webhook.telemetry import Telemetry
from webhook.testing.given import Given
from webhook.testing.golden import FixedClock

GIVEN = {"now": "2026-11-29T10:00:00Z", "nodes": [{"name": "edge-1"}], "namespaces": [{"name": "shop"}]}
NODE = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "edge-1"}}
POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "web", "namespace": "shop"},
    "spec": {"containers": [{"name": "app", "image": "app:1"}]},
}


def application(cluster: Cluster | None = None, settings: Settings = Settings()) -> Any:
    given = Given.read(GIVEN)
    facts, clock = cluster or given.cluster(), FixedClock(given.now_s)
    gate = Gate(settings, facts, Telemetry(), clock, services=SERVICES)
    page = ExplainPage(Explainer(gate, facts, clock))
    return metrics_application(Telemetry(), dict, lambda: 0.0, explain=page.respond)


def post(app: Any, body: bytes | Json, *, method: str = "POST", peer: str = "127.0.0.1", **environ: Any) -> tuple[str, Json]:
    """Status line and JSON of the answer."""
    sent = body if isinstance(body, bytes) else json.dumps(body).encode()
    asked = {
        "REQUEST_METHOD": method,
        "PATH_INFO": "/explain",
        "REMOTE_ADDR": peer,
        "HTTP_HOST": "localhost:8080",
        "CONTENT_TYPE": "application/json",
        "wsgi.input": io.BytesIO(sent),
        **environ,
    }
    said: list[str] = []
    answer = b"".join(app(asked, lambda status, headers: said.append(status)))
    return said[0], json.loads(answer) if answer.startswith(b"{") else {"text": answer.decode()}


def test_a_node_is_explained_from_what_the_replica_believes() -> None:
    status, found = post(application(), {"kind": "node", "name": "edge-1"})

    assert (status, found["fine"], found["explanation"]["where"]) == ("200 OK", True, "the cache of this replica")
    assert found["explanation"]["facts"]["guarded"] is True
    assert "TaintRemoved" in found["text"]


def test_a_node_that_the_replica_does_not_know_is_not_found() -> None:
    status, found = post(application(), {"kind": "node", "name": "edge-9"})

    assert (status, found["error"]) == ("404 Not Found", "node edge-9: not in the cache of this replica")


def test_an_object_that_is_shown_is_decided_with_the_replicas_facts() -> None:
    _, found = post(application(), {"kind": "node", "name": "edge-1", "object": NODE})

    assert found["explanation"]["facts"]["cacheDiffers"]


@pytest.mark.parametrize("namespace", ["", "shop"])
def test_an_object_that_names_its_namespace_needs_no_other(namespace: str) -> None:
    status, found = post(application(), {"kind": "pod", "namespace": namespace, "object": POD})

    assert (status, found["explanation"]["subject"]) == ("200 OK", "Pod shop/web")
    assert found["explanation"]["reason"] != "NamespaceUnknown"


def test_of_more_addresses_than_are_asked_about_one_by_one_it_is_said_that_the_answer_is_cut() -> None:
    items = [{"ip": f"10.1.{index // 250}.{index % 250}"} for index in range(PARTS + 7)]
    endpoints = {"apiVersion": "v1", "kind": "Endpoints", "metadata": {"name": "web", "namespace": "shop"}}
    _, found = post(application(), {"kind": "endpoint", "object": {**endpoints, "subsets": [{"addresses": items}]}})

    assert found["explanation"]["verdict"].startswith(f"{PARTS + 7} addresses, but only the first {PARTS} were asked about")
    assert found["explanation"]["facts"]["addresses"] == PARTS + 7


@pytest.mark.parametrize(
    ("body", "status", "error"),
    [
        (b"{", "400 Bad Request", "the body is no query"),
        (b"[" * 100_000, "400 Bad Request", "the body is"),
        ({"kind": "cat", "name": "a"}, "400 Bad Request", "kind: have pod"),
        ({"kind": "pod", "name": "a"}, "400 Bad Request", "object: needed for kind pod"),
        ({"kind": "node", "name": "a", "more": 1}, "400 Bad Request", "the body is no query"),
        ({"kind": "pod", "object": {"kind": "Cat"}}, "400 Bad Request", "is no pod and no workload"),
        ({"kind": "node", "object": {**NODE, "spec": {"taints": 5}}}, "400 Bad Request", "spec.taints: expected a list"),
        ({"kind": "node", "object": POD}, "400 Bad Request", "object: is no Node, which kind node asks for"),
        ({"kind": "pod", "object": POD, "namespace": "b"}, "400 Bad Request", "namespace: b, but the object is of shop"),
        ({"kind": "pod", "object": {**POD, "metadata": {"name": "a"}}}, "400 Bad Request", "namespace: needed"),
        (b'{"kind": "node", "name": "\\ud800"}', "400 Bad Request", "half a surrogate pair"),
        ({"kind": "address", "name": "10.0.0.1"}, "404 Not Found", "fixed addresses are switched off"),
        (b" " * (BODY_BYTES + 1), "413 Content Too Large", "leave out metadata.managedFields"),
    ],
)
def test_what_cannot_be_explained_says_why(body: bytes | Json, status: str, error: str) -> None:
    found_status, found = post(application(), body)

    assert found_status == status
    assert error in found["error"]


def test_strangers_are_refused_and_whom_the_cluster_lets_in_is_answered() -> None:
    asked = {"kind": "node", "name": "edge-1"}

    assert post(application(), asked, peer="10.0.0.9")[0] == "403 Forbidden"
    assert post(application(), asked, HTTP_HOST="evil.example.com")[0] == "403 Forbidden"
    assert post(application(), asked, peer="10.0.0.9", **{AUTHORIZED: "jane"})[0] == "200 OK"


def test_a_web_page_cannot_ask_and_a_get_is_told_how() -> None:
    asked = {"kind": "node", "name": "edge-1"}

    assert post(application(), asked, CONTENT_TYPE="text/plain")[0] == "415 Unsupported Media Type"
    status, found = post(application(), asked, method="GET")
    assert (status, "by POST" in found["error"]) == ("405 Method Not Allowed", True)


class Waiting:
    """Nodes that are looked up when the test says so."""

    def __init__(self, nodes: Any) -> None:
        self._nodes = nodes
        self.asked, self.go_on = threading.Event(), threading.Event()

    def get(self, name: str) -> Any:
        self.asked.set()
        assert self.go_on.wait(10)
        return self._nodes.get(name)

    def confirm(self, name: str, deadline: Any) -> Any:
        return None

    def oldest_kubelet(self) -> None:
        return None


def test_one_is_explained_at_a_time_and_the_next_is_told_to_come_again() -> None:
    import attrs

    facts = Given.read(GIVEN).cluster()
    nodes = Waiting(facts.nodes)
    app = application(attrs.evolve(facts, nodes=nodes))
    answers: list[str] = []
    first = threading.Thread(target=lambda: answers.append(post(app, {"kind": "node", "name": "edge-1"})[0]))
    first.start()
    try:
        assert nodes.asked.wait(10)
        assert post(app, {"kind": "node", "name": "edge-1"})[0] == "503 Service Unavailable"
    finally:
        nodes.go_on.set()
        first.join()

    assert answers == ["200 OK"]
    assert post(app, {"kind": "node", "name": "edge-1"})[0] == "200 OK"
