"""What happens to injection when the API server goes silent, forgets, or takes rights away: entries stay in force.

Reviews are put to Gatehouse directly, as the API server would, while that is away.
"""

from __future__ import annotations

import base64
import json
import ssl
from collections.abc import Iterator

import pytest

from tests.apiserver import injection, registration
from tests.apiserver.gatehouse import Gatehouse
from tests.apiserver.injection import SIDECARS
from tests.apiserver.waiting import wait_for
from tests.bench.reviews import review
from tests.cluster import Api, Cluster, Json
from tests.cluster.api import Connections
from tests.cluster.components import APISERVER
from tests.cluster.kinds import apply, object_path

NAMESPACE = "sidecar-faults"
CONVERGE_S = 60.0  # a try that was refused waits for up to half a minute before the next
CLUSTER_ROLE = ("ClusterRole", "gatehouse")


def entry(tag: str) -> str:
    """A sidecar whose image tells its version."""
    return f"containers: [{{name: aside, image: 'busybox:{tag}'}}]\n"


class Asking:
    """Reviews of pod creations, put to one process."""

    def __init__(self, cluster: Cluster, gatehouse: Gatehouse) -> None:
        port = int(gatehouse.addresses["webhook"].rpartition(":")[2])
        self._connections: Connections = cluster.connections(port, ssl.create_default_context(cafile=str(gatehouse.ca_file)))

    def image(self, name: str) -> str:
        """The image of the sidecar that a pod which asks for entry *name* gets; the answer's message when it gets none."""
        pod = injection.pod(annotations={"gatehouse.dev/inject": name})
        pod["metadata"]["namespace"] = NAMESPACE
        body = review("", "v1", "pods", "Pod", pod, None, user="alice")
        reply = self._connections.call("POST", "/mutate?timeout=5s", body, {"Content-Type": "application/json"})
        if reply.status != 200:
            return f"{reply.status} {reply.body.decode()}"
        response: Json = json.loads(reply.body)["response"]
        if "patch" not in response:
            return json.dumps(response)
        added = [one["value"] for one in json.loads(base64.b64decode(response["patch"])) if one["path"].startswith("/spec/")]
        return next(value["image"] for value in added if isinstance(value, dict) and value.get("name") == "aside")

    def close(self) -> None:
        """Close the connections."""
        self._connections.close()


@pytest.fixture(scope="module")
def cluster(quiet_cluster: Cluster) -> Cluster:
    """Not the cluster in whose audit log nothing may be forbidden: here rights are taken away."""
    return quiet_cluster


@pytest.fixture(scope="module")
def admin(cluster: Cluster) -> Iterator[Api]:
    """The administrator."""
    with cluster.api() as api:
        yield api


@pytest.fixture(scope="module")
def gatehouse(cluster: Cluster, admin: Api, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gatehouse]:
    """One process for all faults."""
    injection.namespace(admin, NAMESPACE)
    _write(admin, kept="1", edited="1", removed="1")
    with Gatehouse(cluster, tmp_path_factory.mktemp("faults")) as running:
        yield running


@pytest.fixture
def asking(cluster: Cluster, gatehouse: Gatehouse) -> Iterator[Asking]:
    """Reviews for it."""
    connections = Asking(cluster, gatehouse)
    yield connections
    connections.close()


def test_a_broken_entry_keeps_its_last_good_version_and_the_others_are_not_touched(
    gatehouse: Gatehouse, admin: Api, asking: Asking
) -> None:
    data = {"kept": "containers: [{name: aside, imag: x}]\n", "edited": entry("2")}
    apply(admin, injection.config_map(NAMESPACE, "several", data, SIDECARS))
    wait_for(lambda: asking.image("edited") == "busybox:2", CONVERGE_S, "the edited entry")

    assert asking.image("kept") == "busybox:1"
    assert gatehouse.total("gatehouse_sidecar_entries", state="stale") == 1

    _write(admin, kept="1", edited="1", removed="1")
    wait_for(lambda: gatehouse.total("gatehouse_sidecar_entries", state="stale") == 0, CONVERGE_S, "no stale entry")


def test_a_silent_api_server_leaves_every_entry_in_force(
    cluster: Cluster, gatehouse: Gatehouse, admin: Api, asking: Asking
) -> None:
    _write(admin, kept="1", edited="1", removed="1")
    wait_for(lambda: asking.image("removed") == "busybox:1", CONVERGE_S, "the entries")
    cluster.suspend(APISERVER)
    try:
        during = asking.image("kept")
    finally:
        cluster.resume(APISERVER)

    assert during == "busybox:1"
    assert gatehouse.is_ready()


def test_a_restarted_and_compacted_api_server_is_followed_again(
    cluster: Cluster, gatehouse: Gatehouse, admin: Api, asking: Asking
) -> None:
    cluster.stop(APISERVER)
    try:
        during = asking.image("kept")
        # No watch can tell of what went in the meantime: the revisions are compacted away.
        cluster.forget(f"/registry/configmaps/{NAMESPACE}/leaves")
        cluster.compact()
    finally:
        cluster.start(APISERVER)
    apply(admin, injection.config_map(NAMESPACE, "several", {"kept": entry("3"), "edited": entry("3")}, SIDECARS))

    assert during == "busybox:1"
    wait_for(lambda: asking.image("edited") == "busybox:3", CONVERGE_S, "the edited entry after the restart")
    wait_for(lambda: "is in no ConfigMap" in asking.image("removed"), CONVERGE_S, "the end of the entry that went")


def test_lost_rights_leave_the_entries_in_force_and_their_return_is_noticed(
    cluster: Cluster, gatehouse: Gatehouse, admin: Api, asking: Asking
) -> None:
    _write(admin, kept="4", edited="4", removed="4")
    wait_for(lambda: asking.image("kept") == "busybox:4", CONVERGE_S, "the entries")
    (role,) = [item for item in registration.rbac() if (item["kind"], item["metadata"]["name"]) == CLUSTER_ROLE]
    without = {**role, "rules": [rule for rule in role["rules"] if not {"configmaps", "namespaces"} & set(rule["resources"])]}
    admin.replace(object_path(role), {**without, "metadata": {"name": role["metadata"]["name"]}})
    try:
        cluster.restart(APISERVER)  # ends the open watches; what follows is refused
        wait_for(lambda: gatehouse.total("rest_client_requests_total", code="403") > 0, CONVERGE_S, "a refusal")
        during = asking.image("kept")
    finally:
        admin.replace(object_path(role), {**role, "metadata": {"name": role["metadata"]["name"]}})
    apply(admin, injection.config_map(NAMESPACE, "several", {"kept": entry("5"), "edited": entry("5")}, SIDECARS))

    assert during == "busybox:4"
    assert gatehouse.is_ready()
    wait_for(lambda: asking.image("kept") == "busybox:5", CONVERGE_S, "the edit after the rights are back")


def _write(admin: Api, *, kept: str, edited: str, removed: str) -> None:
    apply(admin, injection.config_map(NAMESPACE, "several", {"kept": entry(kept), "edited": entry(edited)}, SIDECARS))
    apply(admin, injection.config_map(NAMESPACE, "leaves", {"removed": entry(removed)}, SIDECARS))
