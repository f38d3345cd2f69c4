"""What holds for every plan, whatever the facts."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from controllers.pod_ip.actions import Action, Cool, Keep, LookAgain, Release, ReportConflict
from controllers.pod_ip.plan import carries, plan
from tests.controllers.pod_ip.facts import ADDRESS, NOW_S, OTHER, carrier, pool, reservation, situation
from webhook.addresses.facts import Phase, ReservationFacts
from webhook.addresses.marks import Carrier
from webhook.addresses.policy import AddressPolicy

_PODS = st.builds(
    carrier,
    st.sampled_from(["a", "b"]),
    key=st.sampled_from(["", "key-1", "key-2"]),
    addresses=st.sampled_from([(), (ADDRESS,), (OTHER,)]),
    label=st.sampled_from(["", ADDRESS.name, OTHER.name]),
    gated=st.booleans(),
    phase=st.sampled_from(["Pending", "Running", "Succeeded", "Failed"]),
    deleting=st.booleans(),
    created_s=st.sampled_from([NOW_S - 600, NOW_S - 1, NOW_S + 600]),
)
_RESERVATIONS = st.builds(
    reservation,
    phase=st.sampled_from(list(Phase)),
    bound_uid=st.sampled_from(["", "uid-a", "uid-gone"]),
    ordinal=st.sampled_from([None, 0]),
    created_s=st.sampled_from([NOW_S - 600, NOW_S - 1]),
    released_s=st.sampled_from([None, NOW_S - 600, NOW_S - 1]),
    claimed_s=st.sampled_from([0.0, NOW_S - 1]),
)


@given(_RESERVATIONS, st.lists(_PODS, max_size=2, unique_by=lambda pod: pod.uid), st.sampled_from([0.0, 30.0]))
def test_what_a_live_pod_carries_is_never_given_up(found: ReservationFacts, pods: list[Carrier], cooldown_s: float) -> None:
    actions: tuple[Action, ...] = plan(situation(found, *pods), NOW_S, AddressPolicy(cooldown_s=cooldown_s))

    live = [pod for pod in pods if pod.phase in ("Pending", "Running")]
    if any(carries(pod, ADDRESS) or pod.uid == found.bound_uid for pod in live):
        assert not [one for one in actions if isinstance(one, Release | Cool | Keep)]


@given(st.one_of(st.none(), _RESERVATIONS), st.lists(_PODS, max_size=2, unique_by=lambda pod: pod.uid))
def test_a_plan_writes_once_at_most_and_waits_for_a_time_above_zero(found: Any, pods: list[Carrier]) -> None:
    actions = plan(situation(found, *pods, pool=pool()), NOW_S, AddressPolicy())

    writes = [one for one in actions if not isinstance(one, LookAgain | ReportConflict)]
    assert len(writes) <= 1
    assert all(one.seconds > 0 for one in actions if isinstance(one, LookAgain))
