"""What the status of a pool says, and how often it is written."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controllers.pod_ip.pools import MOST, status_of
from controllers.testing.answers import status as refusal
from tests.controllers.pod_ip import facts
from tests.controllers.pod_ip.objects import ONE, TWO, Json, pod, pool, reservation
from tests.controllers.pod_ip.scene import Scene
from webhook.addresses.grammar import parse_items
from webhook.addresses.network import Network, NetworkPool
from webhook.addresses.ranges import AddressSet, Span

PATCH = "patch /apis/gatehouse.dev/v1alpha1/addresspools/edge/status"


def said(scene: Scene, name: str = "edge") -> Json:
    """The status of a pool, its conditions as type -> status."""
    found = dict(scene.api.objects.all("AddressPool")[name].get("status") or {})
    return found | {"conditions": {one["type"]: one["status"] for one in found.get("conditions") or ()}}


def test_a_pool_says_how_many_addresses_it_has_and_how_many_are_reserved(scene: Scene) -> None:
    scene.put(pool(), reservation(ONE), reservation(TWO, key="key-2"), reservation("10.9.9.9", key="key-3"))

    scene.run()

    conditions = {"Ready": "True", "Exhausted": "False"}
    counts = {"size": 10, "used": 2, "free": 8}
    assert said(scene) == {"observedGeneration": 1, "adopted": True, "conditions": conditions} | counts
    assert {word: scene.series(f"gatehouse_address_pool_{word}") for word in counts} == {
        word: {"edge": float(count)} for word, count in counts.items()
    }


def test_a_pool_without_a_free_address_says_so(scene: Scene) -> None:
    scene.put(pool(addresses=[ONE]), reservation(ONE))

    scene.run()

    assert said(scene)["conditions"] == {"Ready": "True", "Exhausted": "True"}


def test_what_is_excluded_is_not_counted(scene: Scene) -> None:
    scene.put(pool(exclude=[ONE]), reservation(ONE))

    scene.run()

    assert (said(scene)["size"], said(scene)["used"]) == (9, 0)


def test_a_pool_that_excludes_everything_is_not_ready(scene: Scene) -> None:
    scene.put(pool(addresses=[ONE], exclude=[ONE]))

    scene.run()

    assert (said(scene)["conditions"], said(scene)["size"]) == ({"Ready": "False", "Exhausted": "True"}, 0)


def test_a_spec_that_cannot_be_read_is_told_and_gives_nothing(scene: Scene) -> None:
    scene.put(pool(addresses=["10.0.0.9-10.0.0.1"]))

    scene.run()

    assert (said(scene)["conditions"], said(scene)["size"]) == ({"Ready": "False", "Exhausted": "False"}, 0)


def test_a_spec_that_is_mended_is_told_with_the_time(scene: Scene) -> None:
    scene.put(pool(addresses=["nonsense"]))
    scene.run()
    scene.later(50)

    scene.change("AddressPool", "edge", spec={"addresses": [ONE]}, metadata={"generation": 2})
    scene.run()

    ready, exhausted = scene.api.objects.all("AddressPool")["edge"]["status"]["conditions"]
    assert (ready["status"], ready["lastTransitionTime"], ready["observedGeneration"]) == ("True", "2027-01-15T08:00:50Z", 2)
    assert exhausted["lastTransitionTime"] == "2027-01-15T08:00:00Z"


def test_a_status_is_written_at_most_once_a_second(scene: Scene) -> None:
    scene.put(pool())
    scene.run()
    before = scene.calls("patch").count(PATCH)

    for number in range(1, 6):
        scene.put(reservation(f"10.0.0.{number}", key=f"key-{number}", age_s=0))
        scene.run()
        scene.clock.advance(0.1)
    at_once = scene.calls("patch").count(PATCH)
    scene.later(1)

    assert (before, at_once) == (1, 1)
    assert scene.calls("patch").count(PATCH) == 2
    assert said(scene)["used"] == 5


def test_a_status_that_has_not_changed_is_not_written_again(scene: Scene) -> None:
    scene.put(pool(), reservation(ONE), pod())
    scene.run()
    scene.later(3)
    before = len(scene.api.requests)

    scene.change("AddressReservation", ONE, metadata={"annotations": {"a": "b"}})
    scene.run()
    scene.later(30)

    assert len(scene.api.requests) == before


def test_a_new_leader_keeps_the_times_of_the_conditions(scene: Scene) -> None:
    scene.put(pool())
    scene.run()
    before = scene.api.objects.all("AddressPool")["edge"]
    scene.stand_by()

    scene.later(500)

    assert scene.api.objects.all("AddressPool")["edge"] == before


def test_the_metrics_of_a_pool_go_with_it_and_with_the_lease(scene: Scene) -> None:
    scene.put(pool(), pool("other", addresses=["10.1.0.1"]))
    scene.run()

    scene.drop("AddressPool", "edge")
    scene.run()
    after_one = scene.series("gatehouse_address_pool_size")
    scene.stand_by()

    assert (after_one, scene.series("gatehouse_address_pool_size")) == ({"other": 1.0}, {})


def test_a_pool_that_goes_while_its_status_is_written_is_no_failure(scene: Scene) -> None:
    scene.put(pool())
    scene.interposed.before["patch"] = [lambda: scene.drop("AddressPool", "edge")]

    scene.run()

    assert scene.series("controller_runtime_reconcile_errors_total") == {"pod-ip": 0.0}


def test_a_status_that_could_not_be_written_is_written_later(scene: Scene) -> None:
    scene.put(pool())
    scene.api.next("patch", refusal(503))

    scene.run()
    scene.later(5)

    assert said(scene)["size"] == 10


def test_a_pool_made_anew_under_its_name_is_counted_anew(scene: Scene) -> None:
    scene.put(pool())
    scene.run()
    scene.drop("AddressPool", "edge")
    scene.put(pool(addresses=[ONE]))

    scene.run()
    scene.later(2)

    assert said(scene)["size"] == 1


@pytest.mark.parametrize(("bits", "shown"), [(52, 2**52), (53, MOST), (64, MOST)])
def test_a_size_beyond_what_json_holds_is_cut_and_said(bits: int, shown: int) -> None:
    big = AddressSet.of([Span(6, 0, 2**bits - 1)])

    status = status_of(facts.pool(addresses=big), 3, True)

    assert status.size == shown
    assert bool(status.conditions[0].message) == (2**bits > MOST)


@given(st.integers(0, 10))
def test_size_is_what_is_used_and_what_is_free(used: int) -> None:
    status = status_of(facts.pool(), used, True)

    assert status.used + status.free == status.size == 10


def _takes(*items: str) -> Network:
    return Network((NetworkPool("ranges", parse_items(items, "x")),), "features.podIP.ranges")


def test_what_the_network_refuses_is_not_free(scene: Scene) -> None:
    scene.network = _takes("10.0.0.2-10.0.0.9")
    scene.put(pool(), reservation(ONE), reservation(TWO, key="key-2"))

    scene.run()

    # Of 10.0.0.0 and 10.0.0.1, which the network refuses, the second is reserved all the same.
    assert {word: said(scene)[word] for word in ("size", "used", "free")} == {"size": 10, "used": 2, "free": 7}
    assert scene.series("gatehouse_address_pool_free") == {"edge": 7.0}
    assert said(scene)["conditions"]["Exhausted"] == "False"


def test_a_pool_of_which_the_network_takes_nothing_more_is_exhausted_and_says_why(scene: Scene) -> None:
    scene.network = _takes(ONE)
    scene.put(pool(), reservation(ONE))

    scene.run()

    (_, exhausted) = scene.api.objects.all("AddressPool")["edge"]["status"]["conditions"]
    assert (said(scene)["free"], exhausted["status"]) == (0, "True")
    assert exhausted["message"] == "of 10 addresses 1 are reserved, and the network refuses 9"


def test_a_network_that_takes_other_addresses_than_before_is_noticed(scene: Scene) -> None:
    scene.network = _takes(ONE)
    scene.put(pool())
    scene.run()
    before = said(scene)["free"]

    scene.network = _takes("10.0.0.0-10.0.0.4")
    scene.later(40)

    assert (before, said(scene)["free"]) == (1, 5)
