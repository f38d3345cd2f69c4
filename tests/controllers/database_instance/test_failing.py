"""What fails is visible, and ends nothing but what relies on it."""

from __future__ import annotations

import pytest

from controllers.testing.answers import status
from tests.controllers.database_instance.builders import FINALIZER, Json, by_instance, claim, instance, pod, stateful_set
from tests.controllers.database_instance.world import World, bound

VOLUMES = "/api/v1/persistentvolumes"
CLAIMS = "/api/v1/namespaces/shop/persistentvolumeclaims"
FORBIDDEN = status(403, "Forbidden", "a policy of the cluster says no")
INVALID = status(422, "Invalid", "denied by an admission policy")


def reclaim(world: World) -> dict[str, str]:
    return {name: one["spec"]["persistentVolumeReclaimPolicy"] for name, one in world.all("PersistentVolume").items()}


def age_s(world: World) -> float:
    return world.deletions.oldest_age_s()


@pytest.mark.parametrize("refusal", [FORBIDDEN, INVALID])
def test_a_volume_that_cannot_be_kept_costs_the_others_nothing_and_is_named(world: World, refusal: object) -> None:
    bound(world, claim("a"), claim("b"), claim("c"))
    world.put(instance(claims=("a", "b", "c"), policy="Retain"))
    world.api.always("patch", refusal, f"{VOLUMES}/pv-a")  # type: ignore[arg-type]

    world.settle()

    assert reclaim(world) == {"pv-a": "Delete", "pv-b": "Retain", "pv-c": "Retain"}
    told, failing = world.condition("Protected"), world.condition("Failing")
    assert told is not None and (told["status"], told["message"]) == (
        "False",
        "not safe yet: a (volume pv-a has reclaim policy Delete)",
    )
    assert failing is not None and "reclaim policy Retain of volume pv-a: " in failing["message"]
    assert world.heard.reasons.count("ReconciliationFailed") == 1


def test_what_fails_no_more_is_not_said_to_fail(world: World) -> None:
    bound(world, claim())
    world.put(instance(policy="Retain"))
    world.api.always("patch", FORBIDDEN, f"{VOLUMES}/pv-data")
    world.settle()
    before = world.condition("Failing")

    world.api.behave()
    world.settle()

    assert (before is not None, world.condition("Failing")) == (True, None)


def test_a_failure_that_lasts_is_not_written_again_and_again(world: World) -> None:
    bound(world, claim())
    world.put(instance(policy="Retain"))
    world.api.always("patch", FORBIDDEN, f"{VOLUMES}/pv-data")
    world.settle()
    written = world.client.written.count("patch shop/databaseinstances/db/status")

    for _ in range(10):
        world.clock.advance(60.0)
        world.run()

    assert world.client.written.count("patch shop/databaseinstances/db/status") == written


@pytest.mark.parametrize("others", [{"claimNames": ["data"]}, {"selector": {"matchLabels": {"app": "db"}}}])
def test_a_claim_that_cannot_be_parted_from_the_instance_holds_it_and_is_named(world: World, others: Json) -> None:
    bound(world, claim("data", by_instance(), labels={"app": "db"}))
    world.put(instance(claims=(), finalizers=(FINALIZER,)), instance("other", uid="uid-other", volumes=others))
    world.api.always("patch", FORBIDDEN, f"{CLAIMS}/data")

    world.delete()
    world.settle()

    told, failing = world.condition("Deleting"), world.condition("Failing")
    assert told is not None and told["message"].endswith("then the finalizer goes: owner references of claim data")
    assert failing is not None and "owner references of claim data: " in failing["message"]
    assert FINALIZER in world.instance()["metadata"]["finalizers"]


@pytest.mark.parametrize("policy", ["Retain", "Snapshot"])
def test_a_deletion_whose_volume_cannot_be_kept_waits_and_grows_old(world: World, policy: str) -> None:
    world.serve_snapshots()
    bound(world, claim("a"), claim("b"))
    world.put(instance(claims=("a", "b"), policy=policy, finalizers=(FINALIZER,)))
    world.api.always("patch", FORBIDDEN, f"{VOLUMES}/pv-a")

    world.delete()
    world.settle()
    first_s = age_s(world)
    world.clock.advance(600.0)
    world.run()

    assert (world.reason(), world.condition("Failing") is not None) == ("WaitsForReclaimPolicy", True)
    assert age_s(world) == first_s + 600.0 > 0
    assert 'gatehouse_database_deletions{reason="Failing"} 1.0' in world.telemetry.expose().decode()
    assert (reclaim(world), world.api.asked("delete")) == ({"pv-a": "Delete", "pv-b": "Retain"}, [])


def test_a_finalizer_that_cannot_be_dropped_is_not_done(world: World) -> None:
    world.put(instance(finalizers=(FINALIZER,)))
    world.settle()
    world.delete()
    path = "/apis/example.com/v1/namespaces/shop/databaseinstances/db"
    world.api.always("patch", INVALID, path)
    world.api.always("patch", world.api.ordinary, f"{path}/status")

    world.settle()
    world.clock.advance(60.0)
    world.run()

    failing = world.condition("Failing")
    assert failing is not None and failing["message"].startswith("our finalizer: ")
    assert (world.reason(), age_s(world) > 60.0) == ("LettingGo", True)
    world.api.behave()
    world.settle()
    assert world.is_gone()


def test_an_instance_that_cannot_get_our_finalizer_says_so(world: World) -> None:
    world.put(instance())
    world.api.always("patch", FORBIDDEN, "/apis/example.com/v1/namespaces/shop/databaseinstances/db")
    world.api.always("patch", world.api.ordinary, "/apis/example.com/v1/namespaces/shop/databaseinstances/db/status")

    world.run()

    failing = world.condition("Failing")
    assert failing is not None and failing["message"].startswith("our finalizer: ")


def test_a_volume_that_cannot_be_decoded_is_told_of(world: World) -> None:
    bound(world, claim("a"), claim("b"))
    world.put(instance(claims=("a", "b"), policy="Retain", finalizers=(FINALIZER,)))
    world.settle()
    for name, one in world.all("PersistentVolume").items():
        one["spec"]["persistentVolumeReclaimPolicy"] = "Delete"
        world.put(one | ({"status": {"phase": 7}} if name == "pv-a" else {}))

    world.settle()

    failing = world.condition("Failing")
    assert failing is not None and failing["reason"] == "UndecodableObject"


def test_one_that_others_hold_says_done_after_our_finalizer_is_gone(world: World) -> None:
    world.put(instance(finalizers=(FINALIZER, "example.com/theirs")))
    world.delete()

    world.settle()

    assert (world.instance()["metadata"]["finalizers"], world.reason()) == (["example.com/theirs"], "Done")
    assert age_s(world) == 0.0


def test_who_takes_our_finalizer_off_by_force_is_not_told_that_it_is_done(world: World) -> None:
    bound(world, claim())
    world.put(instance(finalizers=(FINALIZER, "example.com/theirs")), pod("backup", claims=("data",)))
    world.delete()
    world.settle()
    forced = world.instance()
    forced["metadata"]["finalizers"] = ["example.com/theirs"]
    world.put(forced)

    world.settle()

    assert world.reason() == "WaitsForPods"


def test_a_claim_whose_deletion_is_refused_holds_up_no_other_claim(world: World) -> None:
    bound(world, claim("a"), claim("b"))
    world.put(instance(claims=("a", "b")))
    world.settle()
    world.api.always("delete", FORBIDDEN, f"{CLAIMS}/a")

    world.delete()
    world.settle()

    failing = world.condition("Failing")
    assert failing is not None and failing["message"].startswith("deletion of claim a: ")
    assert list(world.all("PersistentVolumeClaim")) == ["a"]
    assert not world.is_gone()


def test_a_claim_is_not_deleted_when_its_volume_cannot_be_set_to_go(world: World) -> None:
    bound(world, claim("a"), claim("b"), reclaim="Retain")
    world.put(instance(claims=("a", "b")))
    world.settle()
    world.api.always("patch", FORBIDDEN, f"{VOLUMES}/pv-a")

    world.delete()
    world.settle()

    assert list(world.all("PersistentVolumeClaim")) == ["a"]


# -- reads


def test_a_deletion_that_cannot_be_read_for_is_told_and_counted(world: World) -> None:
    bound(world, claim())
    world.put(instance())
    world.settle()
    world.delete()
    world.api.always("list", FORBIDDEN, "/apis/batch/v1/namespaces/shop/cronjobs")

    world.settle()
    world.clock.advance(60.0)
    world.run()

    failing = world.condition("Failing")
    assert failing is not None and failing["reason"] == "Forbidden"
    assert "what surrounds it cannot be read: GET" in failing["message"]
    assert (world.reason(), age_s(world) > 60.0) == ("Failing", True)
    assert "ReconciliationFailed" in world.heard.reasons
    world.api.behave()
    world.settle()
    assert world.is_gone()


def test_the_phase_that_a_deletion_had_come_to_is_not_lost_by_a_read_that_fails(world: World) -> None:
    bound(world, claim())
    world.put(instance(), pod("backup", claims=("data",)))
    world.settle()
    world.delete()
    world.settle()
    since = world.instance()["status"]["waitingFor"]["since"]
    world.api.always("list", FORBIDDEN, CLAIMS)

    world.settle()

    waiting = world.instance()["status"]["waitingFor"]
    assert (waiting["reason"], waiting["since"]) == ("WaitsForPods", since)
    assert world.condition("Failing") is not None


def test_an_instance_that_cannot_even_be_read_still_counts_as_a_deletion(world: World) -> None:
    bound(world, claim())
    world.put(instance())
    world.settle()
    world.delete()
    world.api.always("get", FORBIDDEN, "/apis/example.com/v1/namespaces/shop/databaseinstances/db")

    world.settle()
    world.clock.advance(60.0)

    assert age_s(world) >= 60.0


@pytest.mark.parametrize("code", [409, 500])
def test_what_the_next_pass_may_heal_is_told_only_when_it_lasts(world: World, code: int) -> None:
    bound(world, claim("data-db-0"))
    world.put(stateful_set(), instance(claims=()))
    world.settle()
    world.delete()
    path = "/apis/apps/v1/namespaces/shop/statefulsets/db"
    world.api.always("delete", status(code, "Conflict" if code == 409 else "InternalError"), path)

    world.run()
    once = world.condition("Failing")
    for _ in range(3):
        world.clock.advance(20.0)
        world.run()

    assert once is None
    assert world.condition("Failing") is not None


def test_a_failing_pass_is_tried_again_ever_more_seldom(world: World) -> None:
    bound(world, claim())
    world.put(instance())
    world.settle()
    world.delete()
    world.api.always("list", FORBIDDEN, CLAIMS)
    world.run()
    tries = []
    for _ in range(2):
        before = world.api.count("list", CLAIMS)
        for _ in range(60):
            world.clock.advance(1.0)
            world.controller.run_ready()
        tries.append(world.api.count("list", CLAIMS) - before)

    assert 0 < tries[1] < tries[0] < 30


# -- specs that no schema would let pass


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ({"volumes": "text"}, "spec: Expected `object | null`, got `str` - at `$.volumes`"),
        ({"volumes": {"claimNames": ["data"]}, "deletionPolicy": "Foo"}, "must be Delete, Retain, Snapshot, not 'Foo'"),
        ({"volumes": {"claimNames": ["data"]}, "deletionTimeout": "banana"}, "spec.deletionTimeout: "),
        ("text", "spec: Expected `object`, got `str`"),
    ],
)
def test_an_instance_whose_spec_cannot_be_read_says_so_and_deletes_nothing_until_it_is_mended(
    world: World, spec: object, said: str
) -> None:
    bound(world, claim("data", by_instance()))
    world.put(instance() | {"spec": spec})
    world.settle()
    told = world.condition("SpecInvalid")

    world.delete()
    world.settle()
    waits = world.reason()
    world.put(world.instance() | {"spec": {"volumes": {"claimNames": ["data"]}, "deletionPolicy": "Delete"}})
    asked = world.api.count("delete")
    world.settle()

    assert told is not None and said in told["message"]
    assert (waits, asked) == ("InvalidSpec", 0)
    assert (world.is_gone(), world.all("PersistentVolumeClaim")) == (True, {})


def test_a_policy_that_cannot_be_read_keeps_the_volumes(world: World) -> None:
    bound(world, claim())
    world.put(instance(policy="Retian"))

    world.settle()

    assert reclaim(world) == {"pv-data": "Retain"}
