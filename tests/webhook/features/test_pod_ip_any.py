"""Whatever pod arrives at the two rules, it gets an answer or a clear error, and what one has given the other lets pass."""

from __future__ import annotations

import copy
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from webhook.addresses.policy import AddressPolicy
from webhook.admission.draft import Draft
from webhook.admission.review import AdmissionRequest, GroupVersionResource, Operations, User
from webhook.admission.service import Context, Verdict
from webhook.admission.verify import apply
from webhook.clock import Deadline
from webhook.cluster import Cluster
from webhook.errors import MalformedObject
from webhook.features.pod_ip import GiveAddresses
from webhook.features.pod_ip_check import CheckAddresses
from webhook.names import Reason
from webhook.objects.meta import Json
from webhook.testing import facts
from webhook.testing.addresses import StaticAddresses, pool, reservation
from webhook.testing.golden import FixedClock

CLOCK = FixedClock(1_800_000_000.0)
JUNK: st.SearchStrategy[Any] = (
    st.none() | st.booleans() | st.integers() | st.text(max_size=3) | st.lists(st.integers(), max_size=2) | st.just({"a": {}})
)
ADDRESSES = ["10.0.0.1", "10.0.0.2", "10.0.0.9", "fd00::1", "::ffff:10.0.0.1", "10.0.0.1-3", "", "\ud800", "[", '["10.0.0.1"]']


def or_junk(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.integers(0, 29).flatmap(lambda n: JUNK if n == 0 else strategy)


def record(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return or_junk(st.fixed_dictionaries({}, optional={key: or_junk(value) for key, value in fields.items()}))


LISTS = st.lists(st.sampled_from(ADDRESSES), max_size=3)
LABELS = st.fixed_dictionaries(
    {},
    optional={
        "gatehouse.dev/ip-pool": or_junk(st.sampled_from(["edge", "both", "nobody", "A b"])),
        "allocatable-ips": or_junk(LISTS.map("_".join)),
        "allocated-ip": or_junk(st.sampled_from(ADDRESSES)),
        "app.kubernetes.io/name": st.sampled_from(["gatehouse", "web"]),
    },
)
ANNOTATIONS = st.fixed_dictionaries(
    {},
    optional={
        "allocatable-ips": or_junk(LISTS.map(" ".join)),
        "cni.projectcalico.org/ipAddrs": or_junk(st.sampled_from(['["10.0.0.1"]', '["10.0.0.9","fd00::1"]', "[]", "{", "[1]"])),
        "cni.projectcalico.org/ipAddrsNoIpam": or_junk(st.just('["10.0.0.1"]')),
        "gatehouse.dev/reservation-key": or_junk(st.sampled_from(["k", ""])),
        "kubernetes.io/config.mirror": st.just("x"),
    },
)
OWNER = record(
    kind=st.sampled_from(["StatefulSet", "ReplicaSet"]), name=st.just("web"), uid=st.just("uid-web"), controller=st.booleans()
)
PODS = st.fixed_dictionaries(
    {},
    optional={
        "metadata": record(
            name=st.sampled_from(["web-0", "web", ""]),
            generateName=st.just("web-"),
            uid=st.just("uid-x"),
            labels=or_junk(LABELS),
            annotations=or_junk(ANNOTATIONS),
            ownerReferences=st.lists(OWNER, max_size=2),
            deletionTimestamp=st.just("2026-11-29T09:59:00Z"),
        ),
        "spec": record(
            schedulingGates=st.lists(record(name=st.sampled_from(["gatehouse.dev/pod-ip", "other"])), max_size=2),
            hostNetwork=st.booleans(),
            nodeName=st.sampled_from(["", "edge-1"]),
        ),
        "status": record(phase=st.sampled_from(["Running", "Failed"])),
    },
)
MANY = settings(max_examples=250, deadline=None, suppress_health_check=list(HealthCheck))
USER = User("ann", ("dev",))


def cluster(full: bool) -> Cluster:
    taken = reservation("10.0.0.1", key="k", owner="ReplicaSet/web", bound_uid="uid-y")
    pools = [pool("edge", "10.0.0.1" if full else "10.0.0.1-10.0.0.3"), pool("both", "10.0.0.1-10.0.0.3", "fd00::1-fd00::9")]
    addresses = StaticAddresses(pools, {taken.address: taken}, {taken.address: taken})
    return facts.cluster(namespaces=[facts.namespace_facts("shop")], addresses=addresses)


def ask(rule: Any, obj: Json, old: Json | None = None) -> tuple[Verdict, Draft]:
    draft = Draft(obj)
    operation = Operations.CREATE if old is None else Operations.UPDATE
    request = AdmissionRequest(
        *("admission.k8s.io/v1", "u-1", GroupVersionResource("", "v1", "pods"), "", "", "shop"),
        *(operation, USER, obj, old, False),
    )
    return rule(request, draft, Context("pod-ip", Deadline.after(9.0, CLOCK), CLOCK.wall_s(), USER, False)), draft


@MANY
@given(PODS, st.booleans())
def test_every_pod_gets_an_answer_or_a_clear_error_and_a_patch_that_applies(obj: Json, full: bool) -> None:
    sent = copy.deepcopy(obj)
    try:
        verdict, draft = ask(GiveAddresses(AddressPolicy(), cluster(full)), obj)
    except MalformedObject:  # 400, with the field and what was expected
        return

    assert apply(sent, draft.operations) == draft.object
    if verdict.denial is not None:
        assert verdict.message and sent == draft.object
    verdict.message.encode()  # no half of a surrogate pair


@MANY
@given(PODS, st.none() | PODS)
def test_every_pod_is_judged_or_a_clear_error_and_never_changed(obj: Json, old: Json | None) -> None:
    try:
        verdict, draft = ask(CheckAddresses("kube-system", cluster(False)), obj, old)
    except MalformedObject:  # 400, with the field and what was expected
        return

    assert not draft.operations
    verdict.message.encode()


@MANY
@given(PODS, st.booleans())
def test_what_is_given_passes_the_check(obj: Json, full: bool) -> None:
    facts_ = cluster(full)
    try:
        given_, draft = ask(GiveAddresses(AddressPolicy(), facts_), obj)
    except MalformedObject:
        return
    if given_.reason not in (Reason.ADDRESS_ALLOCATED, Reason.ADDRESS_KEPT, Reason.ADDRESS_AWAITED, Reason.ALREADY_ALLOCATED):
        return
    stored = draft.object
    # What the API server does before it asks validating webhooks.
    metadata = stored["metadata"]
    metadata |= {
        "uid": "uid-x",
        "name": metadata.get("name") or "web-x",
        "generateName": metadata.get("generateName") or "web-",
    }
    stored["status"] = {"phase": "Pending"}

    verdict, _ = ask(CheckAddresses("kube-system", facts_), stored)

    assert verdict.denial is None, verdict.message
