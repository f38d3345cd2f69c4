"""`python -m tests.bench [--short] [--json FILE] [--write] [--compare] [--case NAME]…`: what an admission costs, beside others.

Starts every contender on 127.0.0.1, sees that they decide alike, sends each case as kube-apiserver would, prints one table.
Seven to nine minutes, with --short one. Whatever it starts it ends, also after Ctrl-C. Exit codes: 0 measured, 1 something
failed or (--compare) a ratio is twice as bad as the committed one, 2 wrong use.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import attrs

from tests.bench import contenders, equality, page, report, results, reviews, schedule
from tests.bench.contenders import CONTENDERS, REFERENCE, Place, StartError
from tests.bench.measure import MeasureError, Plan, measure
from tests.bench.report import Row
from tests.bench.schedule import Schedule
from tests.cluster.binaries import BuildError
from tests.cluster.processes import Processes
from tests.load.program import LoadError, binary


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure; the exit code."""
    parser = _parser()
    options = parser.parse_args(arguments)
    if options.write and (
        options.short or options.case or options.server or options.callers or options.rounds or options.seconds
    ):
        parser.error("--write is for the whole benchmark: nothing else may be given with it, but --json")
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
    parser.add_argument("--write", action="store_true", help="write docs/performance.json and render the pages from it")
    parser.add_argument("--compare", action="store_true", help="compare with the committed ratios: 1 when one has doubled")
    parser.add_argument("--case", action="append", choices=list(reviews.CASES), metavar="NAME", help=", ".join(reviews.CASES))
    names = [contender.name for contender in CONTENDERS]
    parser.add_argument("--server", action="append", choices=names, metavar="NAME", help=", ".join(names))
    parser.add_argument("--callers", type=int, help="admissions in flight at a time, whatever the schedule says")
    parser.add_argument("--rounds", type=int, help="runs of each contender on a case (7, --short: 3)")
    parser.add_argument("--seconds", type=float, help="that a run takes (0.8, --short: 0.4)")
    return parser


def _run(options: argparse.Namespace, folder: Path) -> int:
    start_s = time.monotonic()
    machine = report.machine()
    if machine["load_average_before"] > 0.25 * machine["cores"]:
        _say(f"load average {machine['load_average_before']}: other programs run, absolute figures will be too high")
    make = schedule.short if options.short else schedule.whole
    given = {key: value for key in ("rounds", "seconds") if (value := getattr(options, key)) is not None}
    plan = make(options.case or (), **given)
    if options.callers:
        steps = {step.case: attrs.evolve(step, callers=options.callers) for step in reversed(plan.steps)}
        plan = attrs.evolve(plan, steps=tuple(reversed(steps.values())))
    if options.server:
        plan = plan.only(options.server)
    binary()
    place = Place(folder)
    place.make()
    processes = Processes(folder)
    try:
        rows = _measured(plan, place, processes)
    finally:
        for name in processes.names():
            processes.stop(name)
    print(report.table(rows, REFERENCE))
    print(
        f"\nMedians of {plan.rounds} runs of {plan.seconds:g} s. "
        f"ratio: processor time to that of {REFERENCE}, median of pairs.\n"
        f"{machine['processor']}, {machine['cores']} cores, Python {machine['python']}, "
        f"load average before: {machine['load_average_before']}."
    )
    document = results.stamped(_document(plan, rows), machine)
    if options.json:
        options.json.write_text(json.dumps(document, indent=1) + "\n")
    if options.write:
        results.write("admissions", document)
        page.render()
        _say("docs/performance.json and the pages from it are written")
    _say(f"done in {time.monotonic() - start_s:.0f} s")
    return _judged(rows) if options.compare else 0


def _judged(rows: Sequence[Row]) -> int:
    """Beside the committed ratios: 1 when one has doubled."""
    found = list(results.changes(rows, results.read().get("admissions", {})))
    if not found:
        _say("nothing is committed to compare with")
        return 1
    for change in found:
        if change.factor >= results.WARN_AT:
            _say(f"{'FAILED' if change.factor >= results.FAIL_AT else 'warning'}: {change}")
    worst = max(found, key=lambda change: change.factor)
    _say(f"{len(found)} ratios beside the committed ones, at worst {worst.factor:.2f} times ({worst.case})")
    return int(worst.factor >= results.FAIL_AT)


def _measured(plan: Schedule, place: Place, processes: Processes) -> list[Row]:
    """Start everybody, see that they decide alike, measure. Raises StartError, MeasureError."""
    servers = {}
    for contender in plan.contenders:
        servers[contender.name] = contenders.start(contender, place, processes)
        _say(f"{contender.name}: listening ({contender.what})")
    compared = equality.check(list(servers.values()), place, list(dict.fromkeys(step.case for step in plan.steps)))
    _say(f"{compared} answers are equal to ours")
    rows: list[Row] = []
    for step in plan.steps:
        review = reviews.CASES[step.case]()
        each = Plan(rounds=plan.rounds, seconds=plan.seconds, callers=step.callers, ca_file=place.ca_file)
        samples = measure(review, [servers[one.name] for one in step.contenders], each, place.folder, _say)
        rows += [Row(step.case, len(review.body), step.callers, name, runs, samples) for name, runs in samples.items()]
    return rows


def _document(plan: Schedule, rows: Sequence[Row]) -> report.Json:
    return {
        "rounds": plan.rounds,
        "seconds": plan.seconds,
        "reference": REFERENCE,
        "contenders": {contender.name: contender.what for contender in plan.contenders},
        "results": [row.as_json() for row in rows],
    }


def _say(message: str) -> None:
    print(f"bench: {message}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
