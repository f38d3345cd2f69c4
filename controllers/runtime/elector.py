"""The thread that campaigns for a Lease, and starts and stops the led work as it is won and lost.

It performs the effects of `election`. Requests run on a second thread, so that a call that hangs (a name server, a stopped
process) cannot keep the first from seeing its own deadline. On loss led work is told to stop and joined, the process goes on
serving, and the campaign begins again; only led work that does not end within LED_WORK_ENDS_WITHIN_S takes the process down. On
`stop` led work ends first, then the lease is released.

`guard.check()` is what every led request asks first. It looks at clocks only, never at what the elector has got round to: a
process that wakes up after a SIGSTOP or a suspended machine finds its lease gone before it has read a single answer.

Threads: `elector` and `elector/requests`. start and stop belong to the supervisor, the rest to anyone.
Errors:  any exception of a request is a failed try; anything else goes to `on_death`.
"""

from __future__ import annotations

import socket
import threading
import time
import uuid
from collections.abc import Callable
from random import random as system_random
from typing import Protocol

from controllers.runtime.api import Creates, Reads, Updates
from controllers.runtime.election import (
    Candidate,
    Create,
    Effect,
    End,
    Leave,
    Missing,
    Moment,
    NoAnswer,
    Observation,
    Read,
    Rejected,
    Seen,
    State,
    Update,
    Wait,
    Woke,
    Written,
    step,
    tenure_left_s,
)
from controllers.runtime.errands import Errands
from controllers.runtime.errors import Conflict, LeaseLost, NotFound, OnDeath
from controllers.runtime.events import Announcer, Reference
from controllers.runtime.lease_contact import LeaseContact, standing
from controllers.runtime.leases import API_VERSION, COLLECTION, lease_in
from controllers.runtime.resource import Json
from webhook.clock import Clock, Deadline
from webhook.logs import get_log
from webhook.telemetry import Telemetry

log = get_log("elector")

LED_WORK_ENDS_WITHIN_S = 5.0
STALE_TOLERANCE_S = 20.0  # client-go's: a leader is unwell when its last renewal is older than the lease and this
HANG_TOLERANCE_S = 60.0  # over the lease duration; every request has a timeout far below


class LeaseClient(Reads, Creates, Updates, Protocol):
    """What the elector needs of an API server (`rest.RestClient`). Raises ApiError."""


class LedWork(Protocol):
    """What only the leader does (`controller.Controller`)."""

    @property
    def name(self) -> str: ...

    def start(self) -> None:
        """Begin. Returns at once."""

    def signal_stop(self) -> None:
        """Ask to end. Never blocks; safe to repeat."""

    def stop(self, deadline: Deadline) -> bool:
        """Whether all has ended before *deadline*. Safe without a start."""


class LedWorkStuck(Exception):
    """Led work went on after the lease was lost. Ours or a library's fault; only a new process is safe."""


def make_identity() -> str:
    """An identity that no other process has, not even after a restart on the same host."""
    return f"{socket.gethostname()}_{uuid.uuid4()}"


def system_boottime_s() -> float:
    """Seconds since boot, suspended ones included."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class LeaseGuard:
    """Implements `reconcile.Leadership` and `reconcile.Fence`. Any thread."""

    def __init__(self, state: Callable[[], State], now: Callable[[], Moment]) -> None:
        self._state = state
        self._now = now

    def check(self) -> float:
        """Seconds for which a request may still run as the leader's. Raises LeaseLost when none may begin."""
        state = self._state()
        left_s = tenure_left_s(state, self._now())
        if left_s <= 0:
            candidate = state.candidate
            raise LeaseLost(f"lease {candidate.namespace}/{candidate.name} is not ours")
        return left_s

    def may_send(self) -> None:
        """Raise LeaseLost unless the lease is ours at this very moment: since `check` the process may have been stopped."""
        self.check()


class Elector:
    """One candidate and its led work."""

    name = "elector"

    def __init__(
        self,
        candidate: Candidate,
        client: LeaseClient,
        telemetry: Telemetry,
        clock: Clock,
        on_death: OnDeath,
        *,
        announcer: Announcer | None = None,
        boottime_s: Callable[[], float] = system_boottime_s,
        random: Callable[[], float] = system_random,
    ) -> None:
        self._client = client
        self._clock = clock
        self._on_death = on_death
        self._announcer = announcer
        self._boottime_s = boottime_s
        self._random = random
        self._collection = COLLECTION.format(namespace=candidate.namespace)
        self._path = f"{self._collection}/{candidate.name}"
        self._state = State(candidate)  # replaced as a whole by the elector's thread, read by anyone
        self._led: tuple[LedWork, ...] = ()
        self._errands = Errands(f"{self.name}/requests", clock)
        self._contact = LeaseContact(candidate, telemetry, clock)
        self._stop = threading.Event()
        self._leave_by = Deadline.after(float("inf"), clock)
        self._thread: threading.Thread | None = None
        self._led_ended = True
        self.guard = LeaseGuard(lambda: self._state, self._now)
        label = ("name",)
        self._master = telemetry.gauge("leader_election_master_status", "1 while leading.", label).labels(candidate.name)
        self._slowpath = telemetry.counter(
            "leader_election_slowpath", "Renewals that needed a read after a failed update.", label
        ).labels(candidate.name)
        self._changes = telemetry.counter(
            "gatehouse_leader_changes", "Leases gained and lost by this replica.", ("name", "change")
        )

    # -- called by anyone

    def is_leading(self) -> bool:
        """Whether led work may go on right now."""
        return tenure_left_s(self._state, self._now()) > 0

    @property
    def identity(self) -> str:
        """Who we are in the Lease."""
        return self._state.candidate.identity

    @property
    def holder(self) -> str:
        """Who is named in the Lease, as far as we have seen; "" when nobody is. Whether it leads, `status` knows."""
        return self._state.record.holder

    def status(self) -> Json:
        """For the status page: see `lease_contact`."""
        now = self._now()
        state = self._state
        return {**standing(state, now, tenure_left_s(state, now) > 0), **self._contact.status()}

    def check(self) -> str | None:
        """The health of the election: what is wrong, None when nothing is. Who does not lead is well."""
        state, now, duration_s = self._state, self._now(), self._state.candidate.timing.lease_duration_s
        hanging_s = self._errands.hanging_s()
        if hanging_s > duration_s + HANG_TOLERANCE_S:
            return f"a lease request hangs for {hanging_s:.0f} s"
        if state.held is None or state.leaving:
            return None
        if state.leading:
            age_s = now.at_most_since(state.held)
            return f"leading, but the last renewal is {age_s:.0f} s old" if age_s > duration_s + STALE_TOLERANCE_S else None
        claim = state.claim
        if claim is not None and now.at_least_since(claim.since) > claim.settle_s + STALE_TOLERANCE_S:
            return "holds the lease but does not lead"
        return None

    def is_alive(self) -> bool:
        """False when the thread has ended that should not have."""
        return self._thread is None or self._stop.is_set() or self._thread.is_alive()

    # -- called by the supervisor

    def lead(self, *work: LedWork) -> None:
        """Run *work* while leading. Before `start`."""
        self._led = (*self._led, *work)

    def start(self) -> None:
        """Begin to campaign. Returns at once."""
        self._errands.start()
        self._thread = threading.Thread(target=self._run, name=self.name, daemon=True)
        self._thread.start()

    def stop(self, deadline: Deadline) -> bool:
        """End led work, release the lease, end: whether all of that was done before *deadline*. Safe to repeat.

        Without an end of led work the lease is not released: it has to expire.
        """
        self._leave_by = deadline
        self._stop.set()
        for work in self._led:
            work.signal_stop()
        if self._thread is not None:
            self._thread.join(deadline.remaining_s())
        ended = self._errands.stop(deadline)
        return ended and self._led_ended and (self._thread is None or not self._thread.is_alive())

    # -- called by the thread

    def _run(self) -> None:
        try:
            seen: Observation = Woke()
            while not isinstance(effect := self._advance(seen), End):
                if self._stop.is_set() and not self._state.leaving:
                    if not self._end_led_work(self._leave_by):
                        return
                    seen = Leave()
                elif self._state.leaving and self._leave_by.expired():
                    log.warning("lease not released, it has to expire", lease=self._path)
                    return
                else:
                    seen = self._perform(effect)
        except BaseException as error:  # the thread's top frame
            log.error("elector died", exc_info=error)
            self._on_death(self.name, error)
        finally:
            self._master.set(0)

    def _advance(self, seen: Observation) -> Effect:
        before = self._state
        after, effect = step(before, seen, self._now(), self._random())
        self._state = after  # before anything is stopped: the guard refuses from here on
        if isinstance(effect, Read) and before.quick and not after.leaving:
            self._slowpath.inc()
        if isinstance(effect, Wait):
            self._contact.waits_for(after, self._now())
        if after.record.holder != before.record.holder and after.record.holder:
            log.info("new holder", lease=self._path, holder=after.record.holder, ours=after.is_ours)
        if before.leading and not after.leading:
            self._lost(before, after, seen)
        elif after.leading and not before.leading and not self._stop.is_set():
            self._gained(after)
        return effect

    def _gained(self, state: State) -> None:
        self._changes.labels(state.candidate.name, "gained").inc()
        self._master.set(1)
        log.info("lease gained", lease=self._path, transitions=state.record.transitions)
        self._announce(state, "BecomeLeader", "became leader")
        self._led_ended = False
        for work in self._led:
            work.start()

    def _lost(self, before: State, after: State, seen: Observation) -> None:
        self._master.set(0)
        self._changes.labels(after.candidate.name, "released" if after.leaving else "lost").inc()
        self._announce(before, "StopLeading", "stopped leading")
        if after.leaving:
            return  # led work has ended already
        log.warning("lease lost", lease=self._path, holder=after.record.holder, why=_why_lost(seen, after, self._contact.error))
        if not self._end_led_work(Deadline.after(LED_WORK_ENDS_WITHIN_S, self._clock)):
            raise LedWorkStuck(f"led work goes on {LED_WORK_ENDS_WITHIN_S:.0f} s after the lease was lost")

    def _end_led_work(self, deadline: Deadline) -> bool:
        for work in self._led:
            work.signal_stop()
        stuck = [work.name for work in self._led if not work.stop(deadline)]
        if stuck:
            log.error("led work does not end", work=",".join(stuck))
        self._led_ended = not stuck
        return not stuck

    def _perform(self, effect: Effect) -> Observation:
        match effect:
            case Wait(seconds):
                self._clock.wait(self._stop if not self._state.leaving else threading.Event(), seconds)
                return Woke()
            case Read():
                return self._ask(
                    lambda limit_s: Seen(lease_in(self._client.get(self._path, timeout_s=limit_s))), absent=Missing()
                )
            case Create(lease):
                return self._ask(
                    lambda limit_s: Written(lease_in(self._client.create(self._collection, lease, timeout_s=limit_s)))
                )
            case Update(lease):
                return self._ask(
                    lambda limit_s: Written(lease_in(self._client.update(self._path, lease, timeout_s=limit_s))),
                    absent=Rejected(),
                )
            case End():
                raise AssertionError("nothing to perform")

    def _ask(self, request: Callable[[float], Observation], absent: Observation | None = None) -> Observation:
        """The answer to *request*, which gets its timeout in seconds. absent: what a 404 means."""
        timeout_s = self._timeout_s()
        try:
            answer = self._errands.run(lambda: request(timeout_s), timeout_s)
            self._contact.answered()
            return answer
        except Conflict:
            self._contact.answered()
            return Rejected()
        except Exception as error:  # whatever it is, the try has failed and the campaign goes on
            if isinstance(error, NotFound) and absent is not None:
                self._contact.answered()
                return absent
            self._contact.failed(error)
            return NoAnswer(error)

    def _timeout_s(self) -> float:
        state, timing = self._state, self._state.candidate.timing
        longest_s = max(1.0, timing.renew_deadline_s / 2)
        if state.leaving:
            return max(0.05, min(longest_s, self._leave_by.remaining_s()))
        if state.held is None:
            return longest_s
        left_s = timing.renew_deadline_s - self._now().at_most_since(state.held)
        return max(0.05, min(longest_s, left_s))

    def _now(self) -> Moment:
        return Moment(self._clock.monotonic_s(), self._boottime_s(), self._clock.wall_s())

    def _announce(self, state: State, action: str, what: str) -> None:
        if self._announcer is None:
            return
        candidate = state.candidate
        uid = str(((state.lease or {}).get("metadata") or {}).get("uid") or "")
        lease = Reference("Lease", candidate.name, candidate.namespace, API_VERSION, uid)
        self._announcer.record(lease, reason="LeaderElection", action=action, note=f"{candidate.identity} {what}")


def _why_lost(seen: Observation, after: State, last_error: str) -> str:
    """Why who led does not any more. last_error: of the requests since the last one that was answered."""
    match seen:
        case NoAnswer(error) if error is not None:
            return str(error) or type(error).__name__
        case Missing():
            return "the lease was deleted"
        case Rejected():
            return "somebody else wrote the lease"
        case Seen() | Written() if not after.is_ours:
            return "the lease names another holder" if after.record.holder else "the lease was released by somebody else"
    return (
        f"not renewed in time, last error: {last_error}"
        if last_error
        else "not renewed in time: the process was stopped or slow"
    )
