"""The last word: one command takes it away, and pods are as they were before there was a Gatehouse."""

from __future__ import annotations

from tests.apiserver.waiting import wait_for
from tests.apiserver.workloads import pods_path
from tests.cluster import Api
from tests.e2e import pods
from tests.e2e.creating import OFFENDER_EVERY, Creating
from tests.e2e.grounds import Ground
from tests.e2e.installed import DEPLOYMENT, PODS, Installed


def test_nothing_is_left_of_it_and_nobody_is_refused(gatehouse: Installed, api: Api) -> None:
    gatehouse.undeploy()
    pods.make_namespace(api, "afterwards", pods.EVERY_POD)
    made = api.create(pods_path("afterwards"), pods.pod("plain", pods.sleeper()))

    assert api.find(DEPLOYMENT) is None
    assert api.get(f"{PODS}?labelSelector=app.kubernetes.io/name=gatehouse")["items"] == []
    assert pods.names(made, "initContainers") == []


def test_who_creates_pods_under_chaos_would_have_noticed_if_nobody_judged(ground: Ground) -> None:
    with Creating(ground.api, "unguarded") as told:
        wait_for(lambda: len(told.created) > 2 * OFFENDER_EVERY, 30.0, "creates")

    assert len(told.bare) > OFFENDER_EVERY
    assert any("offender" in name for name in told.passed)
    assert told.held == []
