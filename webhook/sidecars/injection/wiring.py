"""What the pod's own containers get: variables, their sources, mounts. Used by one call of `plan`, in one thread.

Each container is looked at for itself, so that one that another webhook adds between two calls is wired by the second
(aws/amazon-eks-pod-identity-webhook#61), and nothing is added twice.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from operator import itemgetter

from webhook.names import Reason
from webhook.objects import meta
from webhook.objects.faults import Path, dotted
from webhook.objects.meta import Json
from webhook.objects.pods import Container, Kind
from webhook.sidecars.entries.entry import AppWiring, Entry
from webhook.sidecars.injection.merging import KeyedList, covers, folder
from webhook.sidecars.injection.planned import ListEdit
from webhook.sidecars.injection.verdicts import Verdicts

# Containers of other injectors, which may have come before us (open-telemetry/opentelemetry-operator#2158).
PROXIES = frozenset(
    (
        "istio-proxy",
        "istio-init",
        "istio-validation",
        "linkerd-proxy",
        "linkerd-init",
        "linkerd-network-validator",
        "vault-agent",
        "vault-agent-init",
        "daprd",
        "kuma-sidecar",
        "kuma-init",
        "consul-dataplane",
        "consul-connect-inject-init",
        "otc-container",
        "jaeger-agent",
        "cloud-sql-proxy",
        "aws-appmesh-envoy",
        "proxyinit",
    )
)

_VALUE = itemgetter("value")
_REFERENCE = re.compile(r"\$\(([^()]+)\)")


def is_own(name: str, container: Container, ours: Collection[str]) -> bool:
    """Whether the user wrote it: it is none of *ours*, of other injectors, no native sidecar, and not ephemeral."""
    if name in ours or name in PROXIES or container.kind is Kind.EPHEMERAL:
        return False
    return container.kind is Kind.APP or not container.is_native_sidecar


class Wiring:
    """The lists of the pod's own containers while entries add to them."""

    def __init__(self, there: Mapping[str, Container], ours: Collection[str], verdicts: Verdicts) -> None:
        """there: all containers of the pod by name; *ours*: the names of those that belong to entries."""
        self._there = there
        self._ours = ours
        self._verdicts = verdicts
        self._own = [container for name, container in there.items() if is_own(name, container, ours)]
        self._apps = [container for container in self._own if container.kind is Kind.APP]
        self._lists: dict[Path, KeyedList] = {}
        self._sources: dict[Path, tuple[int, list[Json]]] = {}  # of envFrom: its length, what is to come

    def targets(self, app: AppWiring) -> Sequence[Container]:
        """The containers that *app* means."""
        if app.containers:
            named = [(name, container) for name, container in self._there.items() if name in app.containers]
            return [it for name, it in named if name not in self._ours and it.kind is not Kind.EPHEMERAL]
        return self._own if app.init_containers else self._apps

    def missing(self, app: AppWiring) -> Iterator[str]:
        """The names in *app* that no container of the pod has."""
        return (name for name in app.containers if name not in self._there and name not in self._ours)

    def wire(self, entry: Entry, app: AppWiring, target: Container, *, is_settled: bool) -> None:
        """Give *target* what *app* says.

        is_settled: an earlier call gave it already, with values that may have changed since: what is there stays, unsaid.
        """
        for variable in app.env:
            self._variable(entry, target, variable, is_settled)
        for mount in app.volume_mounts:
            self.mount(entry, target, mount, is_settled=is_settled)
        if app.env_from:
            self._env_from(target, app.env_from)

    def mount(self, entry: Entry, target: Container, mount: Json, *, is_settled: bool = False) -> None:
        """Give *target* the *mount*."""
        mounts = self.mounts(target)
        place = folder(mount["mountPath"])
        before = mounts.get(place)
        if before is None:
            device = self._keyed(target, "volumeDevices").get(place) if target.json.get("volumeDevices") else None
            thing = f'mount path {place} of container "{target.name}"'
            if device is None or self._verdicts.clash(entry, Reason.MOUNT_CONFLICT, thing, target.path, replaceable=False):
                mounts.put(place, mount)
            return
        if is_settled or mounts.is_same(before, mount):
            mounts.claim(place)
            return
        thing = f'mount path {place} of container "{target.name}", where volume "{before.get("name")}" is mounted,'
        if self._verdicts.clash(
            entry, Reason.MOUNT_CONFLICT, thing, mounts.field(place), replaceable=not mounts.is_claimed(place)
        ):
            # As it is written there: the pod may have another mount at the same place, written as in *mount*.
            mounts.put(place, {**mount, "mountPath": before["mountPath"]})

    def mounts(self, target: Container) -> KeyedList:
        """The mounts of *target*, those to come included."""
        return self._keyed(target, "volumeMounts")

    def edits(self) -> Iterator[ListEdit]:
        """Everything to be done."""
        for keyed in self._lists.values():
            edit = keyed.edit(_ahead if keyed.path[-1] == "env" else None)
            if edit is not None:
                yield edit
        for path, (length, added) in self._sources.items():
            yield ListEdit(path, length, added=tuple(added))

    # -- inside

    def _variable(self, entry: Entry, target: Container, variable: Json, is_settled: bool) -> None:
        variables = self._keyed(target, "env")
        name = variable["name"]
        before = variables.get(name)
        if before is None:
            variables.put(name, variable)
            return
        if is_settled or variables.is_same(before, variable):
            variables.claim(name)
            return
        thing, field = f'variable "{name}" of container "{target.name}"', variables.field(name)
        if self._verdicts.clash(entry, Reason.VARIABLE_CONFLICT, thing, field, replaceable=not variables.is_claimed(name)):
            variables.put(name, variable)

    def _env_from(self, target: Container, sources: Sequence[Json]) -> None:
        there = meta.objects(target.json, "envFrom", target.path)
        path: Path = ("spec", str(target.kind), target.index, "envFrom")
        _, added = self._sources.get(path, (0, []))
        for source in sources:
            if not any(_is_same_source(before, source) for before in (*there, *added)):
                added.append(source)
        if added:
            self._sources[path] = (len(there), added)

    def _keyed(self, target: Container, field: str) -> KeyedList:
        path: Path = ("spec", str(target.kind), target.index, field)
        found = self._lists.get(path)
        if found is None:
            found = self._lists[path] = KeyedList(target.json, path, *_KEYS[field])
        return found


def _is_same_variable(have: Json, want: Json) -> bool:
    if (have.get("value") or "") != (want.get("value") or ""):
        return False
    return bool(have.get("valueFrom")) == bool(want.get("valueFrom")) and covers(have.get("valueFrom"), want.get("valueFrom"))


def is_same_mount(have: Json, want: Json) -> bool:
    """Whether two mounts show the same place of the same volume, wherever in the container."""
    return all((have.get(key) or "") == (want.get(key) or "") for key in ("name", "subPath", "subPathExpr"))


def _is_same_source(have: Json, want: Json) -> bool:
    return (have.get("prefix") or "") == (want.get("prefix") or "") and covers(have, want)


_KEYS: Mapping[str, tuple[str, Callable[[Json, Json], bool]]] = {
    "env": ("name", _is_same_variable),
    "volumeMounts": ("mountPath", is_same_mount),
    "volumeDevices": ("devicePath", covers),
}


def _ahead(variables: KeyedList) -> tuple[int, int]:
    """How many of the new variables go before which of the pod's own: those that it refers to as $(NAME).

    The kubelet expands only what was defined before (kubernetes.io/docs: Define dependent environment variables).
    """
    references = _references(variables)
    places = {variable["name"]: place for place, variable in enumerate(variables.added)} if references else {}
    count, at = 0, 0
    for index in references:
        for name in _REFERENCE.findall(variables.items[index]["value"]):
            if name in places:
                at = at if count else index
                count = max(count, places[name] + 1)
    return count, at


def _references(variables: KeyedList) -> Sequence[int]:
    """Which of the pod's own variables refer to others."""
    items = variables.items
    try:
        if "$(" not in "".join(map(_VALUE, items)):  # the usual case, without a loop
            return ()
    except (KeyError, TypeError):  # without a value, or with one that is no string: say where
        pass
    where = dotted(variables.path)
    return [index for index, item in enumerate(items) if "$(" in meta.text(item, "value", f"{where}[{index}]")]
