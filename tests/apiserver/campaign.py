"""Leadership forced to change again and again, with led writes and reviews going on; then the audit log is judged."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from random import Random

import attrs

from tests.apiserver import registration, skewed
from tests.apiserver.audit import AuditLog
from tests.apiserver.callers import Callers
from tests.apiserver.conftest import NOBODY_JUDGES
from tests.apiserver.forced_changes import CHANGES, Mark, Stage
from tests.apiserver.replicas import LEASE_NAME, Seat, Timing
from tests.apiserver.tenure import History, Rules, faults
from tests.apiserver.turning_votes import TurningVotes
from tests.cluster import Cluster, Settings
from tests.cluster.components import APISERVER, CONTROLLER_MANAGER

# Writes of Leases with their objects, and when each request was received, even if it was never answered.
AUDIT_POLICY = """\
apiVersion: audit.k8s.io/v1
kind: Policy
omitManagedFields: true
rules:
- level: RequestResponse
  verbs: [create, update, patch, delete]
  namespaces: [kube-system]
  resources: [{group: coordination.k8s.io, resources: [leases]}]
- level: Metadata
"""
SKEWS_S = (0, 30, -30)  # of the replicas' clocks
HAND_OVER_S = 2.0
REPLACED_S = 2.0  # and the lease
Say = Callable[[str], None]


@attrs.frozen
class Outcome:
    """What came of it."""

    replicas: int
    timing: Timing
    marks: Sequence[Mark]
    history: History
    faults: list[str]  # what the audit log says against the replicas
    reviews: int
    review_faults: list[str]
    unanswered: list[str]  # changes in which the leader lost its lease and answered no review
    forbidden: list[str]
    tracebacks: list[str]  # the last of each process, from its log

    def taken_s(self, kind: str) -> list[float]:
        """For each change *kind*: seconds until another replica had the Lease."""
        found = (self.history.taken_after(m.begin_s, not_by=m.user) for m in self.marks if m.kind == kind)
        return [seconds for seconds in found if seconds is not None]

    def led_s(self, kind: str) -> list[float]:
        """For each change *kind*: seconds until another replica's first led write."""
        found = (self.history.led_after(m.begin_s, not_by=m.user) for m in self.marks if m.kind == kind)
        return [seconds for seconds in found if seconds is not None]

    def lines(self) -> Iterator[str]:
        """What was measured."""
        led, taken = len(self.history.led), len(list(self.history.acquisitions()))
        leaders = len({request.user for request in self.history.led})
        yield f"{self.replicas} replicas, {len(self.marks)} changes: {led} led writes by {leaders}, {taken} acquisitions"
        yield f"reviews: {self.reviews} answered, {len(self.review_faults)} not"
        for kind, limit_s in (("left", HAND_OVER_S), ("killed", self.timing.lease_duration_s + REPLACED_S)):
            for what, seconds in (("lease taken", self.taken_s(kind)), ("first led write", self.led_s(kind))):
                yield f"{kind}, {what}: {summary(seconds)} (target {limit_s:g} s)"


def summary(seconds: Sequence[float]) -> str:
    """Median and maximum."""
    if not seconds:
        return "never"
    return f"median {statistics.median(seconds):.2f} s, max {max(seconds):.2f} s of {len(seconds)}"


@contextmanager
def cluster_for(folder: Path, name: str) -> Iterator[Cluster]:
    """A cluster whose audit log can be judged, and in which nobody judges nodes."""
    skewed.install()
    policy = folder / "audit-policy.yaml"
    policy.write_text(AUDIT_POLICY)
    flags = {APISERVER: [f"--audit-policy-file={policy}"], CONTROLLER_MANAGER: NOBODY_JUDGES}
    with Cluster(Settings(name, flags)) as cluster:
        with cluster.api() as admin:
            registration.apply_rbac(admin)
        yield cluster


def plan(changes: int, random: Random) -> list[str]:
    """*changes* names of CHANGES: each as often as the others, in an order by chance."""
    planned: list[str] = []
    while len(planned) < changes:
        planned += random.sample(sorted(CHANGES), len(CHANGES))
    return planned[:changes]


def run(
    cluster: Cluster,
    folder: Path,
    replicas: int,
    kinds: Sequence[str],
    random: Random,
    *,
    module: str = "controllers",
    say: Say = print,
    until_s: float = float("inf"),
) -> Outcome:
    """The changes *kinds*, one after the other. At most three replicas.

    module: what each replica runs. until_s: begin no change after this moment (monotonic).
    """
    timing, log = Timing(), AuditLog(cluster.audit_log).from_now()
    with ExitStack() as stack:
        admin = stack.enter_context(cluster.api())
        seats = [
            stack.enter_context(Seat(cluster, folder, f"{folder.name}-{letter}".replace("_", "-"), skew_s, timing, module))
            for letter, skew_s in zip("abc"[:replicas], SKEWS_S, strict=False)
        ]
        for seat in seats:
            seat.start()
        stack.enter_context(TurningVotes(cluster.api()))
        callers = stack.enter_context(Callers(seats))
        stage = Stage(cluster, admin, seats, timing, random)
        stage.settle()
        for number, kind in enumerate(kinds, 1):
            if time.monotonic() > until_s:
                break
            stage.change(kind)
            mark = stage.marks[-1]
            say(f"{number}/{len(kinds)} {kind}, {mark.seat} led before: {time.time() - mark.begin_s:.1f} s")
        logs = [life.log() for seat in seats for life in seat.lives]
    users = {seat.user for seat in seats}
    history = History.of(log.events(), LEASE_NAME, users)
    rules = Rules(timing.lease_duration_s, timing.renew_deadline_s, stage.pauses)
    return Outcome(
        replicas,
        timing,
        stage.marks,
        history,
        faults(history, rules),
        sum(not answer.fault for answer in callers.answers),
        callers.faults(),
        _unanswered(stage.marks, callers),
        [line for user in sorted(users) for line in log.forbidden(user)],
        [text[text.rindex("Traceback") :][:3000] for text in logs if "Traceback" in text],
    )


def _unanswered(marks: Sequence[Mark], callers: Callers) -> list[str]:
    """The changes that took the lease from a running process, which did not answer a review meanwhile."""
    losses = [mark for mark in marks if mark.kind in ("usurped", "API server paused")]
    return [f"{mark.kind}: {mark.seat}" for mark in losses if not callers.answered(mark.seat, mark.begin_s, mark.end_s)]
