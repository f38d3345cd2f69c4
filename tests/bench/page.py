"""The pages made from docs/performance.json: `python -m tests.bench.page` renders them, `--check` says whether they are stale.

docs/performance.md has everything, docs/pictures/performance.svg the picture, the README a short section between two marks.
`rendered` is pure. Exit codes: 0 fine, 1 stale.
"""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tests.bench import results, targets
from tests.bench.contenders import GATEHOUSE, REFERENCE
from tests.bench.picture import picture
from tests.bench.targets import PROCESSOR, Verdict

Json = dict[str, Any]

ROOT = Path(__file__).parents[2]
README, PAGE, PICTURE = ROOT / "README.md", ROOT / "docs" / "performance.md", ROOT / "docs" / "pictures" / "performance.svg"
BEGIN, END = "<!-- performance: made by `make performance` -->\n", "<!-- performance: end -->\n"
_SHOWN = {  # the README's rows, and what each is in a reader's words
    "small-3k": "3 KiB, nothing to do",
    "inject-4k": "pod of 4 KiB gets a sidecar",
    "inject-11k": "pod of 11 KiB gets a sidecar",
    "inject-60k": "pod of 60 KiB gets a sidecar",
    "validate-11k": "pod of 11 KiB held to limits",
    "node-20k": "node of 20 KiB keeps its pods",
    "endpoints-20": "Endpoints, 20 addresses",
    "endpoints-1000": "Endpoints, 1,000 addresses",
}


def rendered(document: Json, readme: str) -> dict[Path, str]:
    """Every page as it should be. Raises ValueError when the README has no marks."""
    before, begin, rest = readme.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"README.md has no section between {BEGIN.strip()} and {END.strip()}")
    return {
        README: before + begin + _lines(_short(document)) + end + after,
        PAGE: _lines(_page(document)),
        PICTURE: picture(document["admissions"]),
    }


def render() -> None:
    """Write every page."""
    for path, text in rendered(results.read(), README.read_text()).items():
        path.write_text(text)


def stale() -> list[Path]:
    """The pages that are not as they should be."""
    pages = rendered(results.read(), README.read_text())
    return [path for path, text in pages.items() if not path.exists() or path.read_text() != text]


def _short(document: Json) -> Iterator[str]:
    section = document["admissions"]
    rows = _rows(section)
    yield "![processor time per admission beside controller-runtime](docs/pictures/performance.svg)"
    yield ""
    yield f"Beside a webhook with the same rules on {REFERENCE} (Go, [tests/bench/peer](tests/bench/peer)), 4 callers:"
    yield ""
    yield from _table("review", "processor ms", "of the peer's", "p99 ms", "of the peer's")
    for case, words in _SHOWN.items():
        if (row := rows.get((case, 4, GATEHOUSE.name))) and REFERENCE in row["ratios"]:
            ratios, medians = row["ratios"][REFERENCE], row["medians"]
            yield (
                f"| {words} | {medians[PROCESSOR] / 1000:.3g} | {ratios[PROCESSOR]:.2f}× | {medians['p99_us'] / 1000:.3g} | "
                f"{ratios['p99_us']:.2f}× |"
            )
    yield ""
    found = targets.verdicts(document)
    yield (
        f"{sum(one.met for one in found)} of {len(found)} targets are met; what is not, everything else that was measured, and "
        "how: [docs/performance.md](docs/performance.md). " + _where(section)
    )


def _page(document: Json) -> Iterator[str]:
    yield "# What an admission costs"
    yield ""
    yield from _prose(
        "This page is made from [performance.json](performance.json) by `make performance`. What profiles showed, what was "
        "done about it, and why a target is missed: [profiling.md](profiling.md)."
    )
    yield ""
    yield "![processor time per admission beside controller-runtime](pictures/performance.svg)"
    yield ""
    yield "## Targets"
    yield ""
    yield from _table("what", "target", "measured", "")
    yield from map(_target, targets.verdicts(document))
    for name, part in (("admissions", _admissions), ("creates", creates), ("caches", caches)):
        if name in document:
            yield ""
            yield from part(document[name])


def _target(one: Verdict) -> str:
    sign, verdict = "≥" if one.at_least else "≤", "met" if one.met else "**missed**"
    return f"| {one.what} | {sign} {one.limit:.4g} {one.unit} | {one.value:.3g} {one.unit} | {verdict} |"


def _admissions(section: Json) -> Iterator[str]:
    yield "## Admissions"
    yield ""
    yield from _prose(_where(section))
    yield ""
    yield from _prose(
        f"Every server runs all the time; they are asked in turn, {section['rounds']} runs of {section['seconds']:g} s each, "
        "as kube-apiserver asks: HTTP/1.1, kept TLS connections, an unrestricted pool. A ratio is the median of the ratios of "
        "neighbouring runs. Processor time is user and system time of the server and its descendants; × is the ratio to "
        f"{REFERENCE}. Before anything is timed the answers are compared: what they make of the object must be the same. "
        "`/pod-ip` writes to an API server: `make bench-creates` compares it."
    )
    yield ""
    for name, what in section["contenders"].items():
        yield f"- **{name}**: {what}"
    yield ""
    figures = ("processor µs", "×", "p50 µs", "×", "p99 µs", "×", "max µs", "per s", "×", "RSS MiB", "PSS MiB")
    yield from _table("case", "KiB", "callers", "server", *figures)
    last = None
    for row in section["results"]:
        first, last = (row["case"], row["callers"]) != last, (row["case"], row["callers"])
        yield "| " + " | ".join(_cells(row, first)) + " |"


def _cells(row: Json, first: bool) -> Iterator[str]:
    yield from (row["case"], f"{row['bytes'] / 1024:.1f}", str(row["callers"])) if first else ("", "", "")
    medians, ratios = row["medians"], row["ratios"].get(REFERENCE)
    yield row["contender"]
    for figure in (PROCESSOR, "p50_us", "p99_us"):
        yield f"{medians[figure]:.0f}"
        yield _ratio(ratios, figure)
    yield f"{medians['max_us']:.0f}"
    yield f"{medians['rps']:.0f}"
    yield _ratio(ratios, "rps")
    yield f"{medians['resident_mib']:.0f}"
    yield f"{medians['proportional_mib']:.0f}"


def creates(section: Json) -> Iterator[str]:
    """The chapter of pod creates."""
    yield "## Pod creates at a real API server"
    yield ""
    yield from _prose(_where(section))
    yield ""
    yield from _prose(
        f"{section['callers']} callers create pods of {section['bytes'] / 1024:.0f} KiB at Kubernetes {section['kubernetes']}, "
        f"in turn without a webhook, with Gatehouse and with {REFERENCE}. "
        f"Medians of {section['rounds']} rounds of {section['count']} creates."
    )
    for scene in section["scenes"]:
        yield ""
        yield from _prose(f"**{scene['name']}**: {scene['what']}.")
        yield ""
        yield from _table("webhook", "creates per s", "p50 ms", "p99 ms", "processor µs of the webhook per create")
        for name, row in scene["results"].items():
            spent = f"{row['processor_us']:.0f}" if row["processor_us"] else ""
            yield f"| {name} | {row['rate']:.0f} | {row['p50_ms']:.1f} | {row['p99_ms']:.1f} | {spent} |"


def caches(section: Json) -> Iterator[str]:
    """The chapter of the watch caches."""
    yield "## Watch caches"
    yield ""
    yield from _prose(_where(section))
    yield ""
    yield from _prose(
        "A process that only follows one kind, ours and one on controller-runtime (typed objects, Protobuf, a transform that "
        "drops what no rule reads), from its first request until it has everything. Medians of "
        f"{section['rounds']} rounds. Then changes are written while both follow. "
        "Behind: from the last answered write until it is heard of."
    )
    yield ""
    figures = (
        "sync s",
        "×",
        "RSS MiB",
        "×",
        "PSS MiB",
        "processor s to sync",
        "of the API server s",
        "writes per s",
        "µs per event",
        "×",
        "behind s",
    )
    yield from _table("objects", "KiB each", "cache", *figures)
    for row in section["results"]:
        for name in (GATEHOUSE.name, REFERENCE):
            own, ratios = row["caches"][name], row["ratios"] if name == GATEHOUSE.name else None
            what = [f"{row['objects']:,} {row['kind']}", f"{row['bytes'] / 1024:.1f}"] if ratios else ["", ""]
            cells = [
                *(*what, name, f"{own['sync_s']:.2f}", _ratio(ratios, "sync_s")),
                *(f"{own['resident_mib']:.0f}", _ratio(ratios, "resident_mib"), f"{own['proportional_mib']:.0f}"),
                *(f"{own['processor_s']:.2f}", f"{own['server_s']:.2f}", f"{row['writes_per_s']:.0f}" if ratios else ""),
                *(f"{own['event_us']:.0f}", _ratio(ratios, "event_us"), f"{own['behind_s']:.2f}"),
            ]
            yield "| " + " | ".join(cells) + " |"


def _table(*heads: str) -> Iterator[str]:
    yield "| " + " | ".join(heads) + " |"
    yield "| --- " * len(heads) + "|"


def _prose(text: str) -> list[str]:
    return textwrap.wrap(text, 130, break_long_words=False, break_on_hyphens=False)


def _ratio(ratios: Json | None, figure: str) -> str:
    return f"{ratios[figure]:.2f}" if ratios else ""


def _where(section: Json) -> str:
    machine = section["machine"]
    return (
        f"{section['date']}, {machine['processor']}, {machine['cores']} cores, Linux {machine['kernel']}, "
        f"Python {machine['python']}, load average before: {machine['load_average_before']}."
    )


def _rows(section: Json) -> dict[tuple[str, int, str], Json]:
    return {(row["case"], row["callers"], row["contender"]): row for row in section["results"]}


def _lines(lines: Iterator[str]) -> str:
    return "\n".join(lines) + "\n"


def main(arguments: Sequence[str]) -> int:
    """Render, or only look."""
    if "--check" not in arguments:
        render()
        return 0
    found = stale()
    for path in found:
        print(f"{path.relative_to(ROOT)} is not what docs/performance.json says: run `make performance-pages`", file=sys.stderr)
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
