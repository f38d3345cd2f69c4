"""The page of a real process: what was just done is on it, and the command says the same."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from controllers.status.answers import answers
from controllers.testing import FakeApi
from tests.controllers.followers import READY_WITHIN_S, arguments, fill
from tests.controllers.served import LIMIT_S, ROOT, Served, command, serve
from tests.controllers.status.web.reading import all_of, read, section
from tests.server.client import wait_until
from webhook.objects.documents import read_documents

BOUNDS = ROOT / "examples" / "bounds"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A process that has refused a pod, and could not read a review."""
    (document,) = read_documents((BOUNDS / "reviews" / "1-every-breach-at-once.yaml").read_bytes(), "review")
    flags = ("--config", str(BOUNDS / "gatehouse.yaml"))
    with serve(tmp_path_factory.mktemp("served"), arguments=command(*flags, local=BOUNDS)) as process:
        with process.connect() as client:
            for body, path in ((json.dumps(document.value).encode(), "/validate"), (b"{", "/mutate")):
                client.post(body, f"{path}?timeout=3s", ["Content-Type: application/json"])
        yield process


def test_what_was_refused_is_on_the_page(served: Served) -> None:
    status, text = served.get("metrics", "/status")

    shown = section(read(text), "refusals").text
    assert status == 200
    assert "pods prod-shop/web-1" in shown and "of system:serviceaccount:kube-system:replicaset-controller" in shown
    assert "just now" in shown or " s ago" in shown
    assert "is not valid JSON" in shown


def test_what_was_asked_is_counted(served: Served) -> None:
    services = json.loads(served.get("metrics", "/statusz")[1])["services"]

    asked = services["validate"]
    assert (asked["answered"], asked["refused"], asked["undecided"]) == (1, 1, 0)
    assert asked["perSecond"] > 0
    assert 0 < asked["p50Seconds"] <= asked["p99Seconds"]
    assert (services["mutate"]["undecided"], services["mutate"]["lastUndecided"]["reason"]) == (1, "BadRequest")
    assert services["endpoint"]["answered"] == 0


def test_every_section_of_a_real_status_can_be_shown(served: Served) -> None:
    text = served.get("metrics", "/status")[1]

    assert "cannot be shown" not in text
    assert all_of(read(text), "p", class_="failed") == []


def test_the_command_begins_with_the_same_answers(served: Served) -> None:
    line = [sys.executable, "-m", "controllers", "status", "--address", served.addresses["metrics"]]
    done = subprocess.run(line, cwd=ROOT, capture_output=True, text=True, timeout=LIMIT_S)
    first, *others = answers(json.loads(served.get("metrics", "/statusz")[1]))

    lines = done.stdout.splitlines()
    told = [one for one in lines if not one.startswith("  ")][:4]
    assert told[0].startswith(f"{first.subject}: ready, up ")
    assert [one.partition(":")[0] for one in told[1:]] == [other.subject for other in others]
    assert any("mutate last did not decide" in one for one in lines)


def test_the_log_says_where_the_page_is(served: Served) -> None:
    assert f"http://{served.addresses['metrics']}/status" in served.log()


def test_a_replica_that_follows_a_cluster_tells_of_its_caches_and_its_election(tmp_path: Path) -> None:
    with FakeApi() as api:
        fill(api, 3)
        with serve(tmp_path, arguments=arguments(api.kubeconfig(tmp_path), "--leader-elect")) as served:
            wait_until(lambda: served.get("healthProbe", "/readyz")[0] == 200, READY_WITHIN_S)
            elements = read(served.get("metrics", "/status")[1])
            status = json.loads(served.get("metrics", "/statusz")[1])

    assert all_of(elements, "p", class_="failed") == []
    shown = section(elements, "caches").text
    assert "nodes" in shown
    assert "just now" in shown or "s ago" in shown
    assert "edge-health" in section(elements, "controllers").text
    assert {"leaseAgeSeconds", "leader"} <= status["leaderElection"].keys()
    assert (status["caches"]["nodes"]["objects"], status["caches"]["nodes"]["trouble"]) == (3, None)
