"""Pods that wait for an address: who gets what when, and what happens if a pod does not wait any longer."""

from __future__ import annotations

from typing import Any

import pytest

from controllers.pod_ip.gates import A_PASS
from controllers.runtime.rest import RestClient
from controllers.testing import FakeApi
from controllers.testing.answers import status
from tests.controllers.pod_ip.desk import GATING, real_rule
from tests.controllers.pod_ip.objects import ONE, TWO, Json, at, bound, pod, pool, reservation, stateful_set, waiting_pod
from tests.controllers.pod_ip.scene import Scene
from webhook.addresses.keys import key_of

IP_ADDRS = "cni.projectcalico.org/ipAddrs"
KEY = "gatehouse.dev/reservation-key"


@pytest.fixture
def scene(api: FakeApi, client: RestClient) -> Scene:
    return Scene(api, client, policy=GATING, make_rule=real_rule)


def gates(scene: Scene, name: str = "web-1") -> list[str]:
    found: Json = scene.api.objects.all("Pod")[f"shop/{name}"]
    return [one["name"] for one in found["spec"].get("schedulingGates") or ()]


def written(scene: Scene, name: str = "web-1") -> Json:
    return dict(scene.api.objects.all("Pod")[f"shop/{name}"]["metadata"].get("annotations") or {})


def waits(scene: Scene, name: str = "web-1") -> bool:
    return "gatehouse.dev/pod-ip" in gates(scene, name)


def told(scene: Scene) -> list[str]:
    return [one.note for one in scene.heard.said]


def full(scene: Scene) -> None:
    """10.0.0.1 is another pod's."""
    (other,) = scene.put(pod("other"))
    scene.put(bound(other))


def test_a_pod_that_waits_gets_a_free_address_and_loses_only_our_gate(scene: Scene) -> None:
    scene.put(waiting_pod(asks=ONE))

    scene.run()

    found = scene.api.objects.all("AddressReservation")[ONE]
    assert gates(scene) == ["example.com/other"]
    assert written(scene) == {IP_ADDRS: f'["{ONE}"]', KEY: found["spec"]["reservationKey"]}
    assert scene.api.objects.all("Pod")["shop/web-1"]["metadata"]["labels"]["allocated-ip"] == ONE
    assert scene.reservations() == {ONE: "Bound"}
    assert scene.heard.about("PodUngated") == ["Pod/web-1"]


def test_the_reservation_is_made_before_the_pod_is_patched(scene: Scene) -> None:
    scene.put(waiting_pod(asks=ONE))

    scene.run()

    first, *_ = [one for one in scene.calls("create", "patch") if "events" not in one]
    assert first == "create /apis/gatehouse.dev/v1alpha1/addressreservations"


def test_a_pod_waits_until_an_address_comes_free(scene: Scene) -> None:
    full(scene)
    scene.put(waiting_pod(asks=ONE))
    scene.run()
    before = waits(scene)

    scene.drop("Pod", "shop/other")
    scene.run()
    scene.later(2)

    assert (before, waits(scene)) == (True, False)
    assert scene.heard.about("AddressAwaited") == ["Pod/web-1"]


def test_the_oldest_pod_comes_first(scene: Scene) -> None:
    full(scene)
    for name, age_s in (("young", 10), ("old", 90), ("middle", 50)):
        scene.put(waiting_pod(name, asks=ONE, age_s=age_s))
    scene.run()

    scene.drop("Pod", "shop/other")
    scene.run()
    scene.later(2)

    assert [waits(scene, name) for name in ("old", "middle", "young")] == [False, True, True]


def test_who_asks_for_something_else_does_not_wait_for_the_oldest(scene: Scene) -> None:
    full(scene)
    scene.put(waiting_pod("old", asks=ONE, age_s=90), waiting_pod("young", asks=TWO, age_s=10))

    scene.run()

    assert (waits(scene, "old"), waits(scene, "young")) == (True, False)


def test_only_the_first_of_those_who_ask_for_the_same_is_tried(scene: Scene) -> None:
    full(scene)
    scene.put(*(waiting_pod(f"web-{number}", asks=ONE, age_s=number) for number in range(1, 30)))
    scene.run()
    before = len(scene.calls("get", "list"))

    scene.later(31)

    assert len(scene.calls("get", "list")) - before <= 4


def without_hope(**metadata: Any) -> Json:
    """The oldest pod of those who ask for 10.0.0.1."""
    return waiting_pod("old", asks=ONE, age_s=90, **metadata)


HOPELESS = {
    "Ours": without_hope(labels={"allocatable-ips": ONE, "app.kubernetes.io/name": "gatehouse"}),
    "HostNetwork": without_hope() | {"spec": without_hope()["spec"] | {"hostNetwork": True}},
    "PastIpam": without_hope(annotations={"cni.projectcalico.org/ipAddrsNoIpam": '["10.9.9.9"]'}),
    "Malformed": without_hope(labels={"allocatable-ips": ONE, "team": 7}),
    "Mirror": without_hope(annotations={"kubernetes.io/config.mirror": "x"}),
}


@pytest.mark.parametrize("old", HOPELESS.values(), ids=HOPELESS)
def test_a_pod_that_can_never_get_an_address_keeps_nobody_waiting_who_asks_for_the_same(scene: Scene, old: Json) -> None:
    scene.put(old, waiting_pod("young", asks=ONE, age_s=10))

    scene.run()

    assert (waits(scene, "old"), waits(scene, "young")) == (True, False)


def test_who_was_refused_for_a_reason_of_its_own_is_tried_after_the_others(scene: Scene) -> None:
    """A thousand of them must not use up the time of those who can be served."""
    scene.put(HOPELESS["HostNetwork"])
    scene.run()
    before = len(scene.calls())

    scene.put(waiting_pod("young", asks=ONE, age_s=10))
    scene.run()
    scene.later(2)

    tried = [one.rpartition("/")[2] for one in scene.calls()[before:] if one.startswith("get /api/v1/namespaces/shop/pods/")]
    assert tried[:2] == ["young", "old"]


@pytest.mark.parametrize("old", HOPELESS.values(), ids=HOPELESS)
def test_a_pod_that_waits_in_vain_is_told_why_in_a_sentence(scene: Scene, old: Json) -> None:
    scene.put(old)

    scene.run()

    (said,) = [one.note for one in scene.heard.said if one.reason == "AddressAwaited"]
    assert len(said.removeprefix("waits for an address: ").split()) > 3


def test_who_asks_no_more_is_told_that_the_gate_stays(scene: Scene) -> None:
    scene.put(waiting_pod(labels={}))

    scene.run()

    (said,) = [one.note for one in scene.heard.said if one.reason == "AddressAwaited"]
    assert said == "waits for an address: it asks for none any more: it waits in vain, delete it or remove the scheduling gate"


def test_each_of_many_pods_gets_an_address_of_its_own(scene: Scene) -> None:
    scene.put(*(waiting_pod(f"web-{number}", asks="10.0.0.1-60", age_s=number) for number in range(1, 51)))

    scene.run()
    first = scene.series("gatehouse_address_gates_lifted_total")
    scene.later(5)

    assert first == {"": float(A_PASS)}  # then other keys have their turn
    given = [written(scene, f"web-{number}")[IP_ADDRS] for number in range(1, 51)]
    assert len(set(given)) == 50
    assert set(scene.reservations().values()) == {"Bound"}


def test_a_pod_that_went_meanwhile_gives_its_address_back(scene: Scene) -> None:
    scene.put(waiting_pod(asks=ONE))
    scene.interposed.before["patch"] = [lambda: scene.drop("Pod", "shop/web-1")]

    scene.run()

    assert scene.reservations() == {}


def test_an_ordinal_that_went_meanwhile_keeps_the_address_that_it_had_before(scene: Scene) -> None:
    key = key_of("shop", "uid-db", "db-0")
    scene.put(stateful_set(), reservation(ONE, key=key, pod_name="db-0", owner="StatefulSet/db"))
    owner = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "db", "uid": "uid-db", "controller": True}
    scene.put(waiting_pod("db-0", asks=ONE, ownerReferences=[owner]))
    scene.interposed.before["patch"] = [lambda: scene.drop("Pod", "shop/db-0")]

    scene.run()

    assert scene.reservations() == {ONE: "Reserved"}


def test_an_address_that_another_pod_of_the_name_has_claimed_is_not_given_back(scene: Scene) -> None:
    scene.put(waiting_pod(asks=ONE))

    def comes_back() -> None:
        scene.drop("Pod", "shop/web-1")
        scene.change("AddressReservation", ONE, status={"claim": "request-2", "claimedTime": at(0)})

    scene.interposed.before["patch"] = [comes_back]

    scene.run()

    assert scene.reservations() == {ONE: "Reserved"}


def test_an_address_that_is_somebody_elses_by_now_is_not_given_back(scene: Scene) -> None:
    scene.put(waiting_pod(asks=ONE))

    def gone() -> None:
        scene.drop("Pod", "shop/web-1")
        scene.drop("AddressReservation", ONE)
        scene.put(reservation(ONE, key="key-9", age_s=0))

    scene.interposed.before["patch"] = [gone]

    scene.run()

    assert scene.reservations() == {ONE: "Reserved"}


def test_a_pod_made_anew_under_the_name_is_not_patched_for_the_old_one(scene: Scene) -> None:
    scene.put(waiting_pod(asks=ONE))

    def anew() -> None:
        scene.drop("Pod", "shop/web-1")
        scene.put(waiting_pod(asks=TWO))

    scene.interposed.before["patch"] = [anew]

    scene.run()
    scene.later(5)

    assert written(scene)[IP_ADDRS] == f'["{TWO}"]'
    assert scene.reservations() == {TWO: "Bound"}


def test_a_pod_that_somebody_writes_to_meanwhile_gets_the_same_address_after_that(scene: Scene) -> None:
    scene.put(waiting_pod())
    scene.interposed.before["patch"] = [lambda: scene.change("Pod", "shop/web-1", metadata={"finalizers": ["example.com/x"]})]

    scene.run()
    scene.later(40)

    assert not waits(scene)
    assert len(scene.reservations()) == 1


def test_a_gate_that_somebody_else_takes_off_meanwhile_does_not_make_us_take_off_a_third(scene: Scene) -> None:
    scene.put(waiting_pod(asks=ONE))
    names = ["example.com/a", "gatehouse.dev/pod-ip", "example.com/b"]
    all_gates = [{"name": name} for name in names]
    scene.change("Pod", "shop/web-1", spec={"schedulingGates": all_gates})
    scene.interposed.before["patch"] = [lambda: scene.change("Pod", "shop/web-1", spec={"schedulingGates": all_gates[1:]})]

    scene.run()
    scene.later(40)

    assert gates(scene) == ["example.com/b"]


def test_what_an_earlier_try_reserved_is_claimed_before_it_is_given(scene: Scene) -> None:
    """Without a write it might expire between the try and the patch."""
    scene.put(waiting_pod(asks=ONE))
    claims = []

    def fail() -> None:
        claims.append(scene.status(ONE).get("claim"))
        scene.api.next("patch", status(503))

    scene.interposed.before["patch"] = [fail, fail, fail]

    scene.run()
    scene.later(40)

    assert not waits(scene)
    assert claims[0] is None
    assert len({*claims, scene.status(ONE)["claim"]}) == 4


def test_a_patch_that_is_refused_is_told_as_a_failure_and_tried_again(scene: Scene) -> None:
    scene.put(waiting_pod(asks=ONE), waiting_pod("web-2", asks=TWO, age_s=5))
    scene.api.next("patch", status(422, "Invalid"))

    scene.run()
    scene.later(40)

    assert scene.series("controller_runtime_reconcile_errors_total") == {"pod-ip": 1.0}
    assert (waits(scene), waits(scene, "web-2")) == (False, False)


def test_the_address_of_a_pod_that_waited_is_held_by_it_like_any_other(scene: Scene) -> None:
    scene.put(waiting_pod(asks=ONE))
    scene.run()
    scene.later(600)
    held = scene.reservations()

    scene.drop("Pod", "shop/web-1")
    scene.run()

    assert (held, scene.reservations()) == ({ONE: "Bound"}, {})


def test_a_pod_whose_list_cannot_be_read_is_told_why_it_waits(scene: Scene) -> None:
    scene.put(waiting_pod(asks="10.0.0.9-10.0.0.1"))

    scene.run()

    assert [one.warning for one in scene.heard.said if one.reason == "AddressAwaited"] == [True]
    assert waits(scene)


def test_a_pool_that_grows_lets_pods_go(scene: Scene) -> None:
    (other,) = scene.put(pod("other"))
    scene.put(bound(other), pool(addresses=[ONE], onExhausted="gate"))
    scene.put(waiting_pod(labels={"gatehouse.dev/ip-pool": "edge"}))
    scene.run()
    before = waits(scene)

    scene.change("AddressPool", "edge", spec={"addresses": [ONE, TWO]}, metadata={"generation": 2})
    scene.run()
    scene.later(2)

    assert (before, waits(scene)) == (True, False)


def test_a_pod_that_is_being_deleted_gets_nothing(scene: Scene) -> None:
    scene.put(waiting_pod(asks=ONE, deletionTimestamp="2027-01-01T00:00:00Z", finalizers=["example.com/held"]))

    scene.run()

    assert scene.reservations() == {}


def test_the_pods_that_wait_are_counted(scene: Scene) -> None:
    full(scene)
    scene.put(waiting_pod("a", asks=ONE), waiting_pod("b", asks=TWO))

    scene.run()

    assert scene.series("gatehouse_address_gates_waiting") == {"": 1.0}
    assert scene.series("gatehouse_address_gates_lifted_total") == {"": 1.0}


def test_an_address_that_nobody_told_us_of_is_found_by_looking_again(scene: Scene) -> None:
    scene.put(reservation(ONE, age_s=0))
    scene.put(waiting_pod(asks=ONE))
    scene.run()
    before = waits(scene)

    scene.later(240)

    assert (before, waits(scene)) == (True, False)


def test_who_cannot_be_served_for_want_of_rights_is_told_so(scene: Scene) -> None:
    scene.put(waiting_pod(asks=ONE))
    scene.api.always("create", status(403, "Forbidden", "no rule"))

    scene.run()

    assert waits(scene)
    assert any("needs the role gatehouse-pod-ip" in message for message in told(scene))


def test_a_pod_of_a_pool_that_excludes_everything_is_told_so(scene: Scene) -> None:
    scene.put(
        pool("edge", addresses=[ONE], exclude=[ONE], onExhausted="gate"), waiting_pod(labels={"gatehouse.dev/ip-pool": "edge"})
    )

    scene.run()

    assert waits(scene)
    assert any('AddressPool "edge" has no address to give' in message for message in told(scene))
