"""What is decided about a pod beyond its injection: entries that are not known yet, stubs that nobody fills."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import attrs

from controllers.testing import FakeClock
from tests.webhook.sidecars.injection.injecting import entry, pod
from webhook.admission.draft import Draft
from webhook.clock import Deadline
from webhook.cluster import Cluster
from webhook.names import INJECT_ENTRIES, Reason
from webhook.objects.meta import Json
from webhook.sidecars.decision import Decision, decide
from webhook.sidecars.entries.catalog import Catalog, Reading
from webhook.sidecars.entries.entry import Entry
from webhook.sidecars.fitting.sizes import MAX_PATCH
from webhook.sidecars.selection import Policy
from webhook.testing.facts import cluster, namespace_facts

ENABLED = {"sidecar-injector": "enabled"}
STUB = {"name": "envoy", "image": "auto"}
APP = {"name": "app", "image": "a:1"}


def known(*entries: Entry) -> Catalog:
    return Catalog().absorb(Reading("shop", "sidecars", "u", "1", entries, ()))


@attrs.define
class Late:
    """Entries that come when they are waited for."""

    coming: Catalog
    waited_for: list[str] = attrs.field(factory=list)

    def catalog(self) -> Catalog:
        return self.coming if self.waited_for else Catalog()

    def awaited(self, names: Iterable[str], namespace: str, home: str, deadline: Deadline) -> Catalog:
        self.waited_for += names
        return self.coming


def asking(asked: str, *containers: Json) -> Json:
    sent = pod(*containers)
    sent["metadata"]["annotations"] = {INJECT_ENTRIES: asked}
    return sent


def decided(sent: Json, facts: Cluster, **options: Any) -> Decision:
    deadline = Deadline.after(5.0, FakeClock())
    return decide(Draft(sent), "shop", facts, Policy(), 0.0, deadline, **options)


def shop(*entries: Entry, labels: dict[str, str] | None = None) -> Cluster:
    return cluster(namespaces=[namespace_facts("shop", labels=ENABLED if labels is None else labels)], sidecars=known(*entries))


def unfilled(decision: Decision) -> Sequence[str]:
    return [finding.field for finding in decision.findings if finding.reason is Reason.STUB_UNFILLED]


def test_an_entry_that_comes_with_its_pod_is_waited_for() -> None:
    late = Late(known(entry()))

    decision = decided(asking("envoy"), attrs.evolve(shop(), sidecars=late))

    assert (decision.reason, late.waited_for) == (Reason.INJECTED, ["envoy"])


def test_nobody_waits_for_a_template() -> None:
    late = Late(known(entry()))

    decision = decided(asking("envoy"), attrs.evolve(shop(), sidecars=late), confirm=False)

    assert (decision.reason, late.waited_for) == (Reason.ENTRY_MISSING, [])


def test_a_stub_that_no_entry_fills_in_is_told() -> None:
    assert unfilled(decided(asking("false", APP, STUB), shop(entry()))) == ["spec.containers[1].image"]
    assert unfilled(decided(asking("other", APP, STUB), shop(entry(), entry("other", containers=())))) == [
        "spec.containers[1].image"
    ]


def test_a_stub_that_is_filled_in_or_somebody_elses_is_not() -> None:
    assert unfilled(decided(asking("envoy", APP, STUB), shop(entry()))) == []
    assert unfilled(decided(asking("false", APP, {**STUB, "name": "istio-proxy"}), shop(entry()))) == []
    assert unfilled(decided(asking("false", APP, STUB), shop(entry(), labels={}))) == []


def test_a_pod_whose_only_entry_is_left_out_is_not_called_injected() -> None:
    decision = decided(asking("envoy", APP, {"name": "envoy", "image": "mine:1"}), shop(entry()))

    assert decision.reason is Reason.NAME_CONFLICT
    assert "left out as a whole" in decision.message


def test_more_than_etcd_takes_is_refused_and_nothing_is_edited() -> None:
    large = [
        entry(f"e{number}", containers=({"name": f"e{number}", "image": "a:1", "args": ["x" * (MAX_PATCH // 5)]},))
        for number in range(6)
    ]
    draft = Draft(asking(",".join(one.name for one in large), APP))

    decision = decide(draft, "shop", shop(*large), Policy(), 0.0, Deadline.after(5.0, FakeClock()))

    assert decision.refusal is not None
    assert decision.refusal.reason is Reason.POD_TOO_LARGE
    assert draft.operations == []
