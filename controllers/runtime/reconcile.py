"""One pass of a controller over one key: a typed unary, and the interceptors around it.

    reconcile(key, context) -> Done() | RequeueAfter(seconds) | Terminal(reason)

The key is a hint that something changed, not what: a pass reads the facts, plans, and writes the difference. An exception is a
fault: the key comes again after a backoff. Before each request a pass asks `context.request_timeout_s()`, which also says
no when the pass has to end: its deadline, a stop, a lost lease.

Interceptors, outermost first: metrics -> recovery -> lease -> deadline -> reconcile. The lease is asked once more when a
request is about to leave, so that a process which was stopped in between sends nothing when it goes on. A deadline cannot
interrupt Python code; it bounds every request of the pass, and a pass that overruns is counted and logged.
Threads: a pass belongs to one worker thread.
Source: controller-runtime pkg/internal/controller (metric names, results, what is forgotten when).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import nullcontext
from typing import Protocol, runtime_checkable

import attrs

from controllers.runtime.errors import ApiError, Cancelled, LeaseLost, RuntimeFault, TimedOut
from controllers.runtime.transport import sent_only_if
from webhook.clock import Clock, Deadline
from webhook.logs import Log
from webhook.telemetry import Telemetry

Key = str  # "namespace/name", or "name" of a cluster-scoped object

REQUEST_LIMIT_S = 5.0  # of one request of a pass: led work has to end within 5 s of a lost lease
# controller-runtime's, as its dashboards expect.
_BUCKETS_S = (
    *(0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.25, 1.5, 1.75),
    *(2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 15.0, 20.0, 25.0, 30.0, 40.0, 50.0, 60.0),
)


def _positive(instance: object, attribute: attrs.Attribute[float], value: float) -> None:
    if not 0 < value < math.inf:
        raise ValueError(f"a key comes again after a finite time above zero, not {value}: return Done when there is none")


@attrs.frozen
class Done:
    """Facts and plan agree. The key comes again when something changes."""


@attrs.frozen
class RequeueAfter:
    """All is well, and the key has to be looked at again in *seconds*, when a time runs out, or to let others go first."""

    seconds: float = attrs.field(validator=_positive)
    priority: int = 0  # `workqueue.LIVE`


@attrs.frozen
class Terminal:
    """No retry helps; *reason* is a sentence for the log. The key comes again when something changes."""

    reason: str


@attrs.frozen
class Failed:
    """What recovery makes of an exception."""

    error: Exception


Outcome = Done | RequeueAfter | Terminal
Verdict = Outcome | Failed


class Leadership(Protocol):
    """What a led write has to ask first (`elector.LeaseGuard`)."""

    def check(self) -> float:
        """Seconds for which the lease is still surely ours. Raises LeaseLost when it may not be."""


@runtime_checkable
class Fence(Protocol):
    """A Leadership that can also be asked at the last moment."""

    def may_send(self) -> None:
        """Called right before each piece of a request leaves. Raises LeaseLost when it must not."""


class Unguarded:
    """Leadership of a process that runs without an election."""

    def check(self) -> float:
        return math.inf


@attrs.frozen
class Context:
    """What a pass may know of its surroundings."""

    controller: str
    deadline: Deadline
    clock: Clock
    leadership: Leadership
    log: Log
    failures: int = 0  # of this key in a row, before this pass
    stopping: Callable[[], bool] = lambda: False
    waiting: Callable[[int], bool] = lambda above: False  # whether a key of a higher priority is in line

    def request_timeout_s(self, at_most_s: float = REQUEST_LIMIT_S) -> float:
        """Seconds that the next request of this pass may take. Call it right before each one, also before reads.

        Raises LeaseLost, Cancelled when the controller is stopping, TimedOut when the pass's time is used up.
        """
        if self.stopping():
            raise Cancelled(f"{self.controller}: stopping")
        left_s = min(at_most_s, self.deadline.remaining_s(), self.leadership.check())
        if left_s <= 0:
            raise TimedOut(f"{self.controller}: the time of this pass is used up")
        return left_s


class Reconcile(Protocol):
    """What a controller does."""

    def __call__(self, key: Key, context: Context, /) -> Outcome:
        """Make what *key* names as it should be. Raises anything to be called again after a backoff."""


class ReconcileMetrics:
    """controller_runtime_reconcile_* of one controller. Any thread."""

    def __init__(self, controller: str, telemetry: Telemetry, workers: int) -> None:
        label = ("controller",)
        prefix = "controller_runtime_"
        total = telemetry.counter(prefix + "reconcile", "Passes by result.", ("controller", "result"))
        self.results = {word: total.labels(controller, word) for word in ("success", "error", "requeue", "requeue_after")}
        self.errors = telemetry.counter(prefix + "reconcile_errors", "Passes that failed.", label).labels(controller)
        self.terminal_errors = telemetry.counter(
            prefix + "terminal_reconcile_errors", "Failures that are not retried.", label
        ).labels(controller)
        self.panics = telemetry.counter(
            prefix + "reconcile_panics", "Exceptions that nobody foresaw: faults of ours.", label
        ).labels(controller)
        self.timeouts = telemetry.counter(prefix + "reconcile_timeouts", "Passes that used up their time.", label).labels(
            controller
        )
        self.seconds = telemetry.histogram(
            prefix + "reconcile_time_seconds", "Time of one pass.", label, buckets=_BUCKETS_S
        ).labels(controller)
        self.active_workers = telemetry.gauge(prefix + "active_workers", "Workers with a key.", label).labels(controller)
        telemetry.gauge(prefix + "max_concurrent_reconciles", "Workers.", label).labels(controller).set(workers)


Pass = Callable[[Key, Context], Verdict]


def behind_interceptors(reconcile: Reconcile, metrics: ReconcileMetrics) -> Pass:
    """*reconcile* as the worker calls it: never raises an Exception."""
    return _measured(_recovered(_while_leading(_within_deadline(reconcile, metrics)), metrics), metrics)


def _measured(inner: Pass, metrics: ReconcileMetrics) -> Pass:
    def run(key: Key, context: Context) -> Verdict:
        began_s = context.clock.monotonic_s()
        metrics.active_workers.inc()
        try:
            verdict = inner(key, context)
        finally:
            metrics.active_workers.dec()
            metrics.seconds.observe(max(0.0, context.clock.monotonic_s() - began_s))
        match verdict:
            case Failed():
                metrics.errors.inc()
                metrics.results["error"].inc()
            case Terminal():
                metrics.errors.inc()
                metrics.terminal_errors.inc()
                metrics.results["error"].inc()
            case RequeueAfter():
                metrics.results["requeue_after"].inc()
            case Done():
                metrics.results["success"].inc()
        return verdict

    return run


def _recovered(inner: Callable[[Key, Context], Outcome], metrics: ReconcileMetrics) -> Pass:
    def run(key: Key, context: Context) -> Verdict:
        try:
            return inner(key, context)
        except (LeaseLost, Cancelled) as error:
            context.log.info("pass ended early", controller=context.controller, key=key, why=error)
            return Failed(error)
        except ApiError as error:
            # A conflict or a busy server is everyday life: the next pass sees newer facts.
            say = context.log.info if context.failures == 0 else context.log.warning
            say("pass failed, will be retried", controller=context.controller, key=key, error=error)
            return Failed(error)
        except Exception as error:  # the crash guard of controllers
            if not isinstance(error, RuntimeFault):
                metrics.panics.inc()
            context.log.error("pass failed", exc_info=error, controller=context.controller, key=key)
            return Failed(error)

    return run


def _while_leading(inner: Callable[[Key, Context], Outcome]) -> Callable[[Key, Context], Outcome]:
    def run(key: Key, context: Context) -> Outcome:
        leadership = context.leadership
        with sent_only_if(leadership.may_send) if isinstance(leadership, Fence) else nullcontext():
            return inner(key, context)

    return run


def _within_deadline(inner: Reconcile, metrics: ReconcileMetrics) -> Callable[[Key, Context], Outcome]:
    def run(key: Key, context: Context) -> Outcome:
        try:
            return inner(key, context)
        finally:
            if context.deadline.expired():
                metrics.timeouts.inc()
                late_s = context.clock.monotonic_s() - context.deadline.at_s
                context.log.warning("pass overran its time", controller=context.controller, key=key, late_s=round(late_s, 1))

    return run
