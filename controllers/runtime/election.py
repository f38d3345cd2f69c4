"""Who leads: one candidate of a Lease as a pure machine.

    state, effect = step(state, observation, now, random)

Each effect is a question (a request, or a wait) whose answer is the next observation. The rules are client-go's: a record
counts as fresh from the moment at which WE saw it change and for the duration that IT names, never by comparing its renewTime
with our clock; a holder renews by an update of the object that it remembers, and reads only when that fails; a released record
may be taken at once. Two are stricter, so that no two candidates ever do led work at once:

*Holding.* Our own lease is ours for `renew_deadline_s` from the moment BEFORE the last successful write was sent, by whichever
clock counted more (CLOCK_BOOTTIME runs on while the machine is suspended, CLOCK_MONOTONIC does not). Waiting for others goes by
the clock that counted less.

*Settling.* Whoever takes a record that was not released and did not expire (the Lease is missing, or its holder was cleared by
hand, or its duration cut) may have a holder that does not know yet. It takes the record, renews it, and leads only when a full
lease duration has passed since the record was last seen in its former state: the one that the record named, within reason. So
does who finds its own name, once its hold has ended, in a record that it has not written: another may have led in between.

*Patience.* A record that names a duration beyond reason is waited for no longer than MOST_LEASE_DURATIONS of ours.

What remains: clocks of different speed, and requests that reach the server after their sender gave up. Led writes therefore
carry a resource version or uid as precondition.
Pure: now and random are arguments.
Source: client-go tools/leaderelection.
"""

from __future__ import annotations

import attrs

from controllers.runtime.candidate import MOST_LEASE_DURATIONS, Candidate, Moment, Timing
from controllers.runtime.leases import (
    MOST_TRANSITIONS,
    RELEASED_DURATION_S,
    Record,
    micro_time,
    new_lease,
    record_of,
    with_record,
)
from controllers.runtime.resource import Json

__all__ = [
    "MOST_LEASE_DURATIONS",
    "Candidate",
    "Create",
    "Effect",
    "End",
    "Leave",
    "Missing",
    "Moment",
    "NoAnswer",
    "Observation",
    "Read",
    "Rejected",
    "Seen",
    "State",
    "Timing",
    "Update",
    "Wait",
    "Woke",
    "Written",
    "others_left_s",
    "settles_in_s",
    "step",
    "tenure_left_s",
]

MOST_UNANSWERED = 16  # writes that may have gone through; a hold has room for a handful


# -- observations


@attrs.frozen
class Woke:
    """The wait is over, or the candidate begins."""


@attrs.frozen
class Leave:
    """Led work has ended and the process is leaving."""


@attrs.frozen
class Seen:
    """The Lease as the server has it."""

    lease: Json


@attrs.frozen
class Missing:
    """There is no such Lease."""


@attrs.frozen
class Written:
    """Our create or update went through."""

    lease: Json


@attrs.frozen
class Rejected:
    """Somebody else wrote, created or deleted the Lease in between."""


@attrs.frozen
class NoAnswer:
    """The request failed, in whatever way; a write may have gone through all the same."""

    error: Exception | None = None


Observation = Woke | Leave | Seen | Missing | Written | Rejected | NoAnswer


# -- effects


@attrs.frozen
class Read:
    """Get the Lease: Seen, Missing or NoAnswer."""


@attrs.frozen
class Create:
    """Written, Rejected or NoAnswer."""

    lease: Json


@attrs.frozen
class Update:
    """Written, Rejected or NoAnswer. The resourceVersion in *lease* guards it."""

    lease: Json


@attrs.frozen
class Wait:
    """Woke."""

    seconds: float


@attrs.frozen
class End:
    """Nothing more to do."""


Effect = Read | Create | Update | Wait | End


@attrs.frozen
class Claim:
    """Why we may lead once the record is ours: *settle_s* seconds after *since* nobody else can still believe to."""

    since: Moment
    settle_s: float


@attrs.frozen
class State:
    """What a candidate knows. `leading` is what counts; see `tenure_left_s` for how long it can be trusted."""

    candidate: Candidate
    lease: Json | None = None  # as last seen; None: not there, or never seen
    record: Record = Record()
    observed: Moment | None = None  # when the record was last seen to be another than before
    asked: Moment | None = None  # when the question in flight was asked
    held: Moment | None = None  # when our last successful write was asked for; None: the lease is not ours
    claim: Claim | None = None
    written: tuple[Record, str] | None = None  # our last successful write, and the resource version that it made
    unanswered: tuple[Record, ...] = ()  # writes since then that may have gone through
    leading: bool = False
    quick: bool = False  # the question in flight is an update without a read before it
    leaving: bool = False
    hindered: bool = False  # a request of the release has failed

    @property
    def is_ours(self) -> bool:
        """Whether the record names us."""
        return self.record.holder == self.candidate.identity


def settles_in_s(state: State, now: Moment) -> float | None:
    """Seconds until who holds the lease may lead; None when it does, or the lease is not ours."""
    if state.leading or state.held is None or state.claim is None:
        return None
    return max(0.0, state.claim.settle_s - now.at_least_since(state.claim.since))


def others_left_s(state: State, now: Moment) -> float | None:
    """Seconds until another holder's lease has run out, negative since it has; None when the record names nobody else."""
    if not state.record.holder or state.is_ours or state.observed is None:
        return None
    return state.candidate.timing.valid_s(state.record) - now.at_least_since(state.observed)


def tenure_left_s(state: State, now: Moment) -> float:
    """Seconds for which requests of led work may still run; 0 when none may begin."""
    timing = state.candidate.timing
    if not state.leading or state.held is None:
        return 0.0
    passed_s = now.at_most_since(state.held)
    return timing.lease_duration_s - passed_s if passed_s < timing.renew_deadline_s else 0.0


def step(state: State, seen: Observation, now: Moment, random: float) -> tuple[State, Effect]:
    """The next state, and what to ask. *random* is uniform in [0, 1)."""
    state = _without_expired(state, now)
    match seen:
        case Woke():
            state, effect = _begin(state, now)
        case Leave():
            state, effect = _leave(state)
        case Seen(lease):
            state, effect = _decide(_observing(state, lease, now), lease, now, random)
        case Missing():
            state, effect = _decide_missing(attrs.evolve(state, lease=None), now)
        case Written(lease):
            state, effect = _written(_observing(state, lease, now), now, random)
        case Rejected() | NoAnswer():
            state, effect = _failed(state, seen, now, random)
    if isinstance(effect, Create | Update):
        unanswered = (*state.unanswered, record_of(effect.lease))[-MOST_UNANSWERED:]
        state = attrs.evolve(state, unanswered=unanswered)
    return attrs.evolve(state, asked=now), effect


def _without_expired(state: State, now: Moment) -> State:
    if state.held is None or now.at_most_since(state.held) < state.candidate.timing.renew_deadline_s:
        return state
    return attrs.evolve(state, held=None, leading=False)


def _observing(state: State, lease: Json, now: Moment) -> State:
    record = record_of(lease)
    # Not the resource version: an edit of anything else is no sign of life of the holder.
    fresh = state.lease is None or record != state.record
    return attrs.evolve(state, lease=lease, record=record, observed=now if fresh else state.observed)


def _begin(state: State, now: Moment) -> tuple[State, Effect]:
    if state.leaving:
        return state, Read()
    lease = state.lease
    if state.held is not None and lease is not None:
        return attrs.evolve(_settled(state, now), quick=True), Update(_renewed(state, lease, now))
    return state, Read()


def _leave(state: State) -> tuple[State, Effect]:
    # A claim without a hold: a write of ours got no answer, and may have gone through.
    mine = state.held is not None or state.claim is not None
    state = attrs.evolve(state, leaving=True, leading=False)
    return state, Read() if mine else End()


def _decide(state: State, lease: Json, now: Moment, random: float) -> tuple[State, Effect]:
    state = attrs.evolve(state, quick=False)
    record, timing = state.record, state.candidate.timing
    settle_s = timing.settle_s(record)
    # Written by nobody we know: a second process with our identity, or by hand. While we hold the lease nobody else can lead.
    if state.is_ours and (state.claim is None or (state.held is None and not _have_written(state, lease))):
        state = attrs.evolve(state, claim=Claim(now, settle_s))
    if state.leaving:
        return state, Update(_released(state, lease, now)) if state.is_ours else End()
    if state.is_ours:
        return state, Update(_renewed(state, lease, now))
    if record.holder:
        state = attrs.evolve(state, held=None, claim=None, leading=False)
        observed = state.observed or now
        left_s = timing.valid_s(record) - now.at_least_since(observed)
        if left_s > 0:
            return state, Wait(min(left_s, _pause_s(timing, random)))
        claim = Claim(observed, settle_s)
    else:
        claim = Claim(now, 0.0 if record.is_released else settle_s)
    if state.held is None:
        state = attrs.evolve(state, claim=claim)
    return state, Update(_taken(state, lease, now))


def _decide_missing(state: State, now: Moment) -> tuple[State, Effect]:
    candidate = state.candidate
    if state.leaving:
        return state, End()
    if state.held is None:
        state = attrs.evolve(state, claim=Claim(now, candidate.timing.settle_s(state.record)))
    stamp = micro_time(now.wall_s)
    record = Record(candidate.identity, candidate.timing.record_duration_s, stamp, stamp, 0)
    lease = new_lease(candidate.namespace, candidate.name, record, candidate.labels)
    return attrs.evolve(state, quick=False), Create(lease)


def _written(state: State, now: Moment, random: float) -> tuple[State, Effect]:
    if state.leaving:
        return attrs.evolve(state, held=None, claim=None), End()
    if not state.is_ours:  # somebody on the way (a webhook) made another's of it; after a pause, or we would go on without end
        state = attrs.evolve(state, held=None, claim=None, leading=False, quick=False)
        return state, Wait(_pause_s(state.candidate.timing, random))
    # From the moment before the request was sent; an answer that took longer than the deadline gives us nothing.
    held = state.asked or now
    # What was sent before it carries an older resource version: it cannot go through any more.
    state = attrs.evolve(state, held=held, quick=False, written=(state.record, _version(state.lease)), unanswered=())
    state = _without_expired(state, now)
    if state.held is None:
        return state, Read()
    state = _settled(state, now)
    return state, Wait(_renewal_pause_s(state, held, now))


def _failed(state: State, seen: Rejected | NoAnswer, now: Moment, random: float) -> tuple[State, Effect]:
    timing = state.candidate.timing
    if state.quick and not state.leaving:
        return attrs.evolve(state, quick=False), Read()
    if state.leaving:
        # One conflict means that somebody else got on; after another, or without an answer, the server needs a moment.
        at_once = isinstance(seen, Rejected) and not state.hindered
        return attrs.evolve(state, hindered=True), Read() if at_once else Wait(timing.retry_period_s / 4)
    if state.held is not None:
        return state, Wait(_renewal_pause_s(state, state.held, now))
    return state, Wait(_pause_s(timing, random))


def _have_written(state: State, lease: Json) -> bool:
    """Whether *lease*, whose record names us, is as we left it, or as a write of ours made it whose answer was lost."""
    return state.record in state.unanswered or state.written == (state.record, _version(lease))


def _version(lease: Json | None) -> str:
    metadata = (lease or {}).get("metadata") or {}
    return str(metadata.get("resourceVersion") or "")


def _settled(state: State, now: Moment) -> State:
    return attrs.evolve(state, leading=True) if state.held is not None and _has_settled(state.claim, now) else state


def _has_settled(claim: Claim | None, now: Moment) -> bool:
    return claim is not None and now.at_least_since(claim.since) >= claim.settle_s


def _renewal_pause_s(state: State, held: Moment, now: Moment) -> float:
    timing, claim = state.candidate.timing, state.claim
    # Not past the deadline, at which led work has to stop, nor past the moment at which it may start.
    waits = [timing.retry_period_s, timing.renew_deadline_s - now.at_most_since(held)]
    if not state.leading and claim is not None:
        waits.append(claim.settle_s - now.at_least_since(claim.since))
    return max(0.0, min(waits))


def _pause_s(timing: Timing, random: float) -> float:
    # Half to nine tenths of the period (client-go: once to 2.2 times), so that a released lease is taken within the period, and
    # a dead holder's within the period after its end. The spread keeps candidates apart.
    return timing.retry_period_s * (0.5 + 0.4 * random)


def _renewed(state: State, lease: Json, now: Moment) -> Json:
    record, candidate, stamp = state.record, state.candidate, micro_time(now.wall_s)
    if stamp == record.renewed:  # the server would store nothing, and the others would see no renewal
        stamp = micro_time(now.wall_s + 1e-6)
    new = attrs.evolve(record, duration_s=candidate.timing.record_duration_s, renewed=stamp)
    return with_record(lease, new, candidate.labels)


def _taken(state: State, lease: Json, now: Moment) -> Json:
    candidate, stamp = state.candidate, micro_time(now.wall_s)
    # Edited by hand to the greatest number, it stays there: a Lease that nobody can write has no leader ever after.
    transitions = min(state.record.transitions + 1, MOST_TRANSITIONS)
    record = Record(candidate.identity, candidate.timing.record_duration_s, stamp, stamp, transitions)
    return with_record(lease, record, candidate.labels)


def _released(state: State, lease: Json, now: Moment) -> Json:
    # Who gives up before it has settled cannot vouch for the holder before it: the next one has to settle as well.
    settled = _has_settled(state.claim, now)
    duration_s = RELEASED_DURATION_S if settled else max(2, state.candidate.timing.record_duration_s)
    stamp = micro_time(now.wall_s)
    return with_record(lease, Record("", duration_s, stamp, stamp, state.record.transitions), {})
