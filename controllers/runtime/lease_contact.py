"""How the election stands, for who looks from outside: the last answer, what has failed since, whom we wait for, who leads.

A try that fails is counted by its reason and logged once, then now and then with a count: an outage or a missing right makes
one every few seconds.
Threads: the elector's writes, any reads.
"""

from __future__ import annotations

from controllers.runtime.candidate import Candidate, Moment
from controllers.runtime.election import State, others_left_s, settles_in_s
from controllers.runtime.errors import ApiError
from controllers.runtime.resource import Json
from webhook.clock import Clock
from webhook.logs import Throttle, get_log
from webhook.telemetry import Telemetry

log = get_log("elector")

REMIND_S = 60.0


class LeaseContact:
    """Of one candidate."""

    def __init__(self, candidate: Candidate, telemetry: Telemetry, clock: Clock) -> None:
        self._lease = f"{candidate.namespace}/{candidate.name}"
        self._name = candidate.name
        self._clock = clock
        self._began_s = clock.monotonic_s()
        self._answered_s: float | None = None
        self._error = ""
        self._reminded: tuple[str, float] = ("", 0.0)  # of which holder, when
        self._throttle = Throttle(1)
        self._failures = telemetry.counter(
            "gatehouse_leader_election_failures", "Requests about the lease that failed, by reason.", ("name", "reason")
        )
        telemetry.gauge(
            "gatehouse_leader_election_last_contact_seconds",
            "Since the API server last answered about the lease, or since the start; whether we lead or not.",
            ("name",),
        ).labels(candidate.name).set_function(self._silence_s)

    # -- called by the elector

    def answered(self) -> None:
        """The API server has answered, be it that another was quicker."""
        if self._error:
            log.info("lease requests pass again", lease=self._lease)
        self._error, self._answered_s = "", self._clock.monotonic_s()

    def failed(self, error: Exception) -> None:
        """A request has failed."""
        reason = error.code if isinstance(error, ApiError) else type(error).__name__
        self._error = str(error) or reason
        self._failures.labels(self._name, reason).inc()
        admitted, held_back = self._throttle.admits(reason, self._clock.monotonic_s())
        if admitted:
            log.warning("lease request failed", lease=self._lease, error=error, alike_before=held_back)

    def waits_for(self, state: State, now: Moment) -> None:
        """Say whom we wait for when its record names a length beyond reason; once, then every REMIND_S."""
        record, timing = state.record, state.candidate.timing
        left_s = others_left_s(state, now)
        if left_s is None or left_s <= 0 or record.duration_s <= timing.patience_s:
            return
        holder, said_s = self._reminded
        if holder == record.holder and now.monotonic_s - said_s < REMIND_S:
            return
        self._reminded = (record.holder, now.monotonic_s)
        log.warning(
            "the lease names a length beyond reason, it is waited for less",
            lease=self._lease,
            holder=record.holder,
            seconds=record.duration_s,
            left_s=round(left_s),
        )

    @property
    def error(self) -> str:
        """What has failed since the last answer; "" when nothing has."""
        return self._error

    # -- called by anyone

    def status(self) -> Json:
        """For the status page."""
        answered_s = self._answered_s
        return {
            "lastContactSeconds": None if answered_s is None else round(self._clock.monotonic_s() - answered_s, 1),
            "lastError": self._error or None,
        }

    def _silence_s(self) -> float:
        since_s = self._began_s if self._answered_s is None else self._answered_s
        return self._clock.monotonic_s() - since_s


def standing(state: State, now: Moment, leading: bool) -> Json:
    """Who leads, for the status page: what this replica knows, and not who is merely named in the Lease.

    leader: "" when nobody does, as far as we know. settlesInSeconds: until we may lead. holderExpiredSeconds: for how long the
    lease of the holder has run out; whoever holds it does not lead any more. leaseAgeSeconds: since its last renewal, as far as
    this replica has seen it; None before it has seen any.
    """
    left_s = others_left_s(state, now)
    settles_s = settles_in_s(state, now)
    renewed = state.held or state.observed
    others = state.record.holder if left_s is not None and left_s > 0 else ""
    return {
        "leading": leading,
        "holder": state.record.holder,
        "leader": state.candidate.identity if leading else others,
        "settlesInSeconds": None if settles_s is None or leading else round(settles_s, 1),
        "holderExpiredSeconds": round(-left_s, 1) if left_s is not None and left_s <= 0 else None,
        "leaseAgeSeconds": None if renewed is None else round(max(0.0, now.at_least_since(renewed)), 1),
        "seen": state.observed is not None,
    }
