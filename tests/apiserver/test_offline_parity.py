"""What `gatehouse review` and `gatehouse inject` say without a cluster is what the cluster gets from the webhook."""

from __future__ import annotations

import copy
import json
import ssl
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.apiserver import injection
from tests.apiserver.gatehouse import Gatehouse
from tests.apiserver.injection import ASKING, SIDECARS
from tests.apiserver.registration import ROOT
from tests.apiserver.waiting import wait_for
from tests.apiserver.workloads import pods_path
from tests.bench.reviews import review
from tests.cluster import Api, Cluster, Json
from tests.cluster.kinds import apply

NAMESPACE = "parity"
ENTRIES = {
    "full": """\
containers:
  - name: proxy
    image: proxy:1
    args: ["--pod", "${pod.name}", "--in", "${pod.namespace}"]
    ports: [{containerPort: 15001}]
    volumeMounts: [{name: scratch, mountPath: /scratch}]
initContainers:
  - {name: prepare, image: "proxy:1", command: [prepare]}
volumes: [{name: scratch, emptyDir: {}}]
labels: {proxied: "yes"}
annotations: {example.com/proxy: "1"}
hostAliases: [{ip: 127.0.0.1, hostnames: [proxy.local]}]
app:
  env: [{name: HTTP_PROXY, value: "http://proxy.local:15001"}]
  volumeMounts: [{name: scratch, mountPath: /scratch}]
""",
    "logs": "logCollector: /var/log/app/*.log\n",
}
ASKS = {"gatehouse.dev/inject": "full,logs"}
# What the API server makes up for each object.
MADE_UP = ("uid", "resourceVersion", "creationTimestamp", "managedFields", "generation", "selfLink")


@pytest.fixture(scope="module")
def folder(cluster: Cluster, admin: Api, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The cluster's objects that injection reads, as an operator exports them."""
    injection.namespace(admin, NAMESPACE, ASKING)
    apply(admin, injection.config_map("kube-system", "parity-sidecars", ENTRIES, SIDECARS))
    exported = tmp_path_factory.mktemp("exported")
    paths = {
        "nodes": "/api/v1/nodes",
        "namespaces": "/api/v1/namespaces",
        "configmaps": "/api/v1/configmaps?labelSelector=gatehouse.dev/sidecars=true",
    }
    for name, path in paths.items():
        (exported / f"{name}.json").write_text(json.dumps(admin.get(path)))
    return exported


@pytest.fixture(scope="module")
def gatehouse(cluster: Cluster, admin: Api, folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gatehouse]:
    """One process that the API server calls."""
    with injection.injecting(cluster, admin, tmp_path_factory.mktemp("parity")) as running:
        wait_for(lambda: _is_injected(injection.create(admin, NAMESPACE, _pod(), "?dryRun=All")[0]), 10.0, "an injected pod")
        yield running


@pytest.fixture(scope="module")
def stored(gatehouse: Gatehouse, admin: Api) -> Json:
    """A pod as it is stored after the webhook, taken away again."""
    pod, _ = injection.create(admin, NAMESPACE, _pod())
    admin.delete(f"{pods_path(NAMESPACE)}/{pod['metadata']['name']}?gracePeriodSeconds=0")
    return pod


def test_the_same_review_gives_the_same_bytes_online_and_offline(
    cluster: Cluster, gatehouse: Gatehouse, folder: Path, tmp_path: Path
) -> None:
    pod = _pod()
    pod["metadata"]["namespace"] = NAMESPACE
    body = review("", "v1", "pods", "Pod", pod, None, user="alice")
    port = int(gatehouse.addresses["webhook"].rpartition(":")[2])
    with cluster.connections(port, ssl.create_default_context(cafile=str(gatehouse.ca_file))) as connections:
        online = connections.call("POST", "/mutate?timeout=5s", body, {"Content-Type": "application/json"})
    (tmp_path / "review.json").write_bytes(body)

    offline = _gatehouse("review", "--local", str(folder), "-o", "json", str(tmp_path / "review.json"))

    assert online.status == 200
    assert b"patch" in online.body
    assert offline == online.body + b"\n"


def test_a_pod_injected_offline_and_created_without_the_webhook_is_the_same(
    gatehouse: Gatehouse, admin: Api, stored: Json, folder: Path, tmp_path: Path
) -> None:
    injected = _injected(folder, tmp_path)
    # The webhook would inject it, too, if it had to; where nobody may ask, it is not even called.
    injection.namespace(admin, "parity-plain", {})

    created, _ = injection.create(admin, "parity-plain", injected)

    assert _comparable(created) == _comparable(stored)


def test_the_webhook_leaves_a_pod_that_was_injected_offline_as_it_is(
    gatehouse: Gatehouse, admin: Api, stored: Json, folder: Path, tmp_path: Path
) -> None:
    injected = _injected(folder, tmp_path)

    created, _ = injection.create(admin, NAMESPACE, injected, "?dryRun=All")

    assert _comparable(created) == _comparable(stored)


def test_a_server_dry_run_shows_what_a_create_stores(gatehouse: Gatehouse, admin: Api, stored: Json) -> None:
    dry, _ = injection.create(admin, NAMESPACE, _pod(), "?dryRun=All")

    assert _comparable(dry) == _comparable(stored)


def test_kubectl_diff_shows_the_sidecar_and_changes_nothing(
    cluster: Cluster, gatehouse: Gatehouse, admin: Api, stored: Json, tmp_path: Path
) -> None:
    (tmp_path / "pod.yaml").write_text(yaml.safe_dump(_pod()))

    argv = [str(cluster.folder / "controlplane"), "kubectl", f"--kubeconfig={cluster.kubeconfig('admin')}"]
    argv += ["diff", "-n", NAMESPACE, "-f", str(tmp_path / "pod.yaml")]
    result = subprocess.run(cluster.namespace.command(argv), capture_output=True, text=True, timeout=60)

    assert result.returncode == 1, result.stderr  # there are differences
    assert "proxy:1" in result.stdout
    assert admin.find(f"{pods_path(NAMESPACE)}/demo-pod") is None


def _pod() -> Json:
    return injection.pod(annotations=ASKS)


def _injected(folder: Path, scratch: Path) -> Json:
    (scratch / "pod.yaml").write_text(yaml.safe_dump(_pod()))
    arguments = ("--local", str(folder), "--namespace", NAMESPACE, str(scratch / "pod.yaml"))
    injected: Json = yaml.safe_load(_gatehouse("inject", *arguments))
    return injected


def _gatehouse(*arguments: str) -> bytes:
    argv = [sys.executable, "-m", "controllers", *arguments]
    result = subprocess.run(argv, cwd=ROOT, capture_output=True, timeout=60)
    assert result.returncode == 0, result.stderr.decode()
    return result.stdout


def _is_injected(pod: Json) -> bool:
    return "gatehouse.dev/injected" in pod["metadata"].get("annotations", {})


def _comparable(pod: Json) -> Json:
    """*pod* without what the API server makes up: uids, times, and the name and place of the token's volume.

    Its ServiceAccount plugin runs before webhooks: what was injected beforehand stands ahead of its volume, not behind.
    """
    pod = copy.deepcopy(pod)
    for key in (*MADE_UP, "namespace"):
        pod["metadata"].pop(key, None)
    token = next(volume["name"] for volume in pod["spec"]["volumes"] if volume["name"].startswith("kube-api-access-"))
    containers = [*pod["spec"].get("initContainers", ()), *pod["spec"]["containers"]]
    for items in (pod["spec"]["volumes"], *(container["volumeMounts"] for container in containers)):
        items.sort(key=lambda item: item["name"] == token)
    comparable: Json = json.loads(json.dumps(pod).replace(token, "kube-api-access").replace("parity-plain", NAMESPACE))
    return comparable
