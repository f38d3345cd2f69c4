"""Questions to the API server whose answers stand for a time: one at a time for each key, few at once over all keys.

Threads: any. `ask` blocks its caller until the deadline at most, plus what nobody can bound (a credential plugin).
Errors:  Unanswered.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from typing import Final, Generic

import attrs

from controllers.authorization.decision import Unusable
from controllers.authorization.kept import Kept, V
from controllers.authorization.sharing import Seats
from controllers.runtime.errors import ApiError
from webhook.clock import Clock, Deadline

KEPT_FAILURE_S: Final = 1.0  # an API server that is away is not asked again by each request
RETRY_AFTER_S: Final = 1.0


class Unanswered(Exception):
    """There is no answer now. asked: whether the API server was asked for it; retry_after_s: when to ask again, in seconds."""

    def __init__(self, why: str, retry_after_s: float | None = None, *, asked: bool = False) -> None:
        super().__init__(why)
        self.asked = asked
        self.retry_after_s = max(RETRY_AFTER_S, math.ceil(retry_after_s or 0.0))


@attrs.frozen
class Answer(Generic[V]):
    """A value, and for how many seconds it stands."""

    value: V
    kept_s: float


@attrs.frozen
class _Failure:
    why: str
    retry_after_s: float | None = None
    kept_s: float = 0.0  # 0 = the API server was not asked: it says nothing of the next try


@attrs.define(eq=False)
class _Flight(Generic[V]):
    landed: threading.Event = attrs.field(factory=threading.Event)
    answer: Answer[V] | _Failure = _Failure("the question was given up")


class Asking(Generic[V]):
    """Questions of one kind."""

    def __init__(self, clock: Clock, seats: Seats, *, kept: int, call_s: float) -> None:
        """seats: how many questions may be open at once, shared by all kinds. kept: answers. call_s: of one question."""
        self._clock = clock
        self._seats = seats
        self._call_s = call_s
        self._lock = threading.Lock()  # guards both below; no IO under it
        self._kept: Kept[Answer[V] | _Failure] = Kept(kept)
        self._flights: dict[bytes, _Flight[V]] = {}

    def ask(self, key: bytes, question: Callable[[float], Answer[V]], deadline: Deadline, party: bytes) -> V:
        """The answer of *key*: a kept one, that of whoever asks it right now, or what *question*(seconds) says for *party*.

        *question* may raise ApiError, Unusable and Unanswered. Raises Unanswered.
        """
        with self._lock:
            known = self._kept.get(key, self._clock.monotonic_s())
            if known is not None:
                return _value(known)
            flight = self._flights.get(key)
            mine = flight is None
            if flight is None:
                flight = self._flights[key] = _Flight()
        if mine:
            self._fly(key, flight, lambda: self._seated(question, deadline, party))
        elif not self._clock.wait(flight.landed, deadline.remaining_s()):
            raise Unanswered("no answer in time")
        return _value(flight.answer)

    def _fly(self, key: bytes, flight: _Flight[V], seated: Callable[[], Answer[V] | _Failure]) -> None:
        try:
            flight.answer = seated()
        finally:
            with self._lock:
                del self._flights[key]
                if flight.answer.kept_s > 0:
                    self._kept.put(key, flight.answer, self._clock.monotonic_s() + flight.answer.kept_s)
            flight.landed.set()

    def _seated(self, question: Callable[[float], Answer[V]], deadline: Deadline, party: bytes) -> Answer[V] | _Failure:
        left_s = min(self._call_s, deadline.remaining_s())
        if left_s <= 0:
            return _Failure("no time left")
        # What the questions of others cause says nothing of this key: nothing of it is kept.
        if not self._seats.take(party):
            return _Failure("too many questions at once")
        try:
            return question(left_s)
        except Unanswered as error:
            return _Failure(str(error), error.retry_after_s)
        except ApiError as error:
            return _Failure(str(error), error.retry_after_s, KEPT_FAILURE_S)
        except Unusable as error:
            return _Failure(str(error), None, KEPT_FAILURE_S)
        finally:
            self._seats.give_back(party)


def _value(answer: Answer[V] | _Failure) -> V:
    if isinstance(answer, _Failure):
        # Anew: one that is kept would gather tracebacks.
        raise Unanswered(answer.why, answer.retry_after_s, asked=answer.kept_s > 0)
    return answer.value
