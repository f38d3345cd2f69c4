"""The committed figures: docs/performance.json, one section for each benchmark, each with its date and machine.

    admissions  `python -m tests.bench`          caches  `python -m tests.bench.caches`
    creates     `python -m tests.bench.creates`

A section is replaced as a whole; the pages are rendered from the file (`tests.bench.page`). Errors: OSError, ValueError.
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Callable, Iterator, Sequence, Set
from pathlib import Path

import attrs

from tests.bench import report
from tests.bench.contenders import GATEHOUSE, REFERENCE, ROOT
from tests.bench.targets import PROCESSOR, RATE
from webhook.objects.meta import Json

FILE = ROOT / "docs" / "performance.json"
WARN_AT, FAIL_AT = 1.25, 2.0
BAD = ("warning: ", "FAILED: ")  # how a line begins that tells of something bad
ROUNDS_AGAIN = 7  # of what looked bad
MEMORY = "resident_mib"
_UNITS = {
    PROCESSOR: f"{{:.2f}} of the processor time of {REFERENCE}",
    RATE: f"{{:.2f}} of the throughput of {REFERENCE}",
    MEMORY: "{:.0f} MiB resident",
}
Again = Callable[[Set[tuple[str, int]]], Sequence[report.Row]]


def stamped(section: Json, machine: Json) -> Json:
    """*section* with the day and the machine."""
    return {"date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d"), "machine": machine, **section}


def read(file: Path = FILE) -> Json:
    """All sections; none when there is no file yet."""
    found: Json = json.loads(file.read_text()) if file.exists() else {}
    return found


def write(name: str, section: Json, file: Path = FILE) -> None:
    """Put *section* in the place of the one called *name*."""
    everything = read(file) | {name: section}
    fresh = file.with_suffix(".new")
    fresh.write_text(json.dumps(dict(sorted(everything.items())), indent=1, ensure_ascii=False) + "\n")
    fresh.replace(file)


@attrs.frozen
class Change:
    """One figure of ours, now and as committed."""

    case: str
    callers: int
    committed: float
    now: float
    figure: str = PROCESSOR

    @property
    def factor(self) -> float:
        """How much worse it is; below 1 it is better."""
        worse, better = (self.committed, self.now) if self.figure == RATE else (self.now, self.committed)
        return worse / max(better, 1e-9)

    def __str__(self) -> str:
        text = f"{self.case}, {self.callers} callers: {_UNITS[self.figure].format(self.now)}"
        return f"{text}, committed {self.committed:.2f}: {self.factor:.2f} times as bad"


def changes(rows: Sequence[report.Row], committed: Json) -> Iterator[Change]:
    """What *rows* say of ourselves, beside what was *committed* (the section admissions) for the same cases."""
    before = _compared(committed.get("results", ()))
    for key, now in _compared([row.as_json() for row in rows]).items():
        if (was := before.get(key)) is not None:
            yield Change(key[0], key[1], was, now, key[2])


def uncommitted(rows: Sequence[report.Row], committed: Json) -> list[str]:
    """What *rows* have and the *committed* section does not, so that nothing could be said about it."""
    before = _compared(committed.get("results", ()))
    measured = _compared([row.as_json() for row in rows])
    return [
        f"{case}, {callers} callers: {figure}" for case, callers, figure in measured if (case, callers, figure) not in before
    ]


def judged(rows: Sequence[report.Row], committed: Json, again: Again, say: Callable[[str], None]) -> int:
    """Beside the *committed* section: 1 when a figure is twice as bad or has nothing to be compared with.

    again: measures these (case, callers) anew, for longer; what looks bad is judged by that.
    """
    if missing := uncommitted(rows, committed):
        say(f"FAILED: docs/performance.json does not have {'; '.join(missing)}: run `make performance` and commit it")
        return 1
    found = list(changes(rows, committed))
    if not found:
        say(f"FAILED: nothing to compare: neither {GATEHOUSE.name} nor {REFERENCE} may be left out")
        return 1
    if doubtful := {(change.case, change.callers) for change in found if change.factor >= WARN_AT}:
        say(
            f"{len(doubtful)} of the cases look worse and are measured again: "
            + ", ".join(case for case, _ in sorted(doubtful))
        )
        kept = [change for change in found if (change.case, change.callers) not in doubtful]
        found = kept + list(changes(again(doubtful), committed))
    for change in found:
        if change.factor >= WARN_AT:
            say(f"{'FAILED' if change.factor >= FAIL_AT else 'warning'}: {change}")
    worst = max(found, key=lambda change: change.factor)
    say(f"{len(found)} figures beside the committed ones, at worst {worst.factor:.2f} times as bad ({worst.case})")
    return int(worst.factor >= FAIL_AT)


def noting(file: Path | None, say: Callable[[str], None]) -> Callable[[str], None]:
    """*say*, that also adds to *file* what `judged` finds bad: for whoever repeats it where it is seen."""

    def said(message: str) -> None:
        say(message)
        if file is not None and message.startswith(BAD):
            with file.open("a") as lines:
                lines.write(f"bench: {message}\n")

    return said


def _compared(found: Sequence[Json]) -> dict[tuple[str, int, str], float]:
    """Of ours, by case, callers and figure: ratios to the peer's, and resident memory as it is."""
    figures: dict[tuple[str, int, str], float] = {}
    for row in found:
        if row["contender"] != GATEHOUSE.name or REFERENCE not in row["ratios"]:
            continue
        case, callers, ratios = row["case"], row["callers"], row["ratios"][REFERENCE]
        figures[case, callers, PROCESSOR] = ratios[PROCESSOR]
        if (case, callers) == ("small-3k", 64):
            figures[case, callers, RATE] = ratios[RATE]
        if (case, callers) == ("small-3k", 4):  # measured first, whatever else is
            figures[case, callers, MEMORY] = row["medians"][MEMORY]
    return figures
