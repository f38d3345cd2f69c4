"""Calls that may hang, run on a thread of their own, so that who asks can stop waiting.

One call at a time. An answer that comes after its caller has given up is thrown away; until the call has ended the next ones
wait for it, each at most its own timeout.
Threads: one, named by the owner; `run` belongs to one caller, `hanging_s` to anyone.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from typing import Any, Generic, TypeVar, cast

from controllers.runtime.errors import TimedOut
from webhook.clock import Clock, Deadline

T = TypeVar("T")


class _Errand(Generic[T]):
    def __init__(self, call: Callable[[], T], began_s: float) -> None:
        self.began_s = began_s
        self.call = call
        self.ended = threading.Event()  # set after answer or error
        self.answer: T | None = None
        self.error: BaseException | None = None


class Errands:
    """The thread and the call in its hands."""

    def __init__(self, name: str, clock: Clock) -> None:
        self._name = name
        self._clock = clock
        self._todo: queue.SimpleQueue[_Errand[Any] | None] = queue.SimpleQueue()  # holds one at most
        self._last: _Errand[Any] | None = None  # replaced by the caller only
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Start the thread."""
        self._thread = threading.Thread(target=self._work, name=self._name, daemon=True)
        self._thread.start()

    def run(self, call: Callable[[], T], timeout_s: float) -> T:
        """What *call* returns or raises. Raises TimedOut when that, or the call before it, takes longer than *timeout_s*."""
        deadline = Deadline.after(timeout_s, self._clock)
        if self._last is not None and not self._clock.wait(self._last.ended, timeout_s):
            raise TimedOut("the request before this one still hangs")
        errand = self._last = _Errand(call, self._clock.monotonic_s())
        self._todo.put(errand)
        if not self._clock.wait(errand.ended, deadline.remaining_s()):
            raise TimedOut(f"no answer within {timeout_s:.1f} s")
        if errand.error is not None:
            raise errand.error
        return cast(T, errand.answer)

    def hanging_s(self) -> float:
        """Seconds since the call that has not ended yet began; 0 when there is none."""
        last = self._last
        return 0.0 if last is None or last.ended.is_set() else self._clock.monotonic_s() - last.began_s

    def stop(self, deadline: Deadline) -> bool:
        """End the thread: whether it ended before *deadline*. Safe to repeat."""
        if self._thread is None:
            return True
        self._todo.put(None)
        self._thread.join(deadline.remaining_s())
        return not self._thread.is_alive()

    def _work(self) -> None:
        while (errand := self._todo.get()) is not None:
            try:
                errand.answer = errand.call()
            except BaseException as error:  # raised again where it is waited for
                errand.error = error
            errand.ended.set()
