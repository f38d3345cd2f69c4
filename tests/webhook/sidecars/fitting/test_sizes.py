"""No entry, and no pod that asks for many, makes an answer that the API server chokes on."""

from __future__ import annotations

import attrs
import pytest

from tests.webhook.sidecars.injection.injecting import SCENE, entry, pod
from webhook.cluster import NamespaceFacts
from webhook.names import Reason
from webhook.objects.meta import Json
from webhook.sidecars.entries import source
from webhook.sidecars.entries.catalog import Catalog
from webhook.sidecars.entries.entry import Entry
from webhook.sidecars.fitting.sizes import MAX_ENTRIES, MAX_PATCH, foreseen, outgrown
from webhook.sidecars.injection import plan
from webhook.sidecars.selection import Policy, select

LABELLED = {"gatehouse.dev/sidecars": "true"}
SHOP = NamespaceFacts(name="shop", uid="u", labels={"sidecar-injector": "enabled"}, annotations={}, deleting=False)


def read(text: str, name: str = "one") -> Entry:
    (found,) = source.read("shop", "tools", LABELLED, {name: text}).entries
    return found


def bringing(size: int, name: str) -> Entry:
    """An entry whose container has an argument of *size* characters."""
    return entry(name, containers=({"name": name, "image": "a:1", "args": ["x" * size]},))


def test_what_etcd_has_room_for_may_come() -> None:
    assert outgrown(plan(pod(), [bringing(MAX_PATCH - 1000, "a")], SCENE)) is None


def test_what_etcd_would_not_take_is_refused_with_the_names_of_the_entries() -> None:
    entries = [bringing(MAX_PATCH // 5, f"e{number}") for number in range(6)]

    refusal = outgrown(plan(pod(), entries, SCENE))

    assert refusal is not None and refusal.reason is Reason.POD_TOO_LARGE
    assert refusal.message.startswith('the pod would get more than 1 MiB, by entry "e0" (shop/sidecars), entry "e1"')
    assert refusal.message.endswith(" and 1 more: etcd takes 1.5 MiB")


def test_what_goes_into_each_of_very_many_containers_is_foreseen_without_work() -> None:
    wide = read("app: {env: [" + ", ".join(f"{{name: A{number}, value: b}}" for number in range(500)) + "]}")
    many: list[Json] = [{"name": f"c{number}", "image": "a:1"} for number in range(1000)]

    assert foreseen(pod(), [wide]) is None
    refusal = foreseen(pod(*many), [wide])
    assert refusal is not None and refusal.reason is Reason.POD_TOO_LARGE


def test_an_annotation_that_is_asked_for_very_often_keeps_the_entry_out() -> None:
    greedy = read("containers: [{name: a, image: b, args: [" + ", ".join(["\"${pod.annotations['x']}\""] * 5000) + "]}]")
    sent = pod()
    sent["metadata"]["annotations"] = {"x": "y" * 100_000}

    planned = plan(sent, [greedy], SCENE)

    assert planned.parts == ()
    assert [finding.reason for finding in planned.findings] == [Reason.PLACEHOLDER_UNRESOLVED]
    assert "what is filled in grows too long here" in planned.findings[0].message
    assert len(planned.findings[0].message) < 10_000


@pytest.mark.parametrize("count", [MAX_ENTRIES, MAX_ENTRIES + 1])
def test_a_pod_that_asks_for_very_many_entries_is_refused(count: int) -> None:
    catalog = Catalog()
    for number in range(count):
        made = source.read("shop", f"c{number}", LABELLED, {f"e{number}": "labels: {a: b}"})
        catalog = attrs.evolve(catalog.absorb(made))
    sent = pod()
    sent["metadata"]["annotations"] = {"gatehouse.dev/inject": ",".join(f"e{number}" for number in range(count))}

    refusal = select(sent, "shop", SHOP, catalog, Policy()).refusal

    if count > MAX_ENTRIES:
        assert refusal is not None
        assert refusal.message == "pod annotation gatehouse.dev/inject names 65 sidecar entries, more than 64"
    else:
        assert refusal is None
