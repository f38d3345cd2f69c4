"""What Gatehouse means to achieve beside the peer, and whether the committed figures do. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import attrs

from tests.bench.contenders import BARE, GATEHOUSE, REFERENCE

Json = dict[str, Any]


@attrs.frozen
class Verdict:
    """One target and what was measured."""

    what: str
    limit: float
    value: float
    unit: str = "×"
    at_least: bool = False

    @property
    def met(self) -> bool:
        """Whether it is kept."""
        return self.value >= self.limit if self.at_least else self.value <= self.limit


PROCESSOR, P99, RATE = "processor_us", "p99_us", "rps"
# Case, callers, figure, relative to whom, at most.
RATIOS = (
    ("small-3k", 4, PROCESSOR, REFERENCE, 1.0),
    ("small-3k", 4, PROCESSOR, BARE.name, 1.3),
    ("inject-4k", 4, PROCESSOR, REFERENCE, 0.3),
    ("inject-11k", 4, PROCESSOR, REFERENCE, 0.3),
    ("inject-60k", 4, PROCESSOR, REFERENCE, 0.3),
    ("validate-11k", 4, PROCESSOR, REFERENCE, 0.6),
    ("node-20k", 4, PROCESSOR, REFERENCE, 0.35),
    ("endpoints-20", 4, PROCESSOR, REFERENCE, 0.65),
    ("endpoints-1000", 4, PROCESSOR, REFERENCE, 0.12),
    *(
        (case, callers, P99, REFERENCE, 0.5)
        for case in ("inject-11k", "validate-11k", "node-20k", "endpoints-20")
        for callers in (4, 64)
    ),
)
WORDS = {PROCESSOR: "processor time", P99: "p99"}


def verdicts(document: Json) -> list[Verdict]:
    """Of every section that *document* has."""
    found: list[Verdict] = []
    if "admissions" in document:
        found += _admissions(document["admissions"])
    if "caches" in document:
        found += _caches(document["caches"])
    if "creates" in document:
        found += _creates(document["creates"])
    return found


def _admissions(section: Json) -> Iterator[Verdict]:
    rows = {(row["case"], row["callers"], row["contender"]): row for row in section["results"]}
    for case, callers, figure, reference, limit in RATIOS:
        row = rows.get((case, callers, GATEHOUSE.name))
        if row and reference in row["ratios"]:
            what = f"{case}, {callers} callers: {WORDS[figure]} to that of {reference}"
            yield Verdict(what, limit, row["ratios"][reference][figure])
    four, many = (rows.get(("small-3k", callers, GATEHOUSE.name)) for callers in (4, 64))
    if four and many:
        what = "small-3k: throughput with 64 callers to that with 4"
        yield Verdict(what, 0.8, many["medians"][RATE] / four["medians"][RATE], at_least=True)
    for callers in (16, 64):
        row = rows.get(("small-3k", callers, GATEHOUSE.name))
        if row and REFERENCE in row["ratios"]:
            what = f"small-3k, {callers} callers: throughput to that of {REFERENCE}"
            yield Verdict(what, 1.0, row["ratios"][REFERENCE][RATE], at_least=True)


def _caches(section: Json) -> Iterator[Verdict]:
    for row in section["results"]:
        what = f"cache of {row['objects']:,} {row['kind']}"
        yield Verdict(f"{what}: time to sync to that of client-go's", 0.7, row["ratios"]["sync_s"])
        yield Verdict(f"{what}: memory to that of client-go's", 0.6, row["ratios"]["resident_mib"])


def _creates(section: Json) -> Iterator[Verdict]:
    results = next(scene["results"] for scene in section["scenes"] if scene["name"] == "sidecar")
    without, own = (results[name]["p99_ms"] for name in ("none", GATEHOUSE.name))
    yield Verdict(f"pod creates at a real API server: p99, {without:.1f} ms without a webhook", 1.1 * without + 5, own, "ms")
