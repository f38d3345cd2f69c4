"""`gatehouse explain NAME` reads a live cluster with the operator's own rights, and never writes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from controllers.cli.main import main
from controllers.testing import FakeApi
from controllers.testing.answers import status
from tests.controllers.cli.test_explain_kinds import POOL, SILENT, address, endpoints, node, pod, reservation
from webhook.objects.meta import Json


class Console:
    """The command in front of a scripted API server."""

    def __init__(self, api: FakeApi, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.api = api
        self._flags = ["--kubeconfig", api.kubeconfig(folder), "--now", "2026-11-29T10:00:00Z"]
        self._capsys = capsys

    def run(self, kind: str, *arguments: str, code: int = 0) -> tuple[str, str]:
        """Standard output and standard error."""
        found = main(["explain", kind, *self._flags, *arguments])
        out, err = self._capsys.readouterr()
        assert found == code, f"{out}\n{err}"
        return out, err

    def json(self, kind: str, *arguments: str, code: int = 0) -> Json:
        found: Json = json.loads(self.run(kind, "-o", "json", *arguments, code=code)[0])
        return found


@pytest.fixture
def console(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Iterator[Console]:
    api = FakeApi()
    known = (
        ("/api/v1", "v1", {"endpoints": "Endpoints", "configmaps": "ConfigMap", "namespaces": "Namespace"}),
        ("/apis/gatehouse.dev/v1alpha1", "gatehouse.dev/v1alpha1", {"addresspools": "AddressPool"}),
        ("/apis/gatehouse.dev/v1alpha1", "gatehouse.dev/v1alpha1", {"addressreservations": "AddressReservation"}),
        ("/apis/apps/v1", "apps/v1", {"deployments": "Deployment", "statefulsets": "StatefulSet"}),
    )
    for path, version, kinds in known:
        for plural, kind in kinds.items():
            api.objects.register(path, plural, version, kind)
    with api:
        yield Console(api, tmp_path, capsys)


def installed(text: str) -> Json:
    data = {"configuration.yaml": f"apiVersion: gatehouse.dev/v1alpha1\nkind: GatehouseConfiguration\n{text}"}
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "gatehouse", "namespace": "kube-system"},
        "data": data,
    }


def namespace(name: str, **labels: str) -> Json:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}


def test_a_node_is_read_live_with_its_pods(console: Console) -> None:
    console.api.objects.put(node("edge-1"))
    console.api.objects.put(pod("a", "edge-1"))

    found = console.json("node", "edge-1")

    assert (found["facts"]["guarded"], found["facts"]["pods"], found["facts"]["cacheDiffers"]) == (True, 1, "")
    assert {request.verb for request in console.api.requests} <= {"get", "list"}


def test_the_configuration_of_the_installation_counts(console: Console) -> None:
    console.api.objects.put(installed("votes: {nodeSelector: zone=plant-7}\n"))
    console.api.objects.put(node("edge-1", zone="plant-8"))

    assert console.json("node", "edge-1")["facts"]["reason"] == "NodeNotSelected"


def test_without_an_installation_every_default_counts_and_that_is_said(console: Console) -> None:
    console.api.objects.put(node("edge-1"))

    assert "ConfigMap kube-system/gatehouse is not there: every default" in console.run("node", "edge-1")[1]


def test_the_endpoints_of_a_service_are_read_with_their_nodes_and_pods(console: Console) -> None:
    for one in (node("edge-1"), pod("a", "edge-1"), endpoints(address("10.0.0.1", "edge-1", "a"))):
        console.api.objects.put(one)

    found = console.json("endpoint", "web", "-n", "shop")

    assert [row["answer"] for row in found["parts"]] == ["AddressesKeptReady"]


def test_a_pod_is_explained_with_the_sidecars_of_its_namespace(console: Console) -> None:
    entry = {"metadata": {"name": "sidecars", "namespace": "shop", "labels": {"gatehouse.dev/sidecars": "true"}}}
    entry |= {"apiVersion": "v1", "kind": "ConfigMap", "data": {"envoy": "containers: [{name: envoy, image: envoy:1}]\n"}}
    asking = pod("a", "edge-1")
    asking["metadata"]["annotations"] = {"gatehouse.dev/inject": "envoy"}
    for one in (node("edge-1"), namespace("shop", **{"sidecar-injector": "enabled"}), entry, asking):
        console.api.objects.put(one)

    found = console.json("pod", "shop/a")

    assert (found["reason"], found["entries"][0]["outcome"]) == ("Injected", "found")


def test_a_workload_of_whatever_kind_is_found_by_its_name(console: Console) -> None:
    spec = {"template": {"spec": pod("a", "")["spec"]}}
    metadata = {"name": "web", "namespace": "shop"}
    console.api.objects.put({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec})
    console.api.objects.put(namespace("shop"))

    assert console.json("workload", "shop/web")["subject"] == "Deployment shop/web"


def test_an_address_is_read_live(console: Console) -> None:
    console.api.objects.put(POOL)
    console.api.objects.put(reservation("10.20.0.1", "db-0", phase="Cooling"))

    out, _ = console.run("address", "10.20.0.1")

    assert out.startswith("Address 10.20.0.1\ncooling, nobody has it\n")


def test_what_may_not_be_listed_is_left_out_and_said(console: Console) -> None:
    console.api.objects.put(node("edge-1"))
    console.api.always("list", status(403), path="/api/v1/pods")

    out, err = console.run("node", "edge-1")

    assert "TaintRemoved" in out
    assert "gatehouse: decided without the Pods: " in err


def test_an_object_that_may_not_be_read_says_how_rights_are_seen(console: Console) -> None:
    console.api.always("get", status(403), path="/api/v1/nodes")

    _, err = console.run("node", "edge-1", code=1)

    assert "kubectl auth can-i --list says which they are" in err


def test_an_object_that_is_not_there_is_wrong_use(console: Console) -> None:
    assert ": no Node of that name in the cluster (" in console.run("node", "edge-9", code=2)[1]


def test_an_api_server_that_is_away_is_a_problem_and_not_wrong_use(console: Console, tmp_path: Path) -> None:
    console.api.objects.put(node("edge-1", SILENT))
    console.api.always("get", status(500))

    assert "500" in console.run("node", "edge-1", code=1)[1]


def test_an_endpoint_slice_that_is_called_like_its_service_is_explained_once(console: Console) -> None:
    group = "discovery.k8s.io/v1"
    console.api.objects.register(f"/apis/{group}", "endpointslices", group, "EndpointSlice")
    for name in ("web", "web-x7k2p"):
        metadata = {"name": name, "namespace": "shop", "labels": {"kubernetes.io/service-name": "web"}}
        console.api.objects.put({"apiVersion": group, "kind": "EndpointSlice", "metadata": metadata, "endpoints": []})

    lines = console.run("endpoint", "shop/web", "-o", "json")[0].splitlines()

    assert [json.loads(line)["subject"] for line in lines] == ["EndpointSlice shop/web", "EndpointSlice shop/web-x7k2p"]
