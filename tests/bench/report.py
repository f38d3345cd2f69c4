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

import attrs

from tests.bench import versions
from tests.bench.measure import Sample
from webhook.objects.meta import Json

FIGURES: Mapping[str, Callable[[Sample], float | None]] = {
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

    def median(self, figure: str) -> float | None:
        """The median over the rounds; None when one of them does not have the figure."""
        return _median([FIGURES[figure](sample) for sample in self.samples])

    def ratios(self, figure: str, reference: str) -> list[float]:
        """To the contender *reference*, round by round; none when a round does not have the figure of both."""
        return pairs(figure, self.samples, self.others[reference])

    def as_json(self) -> Json:
        """Medians, and of the ratios to everybody else the medians and the [lowest, highest]; null where there is no figure."""
        others = [name for name in self.others if name != self.contender]
        ratios = {other: {figure: self.ratios(figure, other) for figure in FIGURES} for other in others}
        return {
            "case": self.case,
            "bytes": self.size_bytes,
            "callers": self.callers,
            "contender": self.contender,
            "medians": {figure: _short(self.median(figure)) for figure in FIGURES},
            "ratios": {
                other: {figure: _short(_median(found)) for figure, found in figures.items()}
                for other, figures in ratios.items()
            },
            "between": {
                other: {figure: _between(found) for figure, found in figures.items()} for other, figures in ratios.items()
            },
        }


def pairs(figure: str, samples: Sequence[Sample], others: Sequence[Sample]) -> list[float]:
    """The ratios of *figure*, round by round; none when a round does not have it."""
    read, found = FIGURES[figure], []
    for own, other in zip(map(read, samples), map(read, others), strict=True):
        if own is None or other is None:
            return []
        found.append(own / max(other, 1e-9))
    return found


def scaling(rows: Sequence[Row], case: str = "small-3k", few: int = 4, many: int = 64) -> Json:
    """Throughput with *many* callers to that with *few*, by contender: median, lowest and highest of the ratios of rounds."""
    samples = {(row.contender, row.callers): row.samples for row in rows if row.case == case}
    found = {}
    for (name, callers), runs in samples.items():
        if callers == many and (name, few) in samples:
            ratios = pairs("rps", runs, samples[name, few])
            found[name] = {"ratio": _short(median(ratios)), "between": _between(ratios)}
    return found


def _median(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return median(known) if known and len(known) == len(values) else None


def _between(values: Sequence[float]) -> list[float | None] | None:
    return [_short(min(values)), _short(max(values))] if values else None


def _short(value: float | None) -> float | None:
    return None if value is None else four_digits(value)


def four_digits(value: float) -> float:
    """*value* as a figure is kept: what runs differ by is in the third."""
    return float(f"{value:.4g}")


def _digits(value: float | None, form: str = ".0f") -> str:
    return "–" if value is None else format(value, form)


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
            apart = _digits(_median(row.ratios("p99_us", reference)), ".2f")
        figures = [
            _digits(row.median(figure)) for figure in ("processor_us", "p50_us", "p99_us", "max_us", "rps", "resident_mib")
        ]
        case = (row.case, f"{row.size_bytes / 1024:.1f}", str(row.callers)) if first else ("", "", "")
        lines.append(
            f"{case[0]:<16}{case[1]:>8}{case[2]:>8}  {row.contender:<33}{figures[0]:>9}{compared:<27}"
            f"{figures[1]:>9}{figures[2]:>9}{apart:>7}{figures[3]:>9}{figures[4]:>8}{figures[5]:>7}"
        )
    return "\n".join(lines)


def load_average() -> float:
    """How many programs wanted a processor, over the last minute."""
    return round(os.getloadavg()[0], 2)


def machine() -> Json:
    """What the figures were taken on, and what the contenders are made of."""
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
        "versions": versions.installed(),
        "go": versions.go(),
        # Go takes every core where the variable is not set, or as many as its control group allows.
        "gomaxprocs": int(os.environ.get("GOMAXPROCS") or os.cpu_count() or 1),
        "load_average_before": load_average(),
    }
