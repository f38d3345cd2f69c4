"""The long form of tests/apiserver/test_election.py: `python -m tests.soak.elections --changes 200 [--minutes 15] [--seed N]`.

Each number of replicas gets its share of the changes. Ends with 1 when a rule was broken, and prints what broke it.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path
from random import Random

from tests.apiserver.campaign import Outcome, cluster_for, plan, run


def main() -> int:
    """Run, print, judge."""
    parser = argparse.ArgumentParser(description="forced changes of leadership on a real API server")
    parser.add_argument("--changes", type=int, default=200)
    parser.add_argument("--seed", type=int, default=time.time_ns() % 2**32)
    parser.add_argument("--minutes", type=float, default=60.0, help="begin no change after this time")
    parser.add_argument("--replicas", type=int, nargs="+", choices=(2, 3), default=(2, 3))
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)
    shares, start_s = len(options.replicas), time.monotonic()
    wrong: list[str] = []
    with tempfile.TemporaryDirectory() as folder, cluster_for(Path(folder), f"elections-{os.getpid()}") as cluster:
        for number, replicas in enumerate(options.replicas, 1):
            own = Path(folder) / f"of-{replicas}"
            own.mkdir()
            random = Random(options.seed + replicas)
            kinds = plan(options.changes // shares, random)
            until_s = start_s + 60 * options.minutes * number / shares
            outcome = run(cluster, own, replicas, kinds, random, say=_say, until_s=until_s)
            found = complaints(outcome)
            _say("\n".join([*outcome.lines(), *(found or ["no rule was broken"])]))
            wrong += found
    return 1 if wrong else 0


def complaints(outcome: Outcome) -> list[str]:
    """Everything that must not be."""
    return [*outcome.faults, *outcome.review_faults, *outcome.unanswered, *outcome.forbidden, *outcome.tracebacks]


def _say(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    sys.exit(main())
