"""SIGTERM and SIGINT, whatever the main thread is at when they come."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable

from controllers.process.signals import signals
from controllers.process.supervisor import Part, Supervisor
from webhook.clock import SystemClock


class Interrupted(SystemClock):
    """A clock whose first wait is interrupted by a signal in the moment in which it has the event's lock."""

    def __init__(self, interrupt: Callable[[], None]) -> None:
        self._interrupt: Callable[[], None] | None = interrupt

    def wait(self, event: threading.Event, timeout_s: float) -> bool:
        interrupt, self._interrupt = self._interrupt, None
        if interrupt is not None:
            with event._cond:  # type: ignore[attr-defined]  # as Event.wait and Event.set do
                interrupt()
        return super().wait(event, timeout_s)


def test_a_signal_that_comes_while_the_main_thread_holds_the_lock_of_what_it_waits_for_stops_the_process() -> None:
    handled, codes = threading.Event(), []
    handler: list[Callable[[int, None], object]] = []

    def interrupt() -> None:
        handler[0](signal.SIGTERM, None)
        handled.set()

    supervisor = Supervisor([Part("a", lambda: None, lambda deadline: None)], Interrupted(interrupt), 5.0)
    main = threading.Thread(target=lambda: codes.append(supervisor.run()), daemon=True)
    with signals(supervisor):
        handler.append(signal.getsignal(signal.SIGTERM))  # type: ignore[arg-type]
        main.start()
        main.join(10.0)

    assert handled.is_set()
    assert codes == [0]


def test_a_real_signal_stops_the_process_and_leaves_no_thread() -> None:
    before = set(threading.enumerate())
    supervisor = Supervisor([Part("a", lambda: None, lambda deadline: None)], SystemClock(), 5.0)

    with signals(supervisor):
        code = supervisor.run(lambda: os.kill(os.getpid(), signal.SIGTERM))

    assert code == 0
    assert set(threading.enumerate()) <= before


def test_the_terminal_that_goes_stops_the_process_and_does_not_kill_it() -> None:
    supervisor = Supervisor([Part("a", lambda: None, lambda deadline: None)], SystemClock(), 5.0)

    with signals(supervisor):
        code = supervisor.run(lambda: os.kill(os.getpid(), signal.SIGHUP))

    assert code == 0


def test_under_nohup_the_terminal_may_go() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with signals(Supervisor([], SystemClock(), 5.0)):
            assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)
