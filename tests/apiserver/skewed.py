"""`python -m tests.apiserver.skewed +30 controllers serve ...`: `python -m controllers serve ...`, its wall clock 30 s ahead.

libfaketime shifts the wall clock, but its version 0.9.10 also makes time.sleep fail: clock_nanosleep until a moment of the
monotonic clock, EINVAL. Every other wait of Python keeps its time, so that sleeping is made one of those.
Source: libfaketime's README (FAKETIME, FAKETIME_DONT_FAKE_MONOTONIC).
"""

from __future__ import annotations

import os
import runpy
import sys
import threading
import time
from pathlib import Path

from tests.cluster.binaries import BuildError, install_tools

TOOLS = {"faketime": "faketime"}


def install() -> None:
    """Install what is missing, with apt. Raises BuildError."""
    install_tools(TOOLS)


def library() -> Path:
    """The library to preload. Raises BuildError when the package is not there."""
    found = sorted(Path("/usr/lib").glob("**/faketime/libfaketimeMT.so.1"))
    if not found:
        raise BuildError("the package faketime is installed, but its library is not in /usr/lib")
    return found[0]


def main(skew_s: str, module: str, *arguments: str) -> None:
    """Be `python -m MODULE ARGUMENTS...` under the same pid, with the library loaded from the start of the process on."""
    if not int(skew_s):
        os.execv(sys.executable, [sys.executable, "-m", module, *arguments])
    if "FAKETIME" not in os.environ:
        shifted = {"LD_PRELOAD": str(library()), "FAKETIME": f"{int(skew_s):+d}s", "FAKETIME_DONT_FAKE_MONOTONIC": "1"}
        os.execve(sys.executable, [sys.executable, "-m", __spec__.name, skew_s, module, *arguments], {**os.environ, **shifted})
    time.sleep = _sleep  # type: ignore[assignment]
    sys.argv[1:] = arguments
    runpy.run_module(module, run_name="__main__")


def _sleep(seconds: float) -> None:
    threading.Event().wait(seconds)


if __name__ == "__main__":
    main(*sys.argv[1:])
