"""`python -m tests.apiserver.clinging serve ...`: Gatehouse that clings to its leadership: what the judge must notice.

Its lease guard never refuses, and what it does as the leader never ends. Everything else is the real process.
"""

from __future__ import annotations

import contextlib
import sys

from controllers.cli.main import main
from controllers.runtime.election import State
from controllers.runtime.elector import Elector, LeaseGuard
from webhook.clock import Deadline

ANY_TIME_S = 10.0
_begin = Elector._gained


def _check(self: LeaseGuard) -> float:
    return ANY_TIME_S


def _end(self: Elector, deadline: Deadline) -> bool:
    return True


def _begin_once(self: Elector, state: State) -> None:
    with contextlib.suppress(RuntimeError):  # it runs already
        _begin(self, state)


if __name__ == "__main__":
    LeaseGuard.check = _check  # type: ignore[method-assign]
    Elector._end_led_work = _end  # type: ignore[method-assign]
    Elector._gained = _begin_once  # type: ignore[method-assign]
    sys.exit(main())
