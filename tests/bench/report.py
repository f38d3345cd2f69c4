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
    "max_us": lambda sample: sample.max_us,
    "rps": lambda sample: sample.rps,
    "resident_mib": lambda sample: sample.resident_mib,
    "proportional_mib": lambda sample: sample.proportional_mib,
}
_HEAD = (
    f"{'case':<16}{'KiB':>8}{'callers':>8}  {'server':<33}{'cpu us':>9}{'ratio':>7}  {'(lowest–highest)':<18}"
    f"{'p50 us':>9}{'p99 us':>9}{'ratio':>7}{'max us':>9}{'rps':>8}{'MiB':>7}"
)


@attrs.frozen
class Row:
    """One contender on one case."""

    case: str
    size_bytes: int  # of the review
    callers: int
    contender: str
    samples: Sequence[Sample]
    others: Mapping[str, Sequence[Sample]]  # of everybody in the same rounds, itself included

    def median(self, figure: str) -> float:
        """The median over the rounds."""
        return median(map(FIGURES[figure], self.samples))

    def ratios(self, figure: str, reference: str) -> list[float]:
        """To the contender *reference*, round by round."""
        read = FIGURES[figure]
        pairs = zip(self.samples, self.others[reference], strict=True)
        return [read(own) / max(read(other), 1e-9) for own, other in pairs]

    def as_json(self) -> Json:
        """Medians, and the medians of the ratios to everybody else."""
        return {
            "case": self.case,
            "bytes": self.size_bytes,
            "callers": self.callers,
            "contender": self.contender,
            "medians": {figure: _short(self.median(figure)) for figure in FIGURES},
            "ratios": {
                other: {figure: _short(median(self.ratios(figure, other))) for figure in FIGURES}
                for other in self.others
                if other != self.contender
            },
        }


def _short(value: float) -> float:
    return float(f"{value:.4g}")


def table(rows: Sequence[Row], reference: str) -> str:
    """One line a row, a blank line between cases."""
    lines = [_HEAD, "-" * len(_HEAD)]
    for before, row in zip([None, *rows], rows, strict=False):
        first = before is None or (before.case, before.callers) != (row.case, row.callers)
        if first and before is not None:
            lines.append("")
        compared = apart = ""
        if row.contender != reference and reference in row.others:
            ratios = row.ratios("processor_us", reference)
            compared = f"{median(ratios):>7.2f}  {f'({min(ratios):.2f}–{max(ratios):.2f})':<18}"
            apart = f"{median(row.ratios('p99_us', reference)):.2f}"
        case = (row.case, f"{row.size_bytes / 1024:.1f}", str(row.callers)) if first else ("", "", "")
        lines.append(
            f"{case[0]:<16}{case[1]:>8}{case[2]:>8}  {row.contender:<33}{row.median('processor_us'):>9.0f}{compared:<27}"
            f"{row.median('p50_us'):>9.0f}{row.median('p99_us'):>9.0f}{apart:>7}{row.median('max_us'):>9.0f}"
            f"{row.median('rps'):>8.0f}{row.median('resident_mib'):>7.0f}"
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
