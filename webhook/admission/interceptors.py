"""What comes before every service, one concern each: (exchange, next) -> Reply.

An exchange starts with what the transport knows (`call.Call`) and gathers what the interceptors find out: service, deadline,
request, answer. Order, outermost first (`gate.Gate` builds it):

    observe      latency and status by service, decisions by reason
    recover      AdmissionError -> its status; any other exception -> 500, never a denial; log lines, throttled
    route        path -> service                                                            404, 405
    deadline     `?timeout=` counted from accept, less a margin                             504
    admit        drain, caches that the service reads, in-flight limit                      503
    authenticate client certificate, where the operator asks for one                        401, 403
    check_body   media type and size                                                        415, 413
    decode       bytes -> AdmissionRequest                                                  400
    decide       the service answers, jsonpatch proves the patch (option), the answer becomes bytes

Called by the worker threads, many at once.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from webhook.admission import review
from webhook.admission.call import JSON_HEADERS, Exchange, Reply, failure
from webhook.admission.places import SharedPlaces
from webhook.admission.refusals import Refusals
from webhook.admission.service import Answer, BoundService, Context
from webhook.admission.timeouts import caller_timeout_s
from webhook.clock import Clock, Deadline
from webhook.errors import (
    AdmissionError,
    BadRequest,
    DeadlineExceeded,
    Internal,
    Overloaded,
    PermissionDenied,
    RuleFailed,
    TooLarge,
    Unauthenticated,
    Unavailable,
    UnknownPath,
    WrongMediaType,
    WrongMethod,
)
from webhook.logs import Throttle, get_log
from webhook.telemetry import Telemetry

log = get_log("admission")

# A flood of faults must not become a flood of lines: of each kind so many in ten seconds, the metrics count them all.
FAULT_LINES = 10

# The API server starts its clock before it writes the request, and an answer needs time to get back: of the time it gives we
# use all but this. It also rounds the time it sends up to whole seconds, which nobody can see from here.
DEADLINE_MARGIN_S = 0.25


Handler = Callable[[Exchange], Reply]


class Observe:
    """Counts and times every exchange by path; of their content only the last refusal of each service is kept."""

    def __init__(self, paths: Mapping[str, BoundService], telemetry: Telemetry, clock: Clock, refusals: Refusals) -> None:
        # controller-runtime's names, so that its dashboards work; its buckets start at 10 ns and are of no use.
        latency = telemetry.histogram(
            "controller_runtime_webhook_latency_seconds", "Time to answer an admission review", ["webhook"]
        )
        in_flight = telemetry.gauge(
            "controller_runtime_webhook_requests_in_flight", "Admission reviews being answered", ["webhook"]
        )
        self._requests = telemetry.counter(
            "controller_runtime_webhook_requests", "Admission reviews answered, by HTTP status", ["webhook", "code"]
        )
        self._decisions = telemetry.counter(
            "gatehouse_admission_decisions", "What each rule decided, by reason", ["service", "rule", "reason"]
        )
        patched = telemetry.counter("gatehouse_admission_patched", "Answers that carried a patch", ["service"])
        self._latency = {path: latency.labels(path) for path in paths}
        self._in_flight = {path: in_flight.labels(path) for path in paths}
        self._codes = {(path, 200): self._requests.labels(path, "200") for path in paths}
        self._children: dict[tuple[str, str, str], Any] = {}  # written without a lock: labels() is idempotent
        self._other = "other"  # label of unknown paths, which a scanner could make endless
        # A service may have several paths, and one counter.
        self._patched = {name: patched.labels(name) for name in {bound.service.name for bound in paths.values()}}
        self._clock = clock
        self._refusals = refusals

    def __call__(self, exchange: Exchange, proceed: Handler) -> Reply:
        path = exchange.call.path
        gauge = self._in_flight.get(path)
        if gauge is not None:
            gauge.inc()
        try:
            reply = proceed(exchange)
        finally:
            if gauge is not None:
                gauge.dec()
        known = gauge is not None
        (self._codes.get((path, reply.status)) or self._code(path if known else self._other, reply.status)).inc()
        if known:
            self._latency[path].observe(max(0.0, self._clock.monotonic_s() - exchange.call.accepted_s))
        if exchange.answer is not None and exchange.service is not None:
            self._count(exchange.service.service.name, exchange.answer)
            if exchange.answer.response.denial is not None and exchange.request is not None:
                self._refusals.refused(exchange.service.service.name, exchange.request, exchange.answer, self._clock.wall_s())
            log.debug("answered", path=path, status=reply.status, uid=exchange.request.uid if exchange.request else "")
        return reply

    def _code(self, path: str, status: int) -> Any:
        child = self._requests.labels(path, str(status))
        if path != self._other:
            self._codes[(path, status)] = child
        return child

    def _count(self, service: str, answer: Answer) -> None:
        for rule, verdict in answer.verdicts:
            key = (service, rule, verdict.reason.value)
            child = self._children.get(key)
            if child is None:
                child = self._children[key] = self._decisions.labels(*key)
            child.inc()
        if answer.response.operations:
            self._patched[service].inc()


class Recover:
    """Turns every exception into a status. A caught exception is "could not decide", so failurePolicy rules."""

    def __init__(self, telemetry: Telemetry, clock: Clock, refusals: Refusals) -> None:
        self._panics = telemetry.counter("controller_runtime_webhook_panics", "Exceptions caught while answering")
        self._throttle = Throttle(FAULT_LINES)
        self._clock = clock
        self._refusals = refusals

    def __call__(self, exchange: Exchange, proceed: Handler) -> Reply:
        try:
            return proceed(exchange)
        except AdmissionError as error:
            # Not into a variable that outlives this block: an exception holds this frame, and would hold the body until the
            # garbage collector comes by.
            return self._told(exchange, error)
        except RecursionError:
            # Decoded close to the limit, then read a few frames deeper down by a rule of ours. Of a plug-in's it is RuleFailed.
            return self._told(exchange, BadRequest("the body is nested too deeply"))
        except RuleFailed as error:
            return self._panicked(exchange, error, Internal(f"{error}, see the log"))
        except Exception as error:
            return self._panicked(exchange, error, Internal("internal error, see the log"))

    def _panicked(self, exchange: Exchange, error: Exception, fault: Internal) -> Reply:
        self._panics.inc()
        admitted, held_back = self._throttle.admits("panic", self._clock.monotonic_s())
        if admitted:
            log.error("exception while answering a review", exc_info=error, held_back=held_back, **_facts(exchange))
        return self._failure(exchange, fault)

    def _told(self, exchange: Exchange, fault: AdmissionError) -> Reply:
        admitted, held_back = self._throttle.admits(fault.code, self._clock.monotonic_s())
        if admitted:
            facts = {"status": fault.status, "code": fault.code, "message": str(fault), "held_back": held_back}
            log.warning("review not decided", **facts, **_facts(exchange))
        return self._failure(exchange, fault)

    def _failure(self, exchange: Exchange, fault: AdmissionError) -> Reply:
        if exchange.service is not None:
            self._refusals.undecided(exchange.service.service.name, exchange.request, fault, self._clock.wall_s())
        return failure(fault)


class Route:
    """Finds the service of the path."""

    def __init__(self, paths: Mapping[str, BoundService]) -> None:
        self._paths = paths

    def __call__(self, exchange: Exchange, proceed: Handler) -> Reply:
        service = self._paths.get(exchange.call.path)
        if service is None:
            raise UnknownPath(f"no service at {exchange.call.path[:200]}: have {', '.join(sorted(self._paths))}")
        if exchange.call.method != "POST":
            raise WrongMethod(f"{exchange.call.method[:20]}: reviews are sent by POST")
        exchange.service = service
        return proceed(exchange)


class SetDeadline:
    """Counts the caller's time from the moment its request arrived."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._known: dict[str, float] = {}  # query -> seconds; the API server sends the same few strings

    def __call__(self, exchange: Exchange, proceed: Handler) -> Reply:
        assert exchange.service is not None
        limit_s = self._asked_s(exchange.call.query) or float(exchange.service.service.timeout_s)
        deadline = Deadline(exchange.call.accepted_s + limit_s - min(DEADLINE_MARGIN_S, limit_s / 2), self._clock)
        if deadline.expired():
            raise DeadlineExceeded(f"the caller gave {limit_s:g} s, which had passed before the review was read")
        exchange.deadline = deadline
        return proceed(exchange)

    def _asked_s(self, query: str) -> float:
        """What the caller gives; 0 when it says nothing that can be read."""
        known = self._known.get(query)
        if known is None:
            known = caller_timeout_s(query) or 0.0
            if len(self._known) < 64:
                self._known[query] = known
        return known


class Admit:
    """Lets a review in while this replica can answer it: not draining, caches synced, not too many at once."""

    def __init__(self, limit: int, synced: Callable[[str], bool], telemetry: Telemetry, shared: SharedPlaces) -> None:
        """limit: of each service that does not share. shared: the places of those that do."""
        self._limit = limit
        self._shared = shared
        self._synced = synced
        self._lock = threading.Lock()  # guards _counts
        self._counts: dict[str, int] = {}
        self._draining = False
        self._rejected = telemetry.counter("gatehouse_admission_rejected", "Reviews sent away with 503", ["service", "why"])

    def drain(self) -> None:
        """From now on every review is sent to another replica. For good."""
        self._draining = True

    def in_flight(self) -> int:
        """Reviews being decided."""
        with self._lock:
            alone = sum(self._counts.values())
        return alone + self._shared.count()

    def __call__(self, exchange: Exchange, proceed: Handler) -> Reply:
        assert exchange.service is not None
        name = exchange.service.service.name
        if self._draining:
            raise self._refusal(name, "draining", Unavailable("this replica is shutting down"))
        for cache in exchange.service.caches:
            if not self._synced(cache):
                raise self._refusal(name, "unsynced", Unavailable(f"the {cache} cache has not synced yet"))
        if exchange.service.service.share:
            return self._beside_others(name, exchange, proceed)
        with self._lock:
            count = self._counts.get(name, 0)
            if count < self._limit:
                self._counts[name] = count + 1
        if count >= self._limit:
            what = f"{count} reviews of {name} are being answered, its limit (webhook.limits.maxInFlight)"
            raise self._refusal(name, "overloaded", Overloaded(what))
        try:
            return proceed(exchange)
        finally:
            with self._lock:
                self._counts[name] -= 1

    def _beside_others(self, name: str, exchange: Exchange, proceed: Handler) -> Reply:
        try:
            ticket = self._shared.enter(name)
        except Overloaded as error:
            raise self._refusal(name, "overloaded", error) from None
        try:
            return proceed(exchange)
        finally:
            self._shared.leave(name, ticket)

    def _refusal(self, service: str, why: str, error: AdmissionError) -> AdmissionError:
        self._rejected.labels(service, why).inc()
        return error


class Authenticate:
    """Admits only callers whose verified client certificate bears one of *subjects* as common name."""

    def __init__(self, subjects: frozenset[str]) -> None:
        self._subjects = subjects

    def __call__(self, exchange: Exchange, proceed: Handler) -> Reply:
        if not exchange.call.client:
            raise Unauthenticated("a client certificate is required")
        # A chain alone proves nothing: every kubelet's certificate is signed by the cluster's CA.
        if exchange.call.client not in self._subjects:
            raise PermissionDenied(f"the client certificate's subject {exchange.call.client[:100]!r} is not allowed")
        return proceed(exchange)


class CheckBody:
    """Media type and size."""

    def __init__(self, limit_bytes: int) -> None:
        self._limit_bytes = limit_bytes

    def __call__(self, exchange: Exchange, proceed: Handler) -> Reply:
        content_type = exchange.call.content_type
        if content_type != "application/json" and content_type.partition(";")[0].strip().lower() != "application/json":
            raise WrongMediaType(f"content type {content_type[:100]!r}: reviews are application/json")
        if len(exchange.call.body) > self._limit_bytes:
            raise TooLarge(f"the body is larger than {self._limit_bytes} bytes")
        return proceed(exchange)


def decode(exchange: Exchange, proceed: Handler) -> Reply:
    """Reads the review."""
    exchange.request = review.decode(exchange.call.body)
    return proceed(exchange)


class Verify:
    """Proves each patch with jsonpatch and drops one that does not fit, counted."""

    def __init__(self, telemetry: Telemetry) -> None:
        from webhook.admission.verify import misfit  # with jsonpatch, which only who asks for it need load

        self._misfit = misfit
        self._misfits = telemetry.counter(
            "gatehouse_admission_patch_misfits", "Patches dropped because they did not apply; a fault of ours", ["service"]
        )

    def __call__(self, exchange: Exchange, answer: Answer) -> Answer:
        """*answer*, without its patch if that does not fit. Raises Internal where half a mutation must not pass as a whole."""
        service, request = exchange.service, exchange.request
        assert service is not None and request is not None
        if not answer.response.operations or answer.draft is None:
            return answer
        why = self._misfit(exchange.call.body, answer.response.operations, answer.draft.object)
        if why is None:
            return answer
        name = service.service.name
        self._misfits.labels(name).inc()
        log.error("patch dropped: it does not fit", service=name, why=why, uid=request.uid)
        if not service.service.guards_availability:
            raise Internal("the patch that was decided on does not fit the object")
        return msgspec.structs.replace(answer, response=msgspec.structs.replace(answer.response, operations=()))


class Decide:
    """The innermost: the service answers, the patch is proved where that is wanted, the answer becomes bytes."""

    def __init__(self, clock: Clock, verify: Verify | None) -> None:
        self._clock = clock
        self._verify = verify

    def __call__(self, exchange: Exchange) -> Reply:
        service, request, deadline = exchange.service, exchange.request, exchange.deadline
        assert service is not None and request is not None and deadline is not None
        context = Context(service.service.name, deadline, self._clock.wall_s(), request.user, request.dry_run)
        answer = service.answer(request, context)
        if self._verify is not None:
            answer = self._verify(exchange, answer)
        if deadline.expired():
            raise DeadlineExceeded("the caller's time was used up before a decision")
        exchange.answer = answer
        return Reply(200, review.encode(request, answer.response), JSON_HEADERS)


def _facts(exchange: Exchange) -> dict[str, Any]:
    request = exchange.request
    facts: dict[str, Any] = {"path": exchange.call.path[:200], "bytes": len(exchange.call.body)}
    return facts | {"uid": request.uid, "subject": request.subject} if request is not None else facts
