"""The committed figures: docs/performance.json, one section for each benchmark, each with its date and machine.

    admissions  `python -m tests.bench`          caches  `python -m tests.bench.caches`
    creates     `python -m tests.bench.creates`

A section is replaced as a whole; the pages are rendered from the file (`tests.bench.page`). Errors: OSError, ValueError.
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import attrs

from tests.bench import report
from tests.bench.contenders import GATEHOUSE, REFERENCE

Json = dict[str, Any]

FILE = Path(__file__).parents[2] / "docs" / "performance.json"
WARN_AT, FAIL_AT = 1.25, 2.0


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
    """One ratio of processor time to the peer's, now and as committed."""

    case: str
    callers: int
    committed: float
    now: float

    @property
    def factor(self) -> float:
        """How much worse it is; below 1 it is better."""
        return self.now / max(self.committed, 1e-9)

    def __str__(self) -> str:
        text = f"{self.case}, {self.callers} callers: {self.now:.2f} of the processor time of {REFERENCE}"
        return f"{text}, committed {self.committed:.2f}: {self.factor:.2f} times"


def changes(rows: Sequence[report.Row], committed: Json) -> Iterator[Change]:
    """What *rows* say of ourselves, beside what was *committed* (the section admissions) for the same cases."""
    before = {
        (row["case"], row["callers"]): row["ratios"][REFERENCE]["processor_us"]
        for row in committed.get("results", ())
        if row["contender"] == GATEHOUSE.name and REFERENCE in row["ratios"]
    }
    for row in rows:
        was = before.get((row.case, row.callers))
        if row.contender == GATEHOUSE.name and was is not None:
            yield Change(row.case, row.callers, was, row.as_json()["ratios"][REFERENCE]["processor_us"])
