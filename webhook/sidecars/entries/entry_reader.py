"""One parsed document -> an entry, or everything that is wrong with it.

Checks in this order, and tells all at once (up to 100): the keys and types (ours, and the API server's for what goes into a
pod), placeholders, what the API server's validation would say, and what holds between the parts. Pure; takes any JSON, never
raises.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from itertools import chain, islice
from typing import Any, Final

import attrs

from webhook.objects import dns_names, schema
from webhook.objects.faults import Found, Path, json_type, quoted
from webhook.objects.meta import Json
from webhook.objects.schema import Text, named
from webhook.sidecars.entries import env_lint, lint, log_reader, metadata_lint, placeholders, volume_lint
from webhook.sidecars.entries.entry import AppWiring, Conflict, Entry, NativeSidecar, Placement, Repair, Spot, Unfit
from webhook.sidecars.entries.fragments import LABEL_RULE, duplicates, mapping, objects, sequence, text
from webhook.sidecars.entries.placeholders import openness

MAX_CONTAINERS: Final = 32
MAX_VALUES: Final = 20_000  # YAML aliases make many values of a short text; a large entry has some 500
MAX_FAULTS: Final = 100  # nobody reads more, and finding the nearest of the known keys takes 0.3 ms for each
VALUE_SIZE: Final = 24  # what a value counts beside its characters: a dict of one member takes 184 bytes, a place in a list 8
MAX_DEPTH: Final = 64  # the deepest place in a pod has 14 levels

# What goes into the pod: key -> the API's type.
_FRAGMENTS: Final[Mapping[str, str]] = {
    "containers": "[]Container",
    "initContainers": "[]Container",
    "volumes": "[]Volume",
    "imagePullSecrets": "[]LocalObjectReference",
    "hostAliases": "[]HostAlias",
    "labels": "{}string",
    "annotations": "{}string",
}
_APP: Final[Mapping[str, str]] = {"env": "[]EnvVar", "envFrom": "[]EnvFromSource", "volumeMounts": "[]VolumeMount"}
_APP_KEYS: Final = ("containers", "initContainers", *_APP)
_CHOICES: Final[Mapping[str, type[NativeSidecar] | type[Conflict] | type[Unfit]]] = {
    "nativeSidecar": NativeSidecar,
    "onConflict": Conflict,
    "ifRefused": Unfit,
}
_SWITCHES: Final = ("overridable", "allowHostNetwork")
KEYS: Final = (*_FRAGMENTS, "app", "logCollector", "position", "repair", *_CHOICES, *_SWITCHES)
_BLOCK_SOURCES: Final = frozenset(("persistentVolumeClaim", "ephemeral"))
_CONTAINER_LISTS: Final = ("containers", "initContainers")


@attrs.frozen
class Origin:
    """Where an entry stands and what it is called."""

    name: str
    namespace: str
    config_map: str
    key: str


def read_entry(tree: Any, origin: Origin) -> tuple[Entry | None, list[tuple[Path, str]]]:
    """The entry, when nothing is wrong with it; else (path, message) of everything that is, in no order.

    tree: the document as it was parsed; nulls count as absent (Go reads them so, and rendered charts are full of them).
    """
    if type(tree) is not dict:
        return None, [((), f"an entry is an object with some of {', '.join(KEYS[:9])}, …, not {json_type(tree)}")]
    size = size_of(tree)
    if size is None:
        return None, [((), f"has more than {MAX_VALUES} values, or more than {MAX_DEPTH} levels")]
    nulls: list[Path] = []
    given = _without_nulls(tree, (), nulls)
    found = chain(
        ((path, "an element of a list must not be null") for path in nulls),
        _type_faults(given),
        _placeholder_faults(given),
        _content_faults(given),
        _common_faults(given),
    )
    faults = list(dict.fromkeys(islice(found, MAX_FAULTS)))
    return (None, faults) if faults else (_build(given, origin, size), [])


# -- bounds and nulls ------------------------------------------------------------------------------------------------


def size_of(tree: Any) -> int | None:
    """How large *tree*, any JSON, is, as `Entry.size`; None when everything below would take long, or recurse too deep."""
    level, count, size = [tree], 0, 0
    for _ in range(MAX_DEPTH):
        count += len(level)
        if count > MAX_VALUES:
            return None
        size += sum([len(value) for value in level if type(value) is str])
        size += sum([len(key) for value in level if type(value) is dict for key in value])
        level = [item for value in level for item in _items(value)]
        if not level:
            return size + count * VALUE_SIZE
    return None


def _items(value: Any) -> Any:
    return value.values() if type(value) is dict else value if type(value) is list else ()


def _without_nulls(value: Any, path: Path, nulls: list[Path]) -> Any:
    """A copy of *value* without members that are null. Nulls in lists stay, so that paths do, and are told."""
    if type(value) is dict:
        return {key: _without_nulls(item, (*path, key), nulls) for key, item in value.items() if item is not None}
    if type(value) is list:
        nulls += [(*path, index) for index, item in enumerate(value) if item is None]
        return [_without_nulls(item, (*path, index), nulls) for index, item in enumerate(value)]
    return value


# -- keys and types --------------------------------------------------------------------------------------------------


def _type_faults(given: Json) -> Found:
    for key in given:
        if key not in KEYS:
            yield (key,), schema.unknown_field(key, dict.fromkeys(KEYS))
    yield from _fit_faults(given, _FRAGMENTS, (), openness)
    for key in _SWITCHES:
        if key in given and type(given[key]) is not bool:
            yield (key,), f"must be true or false, not {_shown(given[key])}"
    for key, choices in _CHOICES.items():
        if key in given:
            yield from _choice_faults(given[key], [str(choice) for choice in choices], (key,))
    yield from _each(given, "repair", ("repair",), lambda item, path: _choice_faults(item, [str(one) for one in Repair], path))
    yield from _app_type_faults(given)
    yield from _position_faults(given)
    if "logCollector" in given:
        yield from ((("logCollector", *path), message) for path, message in log_reader.faults(given["logCollector"]))


def _fit_faults(parent: Json, types: Mapping[str, str], path: Path, open_text: Callable[[str], Text]) -> Found:
    for key, code in types.items():
        if key in parent:
            for misfit in schema.check(parent[key], named(code), (*path, key), open_text):
                if not _is_null_element(parent[key], misfit.path[len(path) + 1 :]):
                    yield misfit.path, misfit.message


def _is_null_element(value: Any, path: Path) -> bool:
    """Whether there is a null at *path*: in a list, since the others are gone. It has been told already."""
    for step in path:
        if type(value) is dict:
            if step not in value:
                return False
            value = value[step]
        elif type(value) is list and type(step) is int:
            value = value[step]
    return value is None


def _app_type_faults(given: Json) -> Found:
    if "app" not in given:
        return
    app = given["app"]
    if type(app) is not dict:
        yield ("app",), f"must be an object with some of {', '.join(_APP_KEYS)}, not {_shown(app)}"
        return
    for key in app:
        if key not in _APP_KEYS:
            yield ("app", key), schema.unknown_field(key, dict.fromkeys(_APP_KEYS))
    yield from _fit_faults(app, _APP, ("app",), openness)
    if type(app.get("initContainers", False)) is not bool:
        yield ("app", "initContainers"), f"must be true or false, not {_shown(app['initContainers'])}"
    yield from _each(app, "containers", ("app", "containers"), _label_faults)


def _position_faults(given: Json) -> Found:
    if "position" not in given:
        return
    position = given["position"]
    if type(position) is not dict:
        yield ("position",), f"must be an object with containers or initContainers, not {_shown(position)}"
        return
    for key, value in position.items():
        path = ("position", key)
        if key not in _CONTAINER_LISTS:
            yield path, schema.unknown_field(key, dict.fromkeys(_CONTAINER_LISTS))
        elif type(value) is dict:
            anchors = [anchor for anchor in ("before", "after") if anchor in value]
            if len(value) != 1 or len(anchors) != 1:
                yield path, "must be First, Last, {before: NAME} or {after: NAME}"
            else:
                yield from _label_faults(value[anchors[0]], (*path, anchors[0]))
        else:
            yield from _choice_faults(value, ["First", "Last", "{before: NAME}", "{after: NAME}"], path, selectable=2)


def _choice_faults(value: Any, choices: list[str], path: Path, selectable: int | None = None) -> Found:
    if type(value) is not str or value not in choices[:selectable]:
        yield path, f"must be {', '.join(choices[:-1])} or {choices[-1]}, not {_shown(value)}"


def _label_faults(value: Any, path: Path) -> Found:
    if type(value) is not str or not dns_names.is_dns_label(value):
        yield path, f"{_shown(value)} is not the name of a container: {LABEL_RULE}"


def _each(parent: Json, key: str, path: Path, check: Callable[[Any, Path], Found]) -> Found:
    """Every element of the list at *key*, none of them twice."""
    if key not in parent:
        return
    values = parent[key]
    if type(values) is not list:
        yield path, f"must be a list, not {_shown(values)}"
        return
    seen: set[str] = set()
    for index, value in enumerate(values):
        if value is None:
            continue
        yield from check(value, (*path, index))
        if type(value) is str:
            if value in seen:
                yield (*path, index), f"{_shown(value)} is there already"
            seen.add(value)


def _shown(value: Any) -> str:
    return quoted(value) if type(value) is str else json_type(value)


# -- placeholders ----------------------------------------------------------------------------------------------------


def _placeholder_faults(given: Json) -> Found:
    for key in _FRAGMENTS:
        yield from placeholders.faults(given.get(key), (key,))
    yield from placeholders.faults(given.get("app"), ("app",), in_app=True)
    for parent, path in _named_things(given):
        if placeholders.has_placeholders(parent.get("name")):
            yield (*path, "name"), "cannot hold placeholders: by its name a part is known again in the pod"


def _named_things(given: Json) -> Iterator[tuple[Json, Path]]:
    """Everything that is told apart by its name."""
    app = mapping(given, "app")
    holders = [(app, ("app",)), *(holder for key in _CONTAINER_LISTS for holder in objects(given, key, ()))]
    for key in (*_CONTAINER_LISTS, "volumes"):
        yield from objects(given, key, ())
    for holder, path in holders:
        for key in ("env", "volumeMounts", "volumeDevices", "ports"):
            yield from objects(holder, key, path)


# -- content ---------------------------------------------------------------------------------------------------------


def _content_faults(given: Json) -> Found:
    for container, path in objects(given, "containers", ()):
        yield from lint.container_faults(container, path)
        yield from lint.plain_container_faults(container, path)
    for container, path in objects(given, "initContainers", ()):
        yield from lint.container_faults(container, path)
        yield from lint.init_container_faults(container, path)
    for volume, path in objects(given, "volumes", ()):
        yield from volume_lint.volume_faults(volume, path)
    for reference, path in objects(given, "imagePullSecrets", ()):
        yield from volume_lint.secret_faults(reference, path)
    for alias, path in objects(given, "hostAliases", ()):
        yield from volume_lint.host_alias_faults(alias, path)
    own = [container.get("name") for key in _CONTAINER_LISTS for container, _ in objects(given, key, ())]
    for key in ("labels", "annotations"):
        yield from metadata_lint.metadata_faults(key, mapping(given, key), own)
    app = mapping(given, "app")
    yield from env_lint.env_faults(app, ("app",))
    yield from lint.mount_faults(app, ("app",))


def _common_faults(given: Json) -> Found:
    """What holds between the parts."""
    if not any(given.get(key) for key in (*_FRAGMENTS, "app", "logCollector")):
        yield (), "gives nothing: an entry has containers, initContainers, volumes, app, logCollector, labels, …"
    count = sum(len(sequence(given, key)) for key in _CONTAINER_LISTS)
    if count > MAX_CONTAINERS:
        yield (), f"has {count} containers, more than {MAX_CONTAINERS}"
    yield from duplicates(given, _CONTAINER_LISTS)
    yield from duplicates(given, ("volumes",))
    yield from duplicates(given, ("hostAliases",), "ip")
    yield from duplicates(given, ("imagePullSecrets",))
    volumes = {volume.get("name") for volume, _ in objects(given, "volumes", ())}
    own = {container.get("name") for key in _CONTAINER_LISTS for container, _ in objects(given, key, ())}
    collector = _collector_names(given)
    if collector:
        container_name, volume_name = collector
        if container_name in own:
            yield ("logCollector",), f"its container {quoted(container_name)} is there already: give it another name"
        if volume_name in volumes:
            yield ("logCollector",), f"its volume {quoted(volume_name)} is there already: give it another name"
        own.add(container_name)
        volumes.add(volume_name)
    yield from _mount_faults(given, volumes)
    position = mapping(given, "position")
    for key in _CONTAINER_LISTS:
        for anchor, name in mapping(position, key).items():
            if type(name) is str and name in own:
                yield ("position", key, anchor), f"{quoted(name)} is a container of this entry; an anchor is one of the pod's"


def _collector_names(given: Json) -> tuple[str, str] | None:
    value = given.get("logCollector")
    if value is None or list(log_reader.faults(value)):
        return None
    made = log_reader.build(value)
    return made.container["name"], made.volume["name"]


def _mount_faults(given: Json, volumes: set[Any]) -> Found:
    kinds = {volume["name"]: volume for volume, _ in objects(given, "volumes", ()) if type(volume.get("name")) is str}
    holders = [(mapping(given, "app"), ("app",)), *(holder for key in _CONTAINER_LISTS for holder in objects(given, key, ()))]
    for holder, path in holders:
        for key in ("volumeMounts", "volumeDevices"):
            for mount, where in objects(holder, key, path):
                name = text(mount, "name") or ""
                if name and name not in volumes:
                    yield (*where, "name"), f"{quoted(name)} is not a volume of this entry; what it mounts it has to bring"
                elif key == "volumeDevices" and name in kinds and not kinds[name].keys() & _BLOCK_SOURCES:
                    yield (*where, "name"), f"{quoted(name)} is no persistentVolumeClaim or ephemeral: only those are devices"
        for variable, where in objects(holder, "env", path):
            file = mapping(mapping(variable, "valueFrom"), "fileKeyRef").get("volumeName")
            if type(file) is str and (file not in volumes or (file in kinds and "emptyDir" not in kinds[file])):
                yield (*where, "valueFrom", "fileKeyRef", "volumeName"), f"{quoted(file)} is not an emptyDir of this entry"


# -- the value -------------------------------------------------------------------------------------------------------


def _build(given: Json, origin: Origin, size: int) -> Entry:
    app = mapping(given, "app")
    fragments = [given.get(key) for key in (*_FRAGMENTS, "app", "logCollector")]
    position = mapping(given, "position")
    made = Entry(
        name=origin.name,
        namespace=origin.namespace,
        config_map=origin.config_map,
        key=origin.key,
        revision="",
        containers=tuple(given.get("containers", ())),
        init_containers=tuple(given.get("initContainers", ())),
        volumes=tuple(given.get("volumes", ())),
        image_pull_secrets=tuple(given.get("imagePullSecrets", ())),
        host_aliases=tuple(given.get("hostAliases", ())),
        labels=given.get("labels", {}),
        annotations=given.get("annotations", {}),
        app=AppWiring(
            containers=tuple(app.get("containers", ())),
            init_containers=app.get("initContainers", False),
            env=tuple(app.get("env", ())),
            env_from=tuple(app.get("envFrom", ())),
            volume_mounts=tuple(app.get("volumeMounts", ())),
            size=size_of([app.get(key) for key in _APP]) or 0,
        ),
        log_collector=log_reader.build(given["logCollector"]) if "logCollector" in given else None,
        native_sidecar=NativeSidecar(given.get("nativeSidecar", NativeSidecar.AUTO)),
        place=_placement(position.get("containers", "Last")),
        init_place=_placement(position.get("initContainers", "First")),
        on_conflict=Conflict(given.get("onConflict", Conflict.KEEP)),
        if_refused=Unfit(given.get("ifRefused", Unfit.WARN)),
        repair=frozenset(map(Repair, given.get("repair", ()))),
        overridable=given.get("overridable", True),
        allow_host_network=given.get("allowHostNetwork", False),
        has_placeholders=placeholders.has_placeholders(fragments),
        size=size,
    )
    return attrs.evolve(made, revision=_revision(made))


def _placement(value: Any) -> Placement:
    if isinstance(value, dict):
        anchor, name = next(iter(value.items()))
        return Placement(Spot.BEFORE if anchor == "before" else Spot.AFTER, name)
    return Placement(Spot(value))


def _revision(entry: Entry) -> str:
    """12 hex digits of what the entry does: comments, the order of keys and where it stands change nothing."""
    content = attrs.asdict(entry)
    for key in ("name", "namespace", "config_map", "key", "revision", "size"):
        del content[key]
    del content["app"]["size"]
    content["repair"] = sorted(content["repair"])
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:12]
