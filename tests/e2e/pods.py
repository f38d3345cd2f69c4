"""Namespaces, pods and workloads of these tests, and what became of them."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence

from tests.apiserver.waiting import wait_for
from tests.apiserver.workloads import create_namespace, pods_path
from tests.cluster import Api, ApiError, Json
from tests.cluster.api import Headers
from tests.cluster.kinds import apply
from tests.e2e import images
from tests.e2e.installed import Installed

EVERY_POD = {"pod-admission-webhook-injection": "enabled"}
WHO_ASKS = {"sidecar-injector": "enabled"}
STATUS = "gatehouse.dev/injected"
RUNS_WITHIN_S = 60.0

# The entry that "true" stands for: it runs until it is told to end, and says so.
READER = f"""\
containers:
  - name: reader
    image: {images.NAME}
    imagePullPolicy: Never
    command: [sh, -c, "trap 'echo ends; exit 0' TERM; echo runs; while :; do sleep 0.2; done"]
    resources:
      requests: {{cpu: 5m, memory: 8Mi}}
      limits: {{cpu: 100m, memory: 32Mi}}
labels: {{reader.example.com/injected: "true"}}
"""
LOGS = "logCollector: /var/log/app/app.log\n"


def make_entries(api: Api) -> None:
    """The ConfigMap with the entries of these tests, for every namespace."""
    metadata = {"name": "sidecars", "namespace": "kube-system", "labels": {"gatehouse.dev/sidecars": "true"}}
    apply(api, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"reader": READER, "logs": LOGS}})


def make_namespace(api: Api, name: str, labels: Mapping[str, str] | None = None) -> None:
    """A namespace in which pods can be created."""
    create_namespace(api, name, labels)


def is_injected(api: Api, namespace: str) -> bool:
    """Whether a pod that is created now, dry, is given the default entry by several calls in a row, so by every replica."""
    found = [api.create(f"{pods_path(namespace)}?dryRun=All", pod("probe", sleeper())) for _ in range(8)]
    return all("reader" in names(one, "initContainers") for one in found)


def container(name: str, script: str, **more: object) -> Json:
    """A container that runs a shell *script* in the stand-in image."""
    return {"name": name, "image": images.NAME, "imagePullPolicy": "Never", "command": ["sh", "-c", script], **more}


def pod(
    name: str,
    *containers: Json,
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    **spec: object,
) -> Json:
    """A pod that ends at once when it is asked to."""
    metadata = {"name": name, "labels": dict(labels or {}), "annotations": dict(annotations or {})}
    whole = {"containers": list(containers), "terminationGracePeriodSeconds": 1, **spec}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": whole}


def sleeper(name: str = "app") -> Json:
    """A container that stays."""
    return container(name, "trap 'exit 0' TERM; while :; do sleep 0.2; done")


def get(api: Api, namespace: str, name: str) -> Json:
    """The pod as it is now."""
    return api.get(f"{pods_path(namespace)}/{name}")


def phase(api: Api, namespace: str, name: str) -> str:
    """The pod's phase; "" when there is none."""
    found = api.find(f"{pods_path(namespace)}/{name}") or {}
    return str(found.get("status", {}).get("phase", ""))


def wait_phase(api: Api, namespace: str, name: str, wanted: str) -> Json:
    """The pod once it has come to a phase."""
    wait_for(lambda: phase(api, namespace, name) == wanted, RUNS_WITHIN_S, f"{namespace}/{name} {wanted}")
    return get(api, namespace, name)


def names(found: Json, kind: str = "containers") -> list[str]:
    """The names of the pod's containers; *kind* also "initContainers"."""
    return [one["name"] for one in found["spec"].get(kind, ())]


def states(found: Json) -> dict[str, str]:
    """Each container's state by its name, those of init containers too."""
    status = found["status"]
    every = [*status.get("initContainerStatuses", ()), *status.get("containerStatuses", ())]
    return {one["name"]: next(iter(one["state"])) for one in every}


def refusal(api: Api, path: str, body: Json, headers: Headers | None = None) -> str:
    """What the API server says against *body*. Fails the test when it takes it."""
    try:
        made = api.create(path, body, headers)
    except ApiError as refused:
        return str(refused)
    raise AssertionError(f"created: {made['metadata']}")


def logs(installed: Installed, namespace: str, name: str, of: str) -> str:
    """What the container *of* has printed; "" while it has not been started."""
    argv = [*installed.ground.kubectl(), "-n", namespace, "logs", name, "-c", of]
    return subprocess.run(argv, capture_output=True, text=True, timeout=60).stdout


def run(installed: Installed, namespace: str, name: str, of: str, argv: Sequence[str]) -> str:
    """What a program prints inside a running container (`kubectl exec`)."""
    return installed.kubectl("-n", namespace, "exec", name, "-c", of, "--", *argv)
