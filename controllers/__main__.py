"""`python -m controllers`, and the console script `gatehouse`."""

from __future__ import annotations

import sys

from controllers.cli import main

__all__ = ["main"]

if __name__ == "__main__":
    sys.exit(main())
