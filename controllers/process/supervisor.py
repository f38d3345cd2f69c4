"""Starts the parts of the process in order, watches over them, stops them in reverse order.

The order is data (`Part`s in a list, made by `assembly`): a part starts only when the ones before it have started,
and stops before they do. Whatever ends the process (a signal, a part that cannot start, a thread that dies), the same stop
runs, once, under one deadline for leaving. Used by the main thread, except `fail`, which any thread may call.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

import attrs

from webhook.clock import Clock, Deadline
from webhook.logs import get_log

log = get_log("supervisor")

CHECK_INTERVAL_S = 1.0  # how soon a thread that died without a word is noticed


@attrs.frozen
class Part:
    """One thing that is started and stopped."""

    name: str
    start: Callable[[], None]  # returns when it runs; raises when it cannot
    stop: Callable[[Deadline], None]  # returns when it has ended, at the latest at the deadline
    is_alive: Callable[[], bool] = lambda: True


class Supervisor:
    """Runs parts until told to stop."""

    def __init__(
        self, parts: Sequence[Part], clock: Clock, leave_within_s: float, look: Callable[[], None] = lambda: None
    ) -> None:
        """leave_within_s: the one deadline for leaving, in seconds, counted from the moment the stop begins.

        look: called by the main thread once a second as long as everything runs.
        """
        self._parts = tuple(parts)
        self._clock = clock
        self._leave_within_s = leave_within_s
        self._look = look
        self._wanted = threading.Event()
        self._fault: str | None = None
        self._lock = threading.Lock()  # guards _fault

    # -- called by any thread

    @property
    def stopping(self) -> threading.Event:
        """Set once the process is to leave: for a part whose start may take long."""
        return self._wanted

    def request_stop(self) -> None:
        """Leave, with exit code 0 unless something fails."""
        self._wanted.set()

    def fail(self, name: str, error: BaseException | None = None) -> None:
        """Leave, with exit code 1, because the part *name* has died."""
        with self._lock:
            first = self._fault is None
            self._fault = self._fault or name
        if first:
            log.error("a part of the process died", exc_info=error, part=name)
        self._wanted.set()

    # -- called by the main thread

    def run(self, started: Callable[[], None] = lambda: None) -> int:
        """Start everything, call *started*, wait, stop everything. The exit code: 0, or 1 after a failure."""
        running: list[Part] = []
        doing = "start"
        try:
            for part in self._parts:
                if self._wanted.is_set():
                    break
                log.debug("starting", part=part.name)
                doing = part.name
                part.start()
                running.append(part)
            else:
                doing = "announce"
                started()
                self._watch()
        except OSError as error:
            # What an operator can mend (an address in use, an unreadable certificate) needs no traceback.
            log.error("cannot start", part=doing, why=str(error))
            self._note("start")
        except Exception as error:
            log.error("cannot start", exc_info=error, part=doing)
            self._note("start")
        finally:
            self._stop(running)
        return 0 if self._fault is None else 1

    def _watch(self) -> None:
        while not self._clock.wait(self._wanted, CHECK_INTERVAL_S):
            for part in self._parts:
                if not part.is_alive():
                    self.fail(part.name)
                    return
            self._look()

    def _stop(self, running: Sequence[Part]) -> None:
        deadline = Deadline.after(self._leave_within_s, self._clock)
        log.info("stopping", within_s=self._leave_within_s)
        for part in reversed(running):
            try:
                part.stop(deadline)
            except Exception as error:
                log.error("a part did not stop cleanly", exc_info=error, part=part.name)
                self._note(part.name)
        log.info("stopped", late=deadline.expired())

    def _note(self, name: str) -> None:
        with self._lock:
            self._fault = self._fault or name
