"""A thousand pods of 20 apps, created by 32 clients at once from pools that just fit; then again, while replicas are killed.

The long form is tests/soak/test_address_storm.py. What is left after the expiry: test_what_is_left.py.
"""

from __future__ import annotations

from tests.apiserver.addresses.stage import Stage
from tests.apiserver.addresses.storm import Rounds
from tests.server.figures import Figures

POSTS_A_POD = 1.3


def test_no_address_is_given_twice_and_no_pod_is_without(storm: Rounds) -> None:
    assert storm.first.complaints() == []
    assert storm.first.refused == {}


def test_hardly_more_reservations_are_tried_than_there_are_pods(storm: Rounds, figures: Figures) -> None:
    storm.first.show(figures, "1,000 pods, pools that just fit", strict=True)

    assert storm.first.posts_per_pod <= POSTS_A_POD
    assert storm.first.replicas_counted == storm.first.posts


def test_no_address_is_given_twice_though_a_replica_is_killed(storm: Rounds, figures: Figures) -> None:
    storm.again.show(figures, "1,000 pods, a replica killed", strict=False)

    assert storm.again.complaints() == []


def test_nothing_went_wrong_in_the_replicas(storm: Rounds, stage: Stage) -> None:
    assert "Traceback" not in stage.log()
    assert stage.total("gatehouse_address_conflicts") == 0
