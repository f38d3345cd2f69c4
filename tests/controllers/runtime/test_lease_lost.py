"""Why a lease was lost, as the log says it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from controllers.runtime.errors import Forbidden
from tests.controllers.runtime.test_elector import KEY, RELEASED, Memory, Stage, stages

__all__ = ["stages"]  # the fixture


@pytest.fixture
def memory() -> Memory:
    made = Memory()
    made.objects.put(RELEASED)
    return made


def reasons(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [vars(record)["facts"]["why"] for record in caplog.records if record.getMessage() == "lease lost"]


def test_a_right_that_was_taken_away_is_why(
    memory: Memory, stages: Callable[..., Stage], caplog: pytest.LogCaptureFixture
) -> None:
    stage = stages(memory).start().leads()
    memory.error = Forbidden("PUT lease: 403 no", status=403)
    for _ in range(5):
        stage.pass_time(2)

    assert stage.work.stopped.wait(5)
    (why,) = reasons(caplog)
    assert "PUT lease: 403 no" in why


def test_a_process_that_was_stopped_blames_nobody_else(
    memory: Memory, stages: Callable[..., Stage], caplog: pytest.LogCaptureFixture
) -> None:
    stage = stages(memory).start().leads()
    stage.pass_time(60)

    assert stage.work.stopped.wait(5)
    assert reasons(caplog) == ["not renewed in time: the process was stopped or slow"]


def test_another_holder_is_why(memory: Memory, stages: Callable[..., Stage], caplog: pytest.LogCaptureFixture) -> None:
    stage = stages(memory).start().leads()
    lease = memory.objects.all("Lease")[KEY]
    lease["spec"]["holderIdentity"] = "mallory"
    memory.objects.put(lease)
    stage.pass_time(2)

    assert stage.work.stopped.wait(5)
    assert reasons(caplog) == ["the lease names another holder"]
