"""Programs are ended by pid and start time: the one that was started, or nobody."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.processes import Process, Processes


@pytest.fixture
def processes(tmp_path: Path) -> Iterator[Processes]:
    """Programs of one folder, all ended after the test."""
    started = Processes(tmp_path)
    yield started
    for name in started.names():
        started.stop(name, timeout_s=1.0)


def test_a_started_program_runs_until_it_is_stopped(processes: Processes) -> None:
    process = processes.start("sleeper", ["sleep", "60"])

    before = processes.running("sleeper")
    processes.stop("sleeper")

    assert before
    assert not process.alive()
    assert processes.names() == []


def test_a_suspended_program_is_ended_too(processes: Processes) -> None:
    process = processes.start("sleeper", ["sleep", "60"])
    process.signal(signal.SIGSTOP)

    processes.stop("sleeper")

    assert not process.alive()


def test_a_program_that_ignores_sigterm_is_killed(processes: Processes) -> None:
    process = processes.start("stubborn", ["sh", "-c", "trap '' TERM; echo deaf; while :; do sleep 0.1; done"])
    while "deaf" not in processes.log_tail("stubborn"):
        assert process.alive()

    processes.stop("stubborn", timeout_s=0.3)

    assert not process.alive()
    assert process.exit_code == -signal.SIGKILL


def test_the_exit_code_of_a_program_that_ended_is_known(processes: Processes) -> None:
    process = processes.start("quick", ["sh", "-c", "exit 7"])

    assert process.wait(5.0)
    assert process.exit_code == 7


def test_a_pid_that_belongs_to_somebody_else_by_now_is_left_alone() -> None:
    ours = Process.of(os.getpid())
    reused = Process(ours.pid, ours.started_ticks - 1)

    assert not reused.alive()
    assert not reused.signal(signal.SIGTERM)


def test_another_run_finds_what_was_started(processes: Processes) -> None:
    process = processes.start("sleeper", ["sleep", "60"])

    found = Processes(processes.folder).get("sleeper")

    assert found == process
