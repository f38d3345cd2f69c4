"""Every service of the registry is heard, also rules of others, and no rule's fault takes the explanation with it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import ClassVar

import attrs
import pytest

from controllers.explaining.explainer import Explainer, Query
from webhook.admission.draft import Draft
from webhook.admission.gate import Gate
from webhook.admission.registry import SERVICES
from webhook.admission.review import AdmissionRequest, Denial, Operations
from webhook.admission.service import Context, Entry, Match, Service, Verdict
from webhook.admission.settings import Settings
from webhook.names import Reason
from webhook.objects.meta import Json
from webhook.telemetry import Telemetry
from webhook.testing.given import Given
from webhook.testing.golden import FixedClock

POD: Json = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "web", "namespace": "shop"},
    "spec": {"containers": [{"name": "app", "image": "app:1"}]},
}
GIVEN = {"now": "2026-11-29T10:00:00Z", "namespaces": [{"name": "shop"}]}


@attrs.frozen
class Whim:
    """A rule of somebody else's that does as the test says."""

    decide: Callable[[AdmissionRequest, Draft], Verdict]
    name: ClassVar[str] = "whim"
    advice: ClassVar[Mapping[str, str]] = {Reason.NOT_ASKED: "ask the whim's author"}

    def __call__(self, request: AdmissionRequest, draft: Draft, context: Context) -> Verdict:
        assert request.dry_run
        assert context.dry_run
        return self.decide(request, draft)


def explainer(decide: Callable[[AdmissionRequest, Draft], Verdict], *, mutating: bool = True) -> Explainer:
    entry = Entry((Match("", "v1", "pods", (Operations.CREATE,), "Namespaced"),))
    service = Service("whim", "/whim", (entry,), lambda settings, cluster: (Whim(decide),), mutating)
    given = Given.read(GIVEN)
    cluster, clock = given.cluster(), FixedClock(given.now_s)
    return Explainer(Gate(Settings(), cluster, Telemetry(), clock, services=(*SERVICES, service)), cluster, clock)


def of_whim(found: Json) -> Json:
    (service,) = (one for asked in found["rules"] for one in asked["services"] if one["service"] == "whim")
    return dict(service)


def test_a_rule_of_somebody_else_is_explained_with_its_own_advice() -> None:
    def decide(request: AdmissionRequest, draft: Draft) -> Verdict:
        draft.set(("metadata", "labels", "whim"), "yes")
        return Verdict(Reason.NOT_ASKED, "because", warnings=("mind it",))

    explained = explainer(decide).explain(Query("pod", object=POD, namespace="shop"))

    service = of_whim(explained.json)
    assert service["rules"] == [
        {"rule": "whim", "reason": "NotAsked", "message": "because", "refused": False, "warnings": ["mind it"]}
    ]
    assert [(one["action"], one["what"], one["name"]) for one in service["changes"]] == [("added", "label", "whim")]
    assert "ask the whim's author" in explained.text
    assert explained.is_fine


def test_what_it_changes_is_the_verdict_and_the_sidecars_come_after() -> None:
    def decide(request: AdmissionRequest, draft: Draft) -> Verdict:
        draft.set(("metadata", "labels", "owner"), "team-a")
        return Verdict(Reason.NOT_ASKED, "owner=team-a of namespace shop")

    explained = explainer(decide).explain(Query("pod", object=POD, namespace="shop"))

    lines = explained.text.splitlines()
    assert lines[:2] == ["Pod shop/web", "NotAsked: owner=team-a of namespace shop"]
    assert lines[2].startswith("sidecars: NamespaceNotEnabled: namespace shop bears neither ")
    assert explained.json["verdict"] == "NotAsked: owner=team-a of namespace shop"


def test_a_pod_that_it_lets_pass_as_it_is_is_said_to_be_left_alone() -> None:
    explained = explainer(lambda request, draft: Verdict(Reason.NOT_ASKED)).explain(Query("pod", object=POD, namespace="shop"))

    assert explained.text.splitlines()[1] == "nothing changes, no rule refuses it"


def test_the_pod_that_a_deployment_makes_is_named_by_what_its_name_begins_with() -> None:
    def refuse(request: AdmissionRequest, draft: Draft) -> Verdict:
        message = f"{request.subject}: nobody owns it"
        return Verdict(Reason.NOT_ASKED, message, Denial(403, "No", message))

    template = {"spec": POD["spec"]}
    deployment = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": {"template": template}}
    explained = explainer(refuse).explain(Query("workload", object=deployment, namespace="shop"))

    assert explained.text.splitlines()[:2] == ["Deployment shop/web", "refused, NotAsked: pods shop/web-…: nobody owns it"]


def test_its_refusal_is_the_verdict() -> None:
    denial = Denial(403, "WhimSaysNo", "pod web: not today")
    found = explainer(lambda request, draft: Verdict(Reason.NOT_ASKED, "pod web: not today", denial))

    explained = found.explain(Query("pod", object=POD, namespace="shop"))

    assert not explained.is_fine
    assert explained.text.splitlines()[1] == "refused, NotAsked: pod web: not today"


def test_after_a_refusal_no_later_mutating_service_is_asked() -> None:
    refusing = Denial(403, "No", "no")
    first = explainer(lambda request, draft: Verdict(Reason.NOT_ASKED, "no", refusing)).gate.services[-1]
    second = attrs.evolve(first, service=attrs.evolve(first.service, name="later"))
    whole = explainer(lambda request, draft: Verdict(Reason.NOT_ASKED))
    whole.gate.services = (first, second)

    found = whole.explain(Query("pod", object=POD, namespace="shop")).json

    later = found["rules"][0]["services"][1]
    assert (later["asked"], later["why"]) == (False, "whim has refused it before")


def test_a_rule_that_fails_is_not_decided_and_the_others_are() -> None:
    def decide(request: AdmissionRequest, draft: Draft) -> Verdict:
        raise KeyError("oops")

    explained = explainer(decide).explain(Query("pod", object=POD, namespace="shop"))

    service = of_whim(explained.json)
    assert (service["decided"], service["why"]) == (False, "the rule failed: KeyError: 'oops'")
    assert not explained.is_fine
    assert "not decided" in explained.text.splitlines()[1]


def test_what_is_explained_stays_as_it_is() -> None:
    def decide(request: AdmissionRequest, draft: Draft) -> Verdict:
        draft.set(("spec", "containers", 0, "image"), "other:1")
        return Verdict(Reason.NOT_ASKED)

    before = attrs.evolve(Query("pod", object=POD)).object
    explainer(decide).explain(Query("pod", object=POD, namespace="shop"))

    assert before == POD
    assert POD["spec"]["containers"][0]["image"] == "app:1"


@pytest.mark.parametrize("synced", [True, False])
def test_a_cache_that_has_not_synced_leaves_its_services_undecided_as_the_server_does(synced: bool) -> None:
    given = Given.read({"now": "2026-11-29T10:00:00Z", "nodes": [{"name": "edge-1"}]})
    cluster, clock = given.cluster(), FixedClock(given.now_s)
    gate = Gate(Settings(), cluster, Telemetry(), clock, services=SERVICES)
    endpoints = {"apiVersion": "v1", "kind": "Endpoints", "metadata": {"name": "web", "namespace": "shop"}}

    explained = Explainer(gate, cluster, clock, lambda cache: synced).explain(
        Query("endpoint", object=endpoints, namespace="shop")
    )

    assert explained.is_fine is synced
    assert ("the nodes cache has not synced yet" in explained.text) is not synced
