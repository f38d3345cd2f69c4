"""The thread that remembers the counters of the last minutes: a few hundred numbers every SAMPLE_INTERVAL_S, bounded.

Threads: one, `traffic`, started and stopped by the supervisor; `rows` by anyone. Errors: an exception ends the thread and
takes the process down by *on_death*, as everywhere.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Mapping
from typing import Final

from controllers.runtime.errors import OnDeath
from controllers.status.traffic.window import Sample, at_least, failed_handshakes, handshakes, read, traffic
from webhook.clock import Clock, Deadline
from webhook.objects.meta import Json
from webhook.telemetry import Telemetry

THREAD_NAME: Final = "traffic"
SAMPLE_INTERVAL_S: Final = 10.0
RATE_S: Final = 60.0  # a rate is of the last minute, as a load average is
WINDOW_S: Final = 300.0  # percentiles need more requests than a quiet minute has
KEPT: Final = int(WINDOW_S / SAMPLE_INTERVAL_S) + 1


class Traffic:
    """Samples of the last WINDOW_S, and what can be said from them."""

    def __init__(self, telemetry: Telemetry, services: Mapping[str, str], clock: Clock, on_death: OnDeath) -> None:
        """services: path -> name of the service."""
        self._telemetry = telemetry
        self._services = dict(services)
        self._clock = clock
        self._on_death = on_death
        self._lock = threading.Lock()  # guards _samples: a deque must not change while it is copied
        self._samples = deque([self._sample()], maxlen=KEPT)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name=THREAD_NAME, daemon=True)

    # -- called by the supervisor

    def start(self) -> None:
        """Begin to remember."""
        self._thread.start()

    def stop(self, deadline: Deadline) -> None:
        """End the thread."""
        self._stop.set()
        if self._thread.ident is not None:
            self._thread.join(deadline.remaining_s())

    def alive(self) -> bool:
        """Whether the thread runs, as long as it should."""
        return self._thread.ident is None or self._stop.is_set() or self._thread.is_alive()

    # -- called by anyone

    def rows(self) -> Mapping[str, Json]:
        """See `window.traffic`: by service, up to this moment."""
        now, samples = self._looked()
        return traffic(now, at_least(samples, now.at_s, RATE_S), at_least(samples, now.at_s, WINDOW_S))

    def handshakes(self) -> Json:
        """See `window.handshakes`: up to this moment."""
        now, samples = self._looked()
        return handshakes(now, at_least(samples, now.at_s, WINDOW_S))

    # -- called by the thread

    def remember(self) -> None:
        """Keep what the counters say now; the oldest sample goes."""
        sample = self._sample()
        with self._lock:
            self._samples.append(sample)

    def _run(self) -> None:
        try:
            while not self._clock.wait(self._stop, SAMPLE_INTERVAL_S):
                self.remember()
        except Exception as error:  # the thread's top frame
            self._on_death(THREAD_NAME, error)

    def _looked(self) -> tuple[Sample, tuple[Sample, ...]]:
        """What the counters say now, and what they have said."""
        now = self._sample()
        with self._lock:
            return now, tuple(self._samples)

    def _sample(self) -> Sample:
        now_s = self._clock.monotonic_s()
        return Sample(now_s, read(self._telemetry, self._services), failed_handshakes(self._telemetry))
