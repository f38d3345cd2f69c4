"""`python -m tests.bench [--short] [--json FILE] [--write] [--compare] [--case NAME]…`: what an admission costs, beside others.

Starts every contender on 127.0.0.1, sees that they decide alike, sends each case as kube-apiserver would, prints one table.
Less than ten minutes, with --short one. Whatever it starts it ends, also after Ctrl-C. Exit codes: 0 measured, 1 something
failed or (--compare) a figure is twice as bad as the committed one or has none, 2 wrong use.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence, Set
from pathlib import Path

import attrs

from tests.bench import contenders, equality, page, report, results, reviews, schedule, targets
from tests.bench.contenders import CONTENDERS, REFERENCE, Place, Server, StartError
from tests.bench.measure import FEWEST_OF_A_P99, MeasureError, Plan, measure
from tests.bench.report import Row
from tests.bench.schedule import Schedule
from tests.cluster.binaries import BuildError
from tests.cluster.processes import Processes
from tests.load.program import LoadError, binary
from webhook.objects.meta import Json

_QUIET = 0.25  # load average per core up to which a machine counts as quiet


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
    parser.add_argument("--compare", action="store_true", help="compare with the committed figures: 1 when one is twice as bad")
    parser.add_argument("--warnings", type=Path, metavar="FILE", help="add to it what --compare finds worse, a line each")
    parser.add_argument("--case", action="append", choices=list(reviews.CASES), metavar="NAME", help=", ".join(reviews.CASES))
    names = [contender.name for contender in CONTENDERS]
    parser.add_argument("--server", action="append", choices=names, metavar="NAME", help=", ".join(names))
    parser.add_argument("--callers", type=int, help="admissions in flight at a time, whatever the schedule says")
    parser.add_argument("--rounds", type=int, help="runs of each contender on a case (7, --short: 3)")
    parser.add_argument("--seconds", type=float, help="that a run takes (0.6, --short: 0.4)")
    return parser


def _run(options: argparse.Namespace, folder: Path) -> int:
    start_s = time.monotonic()
    machine = report.machine()
    if machine["load_average_before"] > _QUIET * machine["cores"]:
        _say("!" * 100)
        _say(
            f"!! LOAD AVERAGE {machine['load_average_before']} of {machine['cores']} cores: other programs run. Figures will be"
        )
        _say("!! too high and p99 is theirs, not the servers'. Nothing that is kept should be measured now.")
        _say("!" * 100)
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
        servers = _started(plan, place, processes)
        rows = _measured(plan, place, servers)
        ended = {"load_average_after": report.load_average(), "elapsed_s": round(time.monotonic() - start_s)}
        print(report.table(rows, REFERENCE))
        print(_note(plan, machine, ended))
        _kept(options, results.stamped(_document(plan, rows) | ended, machine))
        return _judged(plan, place, servers, rows, options.warnings) if options.compare else 0
    finally:
        for name in processes.names():
            processes.stop(name)
        _say(f"done in {time.monotonic() - start_s:.0f} s")


def _note(plan: Schedule, machine: Json, ended: Json) -> str:
    return (
        f"\nMedians of {plan.rounds} runs of {plan.seconds:g} s. "
        f"ratio: processor time to that of {REFERENCE}, median of pairs.\n"
        f"{machine['processor']}, {machine['cores']} cores, Python {machine['python']}, {machine['go'] or 'no Go'}, "
        f"load average before: {machine['load_average_before']}, at the end: {ended['load_average_after']}; "
        f"{ended['elapsed_s']} s in all."
    )


def _kept(options: argparse.Namespace, document: Json) -> None:
    """Write *document* where it was asked for."""
    if options.json:
        options.json.write_text(json.dumps(document, indent=1) + "\n")
    if options.write:
        results.write("admissions", document)
        page.render()
        _say("docs/performance.json and the pages from it are written")


def _judged(plan: Schedule, place: Place, servers: Mapping[str, Server], rows: Sequence[Row], warnings: Path | None) -> int:
    """Beside the committed figures; what looks bad is measured again, for longer; what stays bad goes to *warnings*, too."""

    def again(doubtful: Set[tuple[str, int]]) -> list[Row]:
        steps = tuple(step for step in plan.steps if (step.case, step.callers) in doubtful)
        return _measured(attrs.evolve(plan, steps=steps, rounds=results.ROUNDS_AGAIN), place, servers)

    return results.judged(rows, results.read().get("admissions", {}), again, results.noting(warnings, _say))


def _started(plan: Schedule, place: Place, processes: Processes) -> dict[str, Server]:
    """Start everybody and see that they decide alike. Raises StartError, MeasureError."""
    servers = {}
    for contender in plan.contenders:
        servers[contender.name] = contenders.start(contender, place, processes)
        _say(f"{contender.name}: listening ({contender.what})")
    compared = equality.check(list(servers.values()), place, list(dict.fromkeys(step.case for step in plan.steps)))
    _say(f"{compared} answers are equal to ours")
    return servers


def _measured(plan: Schedule, place: Place, servers: Mapping[str, Server]) -> list[Row]:
    """One step after the other. Raises MeasureError."""
    rows: list[Row] = []
    for step in plan.steps:
        variants = reviews.variants(step.case)
        each = Plan(rounds=plan.rounds, seconds=plan.seconds, callers=step.callers, ca_file=place.ca_file)
        if targets.needs_p99(step.case, step.callers):
            each = attrs.evolve(each, fewest=FEWEST_OF_A_P99)
        samples = measure(variants, [servers[one.name] for one in step.contenders], each, place.folder, _say)
        rows += [Row(step.case, len(variants[0].body), step.callers, name, runs, samples) for name, runs in samples.items()]
    return rows


def _document(plan: Schedule, rows: Sequence[Row]) -> Json:
    return {
        "rounds": plan.rounds,
        "seconds": plan.seconds,
        "reference": REFERENCE,
        "contenders": {contender.name: contender.what for contender in plan.contenders},
        "throughput_64_to_4": report.scaling(rows),
        "results": [row.as_json() for row in rows],
    }


def _say(message: str) -> None:
    print(f"bench: {message}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
