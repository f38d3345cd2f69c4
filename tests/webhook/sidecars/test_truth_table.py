"""Who gets what: every combination of what a namespace, a pod's labels and its annotations can say."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any

import pytest

from tests.webhook.sidecars.truth import LEVEL, LOST, OBSTACLES, TABLE, Row, Says, Space, Value
from tests.webhook.sidecars.truth_table import PAGE, renewed
from webhook.cluster import NamespaceFacts
from webhook.names import INJECT, INJECT_ENTRIES, Reason
from webhook.sidecars.entries.catalog import Catalog, EntryFault, Reading
from webhook.sidecars.entries.entry import Entry
from webhook.sidecars.selection import Missing, Policy, Selection, select

POLICY = Policy(default=("envoy", "logs"), home="gatehouse")
NAMES = {"labels": ("one",), "annotations": ("two", "three"), "namespace": ("four",)}  # what each level names
ALL = [*POLICY.default, *(name for names in NAMES.values() for name in names)]
CATALOG = Catalog().absorb(
    Reading("gatehouse", "sidecars", "uid", "1", tuple(Entry(name, "gatehouse", "sidecars", name, "0") for name in ALL))
)
MAY_ASK, EVERY_POD = {"sidecar-injector": "enabled"}, {"pod-admission-webhook-injection": "enabled"}

# What is written for a value; the article's key knows no names. A label's value cannot hold a comma.
WRITTEN: Mapping[str, Mapping[Value, tuple[str | None, ...]]] = {
    "labels": {
        Value.ABSENT: (None,),
        Value.TRUE: ("true",),
        Value.FALSE: ("false",),
        Value.NAMES: ("one",),
        Value.INVALID: ("", "no_name"),
    },
    "annotations": {
        Value.ABSENT: (None,),
        Value.TRUE: ("true", " True "),
        Value.FALSE: ("false", "FALSE"),
        Value.NAMES: ("two,three", " two, three,two,"),
        Value.INVALID: ("", " , ", "two three", "Two!", "x" * 64),
    },
}
SPACES: Mapping[Space, tuple[NamespaceFacts | None, ...]] = {}


def namespace(labels: Mapping[str, str], inject: str | None = None) -> NamespaceFacts:
    return NamespaceFacts("shop", "uid", labels, {} if inject is None else {INJECT_ENTRIES: inject}, False)


def enabled(*says: str | None) -> tuple[NamespaceFacts, ...]:
    """Namespaces that take part by either label, or both, and have one of these annotations."""
    return tuple(namespace(labels, word) for labels in (MAY_ASK, EVERY_POD, {**MAY_ASK, **EVERY_POD}) for word in says)


SPACES = {
    Space.UNKNOWN: (None,),
    Space.DISABLED: tuple(
        namespace({**labels, "gatehouse.dev/mutate": "disabled"}, word)
        for labels in ({}, MAY_ASK, EVERY_POD)
        for word in (None, "true", "four")
    ),
    Space.PLAIN: tuple(
        namespace(labels, word)
        for labels in ({}, {"sidecar-injector": "true"}, {"pod-admission-webhook-injection": "Enabled"})
        for word in (None, "true", "false", "four")
    ),
    Space.MAY_ASK: (
        namespace(MAY_ASK),
        namespace(MAY_ASK, "no name"),
        namespace({**MAY_ASK, "gatehouse.dev/mutate": "enabled"}),
    ),
    Space.EVERY_POD: (namespace(EVERY_POD), namespace({**MAY_ASK, **EVERY_POD}), namespace(EVERY_POD, "no name")),
    Space.SAYS_TRUE: enabled("true"),
    Space.SAYS_FALSE: enabled("false"),
    Space.SAYS_NAMES: enabled("four"),
}


def written(level: str, inject: Value, entries: Value) -> Iterator[dict[str, str]]:
    """The annotations or labels that say so, in every spelling."""
    for one, two in product(WRITTEN[level][inject], WRITTEN[level][entries]):
        yield {key: text for key, text in ((INJECT, one), (INJECT_ENTRIES, two)) if text is not None}


def said(inject: Value, entries: Value) -> Says:
    """What the table has for a level; there must be exactly one row."""
    (row,) = [row for row in LEVEL if inject in row.inject and entries in row.entries]
    return row.says


def row_for(space: Space, labels: Says, annotations: Says) -> Row:
    (row,) = [row for row in TABLE if space in row.spaces and labels in row.labels and annotations in row.annotations]
    return row


def pod(**metadata: Any) -> dict[str, Any]:
    return {"metadata": {"name": "web", **metadata}, "spec": {"containers": [{"name": "app", "image": "app:1"}]}}


def chosen(facts: NamespaceFacts | None, **metadata: Any) -> Selection:
    return select(pod(**metadata), "shop", facts, CATALOG, POLICY)


def expected_names(row: Row, labels: Says, annotations: Says) -> tuple[str, ...]:
    if row.gets is Says.NAMED:
        level = "annotations" if annotations is not Says.NOTHING else "labels" if labels is not Says.NOTHING else "namespace"
        return NAMES[level]
    return POLICY.default if row.gets is Says.DEFAULT else ()


# -- the tables


@pytest.mark.parametrize("level", ["labels", "annotations"])
@pytest.mark.parametrize(("inject", "entries"), list(product(Value, Value)), ids=str)
def test_the_two_keys_of_a_level_say_together_what_the_table_has(level: str, inject: Value, entries: Value) -> None:
    says = said(inject, entries)
    facts = namespace(MAY_ASK)
    wanted = {Says.NOTHING: (), Says.NO: (), Says.DEFAULT: POLICY.default, Says.NAMED: NAMES[level]}[says]
    reason = {Says.NOTHING: Reason.NOT_ASKED, Says.NO: Reason.OPTED_OUT}.get(says, Reason.INJECTED)

    for keys in written(level, inject, entries):
        found = chosen(facts, **{level: keys})

        assert (found.asked.names, found.reason) == (wanted, reason), keys


@pytest.mark.parametrize(("space", "labels", "annotations"), list(product(Space, Says, Says)), ids=str)
def test_every_combination_of_the_levels_gives_what_its_row_has(space: Space, labels: Says, annotations: Says) -> None:
    row = row_for(space, labels, annotations)
    wanted = expected_names(row, labels, annotations)
    pairs = list(product(Value, Value))
    label_sets = [keys for pair in pairs if said(*pair) is labels for keys in written("labels", *pair)]
    annotation_sets = [keys for pair in pairs if said(*pair) is annotations for keys in written("annotations", *pair)]

    for facts in SPACES[space]:
        for label_keys, annotation_keys in zip(
            cycle(label_sets, annotation_sets), cycle(annotation_sets, label_sets), strict=True
        ):
            found = chosen(facts, labels=label_keys, annotations=annotation_keys)

            assert (found.asked.names, found.reason) == (wanted, row.reason), (facts, label_keys, annotation_keys)
            assert tuple(entry.name for entry in found.entries) == wanted


def cycle(keys: list[dict[str, str]], beside: list[dict[str, str]]) -> list[dict[str, str]]:
    """*keys* again and again until each of *beside* has had one."""
    length = max(len(keys), len(beside))
    return [keys[index % len(keys)] for index in range(length)]


# -- what is in the way

HINDERED = {
    Reason.SYSTEM_NAMESPACE: pod(),
    Reason.OWN_OBJECT: pod(labels={"app.kubernetes.io/name": "gatehouse"}),
    Reason.MIRROR_POD: pod(annotations={"kubernetes.io/config.mirror": "abc"}),
    Reason.WINDOWS_POD: {**pod(), "spec": {"os": {"name": "windows"}}},
    Reason.HOST_NETWORK: {**pod(), "spec": {"hostNetwork": True}},
}


@pytest.mark.parametrize("obstacle", OBSTACLES, ids=lambda obstacle: obstacle.reason)
def test_what_is_in_the_way_is_told_by_its_reason(obstacle: Any) -> None:
    place = "kube-system" if obstacle.reason is Reason.SYSTEM_NAMESPACE else "shop"

    found = select(HINDERED[obstacle.reason], place, namespace(EVERY_POD), CATALOG, POLICY)

    assert (found.entries, found.reason, found.refusal) == ((), obstacle.reason, None)
    assert found.message


def test_of_several_obstacles_the_first_of_the_table_is_told() -> None:
    everything: dict[str, Any] = {
        "metadata": {
            "labels": {"app.kubernetes.io/name": "gatehouse"},
            "annotations": {"kubernetes.io/config.mirror": "abc"},
        },
        "spec": {"os": {"name": "windows"}, "hostNetwork": True},
    }
    cures = {
        Reason.OWN_OBJECT: lambda: everything["metadata"].pop("labels"),
        Reason.MIRROR_POD: lambda: everything["metadata"].pop("annotations"),
        Reason.WINDOWS_POD: lambda: everything["spec"].pop("os"),
        Reason.HOST_NETWORK: lambda: everything["spec"].pop("hostNetwork"),
    }
    told = [select(everything, "kube-system", namespace(EVERY_POD), CATALOG, POLICY).reason]
    for reason in cures:
        told.append(select(everything, "shop", namespace(EVERY_POD), CATALOG, POLICY).reason)
        cures[reason]()

    assert told == [obstacle.reason for obstacle in OBSTACLES]


def test_an_entry_may_allow_the_network_of_the_node() -> None:
    entry = Entry("envoy", "gatehouse", "sidecars", "envoy", "0", allow_host_network=True)
    catalog = CATALOG.absorb(
        Reading("gatehouse", "sidecars", "uid", "2", (entry, Entry("logs", "gatehouse", "sidecars", "logs", "0")))
    )

    found = select(HINDERED[Reason.HOST_NETWORK], "shop", namespace(EVERY_POD), catalog, POLICY)

    assert [one.name for one in found.entries] == ["envoy"]
    assert [finding.reason for finding in found.findings] == [Reason.HOST_NETWORK]


# -- entries that are not there


@pytest.mark.parametrize("reason", [Reason.ENTRY_MISSING, Reason.ENTRY_BROKEN])
@pytest.mark.parametrize("row", LOST, ids=lambda row: f"{row.policy}-{'named' if row.named else 'by default'}")
def test_a_lost_entry_refuses_the_pod_where_the_table_says_so(row: Any, reason: Reason) -> None:
    catalog = Catalog()
    if reason is Reason.ENTRY_BROKEN:
        catalog = catalog.absorb(Reading("shop", "mine", "uid", "1", (), (EntryFault("lost", "lost", 1, 1, "", "is broken"),)))
    policy = Policy(default=("lost",), on_missing=row.policy)
    asks = {INJECT_ENTRIES: "lost,also"} if row.named else {INJECT: "true"}

    found = select(pod(annotations=asks), "shop", namespace(MAY_ASK), catalog, policy)

    assert (found.refusal is not None) is row.refused
    assert found.reason in (reason, Reason.ENTRY_MISSING)
    assert reason in {finding.reason for finding in [*found.findings, *([found.refusal] if found.refusal else [])]}


def test_there_is_one_row_for_each_policy_and_each_way_to_ask() -> None:
    assert {(row.policy, row.named) for row in LOST} == set(product(Missing, (True, False)))
    assert len(LOST) == len(Missing) * 2


def test_the_tables_of_the_page_are_these() -> None:
    page = PAGE.read_text()

    assert renewed(page) == page, "make docs"
