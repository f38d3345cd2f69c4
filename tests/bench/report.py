"""Samples to medians and ratios, as a table and as JSON.

A ratio is the median of the ratios of neighbouring runs, not the ratio of medians: what disturbed both of a pair cancels
out. Pure, but for `machine`.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import attrs

from tests.bench.measure import Sample

Json = dict[str, Any]

FIGURES: Mapping[str, Callable[[Sample], float]] = {
    "processor_us": lambda sample: sample.processor_us,
    "p50_us": lambda sample: sample.p50_us,
    "p99_us": lambda sample: sample.p99_us,
    "rps": lambda sample: sample.rps,
    "resident_mib": lambda sample: sample.resident_mib,
}
_HEAD = (
    f"{'case':<16}{'KiB':>8}  {'server':<20}{'cpu us':>9}{'ratio':>7}  {'(lowest–highest)':<18}"
    f"{'p50 us':>9}{'p99 us':>9}{'rps':>8}{'MiB':>7}"
)


@attrs.frozen
class Row:
    """One contender on one case."""

    case: str
    size_bytes: int  # of the review
    callers: int
    contender: str
    samples: Sequence[Sample]
    reference: Sequence[Sample]  # of the same rounds; the same samples for the reference itself

    def median(self, figure: str) -> float:
        """The median over the rounds."""
        return median(map(FIGURES[figure], self.samples))

    def ratios(self, figure: str) -> list[float]:
        """To the reference, round by round."""
        read = FIGURES[figure]
        return [read(own) / max(read(other), 1e-9) for own, other in zip(self.samples, self.reference, strict=True)]

    def as_json(self) -> Json:
        """Everything."""
        return {
            "case": self.case,
            "bytes": self.size_bytes,
            "callers": self.callers,
            "contender": self.contender,
            "medians": {figure: round(self.median(figure), 1) for figure in FIGURES},
            "ratios": {figure: round(median(self.ratios(figure)), 3) for figure in FIGURES},
            "samples": [attrs.asdict(sample) for sample in self.samples],
        }


def table(rows: Sequence[Row], reference: str) -> str:
    """One line a row, a blank line between cases."""
    lines = [_HEAD, "-" * len(_HEAD)]
    for before, row in zip([None, *rows], rows, strict=False):
        first = before is None or before.case != row.case
        if first and before is not None:
            lines.append("")
        ratios = row.ratios("processor_us")
        compared = f"{median(ratios):>7.2f}  {f'({min(ratios):.2f}–{max(ratios):.2f})':<18}"
        lines.append(
            f"{row.case if first else '':<16}{f'{row.size_bytes / 1024:.1f}' if first else '':>8}  {row.contender:<20}"
            f"{row.median('processor_us'):>9.0f}{compared if row.contender != reference else ' ' * 27}"
            f"{row.median('p50_us'):>9.0f}{row.median('p99_us'):>9.0f}{row.median('rps'):>8.0f}{row.median('resident_mib'):>7.0f}"
        )
    return "\n".join(lines)


def machine() -> Json:
    """What the figures were taken on."""
    model = ""
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            model = line.partition(":")[2].strip()
            break
    return {
        "processor": model or platform.machine(),
        "cores": os.cpu_count(),
        "kernel": platform.release(),
        "python": platform.python_version(),
        "load_average_before": round(os.getloadavg()[0], 2),
    }
