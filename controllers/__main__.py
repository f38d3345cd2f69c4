"""`python -m controllers`, and the console script `gatehouse`."""

from __future__ import annotations

import signal
import sys
from types import FrameType
from typing import NoReturn

from webhook.errors import Interrupted


def main() -> int:
    """Carry out the command line; the exit code.

    Until the process has its own handlers, Ctrl-C ends it without a traceback, and SIGTERM ends it even as process 1 of a
    container, for which the kernel's default is to ignore it.
    """
    signal.signal(signal.SIGINT, _end)
    signal.signal(signal.SIGTERM, _end)
    try:
        from controllers.cli.main import main as run

        return run()
    except Interrupted as ending:  # while modules were loaded
        return ending.code


def _end(number: int, frame: FrameType | None) -> NoReturn:
    raise Interrupted(number)


if __name__ == "__main__":
    sys.exit(main())
