"""`python -m controllers`, and the console script `gatehouse`."""

from __future__ import annotations

import signal
import sys


def main() -> int:
    """Carry out the command line; the exit code.

    Until the process has its own handlers, Ctrl-C ends it without a traceback, and SIGTERM ends it even as process 1 of a
    container, for which the kernel's default is to ignore it.
    """
    signal.signal(signal.SIGINT, lambda number, frame: sys.exit(128 + number))
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    from controllers.cli.main import main as run

    return run()


if __name__ == "__main__":
    sys.exit(main())
