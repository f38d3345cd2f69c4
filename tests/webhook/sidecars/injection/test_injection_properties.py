"""Injection for any pod and any entries: what must always hold."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import attrs
import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.webhook.sidecars.injection import strategies
from tests.webhook.sidecars.injection.injecting import add_container, defaulted, once
from webhook.errors import MalformedObject
from webhook.names import INJECTED
from webhook.objects import schema
from webhook.objects.meta import Json
from webhook.sidecars.entries.entry import Conflict, Entry
from webhook.sidecars.injection import Scene

PODS, SCENES = strategies.pods(), strategies.scenes()
ENTRIES = st.tuples(strategies.entries("one"), strategies.entries("two")) | st.tuples(strategies.entries("one"))
SEVERAL = st.tuples(*(strategies.entries(name) for name in ("one", "two", "three")))
POLITE = ENTRIES.map(lambda entries: tuple(attrs.evolve(it, on_conflict=Conflict.KEEP, overridable=True) for it in entries))

many = settings(max_examples=40, deadline=None)


@many
@given(PODS, ENTRIES, SCENES)
def test_the_patch_leads_to_what_was_decided_and_a_refusal_edits_nothing(
    sent: Json, entries: tuple[Entry, ...], scene: Scene
) -> None:
    once(sent, *entries, scene=scene)  # holds both


@many
@given(PODS, ENTRIES, SCENES, SCENES)
def test_a_second_call_changes_nothing_whatever_is_known_by_then(
    sent: Json, entries: tuple[Entry, ...], scene: Scene, later: Scene
) -> None:
    first = once(sent, *entries, scene=scene)
    if first.refusal is not None:
        return

    assert once(first.pod, *entries, scene=msgspec.structs.replace(later, now_s=later.now_s + 60)).operations == []


@many
@given(PODS, SEVERAL, SCENES)
def test_a_second_call_changes_nothing_of_several_entries_that_are_in_each_others_way(
    sent: Json, entries: tuple[Entry, ...], scene: Scene
) -> None:
    first = once(sent, *entries, scene=scene)
    if first.refusal is not None:
        return

    assert once(first.pod, *entries, scene=scene).operations == []


@many
@given(PODS, ENTRIES, SCENES)
def test_a_second_call_changes_nothing_after_the_defaults_of_the_api_server(
    sent: Json, entries: tuple[Entry, ...], scene: Scene
) -> None:
    first = once(defaulted(sent), *entries, scene=scene)
    if first.refusal is not None:
        return

    second = once(defaulted(first.pod), *entries, scene=scene)

    assert second.operations == []
    assert second.refusal is None


@many
@given(PODS, POLITE, SCENES)
def test_what_another_webhook_does_between_the_calls_survives_and_is_only_added_to(
    sent: Json, entries: tuple[Entry, ...], scene: Scene
) -> None:
    first = once(sent, *entries, scene=scene)
    between = add_container(first.pod, {"name": "foreign", "image": "foreign:1", "env": [{"name": "A", "value": "theirs"}]})
    between["metadata"].setdefault("labels", {})["foreign"] = "yes"

    second = once(between, *entries, scene=scene)

    assert lost(between, second.pod) == []
    assert {operation.op for operation in second.operations} <= {"add", "replace"}
    assert all(is_of_the_foreign_container(operation.path) for operation in second.operations)


@many
@given(PODS, POLITE, SCENES)
def test_nothing_that_the_user_wrote_is_dropped(sent: Json, entries: tuple[Entry, ...], scene: Scene) -> None:
    assert lost(sent, once(sent, *entries, scene=scene).pod) == []


@many
@given(PODS, ENTRIES, SCENES)
def test_the_result_is_a_pod_that_the_api_server_can_decode(sent: Json, entries: tuple[Entry, ...], scene: Scene) -> None:
    done = once(sent, *entries, scene=scene)

    assert [*schema.check(done.pod["spec"], schema.named("PodSpec"))] == []
    assert all(type(value) is str for value in done.pod["metadata"].get("annotations", {}).values())


@many
@given(PODS, ENTRIES, SCENES)
def test_names_paths_and_variables_stay_unique(sent: Json, entries: tuple[Entry, ...], scene: Scene) -> None:
    spec = once(sent, *entries, scene=scene).pod["spec"]
    containers = [*spec["containers"], *(spec.get("initContainers") or [])]

    assert spec["containers"]
    assert len({container["name"] for container in containers}) == len(containers)
    for key, items in [("name", spec.get("volumes")), *((key, it.get(field)) for it in containers for field, key in KEYS)]:
        values = [item[key].rstrip("/") for item in items or []]
        assert len(set(values)) == len(values)


@many
@given(PODS, ENTRIES, SCENES, st.data())
def test_a_field_of_any_type_anywhere_is_malformed_or_no_matter(
    sent: Json, entries: tuple[Entry, ...], scene: Scene, data: st.DataObject
) -> None:
    parent, key = data.draw(st.sampled_from(list(places(sent))))
    parent[key] = data.draw(st.sampled_from([None, 1, True, "x", [], [None], [[]], {}, {"name": []}, [{"name": {}}], 1.5]))

    with contextlib.suppress(MalformedObject):
        once(sent, *entries, scene=scene)


def places(tree: Any) -> Iterator[tuple[Any, Any]]:
    for key, value in tree.items() if isinstance(tree, dict) else enumerate(tree):
        yield tree, key
        if isinstance(value, (dict, list)):
            yield from places(value)


KEYS = (("env", "name"), ("volumeMounts", "mountPath"))


def is_of_the_foreign_container(path: str) -> bool:
    return path.startswith(("/spec/containers/0/", "/spec/volumes"))


def lost(before: Any, after: Any, path: str = "") -> list[str]:
    """Every value of *before* that *after* does not have. Elements of lists are found again by what they hold."""
    if isinstance(before, dict) and isinstance(after, dict):
        before, after = with_one_list_of_containers(before), with_one_list_of_containers(after)
        kept = {key: value for key, value in before.items() if value not in (None, [], {}, "auto") and key != INJECTED}
        return [fault for key, value in kept.items() for fault in lost(value, after.get(key), f"{path}.{key}")]
    if isinstance(before, list) and isinstance(after, list):
        return [f"{path}[{index}]" for index, item in enumerate(before) if all(lost(item, other) for other in after)]
    return [] if before == after else [f"{path}: {before!r} became {after!r}"]


def with_one_list_of_containers(value: Json) -> Json:
    """A spec in which a stub is found again in whichever list it ends."""
    if "containers" not in value:
        return value
    rest = {key: item for key, item in value.items() if key not in ("containers", "initContainers")}
    return {**rest, "all": [*value["containers"], *(value.get("initContainers") or [])]}
