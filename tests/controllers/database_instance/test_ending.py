"""The plan of a deletion at awkward moments: what others share, what was used after its snapshot, what was made again."""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from controllers.database_instance.snapshotting import MOST_TAKEN, snapshot_name
from controllers.database_instance.values import (
    CreateSnapshot,
    DeleteClaim,
    DeleteWorkload,
    DetachClaim,
    DropFinalizer,
    MarkSnapshot,
    Plan,
    Pod,
    Reclaim,
    Recorded,
    SetReclaim,
    Snapshot,
    Status,
    Surroundings,
    Wait,
    Waiting,
    Workload,
    WriteStatus,
)
from tests.controllers.database_instance.test_plan import (
    DELETE,
    KNOWN,
    NOW_S,
    OTHER,
    RETAIN,
    SNAPSHOT,
    UID,
    claim,
    deeds,
    facts,
    planned,
    snapshot,
    volume,
)
from webhook.objects.databases import DeletionPolicy, Owner, VolumesSpec
from webhook.objects.selectors import Selector

BY_INSTANCE = (Owner(UID, "DatabaseInstance", "db"),)
BY_SET = (Owner("uid-set", "StatefulSet", "db"),)
SET = Workload("apps/v1/statefulsets", "StatefulSet", "db", "uid-set", BY_INSTANCE, None, ("data",))
SELECTED = VolumesSpec(frozenset(), Selector.parse("app=db"))


def other(volumes: VolumesSpec) -> Surroundings:
    """Another instance that lives."""
    return Surroundings((facts(uid=OTHER, name="other", volumes=volumes),))


def named(*names: str) -> Surroundings:
    return other(VolumesSpec(frozenset(names)))


def pod(name: str = "late", claims: tuple[str, ...] = ("named",), node: str = "n", owners: tuple[Owner, ...] = ()) -> Pod:
    return Pod(name, f"uid-{name}", node, owners, frozenset(claims))


def deleting(made: Plan) -> str:
    """What condition Deleting says after *made*."""
    (written,) = [step for step in made.steps if isinstance(step, WriteStatus)]
    found = written.status.condition("Deleting")
    assert found is not None
    return found.message


# -- shared with an instance that lives


@pytest.mark.parametrize("policy", DeletionPolicy)
def test_a_shared_claim_is_parted_from_the_instance_before_that_is_let_go(policy: DeletionPolicy) -> None:
    made = planned(
        facts(deleted_for_s=1.0, policy=policy),
        claims=(claim("named", UID),),
        volumes=(volume(reclaim="Retain"),),
        around=named("named"),
    )

    assert deeds(made) == [DetachClaim("named", "uid-named", frozenset({UID}), label=False), DropFinalizer()]


@pytest.mark.parametrize("policy", [DELETE, SNAPSHOT])
def test_a_shared_claim_is_parted_from_its_set_before_the_set_goes(policy: DeletionPolicy) -> None:
    shared = attrs.evolve(claim("data-db-0"), owners=BY_SET)

    made = planned(
        facts(deleted_for_s=1.0, policy=policy),
        workloads=(SET,),
        claims=(shared,),
        volumes=(volume("data-db-0", "Retain"),),
        around=named("data-db-0"),
    )

    assert deeds(made) == [
        DetachClaim("data-db-0", "uid-data-db-0", frozenset({"uid-set"}), label=False),
        DeleteWorkload("apps/v1/statefulsets", "db", "uid-set"),
    ]


def test_a_shared_claim_whose_owner_reference_came_back_is_parted_again() -> None:
    status = Status(waiting=Waiting(Wait.WORKLOADS, NOW_S))
    back = attrs.evolve(claim("data-db-0"), owners=BY_SET)

    made = planned(
        facts(deleted_for_s=9.0),
        status,
        workloads=(attrs.evolve(SET, deleting_s=NOW_S),),
        claims=(back,),
        around=named("data-db-0"),
    )

    assert deeds(made) == [DetachClaim("data-db-0", "uid-data-db-0", frozenset({"uid-set"}), label=False)]


@pytest.mark.parametrize(("around", "steps"), [(Surroundings(), 0), (named("free"), 1)])
def test_an_instance_that_takes_nothing_that_it_owns_parts_only_from_what_others_say_is_theirs(
    around: Surroundings, steps: int
) -> None:
    instance = facts(deleted_for_s=1.0, volumes=VolumesSpec(frozenset({"named"}), owned=False))

    made = planned(instance, claims=(claim("free", UID),), around=around)

    assert [type(step) for step in deeds(made)] == [DetachClaim] * steps + [DropFinalizer]


def test_a_claim_that_anothers_set_makes_is_parted_from_ours_under_delete() -> None:
    theirs = attrs.evolve(SET, uid="uid-theirs", owners=(Owner("uid-x", "Thing", "x"),))

    made = planned(facts(deleted_for_s=1.0), workloads=(theirs,), claims=(claim("data-db-0", UID),))

    assert deeds(made) == [DetachClaim("data-db-0", "uid-data-db-0", frozenset({UID})), DropFinalizer()]


def test_a_claim_that_another_one_names_is_parted_from_a_living_instance_and_stays_its_own_by_the_label() -> None:
    made = planned(facts(), claims=(claim("named", UID),), volumes=(volume(),), around=named("named"))

    assert deeds(made) == [
        SetReclaim("pv-named", "uid-pv-named", "uid-named", Reclaim.RETAIN),
        DetachClaim("named", "uid-named", frozenset({UID})),
    ]


def test_a_claim_that_another_one_selects_keeps_its_owner_while_that_lives_and_its_volume_is_kept() -> None:
    made = planned(facts(), claims=(claim("free", UID, app="db"),), volumes=(volume("free"),), around=other(SELECTED))

    assert deeds(made) == [SetReclaim("pv-free", "uid-pv-free", "uid-free", Reclaim.RETAIN)]


# -- used after the snapshot


def ending(*pods: Pod, snapshots: tuple[Snapshot, ...] = (snapshot(),), status: Status = Status(), **changes: Any) -> Plan:
    """The plan of a deletion under Snapshot."""
    seen: dict[str, Any] = {"claims": (claim(),), "volumes": (volume(reclaim="Retain"),)} | changes
    return planned(facts(deleted_for_s=1.0, policy=SNAPSHOT), status, pods=pods, snapshots=snapshots, **seen)


def test_a_claim_that_is_used_after_its_snapshot_stays_and_the_snapshot_is_marked() -> None:
    made = ending(pod())

    assert deeds(made) == [MarkSnapshot(snapshot().name, "uid-s-named", "named")]
    assert made.waiting is not None and made.waiting.reason is Wait.PODS
    assert "pod late on node n, snapshot of named (used since it was taken: it is taken again)" in deleting(made)


def test_a_snapshot_is_marked_also_while_the_instances_own_pod_that_came_back_is_stopped() -> None:
    made = ending(pod("db-0", owners=BY_INSTANCE))

    assert MarkSnapshot(snapshot().name, "uid-s-named", "named") in deeds(made)
    assert made.waiting is not None and made.waiting.reason is Wait.WORKLOADS


def test_a_claim_that_was_used_after_its_snapshot_is_snapshotted_again_when_nobody_uses_it() -> None:
    made = ending(snapshots=(snapshot(used_since=True),))

    assert deeds(made) == [CreateSnapshot(snapshot_name(UID, "named", "uid-named", 2), "named", "")]


def test_the_snapshot_that_was_taken_last_counts() -> None:
    again = attrs.evolve(snapshot(ready=False), name=snapshot_name(UID, "named", "uid-named", 2))

    assert deeds(ending(snapshots=(snapshot(), again))) == []
    assert deeds(ending(snapshots=(snapshot(used_since=True), attrs.evolve(again, ready=True)))) == [
        DeleteClaim("named", "uid-named")
    ]


def test_pods_that_come_again_and_again_do_not_fill_the_storage_with_snapshots() -> None:
    last = attrs.evolve(snapshot(used_since=True), name=snapshot_name(UID, "named", "uid-named", MOST_TAKEN))

    made = ending(snapshots=(last,))

    assert deeds(made) == []
    assert f"end what starts the pods, then delete {last.name}" in deleting(made)


def test_under_snapshot_a_volume_stays_until_its_claim_is_gone() -> None:
    status = Status(volumes=KNOWN, waiting=Waiting(Wait.CLAIMS, NOW_S))

    going = ending(claims=(claim(deleting=True),), status=status)
    gone = ending(claims=(), status=status)

    assert deeds(going) == []
    assert deeds(gone) == [SetReclaim("pv-named", "uid-pv-named", "uid-named", Reclaim.DELETE)]


def test_a_volume_whose_claim_a_pod_was_quick_enough_to_use_is_kept_and_told_of() -> None:
    status = Status(volumes=KNOWN, waiting=Waiting(Wait.CLAIMS, NOW_S))
    turned = (volume(),)  # somebody has set it back

    seen = ending(pod(), claims=(claim(deleting=True),), status=status, volumes=turned)
    gone = ending(claims=(), status=status, snapshots=(snapshot(used_since=True),))

    assert deeds(seen) == [
        MarkSnapshot(snapshot().name, "uid-s-named", "named"),
        SetReclaim("pv-named", "uid-pv-named", "uid-named", Reclaim.RETAIN),
    ]
    assert deeds(gone) == [DropFinalizer()]
    (written,) = [step for step in gone.steps if isinstance(step, WriteStatus)]
    skipped = written.status.condition("SnapshotSkipped")
    assert skipped is not None and "pv-named" in skipped.message


@pytest.mark.parametrize(("snapshots", "step"), [((), CreateSnapshot), ((snapshot(),), DeleteClaim)])
def test_a_pod_that_no_node_was_found_for_holds_nothing_up(snapshots: tuple[Snapshot, ...], step: type) -> None:
    (made,) = deeds(ending(pod(node=""), snapshots=snapshots))

    assert isinstance(made, step)


# -- made again, and others' words


@pytest.mark.parametrize("pods", [(), (pod("db-0", ("data-db-0",), owners=BY_SET),)])
def test_a_set_that_is_made_again_while_volumes_are_waited_for_is_stopped(pods: tuple[Pod, ...]) -> None:
    status = Status(
        volumes=(Recorded("data-db-0", "uid-old", "pv-old", "uid-pv-old", "uid-old-set"),), waiting=Waiting(Wait.VOLUMES, NOW_S)
    )
    anew = claim("data-db-0", volume="", created_s=NOW_S + 5.0)

    made = planned(facts(deleted_for_s=9.0), status, workloads=(SET,), pods=pods, claims=(anew,))

    assert deeds(made) == [DeleteWorkload("apps/v1/statefulsets", "db", "uid-set")]
    assert made.waiting is not None and made.waiting.names[0] == "StatefulSet db"


def test_a_pod_of_others_is_named_with_what_makes_it() -> None:
    theirs = attrs.evolve(SET, owners=(Owner("uid-cluster", "ConfigMap", "cluster"),))

    made = planned(facts(deleted_for_s=1.0), workloads=(theirs,), pods=(pod("db-0", owners=BY_SET),), claims=(claim(),))

    assert made.waiting is not None
    assert made.waiting.names == ("pod db-0 on node n, of StatefulSet db, of ConfigMap cluster",)


def test_a_snapshot_of_another_class_than_the_spec_has_by_now_says_what_to_do() -> None:
    instance = facts(deleted_for_s=1.0, policy=SNAPSHOT, snapshot_class="fast")
    taken = snapshot(ready=False, snapshot_class="nonsense")

    made = planned(instance, claims=(claim(),), volumes=(volume(reclaim="Retain"),), snapshots=(taken,))

    assert "it has class nonsense: delete it, and it is taken again with fast" in deleting(made)


def test_what_is_parted_before_the_finalizer_goes_is_named() -> None:
    made = planned(facts(deleted_for_s=1.0, policy=RETAIN), claims=(claim("named", UID),), volumes=(volume(reclaim="Retain"),))

    assert made.waiting is not None and made.waiting.reason is Wait.NOTHING
    assert deleting(made) == "what stays has to be parted from it, then the finalizer goes: owner references of claim named"
