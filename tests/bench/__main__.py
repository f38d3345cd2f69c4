"""`python -m tests.bench [--short] [--json FILE] [--case NAME]…`: what an admission costs, beside other servers.

Starts every contender on 127.0.0.1, sends each case as kube-apiserver would, prints one table. About three minutes, with
--short 40 seconds. Whatever it starts it ends, also after Ctrl-C. Exit codes: 0 measured, 1 something failed, 2 wrong use.
"""

from __future__ import annotations

import argparse
import datetime
import json
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import attrs

from tests.bench import contenders, report, reviews
from tests.bench.contenders import CONTENDERS, REFERENCE, Place, StartError
from tests.bench.measure import MeasureError, Plan, measure
from tests.bench.report import Row
from tests.cluster.binaries import BuildError
from tests.cluster.processes import Processes
from tests.load.program import LoadError, binary


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure; the exit code."""
    options = _parser().parse_args(arguments)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # ends as Ctrl-C does: whatever runs is ended too
    try:
        with tempfile.TemporaryDirectory(prefix="gatehouse-bench-") as name:
            return _run(options, Path(name))
    except KeyboardInterrupt:
        _say("stopped")
    except (BuildError, LoadError, MeasureError, StartError) as error:
        _say(str(error))
    return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description="What an admission costs, beside other servers.")
    parser.add_argument("--short", action="store_true", help="fewer and shorter runs: a glance, no figures to keep")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write everything that was measured")
    parser.add_argument("--case", action="append", choices=list(reviews.CASES), metavar="NAME", help=", ".join(reviews.CASES))
    parser.add_argument("--callers", type=int, default=4, help="admissions in flight at a time (4)")
    parser.add_argument("--rounds", type=int, help="pairs of runs for each case (7, --short: 3)")
    parser.add_argument("--seconds", type=float, help="that a run takes (1.5, --short: 0.5)")
    return parser


def _run(options: argparse.Namespace, folder: Path) -> int:
    start_s = time.monotonic()
    place = Place(folder)
    place.make()
    machine = report.machine()
    if machine["load_average_before"] > 0.25 * machine["cores"]:
        _say(f"load average {machine['load_average_before']}: other programs run, absolute figures will be too high")
    plan = Plan(
        rounds=options.rounds or (3 if options.short else 7),
        seconds=options.seconds or (0.5 if options.short else 1.5),
        callers=options.callers,
        ca_file=place.ca_file,
    )
    _say("building the load program" if not binary().exists() else "load program: built")
    processes = Processes(folder)
    rows: list[Row] = []
    try:
        servers = []
        for contender in CONTENDERS:
            servers.append(contenders.start(contender, place, processes))
            _say(f"{contender.name}: listening ({contender.what})")
        for case in options.case or reviews.CASES:
            review = reviews.CASES[case]()
            samples = measure(review, servers, plan, folder, _say)
            rows += [
                Row(case, len(review.body), plan.callers, name, runs, samples[REFERENCE]) for name, runs in samples.items()
            ]
    finally:
        for name in processes.names():
            processes.stop(name)
    print(report.table(rows, REFERENCE))
    print(
        f"\nMedians of {plan.rounds} runs of {plan.seconds:g} s with {plan.callers} connections. "
        f"ratio: processor time to that of {REFERENCE}, median of pairs.\n"
        f"{machine['processor']}, {machine['cores']} cores, Python {machine['python']}, "
        f"load average before: {machine['load_average_before']}."
    )
    if options.json:
        options.json.write_text(json.dumps(_document(plan, machine, rows), indent=1) + "\n")
    _say(f"done in {time.monotonic() - start_s:.0f} s")
    return 0


def _document(plan: Plan, machine: report.Json, rows: Sequence[Row]) -> report.Json:
    return {
        "date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d"),
        "machine": machine,
        "plan": attrs.asdict(plan, filter=lambda field, value: field.name != "ca_file"),
        "reference": REFERENCE,
        "contenders": {contender.name: contender.what for contender in CONTENDERS},
        "results": [row.as_json() for row in rows],
    }


def _say(message: str) -> None:
    print(f"bench: {message}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
