"""The long form of tests/apiserver/addresses: five rounds from pools that just fit, in each of which both replicas die.

A killed replica may leave reservations of pods that never came, so that others wait for their expiry, as users would.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator

import attrs
import pytest

from tests.apiserver import registration
from tests.apiserver.addresses import objects
from tests.apiserver.addresses.stage import Stage, set_up
from tests.apiserver.addresses.storm import Round, Storm
from tests.apiserver.conftest import NOBODY_JUDGES
from tests.apiserver.waiting import wait_for
from tests.cluster import Cluster, Settings
from tests.cluster.components import CONTROLLER_MANAGER
from tests.server.figures import Figures

ROUNDS = 5
NAMESPACE = "long-storm"
GRACE_S = 60.0


@attrs.frozen
class Outcome:
    """Of all rounds."""

    rounds: list[Round]
    left: int  # reservations after the expiry
    left_s: float
    log: str


@pytest.fixture(scope="module")
def outcome(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Outcome]:
    settings = Settings(f"addresses-{os.getpid()}", {CONTROLLER_MANAGER: NOBODY_JUDGES})
    with Cluster(settings) as cluster:
        with cluster.api() as api:
            registration.apply_rbac(api)
        with set_up(cluster, tmp_path_factory.mktemp("a"), "long") as stage:
            yield run(stage)


def run(stage: Stage) -> Outcome:
    """Every round, then the wait for the expiry."""
    storm = Storm(stage, NAMESPACE)
    rounds = []
    for number in range(ROUNDS):
        rounds.append(storm.create(after=200 + 100 * number, kill=stage.other if number % 2 else stage.leader))
        storm.delete(kill=stage.leader if number % 2 else stage.other)
    ended_s = time.monotonic()
    limit_s = objects.LEAST_EXPIRY_S + GRACE_S
    wait_for(lambda: not objects.reservations(stage.api, NAMESPACE), limit_s, "every address given back")
    left = len(objects.reservations(stage.api, NAMESPACE))
    return Outcome(rounds, left, time.monotonic() - ended_s, stage.log())


@pytest.mark.parametrize("number", range(ROUNDS))
def test_no_address_is_given_twice_and_no_pod_is_without(outcome: Outcome, figures: Figures, number: int) -> None:
    outcome.rounds[number].show(figures, f"round {number + 1}, with kills", strict=False)

    assert outcome.rounds[number].complaints() == []


def test_no_reservation_is_left_after_the_expiry(outcome: Outcome, figures: Figures) -> None:
    figures.add(f"{ROUNDS} rounds: leaked reservations", f"{outcome.left} after {outcome.left_s:.0f} s", "0", outcome.left == 0)

    assert outcome.left == 0
    assert "Traceback" not in outcome.log
