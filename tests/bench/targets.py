"""What Gatehouse means to achieve beside the peer, and whether the committed figures do. Pure."""

from __future__ import annotations

from collections.abc import Iterator

import attrs

from tests.bench import reviews
from tests.bench.contenders import BARE, BY_HAND, GATEHOUSE, REFERENCE
from webhook.objects.meta import Json


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
# Of the p99 of pod creates, that without a webhook times so much, and so many milliseconds.
CREATE_FACTOR, CREATE_MS = 1.1, 5.0
WORDS = {PROCESSOR: "processor time", P99: "p99", RATE: "throughput"}


def needs_p99(case: str, callers: int) -> bool:
    """Whether a target asks for it, so that there have to be enough admissions."""
    return any((case, callers, P99) == (one[0], one[1], one[2]) for one in RATIOS)


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
        value = row["ratios"].get(reference, {}).get(figure) if row else None
        if value is not None:  # a p99 of few admissions is none
            yield Verdict(_what(case, callers, figure, reference), limit, value)
    scaled = section.get("throughput_64_to_4", {}).get(GATEHOUSE.name)
    four, many = (rows.get(("small-3k", callers, GATEHOUSE.name)) for callers in (4, 64))
    if scaled or (four and many):
        what = f"{reviews.WORDS['small-3k']}: throughput with 64 callers to that with 4"
        value = scaled["ratio"] if scaled else many["medians"][RATE] / four["medians"][RATE]  # type: ignore[index]
        yield Verdict(what, 0.8, value, at_least=True)
    for callers in (16, 64):
        row = rows.get(("small-3k", callers, GATEHOUSE.name))
        if row and REFERENCE in row["ratios"]:
            what = _what("small-3k", callers, RATE, REFERENCE)
            yield Verdict(what, 1.0, row["ratios"][REFERENCE][RATE], at_least=True)


def untargeted(section: Json) -> Iterator[tuple[str, float]]:
    """Of the section admissions what is told beside the targets, since nothing was aimed at: patches written by hand."""
    for row in section["results"]:
        if row["contender"] == GATEHOUSE.name and (found := row["ratios"].get(BY_HAND.name)):
            yield _what(row["case"], row["callers"], PROCESSOR, BY_HAND.name), found[PROCESSOR]


def _what(case: str, callers: int, figure: str, reference: str) -> str:
    return f"{reviews.WORDS[case]}, {callers} callers: {WORDS[figure]} to that of {reference}"


def _caches(section: Json) -> Iterator[Verdict]:
    for row in section["results"]:
        what = f"cache of {row['objects']:,} {row['kind']}"
        yield Verdict(f"{what}: time to sync to that of client-go's", 0.7, row["ratios"]["sync_s"])
        # Go gives back late what it needed to sync: the moment counts that favours the peer.
        memory = max(row["ratios"][figure] for figure in ("resident_mib", "later_resident_mib"))
        yield Verdict(f"{what}: memory to that of client-go's", 0.6, memory)


def _creates(section: Json) -> Iterator[Verdict]:
    pairs = next(scene["pairs"] for scene in section["scenes"] if scene["name"] == "sidecar")
    what = f"pod creates at a real API server: p99 beyond {CREATE_FACTOR:g} times that without a webhook"
    yield Verdict(what, CREATE_MS, pairs[GATEHOUSE.name]["p99_beyond_ms"], "ms")
