"""One pass over one address, one pool or the pods that wait: caches -> plan -> writes.

A key is the name of an address, "pool/NAME", or "gates". Before a delete the pods are read live and the plan is made again:
who still releases then is deleted, guarded by uid and version. What the caches have not heard of yet comes again in a moment.
Threads: any worker; a key is in one worker's hands at a time.
Errors:  ApiError, UndecodableObject, LeaseLost: the key comes again after a backoff.
"""

from __future__ import annotations

from typing import Final

from controllers.pod_ip.actions import Action, Bind, Cool, Keep, LookAgain, Release, ReportConflict, Restore
from controllers.pod_ip.conflicts import Conflicts
from controllers.pod_ip.gates import Gates
from controllers.pod_ip.known import Known
from controllers.pod_ip.live import Live
from controllers.pod_ip.news import News
from controllers.pod_ip.plan import Situation, plan
from controllers.pod_ip.pools import PoolStatuses
from controllers.pod_ip.writes import Writes
from controllers.runtime.reconcile import Context, Done, Key, Outcome, RequeueAfter, Terminal
from webhook.addresses.address import Address, AddressError
from webhook.addresses.policy import AddressPolicy
from webhook.clock import Clock
from webhook.telemetry import Telemetry

POOL: Final = "pool/"  # before the name of a pool
GATES: Final = "gates"
SOON_S: Final = 1.0  # the caches have heard by then what the API server has said
LEAST_S: Final = 0.1  # of a wait: the API's times are in whole seconds


class PodIp:
    """A pass over one address. A key is its text."""

    def __init__(
        self,
        known: Known,
        live: Live,
        writes: Writes,
        pools: PoolStatuses,
        gates: Gates,
        policy: AddressPolicy,
        news: News,
        telemetry: Telemetry,
        clock: Clock,
    ) -> None:
        self._known = known
        self._live = live
        self._writes = writes
        self._pools = pools
        self._gates = gates
        self._policy = policy
        self._news = news
        self._clock = clock
        self._conflicts = Conflicts(news, telemetry)
        self._released = telemetry.counter("gatehouse_address_released", "Addresses given back, by reason.", ("reason",))
        self._restored = telemetry.counter("gatehouse_address_restored", "Reservations made for pods that had none.")

    def __call__(self, key: Key, context: Context, /) -> Outcome:
        """See `reconcile.Reconcile`."""
        context.request_timeout_s()  # without leave nothing is told either
        if key == GATES:
            return self._gates.lift(context)
        if key.startswith(POOL):
            return self._pools.look(key.removeprefix(POOL), context)
        try:
            address = Address.from_name(key)
        except AddressError as error:
            return Terminal(str(error))
        return self._look(address, context)

    def forget(self) -> None:
        """Forget all that is remembered: this replica does not lead any more."""
        self._known.forget()
        self._conflicts.forget()
        self._pools.forget()
        self._gates.forget()

    # -- inside

    def _look(self, address: Address, context: Context) -> Outcome:
        situation = self._known.situation(address)
        actions = plan(situation, self._clock.wall_s(), self._policy)
        self._conflicts.note(address, next((one for one in actions if isinstance(one, ReportConflict)), None))
        outcome: Outcome = Done()
        for action in actions:
            if not isinstance(action, ReportConflict):
                outcome = _earlier(outcome, self._take(action, situation, context))
        return outcome

    def _take(self, action: Action, situation: Situation, context: Context) -> Outcome:
        match action:
            case Bind():
                if self._writes.set_status(action, context):
                    self._news.bound(situation.address, action.carrier)
            case Keep():
                self._writes.set_status(action, context)
            case Cool():
                if self._writes.set_status(action, context):
                    self._news.cooling(action.reservation, action.cause)
            case Release():
                return self._release(situation, context)
            case Restore():
                return self._restore(action, context)
            case LookAgain(seconds):
                return RequeueAfter(max(seconds, LEAST_S))
        return Done()

    def _release(self, seen: Situation, context: Context) -> Outcome:
        live = self._live.situation(seen, context)
        for action in plan(live, self._clock.wall_s(), self._policy):
            if isinstance(action, Release):
                self._writes.release(action.reservation, context)
                self._known.gone(action.reservation)
                self._released.labels(action.cause.value).inc()
                self._news.released(action.reservation, action.cause)
                return Done()
            if isinstance(action, LookAgain):
                return RequeueAfter(max(action.seconds, LEAST_S))
        return RequeueAfter(SOON_S)

    def _restore(self, step: Restore, context: Context) -> Outcome:
        if self._live.reservation(step.address, context) is not None or not self._writes.restore(step, context):
            return RequeueAfter(SOON_S)
        self._restored.inc()
        self._news.restored(step)
        return Done()


def _earlier(one: Outcome, other: Outcome) -> Outcome:
    """Of two answers the one that brings the key back first."""
    if isinstance(one, RequeueAfter) and isinstance(other, RequeueAfter):
        return min(one, other, key=lambda again: again.seconds)
    return one if isinstance(one, RequeueAfter) else other
