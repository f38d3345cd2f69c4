"""The plan by itself: a table of orders, and what no plan may ever do, whatever the cluster looks like."""

from __future__ import annotations

from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from controllers.database_instance.belonging import belongings
from controllers.database_instance.plan import Defaults, plan
from controllers.database_instance.snapshotting import snapshot_name
from controllers.database_instance.values import (
    AddFinalizer,
    CreateSnapshot,
    DeleteClaim,
    DeletePod,
    DeleteWorkload,
    DropFinalizer,
    Instance,
    Plan,
    Pod,
    Reclaim,
    Recorded,
    RetainContent,
    SetReclaim,
    Situation,
    Snapshot,
    Status,
    Surroundings,
    Volume,
    Wait,
    Waiting,
    Workload,
    WriteStatus,
)
from webhook.objects.databases import FINALIZER, UID_LABEL, ClaimFacts, DeletionPolicy, InstanceFacts, Owner, VolumesSpec
from webhook.objects.selectors import Selector

NOW_S = 1_800_000_000.0
UID, OTHER = "uid-db", "uid-other"
DELETE, RETAIN, SNAPSHOT = DeletionPolicy
KNOWN = (Recorded("named", "uid-named", "pv-named", "uid-pv-named"),)
SELECTING = VolumesSpec(frozenset({"named"}), Selector.parse("app=db"))


def facts(*, deleted_for_s: float | None = None, policy: DeletionPolicy | None = DELETE, **changes: Any) -> InstanceFacts:
    deleting_s = None if deleted_for_s is None else NOW_S - deleted_for_s
    found = InstanceFacts("shop", "db", UID, SELECTING, policy, 1, (FINALIZER,), NOW_S - 1000.0, deleting_s)
    return attrs.evolve(found, **changes)


def claim(
    name: str = "named", *owners: str, label: str = "", deleting: bool = False, app: str = "", **changes: Any
) -> ClaimFacts:
    labels = {UID_LABEL: label} if label else {}
    labels |= {"app": app} if app else {}
    refs = tuple(Owner(uid, "DatabaseInstance", "db") for uid in owners)
    made = ClaimFacts("shop", name, f"uid-{name}", labels, refs, f"pv-{name}", NOW_S if deleting else None)
    return attrs.evolve(made, **changes)


def volume(name: str = "named", reclaim: str = "Delete", **changes: Any) -> Volume:
    made = Volume(f"pv-{name}", f"uid-pv-{name}", reclaim, f"uid-{name}", "Bound", claim_key=f"shop/{name}")
    return attrs.evolve(made, **changes)


def snapshot(name: str = "named", **changes: Any) -> Snapshot:
    made = Snapshot(snapshot_name(UID, name, f"uid-{name}"), f"uid-s-{name}", name, True, "", "content", True, UID)
    return attrs.evolve(made, **changes)


def planned(instance: InstanceFacts, status: Status = Status(), **seen: Any) -> Plan:
    """The plan for *instance* and what else is *seen*."""
    defaults = seen.pop("defaults", Defaults())
    return plan(Situation(Instance(instance, "7", status), **seen), NOW_S, defaults)


def deeds(made: Plan) -> list[Any]:
    """The steps but for the status."""
    return [step for step in made.steps if not isinstance(step, WriteStatus)]


# -- order


def test_the_status_remembers_everything_before_anything_goes() -> None:
    made = planned(facts(deleted_for_s=1.0), claims=(claim(),), volumes=(volume(reclaim="Retain"),))

    first, *rest = made.steps
    assert isinstance(first, WriteStatus)
    assert first.status.volumes == (Recorded("named", "uid-named", "pv-named", "uid-pv-named"),)
    assert rest == [
        SetReclaim("pv-named", "uid-pv-named", "uid-named", Reclaim.DELETE),
        DeleteClaim("named", "uid-named"),
    ]


@pytest.mark.parametrize("deleted_for_s", [None, 1.0])
def test_without_our_finalizer_an_instance_gets_it_or_is_left_alone(deleted_for_s: float | None) -> None:
    made = planned(facts(deleted_for_s=deleted_for_s, finalizers=("example.com/x",)), claims=(claim(),), volumes=(volume(),))

    assert made.steps == (() if deleted_for_s else (AddFinalizer(),))


def test_workloads_and_own_pods_first_each_by_uid() -> None:
    owned = (Owner(UID, "DatabaseInstance", "db"),)
    sets = Workload("apps/v1/statefulsets", "StatefulSet", "db", "uid-set", owned, None, ("data",))
    pods = (
        Pod("db-0", "uid-p0", "n", (Owner("uid-set", "StatefulSet", "db"),), frozenset({"data-db-0"})),
        Pod("tool", "uid-p1", "n", owned, frozenset({"named"})),
        Pod("backup", "uid-p2", "n", (), frozenset({"named"})),
    )

    made = planned(facts(deleted_for_s=1.0), workloads=(sets,), pods=pods, claims=(claim(), claim("data-db-0")))

    assert deeds(made) == [DeleteWorkload("apps/v1/statefulsets", "db", "uid-set"), DeletePod("tool", "uid-p1")]
    assert made.waiting is not None and made.waiting.reason is Wait.WORKLOADS


def test_a_workload_of_another_controller_is_left_alone() -> None:
    owners = (Owner("uid-x", "Thing", "x"), Owner(UID, "DatabaseInstance", "db"))
    foreign = Workload("apps/v1/deployments", "Deployment", "web", "uid-web", owners)

    assert deeds(planned(facts(deleted_for_s=1.0), workloads=(foreign,))) == [DropFinalizer()]


def test_claims_past_the_workloads_are_not_held_up_by_new_ones() -> None:
    status = Status(volumes=KNOWN, waiting=Waiting(Wait.CLAIMS, NOW_S))
    late = Workload("apps/v1/deployments", "Deployment", "w", "uid-w", (Owner(UID, "DatabaseInstance", "db"),))

    made = planned(facts(deleted_for_s=9.0), status, workloads=(late,), claims=(claim(),), volumes=(volume(),))

    assert deeds(made) == [DeleteClaim("named", "uid-named")]


@pytest.mark.parametrize(
    ("found", "steps"),
    [
        (None, []),
        ((), [CreateSnapshot(snapshot_name(UID, "named", "uid-named"), "named", "")]),
        ((snapshot(ready=False, content=""),), []),
        ((snapshot(ready=False, content_retained=False),), [RetainContent("content", "uid-s-named")]),
        ((snapshot(content_retained=False),), [RetainContent("content", "uid-s-named")]),
        ((snapshot(ready=False),), []),
        ((snapshot(instance_uid=OTHER),), []),
        ((snapshot(deleting=True),), []),
        ((snapshot(),), [DeleteClaim("named", "uid-named")]),
    ],
)
def test_a_snapshot_is_made_kept_and_ready_before_anything_goes(found: Any, steps: list[Any]) -> None:
    instance = facts(deleted_for_s=1.0, policy=SNAPSHOT)

    made = planned(instance, claims=(claim(),), volumes=(volume(reclaim="Retain"),), snapshots=found)

    assert deeds(made) == steps


def test_what_was_not_snapshotted_before_its_claim_was_gone_is_kept_and_told() -> None:
    status = Status(volumes=(Recorded("named", "uid-named", "pv-named", "uid-pv-named"),))

    made = planned(facts(deleted_for_s=1.0, policy=SNAPSHOT), status, volumes=(volume(reclaim="Retain"),))

    assert deeds(made) == [DropFinalizer()]
    (written,) = [step for step in made.steps if isinstance(step, WriteStatus)]
    assert "pv-named" in next(one.message for one in written.status.conditions if one.type == "SnapshotSkipped")


def test_a_volume_that_somebody_else_is_bound_to_by_now_is_not_waited_for() -> None:
    status = Status(volumes=(Recorded("named", "uid-named", "pv-named", "uid-pv-named"),))

    made = planned(facts(deleted_for_s=1.0), status, volumes=(volume(claim_uid="uid-new"),))

    assert deeds(made) == [DropFinalizer()]


def test_the_wait_has_a_beginning_that_lasts() -> None:
    waiting = Waiting(Wait.CLAIMS, NOW_S - 100.0, ("claim named",))

    status = Status(volumes=KNOWN, waiting=waiting)
    made = planned(facts(deleted_for_s=200.0), status, claims=(claim(deleting=True),), volumes=(volume(),))

    assert made.waiting == waiting
    assert made.look_again_s == 15.0


# -- belonging


@pytest.mark.parametrize(
    ("found", "others", "own"),
    [
        (claim("named"), (), True),
        (claim("named", label=OTHER), (), True),
        (claim("named", label=OTHER), (facts(uid=OTHER, name="other", volumes=VolumesSpec()),), False),
        (claim("named"), (facts(uid=OTHER, name="other"),), False),
        (claim("named", label=UID), (facts(uid=OTHER, name="other"),), False),
        (claim("named"), (facts(uid=OTHER, name="other", deleted_for_s=0.5),), False),
        (claim("named"), (facts(uid=OTHER, name="other", deleted_for_s=5.0),), True),
        (claim("named"), (facts(uid=OTHER, name="other", deleted_for_s=5.0, policy=RETAIN),), False),
        (claim("named"), (facts(uid=OTHER, name="other", deleted_for_s=5.0, policy=SNAPSHOT),), False),
        (claim("named"), (facts(uid=OTHER, name="other", deleted_for_s=0.5, finalizers=("example.com/x",)),), True),
        (claim("named"), (facts(),), True),
        (claim("free", label=UID), (), True),
        (claim("free", UID), (), True),
        (claim("free"), (), False),
        (claim("free", app="db"), (), True),
        (claim("free", app="db", label=OTHER), (), False),
        (claim("data-db-0"), (), True),
        (claim("data-db-0", label=OTHER), (), False),
        (claim("named", created_s=NOW_S + 5.0), (), False),
        (claim("free", UID, created_s=NOW_S + 5.0), (), True),
    ],
)
def test_what_belongs_to_a_deleted_instance(found: ClaimFacts, others: tuple[InstanceFacts, ...], own: bool) -> None:
    owned = (Owner(UID, "DatabaseInstance", "db"),)
    sets = Workload("apps/v1/statefulsets", "StatefulSet", "db", "uid-set", owned, None, ("data",))

    seen = Situation(Instance(facts(deleted_for_s=1.0)), (sets,), claims=(found,), around=Surroundings(others))

    assert (belongings(seen).own == (found,)) is own


def test_a_claim_that_is_going_is_not_detached_any_more() -> None:
    going = claim("named", UID, deleting=True)

    assert deeds(planned(facts(policy=RETAIN), claims=(going,), volumes=(volume(reclaim="Retain"),))) == []


def test_under_delete_the_status_keeps_the_volumes_uid_that_it_once_had() -> None:
    known = Recorded("named", "uid-named", "pv-named", "uid-pv-named")

    made = planned(facts(), Status(volumes=(known,)), claims=(claim(),))

    (written,) = made.steps
    assert isinstance(written, WriteStatus)
    assert written.status.volumes == (known,)


def test_in_a_deleted_namespace_the_volume_of_a_claim_that_is_gone_already_is_kept() -> None:
    status = Status(volumes=(Recorded("named", "uid-named", "pv-named", "uid-pv-named"),))

    made = planned(facts(deleted_for_s=1.0, policy=RETAIN), status, volumes=(volume(),))

    assert deeds(made) == [SetReclaim("pv-named", "uid-pv-named", "uid-named", Reclaim.RETAIN)]
    assert made.waiting is not None and made.waiting.reason is Wait.KEEPING


def test_a_volume_of_the_same_name_and_another_uid_is_not_the_one_that_is_waited_for() -> None:
    status = Status(volumes=(Recorded("named", "uid-named", "pv-named", "uid-pv-named"),))

    assert deeds(planned(facts(deleted_for_s=1.0), status, volumes=(volume(uid="uid-pv-new"),))) == [DropFinalizer()]


# -- what no plan does

NAMES = st.sampled_from(["named", "free", "data-db-0", "later"])
CLAIMS = st.lists(
    st.builds(
        claim,
        NAMES,
        label=st.sampled_from(["", UID, OTHER]),
        deleting=st.booleans(),
        app=st.sampled_from(["", "db"]),
        owners=st.sampled_from([(), (Owner(UID, "DatabaseInstance", "db"),)]),
        created_s=st.sampled_from([0.0, NOW_S + 5.0]),
    ),
    unique_by=lambda one: one.name,
    max_size=4,
)
VOLUMES = st.lists(
    st.builds(volume, NAMES, st.sampled_from(["Delete", "Retain"]), deleting_s=st.sampled_from([None, NOW_S])),
    unique_by=lambda one: one.name,
    max_size=4,
)
SNAPSHOTS = st.none() | st.lists(
    st.builds(snapshot, NAMES, ready=st.booleans(), content_retained=st.booleans()), unique_by=lambda one: one.name, max_size=4
)
RECORDED = st.lists(
    st.builds(lambda name: Recorded(name, f"uid-{name}", f"pv-{name}", f"uid-pv-{name}"), NAMES),
    unique_by=lambda one: one.claim,
    max_size=4,
).map(tuple)
PODS = st.lists(
    st.builds(
        lambda name, node: Pod(f"pod-{name}", f"uid-pod-{name}", node, (), frozenset({name})), NAMES, st.sampled_from(["", "n"])
    ),
    unique_by=lambda one: one.name,
    max_size=2,
)
INSTANCES = st.builds(
    facts,
    deleted_for_s=st.sampled_from([None, 0.0, 100.0]),
    policy=st.sampled_from([None, *DeletionPolicy]),
    finalizers=st.sampled_from([(), (FINALIZER,), (FINALIZER, "orphan"), ("foregroundDeletion", FINALIZER)]),
    fault=st.sampled_from(["", "spec.volumes.selector: bad"]),
    timeout_s=st.sampled_from([None, 60.0]),
)
SCENES = st.fixed_dictionaries(
    {
        "claims": CLAIMS,
        "volumes": VOLUMES,
        "snapshots": SNAPSHOTS,
        "pods": PODS,
        "around": st.builds(
            Surroundings,
            st.sampled_from([(), (facts(uid=OTHER, name="other", volumes=VolumesSpec(frozenset({"free"}))),)]),
            st.booleans(),
        ),
        "defaults": st.builds(Defaults, st.sampled_from(list(DeletionPolicy))),
    }
)


@given(INSTANCES, RECORDED, SCENES)
def test_no_plan_does_what_it_must_not(instance: InstanceFacts, recorded: tuple[Recorded, ...], scene: dict[str, Any]) -> None:
    made = planned(instance, Status(volumes=recorded), **scene)

    steps = deeds(made)
    policy = instance.policy or scene["defaults"].policy
    destroys = [one for one in steps if isinstance(one, (DeleteClaim, DeleteWorkload, DeletePod))]
    destroys += [one for one in steps if isinstance(one, SetReclaim) and one.policy == "Delete"]
    lives = instance.deleting_s is None
    if lives and FINALIZER not in instance.finalizers:
        assert steps == [AddFinalizer()]
    else:
        assert AddFinalizer() not in steps
    if lives or policy is RETAIN or instance.fault or "orphan" in instance.finalizers or FINALIZER not in instance.finalizers:
        assert destroys == []
    if policy is SNAPSHOT and scene["around"].terminating:
        assert destroys == []
    foreign = {one.uid for one in scene["claims"] if one.instance_uid == OTHER and one.name != "named"}
    assert not foreign & {one.uid for one in destroys if isinstance(one, DeleteClaim)}
    if policy is SNAPSHOT:
        ready = {one.claim for one in scene["snapshots"] or () if one.ready and one.content_retained}
        there = {one.name for one in scene["volumes"]}
        going = {one.name for one in destroys if isinstance(one, DeleteClaim) and f"pv-{one.name}" in there}
        assert going <= ready
        assert not [one for one in scene["pods"] if one.node and one.claims & going]
        present = {one.uid for one in scene["claims"]}
        assert not [one for one in destroys if isinstance(one, SetReclaim) and one.claim_uid in present]
    if DropFinalizer() in steps and policy is DELETE:
        uids = {one.claim_uid for one in recorded} - {one.uid for one in scene["claims"]}
        assert not [one for one in scene["volumes"] if one.claim_uid in uids]
        seen = Situation(Instance(instance, "7", Status(volumes=recorded)), claims=scene["claims"], around=scene["around"])
        own = belongings(seen, scene["defaults"].policy).own
        assert not [one for one in own if one.uid not in foreign]


@given(INSTANCES, RECORDED, SCENES)
def test_the_status_comes_to_rest(instance: InstanceFacts, recorded: tuple[Recorded, ...], scene: dict[str, Any]) -> None:
    status = Status(volumes=recorded)
    for _ in range(2):  # a claim that turns out to be somebody else's is told of once, then forgotten
        written = [step.status for step in planned(instance, status, **scene).steps if isinstance(step, WriteStatus)]
        status = written[-1] if written else status

    again = planned(instance, status, **scene)

    assert not [step for step in again.steps if isinstance(step, WriteStatus)]
