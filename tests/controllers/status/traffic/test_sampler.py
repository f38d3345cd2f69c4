"""The counters of the last minutes, remembered by a thread."""

from __future__ import annotations

import threading

import pytest

from controllers.status.traffic.sampler import KEPT, SAMPLE_INTERVAL_S, THREAD_NAME, WINDOW_S, Traffic
from controllers.testing.clock import FakeClock
from webhook.clock import Deadline, SystemClock
from webhook.telemetry import Telemetry


@pytest.fixture
def telemetry() -> Telemetry:
    return Telemetry()


def made(telemetry: Telemetry, clock: object) -> Traffic:
    return Traffic(telemetry, {"/mutate": "mutate"}, clock, lambda name, error: None)  # type: ignore[arg-type]


def answer(telemetry: Telemetry, times: int) -> None:
    telemetry.counter("controller_runtime_webhook_requests", "", ["webhook", "code"]).labels("/mutate", "200").inc(times)


def test_a_young_process_tells_of_its_whole_life(telemetry: Telemetry) -> None:
    clock = FakeClock()
    traffic = made(telemetry, clock)
    answer(telemetry, 30)
    clock.advance(15.0)

    row = traffic.rows()["mutate"]

    assert (row["perSecond"], row["answered"], row["windowSeconds"]) == (2.0, 30, 15.0)


def test_what_is_older_than_the_window_is_forgotten(telemetry: Telemetry) -> None:
    clock = FakeClock()
    traffic = made(telemetry, clock)
    answer(telemetry, 1000)
    for _ in range(2 * KEPT):
        clock.advance(SAMPLE_INTERVAL_S)
        traffic.remember()
    answer(telemetry, 6)

    row = traffic.rows()["mutate"]

    assert (row["perSecond"], row["answered"], row["answeredTotal"]) == (0.1, 6, 1006)
    assert row["windowSeconds"] == WINDOW_S


def shake(telemetry: Telemetry, **results: int) -> None:
    for result, times in results.items():
        telemetry.counter("gatehouse_server_handshakes", "", ["result"]).labels(result.replace("_", "-")).inc(times)


def test_handshakes_that_failed_are_told_of_the_window_by_why_and_of_the_whole_life(telemetry: Telemetry) -> None:
    clock = FakeClock()
    traffic = made(telemetry, clock)
    shake(telemetry, ok=1000, plain_http=7, alert=1)
    for _ in range(2 * KEPT):
        clock.advance(SAMPLE_INTERVAL_S)
        traffic.remember()
    shake(telemetry, ok=5, alert=2, eof=30, reset=4)

    assert traffic.handshakes() == {"failed": {"alert": 2}, "failedTotal": 10, "windowSeconds": WINDOW_S}


def test_before_anybody_has_called_no_handshake_has_failed(telemetry: Telemetry) -> None:
    assert made(telemetry, FakeClock()).handshakes() == {"failed": {}, "failedTotal": 0, "windowSeconds": 0.0}


def test_the_thread_remembers_and_ends(telemetry: Telemetry) -> None:
    class Hasty(SystemClock):
        """Waits for nothing, and counts how often it was asked to."""

        waited = threading.Semaphore(0)

        def wait(self, event: threading.Event, timeout_s: float) -> bool:
            self.waited.release()
            return super().wait(event, 0.001)

    clock = Hasty()
    traffic = made(telemetry, clock)
    traffic.start()

    assert all(clock.waited.acquire(timeout=10.0) for _ in range(3))
    assert traffic.alive()
    traffic.stop(Deadline.after(10.0, SystemClock()))
    assert THREAD_NAME not in {thread.name for thread in threading.enumerate()}
    assert traffic.alive()  # it was meant to end


def test_a_thread_that_dies_says_so(telemetry: Telemetry) -> None:
    deaths: list[str] = []
    dead = threading.Event()

    class Broken(SystemClock):
        def wait(self, event: threading.Event, timeout_s: float) -> bool:
            raise RuntimeError

    def died(name: str, error: BaseException) -> None:
        deaths.append(f"{name}: {type(error).__name__}")
        dead.set()

    Traffic(telemetry, {}, Broken(), died).start()

    assert dead.wait(10.0)
    assert deaths == ["traffic: RuntimeError"]
