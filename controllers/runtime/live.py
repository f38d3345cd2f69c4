"""Single objects read from the API server while a review waits for the answer.

One read of an object at a time, however many ask; its answer is kept for a moment. A failure that used the whole time, or came
at once, is kept as well: while the API server is away, admission pays for one attempt per object and second instead of one per
review.
Threads: any; `read` blocks its caller for at most TIMEOUT_S.
Errors:  none; no answer is None.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Final, Generic

import attrs

from controllers.runtime.api import ReadsBytes
from controllers.runtime.errors import ApiError, NotFound, TimedOut, UndecodableObject
from controllers.runtime.resource import F
from webhook.clock import Clock, Deadline
from webhook.logs import get_log
from webhook.telemetry import Telemetry

log = get_log("live")

TIMEOUT_S: Final = 0.3
KEPT_ANSWERS: Final = 1024  # of one kind
JSON: Final = "application/json"
# Kubernetes API concepts, "alternate representations": name and uid without the content, which may be a MiB.
METADATA_ONLY: Final = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"


@attrs.frozen
class Keep:
    """For how long an answer stands for the next one. Seconds."""

    found_s: float = 1.0
    other_s: float = 1.0  # that the object does not exist, or that there was no answer


@attrs.frozen
class Answer(Generic[F]):
    """What the API server said: the object's facts, or (None) that it does not exist."""

    facts: F | None


@attrs.define(eq=False)
class _Flight(Generic[F]):
    """One read in progress, or its answer."""

    landed: threading.Event = attrs.field(factory=threading.Event)
    answer: Answer[F] | None = None
    kept_until_s: float = float("inf")  # of an answer; a read in progress is kept until it lands


class LiveReads(Generic[F]):
    """Objects of one kind, read one by one."""

    def __init__(
        self,
        resource: str,
        decode: Callable[[bytes], F],
        client: ReadsBytes,
        clock: Clock,
        telemetry: Telemetry,
        *,
        accept: str = JSON,
        keep: Keep = Keep(),
    ) -> None:
        """resource: plural, for metric and log. decode: body -> facts; raises UndecodableObject or ApiError."""
        self._resource = resource
        self._decode = decode
        self._client = client
        self._clock = clock
        self._accept = accept
        self._keep = keep
        self._lock = threading.Lock()  # guards _flights; no IO under it
        self._flights: OrderedDict[str, _Flight[F]] = OrderedDict()
        self._results = telemetry.counter(
            "gatehouse_confirmations",
            "Live reads that rules asked for: found, not-found, timeout, failed; kept = answered by an earlier one.",
            ("resource", "result"),
        )

    def read(self, path: str, deadline: Deadline) -> Answer[F] | None:
        """The object at *path* now; None when there was no answer in time."""
        allowed_s = min(TIMEOUT_S, deadline.remaining_s())
        if allowed_s <= 0:
            return None
        flight, mine = self._board(path)
        if mine:
            # A thread of its own: what the request may do before and after its timeout (a credential plugin, a name server, a
            # slow refusal) must not keep a review beyond its deadline.
            threading.Thread(target=self._fly, args=(path, flight, allowed_s), name=f"confirm{path}", daemon=True).start()
        elif flight.landed.is_set():
            self._count("kept")
            return flight.answer
        if not self._clock.wait(flight.landed, allowed_s):
            self._count("timeout")
            return None
        return flight.answer

    def _board(self, path: str) -> tuple[_Flight[F], bool]:
        """The read of *path* in progress or still fresh, and whether the caller has to do it."""
        with self._lock:
            flight = self._flights.get(path)
            if flight is not None and self._clock.monotonic_s() < flight.kept_until_s:
                return flight, False
            flight = self._flights[path] = _Flight()
            self._flights.move_to_end(path)
            if len(self._flights) > KEPT_ANSWERS:
                self._flights.popitem(last=False)  # its readers hold it; at worst a second read begins
            return flight, True

    def _fly(self, path: str, flight: _Flight[F], allowed_s: float) -> None:
        result, kept_s = "failed", self._keep.other_s
        try:
            body = self._client.get_bytes(path, timeout_s=allowed_s, accept=self._accept)
            flight.answer = Answer(self._decode(body))
            result, kept_s = "found", self._keep.found_s
        except NotFound:
            flight.answer = Answer(None)
            result = "not-found"
        except TimedOut:
            # A hurried caller's failure is nobody else's.
            result, kept_s = "timeout", self._keep.other_s if allowed_s >= TIMEOUT_S else 0.0
        except (ApiError, UndecodableObject) as error:
            log.warning("not confirmed", resource=self._resource, path=path, error=error)
        finally:
            flight.kept_until_s = self._clock.monotonic_s() + kept_s
            flight.landed.set()
            self._count(result)

    def _count(self, result: str) -> None:
        self._results.labels(self._resource, result).inc()
