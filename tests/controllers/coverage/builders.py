"""Pods, namespaces and entries: a pod that asks for the entry "envoy" in a namespace that takes part, and is bare."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from webhook.objects.meta import Json
from webhook.sidecars.entries.catalog import Catalog, EntryFault, Reading
from webhook.sidecars.entries.entry import Entry, Unfit
from webhook.sidecars.selection import Policy

WALL_S = 1_800_000_000.0  # FakeClock's
POLICY = Policy(default=("envoy",))


def at(wall_s: float) -> str:
    """The API's Time."""
    return datetime.fromtimestamp(wall_s, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def pod(
    name: str = "web-1",
    *,
    namespace: str = "shop",
    owner: str = "ReplicaSet/web-5d7f",
    inject: str | None = "true",
    injected: Mapping[str, str] | None = None,
    age_s: float = 60.0,
    phase: str = "Running",
    ready: bool = True,
    **metadata: Any,
) -> Json:
    """A Pod. *injected*: entry -> revision, as the status annotation has them; *owner*: "" = nobody controls it."""
    annotations = {} if inject is None else {"gatehouse.dev/inject": inject}
    if injected is not None:
        status = [{"entry": entry, "revision": revision} for entry, revision in injected.items()]
        annotations["gatehouse.dev/injected"] = json.dumps(status)
    meta: Json = {"name": name, "namespace": namespace, "annotations": annotations, "creationTimestamp": at(WALL_S - age_s)}
    kind, _, owner_name = owner.partition("/")
    if kind:
        api_version = {"ReplicaSet": "apps/v1", "Job": "batch/v1", "StatefulSet": "apps/v1"}[kind]
        reference = {"apiVersion": api_version, "kind": kind, "name": owner_name, "uid": f"uid-{owner_name}"}
        meta["ownerReferences"] = [reference | {"controller": True}]
    conditions = [{"type": "Ready", "status": "True" if ready else "False"}]
    status_: Json = {"phase": phase, "conditions": conditions}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta | metadata, "spec": {"nodeName": "n"}, "status": status_}


def web(count: int, *, first: int = 1, age_s: float = 60.0) -> list[Json]:
    """Bare pods of one ReplicaSet."""
    return [pod(f"web-{number:02}", age_s=age_s) for number in range(first, first + count)]


def namespace(
    name: str = "shop", *, labels: Mapping[str, str] | None = None, annotations: Mapping[str, str] | None = None
) -> Json:
    """A Namespace whose pods may ask, unless told otherwise."""
    found = {"sidecar-injector": "enabled"} if labels is None else dict(labels)
    metadata = {"name": name, "labels": found, "annotations": dict(annotations or {})}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}


def replica_set(name: str = "web-5d7f", *, of: str = "Deployment/web", uid: str = "") -> Json:
    """A ReplicaSet; *of*: what controls it, "" = nobody."""
    kind, _, owner = of.partition("/")
    meta: Json = {"name": name, "namespace": "shop", "uid": uid or f"uid-{name}"}
    if kind:
        reference = {"apiVersion": "apps/v1", "kind": kind, "name": owner, "uid": f"uid-{owner}", "controller": True}
        meta["ownerReferences"] = [reference]
    return {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": meta}


def entry(name: str = "envoy", *, namespace: str = "kube-system", revision: str = "r1", **fields: Any) -> Entry:
    """An entry that injects nothing: what it holds does not matter here."""
    return Entry(name, namespace, f"{namespace}-sidecars", name, revision, **fields)


def skippable(name: str = "envoy") -> Entry:
    """An entry that is left out where the namespace would refuse it."""
    return entry(name, if_refused=Unfit.SKIP)


def catalog(*entries: Entry, broken: Sequence[str] = ()) -> Catalog:
    """These entries, and in kube-system some that were never good."""
    found = Catalog()
    for place in {one.namespace for one in entries} | {"kube-system"}:
        found = found.absorb(
            Reading(
                place,
                f"{place}-sidecars",
                "uid",
                "1",
                tuple(one for one in entries if one.namespace == place),
                tuple(_faults(broken)) if place == "kube-system" else (),
            )
        )
    return found


def _faults(names: Iterable[str]) -> Iterable[EntryFault]:
    return (EntryFault(name, name, 1, 1, "", "unreadable") for name in names)
