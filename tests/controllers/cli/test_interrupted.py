"""Ctrl-C while a rule of somebody else's hangs: the command ends, and no answer is made of it."""

from __future__ import annotations

import os
import signal
import time
from typing import Any

import pytest

from controllers.__main__ import main
from webhook.admission.draft import Draft
from webhook.admission.strangers import Decider
from webhook.errors import Interrupted


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_command_and_is_no_answer_of_the_rule_that_hangs(
    number: signal.Signals, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = {one: signal.getsignal(one) for one in (signal.SIGINT, signal.SIGTERM)}
    ended: list[int] = []

    def hangs(*_: Any) -> Any:
        os.kill(os.getpid(), number)
        end_s = time.monotonic() + 10.0
        while time.monotonic() < end_s:
            pass

    def command() -> int:
        rule = Decider("own", "a package", hangs, False, {}, frozenset())
        with pytest.raises(Interrupted) as caught:
            rule(None, Draft({}), None)  # type: ignore[arg-type]
        ended.append(caught.value.code)
        raise caught.value

    monkeypatch.setattr("controllers.cli.main.main", command)
    try:
        assert main() == 128 + number
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)

    assert ended == [128 + number]
