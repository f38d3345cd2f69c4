"""The supervisor: order of start and stop, failures, the one deadline for leaving."""

from __future__ import annotations

import threading

import pytest

from controllers.process.supervisor import Part, Supervisor
from controllers.testing.clock import FakeClock
from webhook.clock import Deadline, SystemClock


class Recorder:
    """Parts that write down what happens to them."""

    def __init__(self) -> None:
        self.events: list[str] = []
        self.deadlines: set[float] = set()

    def part(self, name: str, *, error: Exception | None = None, alive: bool = True) -> Part:
        def start() -> None:
            if error is not None:
                raise error
            self.events.append(f"start {name}")

        def stop(deadline: Deadline) -> None:
            self.deadlines.add(deadline.at_s)
            self.events.append(f"stop {name}")

        return Part(name, start, stop, lambda: alive)


def test_parts_start_in_order_and_stop_in_reverse() -> None:
    recorder = Recorder()
    supervisor = Supervisor([recorder.part("a"), recorder.part("b")], SystemClock(), 5.0)

    code = supervisor.run(supervisor.request_stop)

    assert code == 0
    assert recorder.events == ["start a", "start b", "stop b", "stop a"]


def test_all_parts_leave_under_one_deadline() -> None:
    recorder = Recorder()
    supervisor = Supervisor([recorder.part("a"), recorder.part("b")], SystemClock(), 5.0)

    supervisor.run(supervisor.request_stop)

    assert len(recorder.deadlines) == 1


def test_a_part_that_cannot_start_stops_the_ones_before_it() -> None:
    recorder = Recorder()
    parts = [recorder.part("a"), recorder.part("b", error=OSError("address in use")), recorder.part("c")]

    code = Supervisor(parts, SystemClock(), 5.0).run()

    assert code == 1
    assert recorder.events == ["start a", "stop a"]


def test_a_part_that_raises_anything_else_is_no_different() -> None:
    recorder = Recorder()

    code = Supervisor([recorder.part("a", error=RuntimeError("boom"))], SystemClock(), 5.0).run()

    assert code == 1


@pytest.mark.parametrize("error", [BrokenPipeError("closed"), RuntimeError("boom")])
def test_an_announcement_that_fails_stops_everything(error: Exception) -> None:
    recorder = Recorder()

    def announce() -> None:
        raise error

    code = Supervisor([recorder.part("a")], SystemClock(), 5.0).run(announce)

    assert code == 1
    assert recorder.events == ["start a", "stop a"]


def test_a_stop_that_is_wanted_before_the_start_starts_nothing() -> None:
    recorder = Recorder()
    supervisor = Supervisor([recorder.part("a")], SystemClock(), 5.0)
    supervisor.request_stop()

    assert supervisor.run() == 0
    assert recorder.events == []


def test_a_dead_part_takes_the_process_down_with_a_failure() -> None:
    recorder = Recorder()

    code = Supervisor([recorder.part("a"), recorder.part("b", alive=False)], SystemClock(), 5.0).run()

    assert code == 1
    assert recorder.events[-2:] == ["stop b", "stop a"]


def test_a_thread_that_reports_its_death_is_noticed_at_once() -> None:
    recorder = Recorder()
    supervisor = Supervisor([recorder.part("a")], SystemClock(), 5.0)

    def die() -> None:
        supervisor.fail("reflector/nodes", RuntimeError("boom"))

    thread = threading.Thread(target=die)

    code = supervisor.run(thread.start)
    thread.join()

    assert code == 1


def test_a_part_that_cannot_stop_does_not_keep_the_others() -> None:
    recorder = Recorder()

    def stop(deadline: Deadline) -> None:
        raise RuntimeError("stuck")

    supervisor = Supervisor([recorder.part("a"), Part("b", lambda: None, stop)], SystemClock(), 5.0)

    assert supervisor.run(supervisor.request_stop) == 1
    assert recorder.events == ["start a", "stop a"]


def test_somebody_may_look_on_while_everything_runs() -> None:
    recorder = Recorder()
    clock = FakeClock(auto_advance=True)
    looks: list[float] = []

    def look() -> None:
        looks.append(clock.monotonic_s())
        if len(looks) == 2:
            supervisor.request_stop()

    supervisor = Supervisor([recorder.part("a")], clock, 5.0, look)
    supervisor.run()

    assert len(looks) == 2
