"""`gatehouse explain` for nodes, endpoints, databases, addresses and objects of any kind, from files."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from controllers.cli.main import main
from tests.controllers.cli.desk import NOW
from webhook.objects.documents import write_yaml
from webhook.objects.meta import Json

SILENT = {"type": "Ready", "status": "Unknown", "lastTransitionTime": "2026-11-29T09:59:00Z"}
WELL = {"type": "Ready", "status": "True", "lastTransitionTime": "2026-11-20T08:00:00Z"}
VOTE = "superedgehealth/node-health"


def node(name: str, condition: Json = SILENT, vote: str = "true", **labels: str) -> Json:
    annotations = {VOTE: vote} if vote else {}
    metadata = {"name": name, "uid": f"uid-{name}", "labels": labels, "annotations": annotations}
    return {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "status": {"conditions": [condition]}}


def pod(name: str, on: str, *, ready: str = "True", containers: str = "True") -> Json:
    states = [{"type": "Ready", "status": ready}, {"type": "ContainersReady", "status": containers}]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "shop", "uid": f"uid-{name}"},
        "spec": {"nodeName": on, "containers": [{"name": "app", "image": "app:1"}]},
        "status": {"phase": "Running", "conditions": states},
    }


def address(ip: str, on: str, name: str) -> Json:
    return {"ip": ip, "nodeName": on, "targetRef": {"kind": "Pod", "namespace": "shop", "name": name, "uid": f"uid-{name}"}}


def endpoints(*ready: Json, unready: tuple[Json, ...] = ()) -> Json:
    subset = {"addresses": list(ready), "notReadyAddresses": list(unready), "ports": [{"port": 80}]}
    return {"apiVersion": "v1", "kind": "Endpoints", "metadata": {"name": "web", "namespace": "shop"}, "subsets": [subset]}


class Folder:
    """Files that stand for a cluster, and the command over them."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.path, self._capsys = folder, capsys
        self.config = ""

    def holds(self, *objects: Json) -> None:
        (self.path / "cluster.yaml").write_text("---\n".join(map(write_yaml, objects)))

    def configured(self, text: str) -> None:
        (self.path / ".gatehouse.yaml").write_text(f"apiVersion: gatehouse.dev/v1alpha1\nkind: GatehouseConfiguration\n{text}")
        self.config = str(self.path / ".gatehouse.yaml")

    def text(self, kind: str, *arguments: str, code: int = 0) -> str:
        config = ["--config", self.config] if self.config else []
        found = main(["explain", kind, *NOW, "--local", str(self.path), *config, *arguments])
        out, err = self._capsys.readouterr()
        assert found == code, f"{out}\n{err}"
        return out + err

    def json(self, kind: str, *arguments: str, code: int = 0) -> Json:
        found: Json = json.loads(self.text(kind, "-o", "json", *arguments, code=code))
        return found


@pytest.fixture
def folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Folder:
    return Folder(tmp_path, capsys)


def reasons(found: Json) -> list[str]:
    return [rule["reason"] for one in found["rules"] for service in one["services"] for rule in service["rules"]]


# -- nodes


@pytest.mark.parametrize(
    ("condition", "vote", "guarded", "answers"),
    [
        (SILENT, "true", True, ["TaintRemoved"]),
        (SILENT, "false", False, ["VoteUnhealthy"]),
        (SILENT, "", False, ["VoteMissing"]),
        ({**SILENT, "lastTransitionTime": "2026-11-20T09:59:00Z"}, "true", False, ["VoteExpired"]),
        (WELL, "true", False, ["NodeNotSilent", "TaintRemoved"]),
        (WELL, "", False, ["NodeNotSilent", "VoteMissing"]),
    ],
)
def test_a_node_tells_what_would_become_of_its_taint_now_and_if_it_went_silent(
    condition: Json, vote: str, guarded: bool, answers: list[str], folder: Folder
) -> None:
    folder.holds(node("edge-1", condition, vote))

    found = folder.json("node", "edge-1")

    assert (found["facts"]["guarded"], reasons(found)) == (guarded, answers)


def test_what_would_change_it_names_the_annotation_of_this_configuration(folder: Folder) -> None:
    folder.configured(
        'votes: {annotation: example.com/vote, healthyValue: "up", timeAnnotation: example.com/voted-at, maxAge: 60s}\n'
    )
    folder.holds(node("edge-1"))

    text = folder.text("node", "edge-1")

    assert 'its peers have to write example.com/vote: "up" and example.com/voted-at: the time on the Node' in text


def test_a_node_outside_the_selector_is_told_which_label_it_lacks(folder: Folder) -> None:
    folder.configured("votes: {nodeSelector: zone=plant-7}\n")
    folder.holds(node("edge-1", zone="plant-8"))

    found = folder.json("node", "edge-1")

    assert found["facts"]["reason"] == "NodeNotSelected"
    assert "zone=plant-7" in found["advice"][0]["text"]


def test_an_object_that_the_cache_does_not_have_as_it_is_says_so(folder: Folder, tmp_path: Path) -> None:
    folder.holds(node("edge-1", WELL))
    newer = tmp_path / ".newer.yaml"
    newer.write_text(write_yaml(node("edge-1", SILENT)))

    assert "  cache   differs: Ready is True there\n" in folder.text("node", str(newer))


# -- endpoints


def test_each_address_of_an_endpoint_has_its_own_answer(folder: Folder) -> None:
    folder.holds(
        node("edge-1"),
        node("edge-2", vote="false"),
        node("cloud-1", WELL, vote=""),
        pod("a", "edge-1", ready="False"),
        pod("b", "edge-1", ready="False", containers="False"),
        pod("c", "edge-2", ready="False"),
        pod("d", "cloud-1"),
        endpoints(
            address("10.0.0.4", "cloud-1", "d"),
            unready=(
                address("10.0.0.1", "edge-1", "a"),
                address("10.0.0.2", "edge-1", "b"),
                address("10.0.0.3", "edge-2", "c"),
            ),
        ),
    )

    found = folder.json("endpoint", "shop/web")

    assert {(row["pod"], row["ready"], row["answer"]) for row in found["parts"]} == {
        ("shop/a", "no", "AddressesKeptReady"),
        ("shop/b", "no", "PodProbeFailed"),
        ("shop/c", "no", "VoteUnhealthy"),
        ("shop/d", "yes", "NodeNotSilent"),
    }
    assert (found["facts"]["kept"], found["facts"]["silentNodes"]) == (1, ["edge-1", "edge-2"])
    assert {one["reason"] for one in found["advice"]} >= {"AddressesKeptReady", "PodProbeFailed", "VoteUnhealthy"}


def test_an_endpoint_slice_is_found_by_the_name_of_its_service(folder: Folder) -> None:
    one = {"addresses": ["10.0.0.1"], "nodeName": "edge-1", "conditions": {"ready": True}}
    one |= {"targetRef": {"kind": "Pod", "namespace": "shop", "name": "a", "uid": "uid-a"}}
    metadata = {"name": "web-x7k2p", "namespace": "shop", "labels": {"kubernetes.io/service-name": "web"}}
    slice_ = {"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "metadata": metadata, "endpoints": [one]}
    folder.holds(node("edge-1"), pod("a", "edge-1"), slice_)

    found = folder.json("endpoint", "shop/web")

    assert (found["subject"], found["parts"][0]["answer"]) == ("EndpointSlice shop/web-x7k2p", "AddressesKeptReady")


def test_an_endpoint_without_addresses_is_explained(folder: Folder) -> None:
    folder.holds({"apiVersion": "v1", "kind": "Endpoints", "metadata": {"name": "web", "namespace": "shop"}})

    assert folder.text("endpoint", "shop/web").splitlines()[1].startswith("0 addresses, 0 ready")


# -- pods and workloads


def test_every_service_that_looks_at_a_pod_is_listed_with_the_reason_why_one_is_not_asked(folder: Folder) -> None:
    folder.holds({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}, node("edge-1"), pod("a", "edge-1"))

    found = folder.json("pod", "shop/a")

    services = {one["service"]: one for asked in found["rules"] for one in asked["services"]}
    assert services["mutate"]["asked"] is False
    assert "the namespace's labels do not match" in services["mutate"]["why"]
    assert services["pod-status"]["rules"][0]["reason"] == "PodKeptReady"


def test_a_deployment_is_asked_about_as_its_pods_and_as_itself(folder: Folder) -> None:
    space = {"name": "shop", "labels": {"sidecar-injector": "enabled"}}
    template = {"metadata": {"annotations": {"gatehouse.dev/inject": "gone"}}, "spec": pod("a", "")["spec"]}
    metadata = {"name": "web", "namespace": "shop"}
    deployment = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": {"template": template}}
    folder.holds({"apiVersion": "v1", "kind": "Namespace", "metadata": space}, deployment)

    found = folder.json("deployment", "shop/web", code=1)

    assert found["refusal"]["reason"] == "EntryMissing"
    asked = {one["resource"]: one for one in found["rules"]}
    assert asked["pods"]["services"][0]["refused"] is True
    warned = asked["deployments"]["services"][0]
    assert (warned["service"], warned["rules"][0]["reason"]) == ("workload-warnings", "EntryMissing")


CREATORS = "features: {creatorPolicy: {rules: [{name: jobs, resources: [jobs.batch], allow: {groups: [batchers]}}]}}\n"


def test_rules_about_users_are_asked_once_it_is_said_who(folder: Folder) -> None:
    folder.configured(CREATORS)
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "one", "namespace": "shop"}}
    job |= {"spec": {"template": {"spec": pod("a", "")["spec"]}}}
    folder.holds({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}, job)

    assert "validate-creators: not asked, its answer depends on who asks: --as USER" in folder.text("job", "shop/one")
    assert folder.text("job", "shop/one", "--as", "jane", "--as-group", "batchers")
    refused = folder.text("job", "shop/one", "--as", "jane", code=1)
    assert '\nrefused, CreatorNotAllowed: user "jane" may not CREATE jobs.batch' in refused
    assert "  CreatorNotAllowed: have the user, group or ServiceAccount added" in refused


# -- databases


DATABASES = "controllers: {databaseInstance: {enabled: true}}\n"


def instance(name: str, *claims: str, **spec: Any) -> Json:
    metadata = {"name": name, "namespace": "shop", "uid": f"uid-{name}"}
    return {
        "apiVersion": "example.com/v1",
        "kind": "DatabaseInstance",
        "metadata": metadata,
        "spec": {"volumes": {"claimNames": list(claims)}, **spec},
    }


def claim(name: str) -> Json:
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name, "namespace": "shop"}}


def test_a_database_tells_what_its_deletion_would_take(folder: Folder) -> None:
    folder.configured(DATABASES)
    folder.holds(instance("one", "data"), claim("data"))

    found = folder.json("databaseinstance", "shop/one")

    assert reasons(found) == ["NothingToDo", "VolumesWillGo"]
    assert "deletionPolicy: Retain" in found["advice"][0]["text"]


def test_a_database_whose_claim_has_another_owner_is_refused(folder: Folder) -> None:
    folder.configured(DATABASES)
    folder.holds(instance("one", "data"), instance("two", "data"), claim("data"))

    text = folder.text("databaseinstance", "shop/two", code=1)

    assert text.splitlines()[1].startswith('refused, ClaimTaken: DatabaseInstance "two": claim "data" belongs to')


def test_databases_that_are_switched_off_are_said_to_be(folder: Folder) -> None:
    folder.holds(instance("one", "data"))

    assert "switches DatabaseInstances off (controllers.databaseInstance)" in folder.text("databaseinstance", "shop/one")


# -- addresses


POOL = {
    "apiVersion": "gatehouse.dev/v1alpha1",
    "kind": "AddressPool",
    "metadata": {"name": "shop"},
    "spec": {"addresses": ["10.20.0.0/30"], "exclude": ["10.20.0.0"]},
}
PODS_ASK = "features: {podIP: {enabled: true}}\n"


def reservation(ip: str, pod_name: str, **status: str) -> Json:
    spec = {"ip": ip, "reservationKey": f"key-{pod_name}", "namespace": "shop", "podName": pod_name, "pool": "shop"}
    name = ip
    return {
        "apiVersion": "gatehouse.dev/v1alpha1",
        "kind": "AddressReservation",
        "metadata": {"name": name, "uid": f"uid-{name}", "creationTimestamp": "2026-11-29T09:00:00Z"},
        "spec": spec,
        "status": status,
    }


def test_an_address_tells_whose_it_is_and_how_it_would_be_free(folder: Folder) -> None:
    folder.holds(POOL, reservation("10.20.0.1", "db-0", phase="Cooling", releasedTime="2026-11-29T09:59:00Z"))

    found = folder.json("address", "10.20.0.1")

    assert found["facts"]["reservation"]["phase"] == "Cooling"
    assert found["advice"][0]["text"] == "gatehouse ip release 10.20.0.1 gives it back at once"


def test_a_free_address_tells_how_a_pod_would_get_it(folder: Folder) -> None:
    folder.holds(POOL)

    text = folder.text("address", "10.20.0.2")

    assert "Address 10.20.0.2\nfree, as far as reservations go\n" in text
    assert "by the label gatehouse.dev/ip-pool: shop" in text


def test_a_word_that_is_no_address_is_no_usable_target(folder: Folder) -> None:
    assert 'gatehouse: "10.20.0" is no IP address\n' in folder.text("address", "10.20.0", code=2)


def test_a_pod_that_asks_for_an_address_is_told_which_one_it_would_get(folder: Folder) -> None:
    folder.configured(PODS_ASK)
    asking = pod("db-0", "")
    asking["metadata"]["labels"] = {"gatehouse.dev/ip-pool": "shop"}
    folder.holds(
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}, POOL, reservation("10.20.0.1", "x"), asking
    )

    text = folder.text("pod", "shop/db-0")

    assert re.search(r"^AddressAllocated: .*10\.20\.0\.2", text.splitlines()[1])


# -- anything else


def test_an_object_of_any_kind_is_put_to_the_rules_that_look_at_it(folder: Folder, tmp_path: Path) -> None:
    folder.configured(CREATORS.replace("jobs.batch", "secrets"))
    file = tmp_path / ".secret.yaml"
    file.write_text(write_yaml({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "key", "namespace": "shop"}}))

    refused = folder.json("object", str(file), "--as", "jane", code=1)

    assert refused["verdict"].startswith('refused, CreatorNotAllowed: user "jane" may not CREATE secrets')


def test_an_object_of_a_kind_without_namespaces_is_in_none(folder: Folder, tmp_path: Path) -> None:
    folder.configured(CREATORS.replace("jobs.batch", "clusterroles.rbac.authorization.k8s.io"))
    file = tmp_path / ".role.yaml"
    file.write_text(
        write_yaml({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "all"}})
    )

    refused = folder.json("object", str(file), "--as", "jane", code=1)

    assert refused["subject"] == "ClusterRole all"
    assert "outside of namespaces" in refused["verdict"]


def test_an_object_that_no_rule_looks_at_is_said_to_be_one(folder: Folder, tmp_path: Path) -> None:
    file = tmp_path / ".lease.yaml"
    file.write_text(write_yaml({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "a"}}))

    assert "no rule that is switched on looks at it" in folder.text("object", str(file))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["node", "edge-9", "--local", "{folder}"], "edge-9: no Node of that name in {folder}"),
        (["node", "{folder}/cluster.yaml", "--local", "{folder}", "--from-replica"], "--local and --from-replica: "),
        (
            ["node", "edge-1", "--from-replica", "--now", NOW[1]],
            "--from-replica: the replica has its own configuration",
        ),
        (
            ["endpoint", "{folder}/cluster.yaml"],
            "holds no Endpoints and no EndpointSlice; another kind",
        ),
        (["node", "edge-1", "--kubeconfig", "{folder}/none"], "--kubeconfig FILE names one; --local DIR takes files instead"),
    ],
)
def test_wrong_use_names_the_next_step(
    arguments: list[str], message: str, folder: Folder, capsys: pytest.CaptureFixture[str]
) -> None:
    folder.holds(node("edge-1"))

    assert main(["explain", *(one.format(folder=folder.path) for one in arguments)]) == 2

    assert message.format(folder=folder.path) in capsys.readouterr().err
