"""Pods and entries for tests of injection, and what the API server does to a pod between two calls."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import attrs
import msgspec

from webhook.admission.draft import Draft
from webhook.admission.verify import apply as apply_patch
from webhook.names import Reason
from webhook.objects.meta import Json
from webhook.objects.quantity import read
from webhook.sidecars.entries.entry import Entry, LogCollector
from webhook.sidecars.findings import Finding
from webhook.sidecars.injection import Scene, Support, inject

SCENE = Scene("shop", now_s=1_764_000_000.0)
NATIVE = msgspec.structs.replace(SCENE, native=Support.EVERYWHERE)
OLD = msgspec.structs.replace(SCENE, native=Support.MISSING)

APP_OWNER: Json = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-1", "uid": "u", "controller": True}
TOKEN_MOUNT: Json = {
    "name": "kube-api-access-x1",
    "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount",
    "readOnly": True,
}


def entry(name: str = "envoy", **changes: Any) -> Entry:
    """One plain container "envoy", unless told otherwise."""
    known: dict[str, Any] = {"containers": ({"name": "envoy", "image": "envoy:1"},)}
    return Entry(name, "shop", "sidecars", name, "r1", **(known | changes))


def empty(name: str = "none", **changes: Any) -> Entry:
    """An entry without containers."""
    return entry(name, **({"containers": ()} | changes))


def pod(*containers: Json, **spec: Any) -> Json:
    """A pod "web" with one container "app", unless told otherwise."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "web", "labels": {"app": "web"}},
        "spec": {"containers": list(containers) or [{"name": "app", "image": "app:1"}], **spec},
    }


def collector(folder: str = "/var/log/app") -> LogCollector:
    return LogCollector(
        folder, "*.log", {"name": "log-collector", "image": "busybox:1.37"}, {"name": "log-collector-logs", "emptyDir": {}}
    )


@attrs.frozen
class Outcome:
    """What one call did."""

    pod: Json
    operations: list[Any]
    applied: tuple[Entry, ...]
    findings: tuple[Finding, ...]
    refusal: Finding | None

    @property
    def reasons(self) -> list[Reason]:
        return [finding.reason for finding in self.findings]

    def container(self, name: str) -> Json:
        everywhere = [*self.pod["spec"]["containers"], *self.pod["spec"].get("initContainers", [])]
        (found,) = [container for container in everywhere if container["name"] == name]
        return found

    def names(self, kind: str = "containers") -> list[str]:
        return [container["name"] for container in self.pod["spec"].get(kind) or []]

    def env(self, name: str = "app") -> list[tuple[str, str]]:
        return [(variable["name"], variable.get("value", "")) for variable in self.container(name).get("env", [])]


def once(sent: Json, *entries: Entry, scene: Scene = SCENE) -> Outcome:
    """One call. Its patch, applied to what was sent, gives what was decided; nothing that came in was changed."""
    kept, shared = copy.deepcopy(sent), copy.deepcopy(entries)
    draft = Draft(copy.deepcopy(sent))
    done = inject(draft, entries, scene)
    assert apply_patch(copy.deepcopy(kept), draft.operations) == draft.object
    assert sent == kept
    assert entries == shared
    if done.refusal is not None:
        assert not draft.operations
    return Outcome(draft.object, draft.operations, done.applied, done.findings, done.refusal)


def run(sent: Json, *entries: Entry, scene: Scene = SCENE) -> Outcome:
    """One call; a second, before and after the API server has set its defaults, adds nothing."""
    first = once(sent, *entries, scene=scene)
    if first.refusal is None:
        later = msgspec.structs.replace(scene, now_s=scene.now_s + 3600)
        assert once(first.pod, *entries, scene=later).operations == []
        assert once(defaulted(first.pod), *entries, scene=later).operations == []
    return first


def refused(sent: Json, *entries: Entry, scene: Scene = SCENE) -> Finding:
    """The refusal; nothing was edited."""
    refusal = once(sent, *entries, scene=scene).refusal
    assert refusal is not None
    return refusal


# -- the API server (kubernetes pkg/apis/core/v1/defaults.go; encoding/json's omitempty; Quantity's canonical form)


def defaulted(given: Json) -> Json:
    """*given* as it comes to the second call."""
    result = copy.deepcopy(given)
    spec = result["spec"] = _pruned(result["spec"])
    for name, value in (("restartPolicy", "Always"), ("dnsPolicy", "ClusterFirst"), ("enableServiceLinks", True)):
        spec.setdefault(name, value)
    for container in [*spec["containers"], *(spec.get("initContainers") or [])]:
        _default_container(container)
    for volume in spec.get("volumes", []):
        _default_volume(volume)
    return result


def _default_container(container: Json) -> None:
    image = container.get("image", "")
    is_latest = image != "" and (":" not in image.rpartition("/")[2] or image.endswith(":latest"))
    container.setdefault("imagePullPolicy", "Always" if is_latest else "IfNotPresent")
    container.setdefault("terminationMessagePath", "/dev/termination-log")
    container.setdefault("terminationMessagePolicy", "File")
    resources = container.setdefault("resources", {})
    for amount, value in resources.get("limits", {}).items():
        resources.setdefault("requests", {}).setdefault(amount, value)
    for port in container.get("ports", []):
        port.setdefault("protocol", "TCP")
    for variable in container.get("env", []):
        source = variable.get("valueFrom", {})
        if "fieldRef" in source:
            source["fieldRef"].setdefault("apiVersion", "v1")
        if "resourceFieldRef" in source:
            source["resourceFieldRef"].setdefault("divisor", "0")
    for probe in ("livenessProbe", "readinessProbe", "startupProbe"):
        if probe in container:
            for name, value in (("timeoutSeconds", 1), ("periodSeconds", 10), ("successThreshold", 1), ("failureThreshold", 3)):
                container[probe].setdefault(name, value)
    container.setdefault("volumeMounts", [])
    if not any(mount["mountPath"] == TOKEN_MOUNT["mountPath"] for mount in container["volumeMounts"]):
        container["volumeMounts"].append(dict(TOKEN_MOUNT))


def _default_volume(volume: Json) -> None:
    for source in ("configMap", "secret", "projected", "downwardAPI"):
        if source in volume:
            volume[source].setdefault("defaultMode", 420)
    if set(volume) == {"name"}:
        volume["emptyDir"] = {}
    if "hostPath" in volume:
        volume["hostPath"].setdefault("type", "")


_AMOUNTS = {"cpu", "memory", "sizeLimit", "divisor"}


def _pruned(value: Any, key: str = "") -> Any:
    if isinstance(value, dict):
        kept = {name: _pruned(item, name) for name, item in value.items()}
        return {name: item for name, item in kept.items() if item not in ("", None, []) and item is not False}
    if isinstance(value, list):
        return [_pruned(item) for item in value]
    return str(read(value)) if key in _AMOUNTS and not isinstance(value, dict) else value


def add_container(given: Json, container: Json) -> Json:
    """*given* after another webhook has put a container in front."""
    result = copy.deepcopy(given)
    result["spec"]["containers"].insert(0, container)
    return result


def reasons(findings: Sequence[Finding]) -> list[Reason]:
    return [finding.reason for finding in findings]
