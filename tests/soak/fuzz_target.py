"""A million inputs, guided by the branches they reach: `python -m tests.soak.fuzz_target -runs=N ...` (options of libFuzzer).

Every input is raw bytes after a handshake; its first byte says into how many pieces it is cut. What is covered, and what is
left out, says tests/server/fuzz.py. Ends with 0 after the last input, else with libFuzzer's report and the input in a file.
"""

from __future__ import annotations

import sys

import atheris

with atheris.instrument_imports(include=["webhook.serving"]):
    from tests.server.fuzz import Bench

BENCH = Bench()
REPORT_EVERY = 100_000


def try_one(data: bytes) -> None:
    """One input."""
    if not data:
        return
    pieces = 1 + data[0] % 4
    rest = data[1:]
    step = len(rest) // pieces + 1
    BENCH.try_([rest[at : at + step] for at in range(0, len(rest), step)])
    if BENCH.inputs % REPORT_EVERY == 0:
        print(f"{BENCH.inputs} inputs: {BENCH.requests} requests, {BENCH.refusals} refusals", flush=True)


if __name__ == "__main__":
    atheris.Setup(sys.argv, try_one)
    atheris.Fuzz()
