"""What a server needs of the process that it runs in: file numbers, short turns, one heap. Each is the process's own, not the
server's, so each is only ever made better, and asking twice is harmless.

Thread rule: any, but before there are many.
Source: setrlimit(2), mallopt(3), sys.setswitchinterval.
"""

from __future__ import annotations

import ctypes
import resource
import sys

# A thread that computes gives way after this long, Python's default being 5 ms. Who leads gives the interpreter away with each
# system call; were it to wait 5 ms for each thread that computes, it could neither read nor turn away when it matters most.
SWITCH_S = 0.0002
ARENAS = 1
_M_ARENA_MAX = -8


def prepare(files: int) -> None:
    """All of it; *files*: how many file numbers may be needed."""
    raise_file_limit(files)
    sys.setswitchinterval(min(sys.getswitchinterval(), SWITCH_S))
    share_heap()


def raise_file_limit(wanted: int) -> None:
    """Raise RLIMIT_NOFILE to *wanted* as far as the hard limit lets us; never lowers it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return
    target = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, target), hard))


def share_heap() -> None:
    """Let all threads allocate from one heap.

    glibc gives nearly every thread an arena of its own. A connection is made by whichever thread leads and freed by another,
    so that each arena in turn grows to the size of all connections; and the interpreter's lock leaves little to compete for.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)  # musl has none, and one heap anyway
    if mallopt is not None:
        mallopt(_M_ARENA_MAX, ARENAS)
