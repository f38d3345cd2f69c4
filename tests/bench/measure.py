"""One figure at a time: pairs of runs, interleaved.

All contenders run all the time and only one of them is asked, in turn and back (A B B A …), so that whatever else the machine
does meets them alike; each run is compared only with those of its round. A run is a fixed number of admissions, found
beforehand; processor time is what the server's process used between the first and the last of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import attrs

from tests.bench.contenders import Server
from tests.bench.reviews import Review
from tests.bench.usage import Usage, proportional_mib
from tests.load.program import Load, Program, run

_FEWEST = 40
# Of fewer, the p99 is one of the two longest: chance.
FEWEST_OF_A_P99 = 200
_FEWEST_OF_A_CROWD = 16  # of each caller
_LIMIT_S = 120.0
# The most that a webhook may be given: a slow machine is to give slow figures, not none.
_CALL_S = 30.0


class MeasureError(Exception):
    """A contender did not answer as it should, so that its figures would mean nothing."""


@attrs.frozen
class Plan:
    """How much is measured."""

    rounds: int
    seconds: float  # that one run should take
    callers: int
    ca_file: Path
    fewest: int = _FEWEST  # admissions of a run, however long they take


@attrs.frozen
class Sample:
    """One run. Times are microseconds."""

    requests: int
    processor_us: float  # processor time of the server per admission
    p50_us: int
    p99_us: int | None  # None: too few admissions
    max_us: int
    rps: float
    resident_mib: float  # of the server after the run
    proportional_mib: float  # the same without what its processes share


def measure(
    variants: Sequence[Review], servers: Sequence[Server], plan: Plan, folder: Path, progress: Callable[[str], None]
) -> dict[str, list[Sample]]:
    """The samples of each contender, by name, in the order of the rounds. Raises MeasureError.

    variants: of one case; they are sent in turn.
    """
    review = variants[0]
    bodies = tuple(folder / f"{review.name}-{number}.json" for number in range(len(variants)))
    for body, variant in zip(bodies, variants, strict=True):
        body.write_bytes(variant.body)
    loads = {server.contender.name: _sized(_load(server, review, bodies, plan), plan) for server in servers}
    samples: dict[str, list[Sample]] = {server.contender.name: [] for server in servers}
    for number in range(plan.rounds):
        for server in servers if number % 2 == 0 else reversed(servers):
            samples[server.contender.name].append(_sample(server, loads[server.contender.name]))
        last = ", ".join(f"{name} {runs[-1].processor_us:.0f} us" for name, runs in samples.items())
        progress(f"{review.name}, {plan.callers} callers: round {number + 1} of {plan.rounds}: {last}")
    return samples


def _load(server: Server, review: Review, bodies: tuple[Path, ...], plan: Plan) -> Load:
    check = "any" if not server.contender.decides else "patch" if review.patched else "allowed"
    return Load(
        url=server.base + review.path,
        ca_file=plan.ca_file,
        bodies=bodies,
        callers=plan.callers,
        warm_up=2 * plan.callers,
        check=check,
        limit_s=_LIMIT_S,
        timeout_s=_CALL_S,
    )


def _sized(load: Load, plan: Plan) -> Load:
    """*load* with as many requests as fill the time of a run; the server is warm afterwards."""
    trial = run(attrs.evolve(load, duration_s=min(0.5, plan.seconds)))
    if trial.errors or not trial.done:
        raise MeasureError(f"{load.url}: {dict(trial.errors) or 'no answer'}")
    # Connections beyond the 25 that a Go client keeps idle are made anew when a crowd begins: they must not be the figure.
    crowd = _FEWEST_OF_A_CROWD * plan.callers if plan.callers > 4 else 0
    return attrs.evolve(load, requests=max(plan.fewest, crowd, int(trial.rps * plan.seconds)), wait=True)


def _sample(server: Server, load: Load) -> Sample:
    with Program.start(load) as program:
        program.wait_until_warm()
        before = Usage.of(server.process.pid)
        program.begin()
        result = program.result()
        after = Usage.of(server.process.pid)
    if result.done != load.requests:
        raise MeasureError(f"{load.url}: {dict(result.errors)}")
    return Sample(
        requests=result.done,
        processor_us=(after.processor_s - before.processor_s) / result.done * 1e6,
        p50_us=result.latency_us.p50,
        p99_us=result.latency_us.p99 if result.done >= FEWEST_OF_A_P99 else None,
        max_us=result.latency_us.max,
        rps=result.rps,
        resident_mib=after.resident_mib,
        proportional_mib=proportional_mib(server.process.pid),
    )
