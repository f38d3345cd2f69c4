"""Native or plain, where containers go, and what happens to stubs in either list."""

from __future__ import annotations

from typing import Any

import pytest

from tests.webhook.sidecars.injection.injecting import NATIVE, OLD, SCENE, entry, once, pod, run
from webhook.names import Reason
from webhook.sidecars.entries.entry import Conflict, NativeSidecar, Placement, Spot
from webhook.sidecars.injection import Scene, Support, native_support

ALWAYS, NEVER, OVERRIDE = NativeSidecar.ALWAYS, NativeSidecar.NEVER, Conflict.OVERRIDE
PROBED = {
    "name": "envoy",
    "image": "envoy:1",
    "readinessProbe": {"tcpSocket": {"port": 1}},
    "lifecycle": {"preStop": {"sleep": {"seconds": 1}}},
    "resizePolicy": [{"resourceName": "cpu", "restartPolicy": "NotRequired"}],
    "restartPolicyRules": [{"action": "Restart", "exitCodes": {"operator": "In", "values": [1]}}],
}


def job(**spec: Any) -> dict[str, Any]:
    return pod(restartPolicy="Never", **spec)


@pytest.mark.parametrize(
    ("oldest", "support"),
    [
        (None, Support.UNKNOWN),
        ((1, 37), Support.EVERYWHERE),
        ((1, 29), Support.EVERYWHERE),
        ((1, 28), Support.GATED),
        ((1, 27), Support.MISSING),
        ((0, 0), Support.MISSING),
        ((2, 0), Support.EVERYWHERE),
    ],
)
def test_the_oldest_kubelet_decides_what_is_supported(oldest: tuple[int, int] | None, support: Support) -> None:
    assert native_support(oldest) is support


@pytest.mark.parametrize(
    ("wanted", "support", "ends", "is_native", "reason"),
    [
        (NativeSidecar.AUTO, Support.EVERYWHERE, False, True, None),
        (NativeSidecar.AUTO, Support.GATED, False, False, None),
        (NativeSidecar.AUTO, Support.MISSING, False, False, None),
        (NativeSidecar.AUTO, Support.UNKNOWN, False, False, None),
        (NativeSidecar.AUTO, Support.EVERYWHERE, True, True, None),
        (NativeSidecar.AUTO, Support.UNKNOWN, True, True, None),
        (NativeSidecar.AUTO, Support.GATED, True, True, Reason.NATIVE_SIDECAR_UNSUPPORTED),
        (NativeSidecar.AUTO, Support.MISSING, True, False, Reason.JOB_NEVER_ENDS),
        (ALWAYS, Support.MISSING, False, True, Reason.NATIVE_SIDECAR_UNSUPPORTED),
        (ALWAYS, Support.UNKNOWN, False, True, None),
        (NEVER, Support.EVERYWHERE, False, False, None),
        (NEVER, Support.EVERYWHERE, True, False, Reason.JOB_NEVER_ENDS),
    ],
)
def test_native_where_it_works_and_where_the_pod_must_end(
    wanted: NativeSidecar, support: Support, ends: bool, is_native: bool, reason: Reason | None
) -> None:
    done = run(job() if ends else pod(), entry(native_sidecar=wanted), scene=Scene("shop", native=support))

    assert done.names("initContainers") == (["envoy"] if is_native else [])
    assert done.reasons == ([reason] if reason else [])


def test_a_pod_of_a_job_is_meant_to_end() -> None:
    sent = pod()
    sent["metadata"]["ownerReferences"] = [{"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "u"}]

    assert run(sent, entry()).container("envoy")["restartPolicy"] == "Always"


def test_that_a_job_never_ends_is_said_once() -> None:
    first = once(job(), entry(), scene=OLD)

    assert first.reasons == [Reason.JOB_NEVER_ENDS]
    assert once(first.pod, entry(), scene=OLD).findings == ()


def test_a_native_sidecar_keeps_what_is_allowed_there() -> None:
    container = run(pod(), entry(containers=(PROBED,)), scene=NATIVE).container("envoy")

    rest = {key: value for key, value in PROBED.items() if key != "restartPolicyRules"}
    assert container == {**rest, "restartPolicy": "Always"}


def test_what_is_there_stays_where_it_is_when_a_node_joins_between_the_calls() -> None:
    first = once(pod(), entry(), scene=SCENE)

    assert once(first.pod, entry(), scene=NATIVE).operations == []


def test_a_native_sidecar_starts_before_the_init_containers_of_the_user() -> None:
    sent = pod(initContainers=[{"name": "migrate", "image": "m:1"}])
    preparing = entry(init_containers=({"name": "setup", "image": "s:1"},))

    assert run(sent, preparing, scene=NATIVE).names("initContainers") == ["setup", "envoy", "migrate"]


def at(spot: Spot, anchor: str = "", name: str = "envoy") -> Any:
    place = Placement(spot, anchor)
    return entry(name, containers=({"name": name, "image": "e:1"},), place=place, init_place=place)


@pytest.mark.parametrize(
    ("spot", "anchor", "order"),
    [
        (Spot.FIRST, "", "XYab"),
        (Spot.LAST, "", "abXY"),
        (Spot.BEFORE, "a", "XYab"),
        (Spot.BEFORE, "b", "aXYb"),
        (Spot.AFTER, "a", "aXYb"),
        (Spot.AFTER, "b", "abXY"),
        (Spot.AFTER, "nobody", "abXY"),
    ],
)
@pytest.mark.parametrize("kind", ["containers", "initContainers"])
def test_containers_go_where_the_entry_says_in_the_order_of_the_entries(spot: Spot, anchor: str, order: str, kind: str) -> None:
    there = [{"name": name, "image": "i:1"} for name in "ab"]
    sent = pod(*there) if kind == "containers" else pod(initContainers=there)

    done = run(sent, at(spot, anchor, "X"), at(spot, anchor, "Y"), scene=SCENE if kind == "containers" else NATIVE)

    assert "".join(done.names(kind)) == order
    assert done.reasons == ([Reason.ANCHOR_MISSING] * 2 if anchor == "nobody" else [])


def test_an_anchor_may_be_a_container_of_an_entry_before() -> None:
    assert run(pod(), at(Spot.FIRST, "", "X"), at(Spot.BEFORE, "X", "Y"), at(Spot.AFTER, "X", "Z")).names() == [
        "Y",
        "X",
        "Z",
        "app",
    ]


def test_a_container_that_got_lost_between_the_calls_comes_back_to_its_place() -> None:
    entries = [at(Spot.FIRST, "", name) for name in "XYZ"]
    between = once(pod(), *entries).pod
    del between["spec"]["containers"][1]

    assert run(between, *entries).names() == ["X", "Y", "Z", "app"]


# -- stubs


def stub(**fields: Any) -> dict[str, Any]:
    return {"name": "envoy", "image": "auto", **fields}


def test_a_stub_among_the_containers_becomes_a_native_sidecar() -> None:
    done = run(pod({"name": "app", "image": "a:1"}, stub(securityContext={"runAsUser": 7})), entry(), scene=NATIVE)

    assert (done.names("initContainers"), done.names()) == (["envoy"], ["app"])
    assert done.container("envoy") == {
        "name": "envoy",
        "image": "envoy:1",
        "restartPolicy": "Always",
        "securityContext": {"runAsUser": 7},
    }


def test_a_stub_that_the_user_made_native_stays_so() -> None:
    done = run(pod(initContainers=[stub(restartPolicy="Always")]), entry(), scene=SCENE)

    assert done.container("envoy") == {"name": "envoy", "image": "envoy:1", "restartPolicy": "Always"}
    assert done.names() == ["app"]


def test_a_stub_among_the_init_containers_becomes_a_plain_container() -> None:
    done = run(pod(initContainers=[{"name": "init", "image": "i:1"}, stub()]), entry(), scene=SCENE)

    assert (done.names("initContainers"), done.names()) == (["init"], ["app", "envoy"])


def test_a_gateway_whose_only_container_is_a_stub_keeps_it_as_its_container() -> None:
    done = run(pod(stub()), entry(), scene=NATIVE)

    assert done.names() == ["envoy"]
    assert "restartPolicy" not in done.container("envoy")


def test_several_stubs_move_at_once() -> None:
    sent = pod({"name": "a", "image": "auto"}, {"name": "app", "image": "app:1"}, {"name": "b"})
    both = entry(containers=({"name": "a", "image": "a:1"}, {"name": "b", "image": "b:1"}))

    done = run(sent, both, scene=NATIVE)

    assert (done.names("initContainers"), done.names()) == (["a", "b"], ["app"])


def test_an_app_container_is_left_even_when_entries_take_them_all() -> None:
    taking = entry(containers=({"name": "app", "image": "theirs:1"}, {"name": "envoy", "image": "e:1"}), on_conflict=OVERRIDE)

    done = run(pod({"name": "app", "image": "app:1"}, stub()), taking, scene=NATIVE)

    assert (done.names("initContainers"), done.names()) == (["app"], ["envoy"])
