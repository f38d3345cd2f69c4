"""What holds for every entry: reading never raises, and what lint takes is a pod that the API server can decode."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.webhook.sidecars.entries import entry_strategies
from webhook.cluster import NamespaceFacts
from webhook.objects.schema import check, named
from webhook.sidecars.entries import filled_lint, source
from webhook.sidecars.entries.entry import Entry
from webhook.sidecars.entries.placeholders import Scope, has_placeholders, substitute

CALM = settings(deadline=None, suppress_health_check=list(HealthCheck))
LABELLED = {"gatehouse.dev/sidecars": "true"}


def read(tree: Any) -> Entry | None:
    """The entry that *tree* is, when lint takes it; otherwise it has faults, each with a place and a message."""
    text = json.dumps(tree)
    reading = source.read("shop", "tools", LABELLED, {"one": text})
    assert len(reading.entries) == (0 if reading.faults else 1)
    for fault in reading.faults:
        assert fault.message and fault.entry == "one"
        assert 1 <= fault.line <= text.count("\n") + 1 and fault.column >= 1
    return reading.entries[0] if reading.entries else None


def filled(entry: Entry, scope: Scope) -> dict[str, Any] | None:
    """The entry's parts in a minimal pod; None when something could not be filled in."""
    collector = entry.log_collector
    spec = {
        "containers": [
            {"name": "web", "image": "web", "env": entry.app.env, "volumeMounts": entry.app.volume_mounts},
            *entry.containers,
        ],
        "initContainers": entry.init_containers,
        "volumes": [*entry.volumes, *([collector.volume] if collector else [])],
        "imagePullSecrets": entry.image_pull_secrets,
        "hostAliases": entry.host_aliases,
    }
    if collector:
        spec["containers"].append(collector.container)  # type: ignore[attr-defined]
    plain = json.loads(json.dumps(spec))
    made = substitute(plain, named("PodSpec"), scope)
    labels = substitute(dict(entry.labels), named("{}string"), scope)
    if made.unresolved or labels.unresolved:
        return None
    return {"metadata": {"labels": labels.value, "annotations": dict(entry.annotations)}, "spec": made.value}


@CALM
@given(entry_strategies.JSON)
@example([])
@example({"containers": {"a": None}, "app": 1, "position": [], "labels": {"": None}, "logCollector": {"path": []}})
@example({"app": {"containers": [None, None], "env": [None]}, "repair": [None], "volumes": [{"configMap": []}]})
def test_any_json_is_an_entry_or_has_faults(tree: Any) -> None:
    read(tree)


@CALM
@given(st.text(max_size=60) | st.text(alphabet="abc:{}[]-'\"#&*!| \n\t", max_size=60))
def test_any_text_is_an_entry_or_has_faults(text: str) -> None:
    reading = source.read("shop", "tools", LABELLED, {"one": text})

    assert reading.entries or reading.faults


@CALM
@given(st.dictionaries(st.text(max_size=5), st.just("labels: {a: b}")), st.sampled_from(["envoy-initializer", "tools"]))
def test_every_key_is_an_entry_or_has_a_fault(data: dict[str, str], name: str) -> None:
    reading = source.read("shop", name, LABELLED, data)

    assert {found.key for found in reading.entries} | {fault.key for fault in reading.faults} >= set(data)


@CALM
@given(entry_strategies.ENTRIES, st.sampled_from(["80", "http", "99999", ""]))
def test_what_lint_takes_the_api_server_can_decode_in_a_pod(tree: dict[str, Any], port: str) -> None:
    entry = read(tree)
    if entry is None:
        return
    pod = {"metadata": {"name": "web-0", "labels": {"p": port}}}

    made = filled(entry, Scope(pod, "shop", NamespaceFacts("shop", "", {}, {}, False), 0.0, {"name": "web"}))

    if made is not None:
        assert list(check(made["spec"], named("PodSpec"))) == []
        assert list(check(made["metadata"], named("ObjectMeta"))) == []
        assert has_placeholders(tree) or made["spec"]["containers"][1 : 1 + len(entry.containers)] == list(entry.containers)


@CALM
@given(entry_strategies.ENTRIES)
def test_an_entry_is_the_same_however_often_and_wherever_it_is_read(tree: dict[str, Any]) -> None:
    first, second = read(tree), source.read("other", "tools", LABELLED, {"two": json.dumps(tree, indent=1)}).entries

    assert (first is None) == (not second)
    if first is not None:
        assert first.revision == second[0].revision
        assert list(filled_lint.entry_faults(first, first)) == []
