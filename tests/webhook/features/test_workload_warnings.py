"""Who applies a workload is told what will happen to its pods."""

from __future__ import annotations

import copy
from typing import Any

import attrs
import pytest

from tests.webhook.features.asking import Asked
from webhook.admission.review import Operations, User
from webhook.admission.service import Verdict
from webhook.cluster import Cluster
from webhook.features.workload_warnings import WarnOfWorkloads
from webhook.names import Reason
from webhook.objects.meta import Json
from webhook.objects.workloads import WORKLOADS, workload_of
from webhook.sidecars.entries.catalog import EntryFault, Reading
from webhook.sidecars.entries.entry import Conflict, Entry
from webhook.sidecars.selection import Policy
from webhook.testing import facts

TRUE = {"sidecar-injector/inject": "true"}
OPT_IN = {"sidecar-injector": "enabled"}
EVERY = {"pod-admission-webhook-injection": "enabled"}
ENVOY = {"name": "envoy", "image": "envoy:1"}


def cluster(**namespaces: Json) -> Cluster:
    """Namespaces with these labels, and one entry that everybody may have."""
    entries = (
        Entry("envoy-initializer", "kube-system", "envoy-initializer", "config", "r1", containers=(ENVOY,)),
        Entry("strict", "kube-system", "more", "strict", "r1", containers=(ENVOY,), on_conflict=Conflict.REFUSE),
    )
    fault = EntryFault("broken", "broken", 1, 1, "", "not YAML")
    found = [facts.namespace_facts(name, labels=labels) for name, labels in namespaces.items()]
    return facts.cluster(namespaces=found, sidecars=[Reading("kube-system", "more", "u", "1", entries, (fault,))])


CLUSTER = cluster(shop=OPT_IN, legacy=EVERY, plain={}, disabled={**OPT_IN, "gatehouse.dev/mutate": "disabled"})


def workload(kind: str = "Deployment", annotations: Json | None = None, *, own: Json | None = None, **spec: Any) -> Json:
    """A workload "web" whose template has *annotations*; *own*: its own metadata."""
    known = next(one for one in WORKLOADS if one.kind == kind)
    pod = {"containers": [{"name": "app", "image": "app:1"}], **spec}
    inner: Json = {"metadata": {"annotations": annotations or {}}, "spec": pod}
    for key in reversed(known.template):
        inner = {key: inner}
    return {"apiVersion": known.versions[0], "kind": kind, "metadata": {"name": "web", **(own or {})}, **inner}


def judged(obj: Json, *, namespace: str = "shop", old: Json | None = None, **asked: Any) -> Verdict:
    operation = Operations.UPDATE if old is not None else Operations.CREATE
    before = copy.deepcopy(obj)
    ask = Asked(operation=operation, namespace=namespace, object=obj, old_object=old)
    verdict = attrs.evolve(ask, **asked).of(WarnOfWorkloads(Policy(), CLUSTER))
    assert obj == before, "the review's object was edited"
    assert verdict.denial is None
    return verdict


def warnings(obj: Json, **asked: Any) -> list[str]:
    return list(judged(obj, **asked).warnings)


# -- what is said ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [one.kind for one in WORKLOADS if one.kind not in ("Pod", "PodTemplate")])
def test_a_word_on_the_workload_instead_of_its_template_is_told(kind: str) -> None:
    obj = workload(kind, own={"annotations": TRUE})
    known = workload_of(obj)
    assert known is not None

    assert warnings(obj) == [
        f"{kind} web: annotation sidecar-injector/inject in metadata does nothing: pods inherit only {known.field('metadata')}"
    ]


def test_pods_that_will_be_skipped_are_told_with_the_reason() -> None:
    assert warnings(workload(annotations=TRUE), namespace="plain") == [
        "Deployment web: its pods get no sidecar: namespace plain bears neither sidecar-injector=enabled nor "
        "pod-admission-webhook-injection=enabled"
    ]
    assert warnings(workload(annotations=TRUE), namespace="disabled") == [
        "Deployment web: its pods get no sidecar: namespace disabled bears gatehouse.dev/mutate=disabled"
    ]
    assert warnings(workload(annotations=TRUE, os={"name": "windows"})) == [
        "Deployment web: its pods get no sidecar: it is for Windows nodes"
    ]


def test_an_entry_that_is_left_out_is_told_once() -> None:
    assert warnings(workload("DaemonSet", hostNetwork=True), namespace="legacy") == [
        'DaemonSet web: entry "envoy-initializer" is left out: it uses its node\'s network, which the sidecar would share'
    ]


@pytest.mark.parametrize(("name", "reason"), [("nobody", Reason.ENTRY_MISSING), ("broken", Reason.ENTRY_BROKEN)])
def test_pods_that_will_be_refused_are_told(name: str, reason: Reason) -> None:
    verdict = judged(workload(annotations={"gatehouse.dev/inject": name}))

    assert verdict.reason is reason
    (warning,) = verdict.warnings
    assert warning.startswith(f'Deployment web: its pods will be refused: sidecar entry "{name}"')


def test_a_conflict_that_refuses_is_told() -> None:
    obj = workload(annotations={"gatehouse.dev/inject": "strict"}, containers=[{"name": "envoy", "image": "mine:1"}])

    (warning,) = warnings(obj)

    assert warning.startswith("Deployment web: its pods will be refused: ")


def test_a_value_that_cannot_be_read_is_told() -> None:
    (first, *_) = warnings(workload(annotations={"sidecar-injector/inject": "yes please"}))

    assert "expected" in first
    assert "yes please" in first


def test_a_workload_that_has_no_name_yet_is_named_by_its_prefix() -> None:
    obj = workload("Job", own={"name": None, "generateName": "render-", "annotations": TRUE})

    assert warnings(obj)[0].startswith("Job render-…: ")


# -- when nothing is said --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("obj", "namespace"),
    [
        (workload(annotations=TRUE), "shop"),
        (workload(), "legacy"),
        (workload(), "shop"),
        (workload(), "plain"),
        (workload(annotations={"sidecar-injector/inject": "false"}), "plain"),
        (workload(annotations={"sidecar-injector/inject": "false"}), "legacy"),
        (workload(own={"annotations": {"note": "x"}}), "kube-system"),
    ],
)
def test_nothing_to_say_is_no_warning(obj: Json, namespace: str) -> None:
    assert judged(obj, namespace=namespace) == Verdict(Reason.NOTHING_TO_DO)


@pytest.mark.parametrize(
    "changes",
    [
        {"spec": {"replicas": 5}},
        {"status": {"replicas": 5}},
        {"metadata": {"annotations": {**TRUE, "deployment.kubernetes.io/revision": "8"}, "labels": {"a": "b"}}},
    ],
)
def test_an_update_of_anything_else_is_not_judged(changes: Json) -> None:
    old = workload(own={"annotations": TRUE})
    new = {key: {**value, **changes.get(key, {})} if isinstance(value, dict) else value for key, value in old.items()}

    assert judged({**new, "status": changes.get("status")}, old=old) == Verdict(Reason.NOTHING_TO_DO)


@pytest.mark.parametrize(
    "new",
    [
        workload(annotations={"gatehouse.dev/inject": "nobody"}, terminationGracePeriodSeconds=1),
        workload(own={"annotations": TRUE}),
        workload(own={"labels": TRUE}),
    ],
)
def test_an_update_of_what_counts_is_judged_again(new: Json) -> None:
    assert warnings(new, old=workload())


@pytest.mark.parametrize(
    "name",
    [
        "system:serviceaccount:kube-system:deployment-controller",
        "system:serviceaccount:kube-system:cronjob-controller",
        "system:kube-controller-manager",
    ],
)
def test_the_control_planes_own_writes_are_not_judged(name: str) -> None:
    assert judged(workload(own={"annotations": TRUE}), user=User(name, ())).reason is Reason.NOT_APPLICABLE


@pytest.mark.parametrize("name", ["system:serviceaccount:argocd:argocd-application-controller", "ann"])
def test_others_are_told_whoever_they_are(name: str) -> None:
    assert warnings(workload(own={"annotations": TRUE}), user=User(name, ()))


def test_what_a_controller_owns_is_not_judged() -> None:
    owner = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": "u"}
    owned = workload("ReplicaSet", own={"annotations": TRUE, "ownerReferences": [{**owner, "controller": True}]})
    kept = workload("ReplicaSet", own={"annotations": TRUE, "ownerReferences": [owner]})

    assert judged(owned).reason is Reason.NOT_APPLICABLE
    assert warnings(kept)


@pytest.mark.parametrize(
    "obj", [{"apiVersion": "v1", "kind": "Pod", "metadata": {"annotations": TRUE}}, {"apiVersion": "v1", "kind": "Service"}, {}]
)
def test_other_kinds_are_not_its_business(obj: Json) -> None:
    assert judged(obj).reason is Reason.NOT_APPLICABLE


def test_a_namespace_that_the_cache_lacks_costs_no_live_read() -> None:
    (warning,) = warnings(workload(annotations=TRUE), namespace="new")

    assert warning == "Deployment web: its pods get no sidecar: nobody knows namespace new"
    assert isinstance(CLUSTER.namespaces, facts.StaticNamespaces)
    assert CLUSTER.namespaces.confirmed == []


def test_a_label_that_selects_the_pods_is_told_to_stay() -> None:
    obj = workload(annotations={"gatehouse.dev/inject": "mesh"})
    obj["spec"]["template"]["metadata"]["labels"] = {"app": "web"}
    mesh = Entry("mesh", "kube-system", "more", "mesh", "r1", labels={"app": "meshed"}, on_conflict=Conflict.OVERRIDE)
    place = facts.namespace_facts("shop", labels=OPT_IN)
    known = facts.cluster(namespaces=[place], sidecars=[Reading("kube-system", "more", "u", "1", (mesh,), ())])

    verdict = Asked(operation=Operations.CREATE, namespace="shop", object=obj).of(WarnOfWorkloads(Policy(), known))

    assert verdict.reason is Reason.METADATA_CONFLICT
    assert "label app" in verdict.warnings[0]
    assert "stays as it is" in verdict.warnings[0]


def test_a_stub_that_nothing_fills_in_is_told() -> None:
    stub = {"name": "envoy", "image": "auto"}
    verdict = judged(
        workload(annotations={"sidecar-injector/inject": "false"}, containers=[{"name": "app", "image": "a:1"}, stub])
    )

    assert verdict.reason is Reason.STUB_UNFILLED
