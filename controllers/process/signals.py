"""SIGTERM, SIGINT and SIGHUP, as the process takes them: the first one is a wish, the second one an end. Main thread only.

SIGHUP comes when the terminal goes (or the ssh connection); under nohup it is ignored, and stays so.
"""

from __future__ import annotations

import os
import queue
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from controllers.process.supervisor import Supervisor

SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
SECOND_SIGNAL_CODE = 1
# Ctrl-C and systemd reach each process of a group, and the launcher of the single binary passes its own on: that is one wish.
SAME_SIGNAL_S = 0.5


@contextmanager
def signals(supervisor: Supervisor) -> Iterator[None]:
    """Each of SIGNALS stops *supervisor*; the second one ends the process at once, unless it comes within SAME_SIGNAL_S.

    A handler runs in the main thread between any two of its instructions, perhaps while it holds the very lock that an Event
    would take. So it only leaves word in a queue whose `put` is reentrant; a thread passes it on.
    """
    wanted_s: float | None = None
    words: queue.SimpleQueue[bool] = queue.SimpleQueue()  # True: stop; False: nobody will say anything more

    def handle(number: int, frame: FrameType | None) -> None:
        nonlocal wanted_s
        if wanted_s is None:
            wanted_s = time.monotonic()
            words.put(True)
        elif time.monotonic() - wanted_s > SAME_SIGNAL_S:
            os._exit(SECOND_SIGNAL_CODE)

    def pass_on() -> None:
        while words.get():
            supervisor.request_stop()

    thread = threading.Thread(target=pass_on, name="signals", daemon=True)
    thread.start()
    taken = [number for number in SIGNALS if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN]
    before = {number: signal.signal(number, handle) for number in taken}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        words.put(False)
        thread.join()
