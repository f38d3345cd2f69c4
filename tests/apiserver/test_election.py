"""Two and three replicas, one leader: while leadership is forced to change ten times each, by whatever can happen to a
process, a Lease, an API server or a clock, no two of them ever write as the leader at the same time.

What is said of their writes is read from the API server's audit log alone. The long form is tests/soak/elections.py.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from pathlib import Path
from random import Random

import pytest

from tests.apiserver.campaign import HAND_OVER_S, REPLACED_S, Outcome, cluster_for, plan, run
from tests.apiserver.forced_changes import CHANGES
from tests.apiserver.minute import Minute
from tests.cluster import Cluster
from tests.server.figures import Figures

SEED = 20  # the same changes in each run
CHANGES_EACH = len(CHANGES)
PATIENCE = 5  # times the target, on a machine that has other things to do


@pytest.fixture(scope="module")
def judged_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with cluster_for(tmp_path_factory.mktemp("elections"), f"elections-{os.getpid()}") as cluster:
        yield cluster


@pytest.fixture(scope="module")
def campaigns(
    judged_cluster: Cluster, faulty_minute: Future[Minute], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Mapping[int, Future[Outcome]]]:
    """By number of replicas: at the same time, each in a cluster of its own, and while `minute` passes in a third one.

    All of them wait most of the time.
    """

    over = threading.Event()

    def say(line: str) -> None:
        print(line)
        if over.is_set():
            raise RuntimeError("nobody waits for it any more")

    def campaign(replicas: int, cluster: Cluster, folder: Path) -> Outcome:
        random = Random(SEED + replicas)
        return run(cluster, folder, replicas, plan(CHANGES_EACH, random), random, say=say)

    with (
        cluster_for(tmp_path_factory.mktemp("elections"), f"elections-too-{os.getpid()}") as other,
        ThreadPoolExecutor(2, "test/campaign") as pool,
    ):
        folders = [tmp_path_factory.mktemp("of") for _ in range(2)]
        pairs = zip((2, 3), (judged_cluster, other), folders, strict=True)
        try:
            yield {replicas: pool.submit(campaign, replicas, cluster, folder) for replicas, cluster, folder in pairs}
        finally:
            over.set()
    wait([faulty_minute])  # its cluster's API server is restarted by others


@pytest.fixture(scope="module", params=[2, 3], ids=["two replicas", "three replicas"])
def outcome(request: pytest.FixtureRequest, campaigns: Mapping[int, Future[Outcome]]) -> Outcome:
    return campaigns[request.param].result()


def test_no_replica_writes_as_the_leader_unless_it_is_and_no_two_of_them_at_a_time(outcome: Outcome) -> None:
    assert outcome.faults == []


def test_there_was_something_to_judge(outcome: Outcome) -> None:
    assert len(outcome.marks) == CHANGES_EACH
    assert len({write.user for write in outcome.history.led}) > 1
    assert len(outcome.history.led) > 10 * CHANGES_EACH


def test_a_leader_that_leaves_hands_over_and_one_that_is_killed_is_replaced(outcome: Outcome, figures: Figures) -> None:
    lease_s = outcome.timing.lease_duration_s
    for kind, limit_s in (("left", HAND_OVER_S), ("killed", lease_s + REPLACED_S)):
        seconds = outcome.taken_s(kind)
        for what, measured in (("lease taken", seconds), ("first led write", outcome.led_s(kind))):
            row = f"{outcome.replicas} replicas, leader {kind}: {what}"
            figures.add(row, f"{max(measured):.2f} s", f"<= {limit_s:g} s", max(measured) <= limit_s)

        assert max(seconds) <= PATIENCE * limit_s


def test_every_review_is_answered_whatever_happens_to_the_leadership(outcome: Outcome) -> None:
    assert outcome.review_faults == []
    assert outcome.reviews > 100


def test_who_loses_its_lease_answers_meanwhile(outcome: Outcome) -> None:
    assert outcome.unanswered == []


def test_nothing_is_forbidden_and_nothing_goes_wrong_inside(outcome: Outcome) -> None:
    assert outcome.forbidden == []
    assert outcome.tracebacks == []


def test_replicas_that_cling_to_their_leadership_are_caught(judged_cluster: Cluster, tmp_path: Path) -> None:
    outcome = run(judged_cluster, tmp_path, 2, ["frozen"], Random(SEED), module="tests.apiserver.clinging")

    assert any("had taken the lease" in fault for fault in outcome.faults)
