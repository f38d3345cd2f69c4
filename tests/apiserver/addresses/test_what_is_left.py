"""Nothing: after the expiry no reservation of a pod that is gone, or never came, is there any more."""

from __future__ import annotations

import time

from tests.apiserver.addresses import objects
from tests.apiserver.addresses.conftest import Drained
from tests.apiserver.addresses.objects import LEAST_EXPIRY_S, address, create, from_pool, pod
from tests.apiserver.addresses.storm import Rounds
from tests.apiserver.waiting import wait_for
from tests.cluster import Api
from tests.server.figures import Figures

GRACE_S = 30.0  # a leader that came late, or now, looks at what it found for a minute, whatever clocks say


def test_no_reservation_of_a_thousand_pods_is_left(api: Api, storm: Rounds, figures: Figures) -> None:
    wait_for(lambda: not objects.reservations(api, storm.namespace), LEAST_EXPIRY_S + GRACE_S, "every address given back")

    passed_s = time.monotonic() - storm.ended_s
    figures.add("2,000 pods deleted: leaked reservations", f"0 after {passed_s:.0f} s", "0", True)


def test_a_quota_does_not_drain_the_pool_beyond_the_expiry(api: Api, drained: Drained) -> None:
    wait_for(lambda: not objects.reservations(api, drained.namespace), LEAST_EXPIRY_S + GRACE_S, "every address given back")

    made = create(api, drained.other, pod("later-", from_pool("drained")))
    assert address(made).startswith("10.105.0.")
