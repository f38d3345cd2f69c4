"""The pages made from docs/performance.json: `python -m tests.bench.page` renders them, `--check` says whether they are stale.

docs/performance.md has everything, docs/pictures/performance.svg the picture, the README a short section between two marks.
`rendered` is pure. Exit codes: 0 fine, 1 stale.
"""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.bench import results, targets
from tests.bench.contenders import BY_HAND, GATEHOUSE, REFERENCE, ROOT
from tests.bench.picture import picture
from tests.bench.reviews import WORDS
from tests.bench.targets import PROCESSOR, Verdict
from webhook.objects.meta import Json

README, PAGE, PICTURE = ROOT / "README.md", ROOT / "docs" / "performance.md", ROOT / "docs" / "pictures" / "performance.svg"
BEGIN, END = "<!-- performance: made by `make performance` -->\n", "<!-- performance: end -->\n"
# The README's rows.
_SHOWN = ("small-3k", "inject-4k", "inject-11k", "inject-60k", "validate-11k", "node-20k", "endpoints-20", "endpoints-1000")


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
    yield _conclusion(rows)
    yield ""
    yield f"Beside a webhook with the same rules on {REFERENCE} (Go, [tests/bench/peer](tests/bench/peer)), 4 callers:"
    yield ""
    yield from _table("review", "processor ms", "of the peer's", "of hand-written patches", "p99 ms", "of the peer's")
    for case in _SHOWN:
        if (row := rows.get((case, 4, GATEHOUSE.name))) and REFERENCE in row["ratios"]:
            ratios, medians = row["ratios"][REFERENCE], row["medians"]
            by_hand = row["ratios"].get(BY_HAND.name)
            second, apart = (f"{found:.2f}×" if found else "–" for found in (by_hand and by_hand[PROCESSOR], ratios["p99_us"]))
            yield (
                f"| {WORDS[case]} | {_ms(medians[PROCESSOR])} | {ratios[PROCESSOR]:.2f}× | {second} | "
                f"{_ms(medians['p99_us'])} | {apart} |"
            )
    yield ""
    found = targets.verdicts(document)
    missed = [one for one in found if not one.met]
    yield (f"{len(found) - len(missed)} of {len(found)} targets are met{', and these are not:' if missed else '.'}")
    yield ""
    for one in missed:
        yield f"- {one.what}: {one.value:.3g} {one.unit} (target {one.limit:.4g})"
    if missed:
        yield ""
    yield (
        "Everything that was measured, and how: [docs/performance.md](docs/performance.md); why the rest is missed: "
        "[docs/profiling.md](docs/profiling.md). " + _where(section)
    )


def _conclusion(rows: dict[tuple[str, int, str], Json]) -> str:
    own = [row["ratios"] for case in _SHOWN if (row := rows.get((case, 4, GATEHOUSE.name)))]
    processor = [ratios[REFERENCE][PROCESSOR] for ratios in own if REFERENCE in ratios]
    by_hand = [ratios[BY_HAND.name][PROCESSOR] for ratios in own if BY_HAND.name in ratios]
    memory = [ratios[REFERENCE]["resident_mib"] for ratios in own if REFERENCE in ratios]
    if not processor:
        return "Nothing was measured beside the peer."
    second = f" ({_span(by_hand)} where its patches are written by hand)" if by_hand else ""
    return (
        f"A review takes {_span(processor)} of the processor time of the same webhook in Go{second}, "
        f"and {_span(memory)} of its resident memory."
    )


def _span(values: Sequence[float]) -> str:
    return f"{min(values):.2f}–{max(values):.2f}×"


def _page(document: Json) -> Iterator[str]:
    yield "# What an admission costs"
    yield ""
    yield from _prose(_conclusion(_rows(document["admissions"])))
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
    for what, value in targets.untargeted(document["admissions"]):
        yield f"| {what} | no target set | {value:.3g} × | |"
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
        f"Every server runs all the time; they are asked in turn and back, {section['rounds']} runs of "
        f"{section['seconds']:g} s each, as kube-apiserver asks: HTTP/1.1, kept TLS connections, an unrestricted pool. "
        "Sixteen reviews about different objects are sent in turn. A ratio is the median of the ratios of runs of the same "
        "round. Times are milliseconds; a p99 of fewer than 200 admissions is left out. Processor time is user and system time "
        f"of the server and its descendants; × is the ratio to {REFERENCE}, × by hand that to the same with hand-written "
        "patches. Before anything is timed the answers are compared: what they make of the object must be the same. "
        "`/pod-ip` writes to an API server: `make bench-creates` compares it."
    )
    yield ""
    for name, what in section["contenders"].items():
        yield f"- **{name}**: {what}"
    yield ""
    yield from _prose(
        f"What {REFERENCE} runs is [pods.go](../tests/bench/peer/pods.go), [edge.go](../tests/bench/peer/edge.go) and "
        f"[main.go](../tests/bench/peer/main.go). {_memory(section)}"
    )
    yield ""
    figures = ("processor", "×", "× by hand", "p50", "×", "p99", "×", "max", "per s", "×", "RSS MiB", "×", "PSS MiB")
    yield from _table("case", "KiB", "callers", "server", *figures)
    last = None
    for row in section["results"]:
        first, last = (row["case"], row["callers"]) != last, (row["case"], row["callers"])
        yield "| " + " | ".join(_cells(row, first)) + " |"


def _cells(row: Json, first: bool) -> Iterator[str]:
    yield from (WORDS[row["case"]], f"{row['bytes'] / 1024:.1f}", str(row["callers"])) if first else ("", "", "")
    medians, ratios = row["medians"], row["ratios"].get(REFERENCE)
    yield row["contender"]
    for figure in (PROCESSOR, "p50_us", "p99_us"):
        yield _ms(medians[figure])
        yield _ratio(ratios, figure)
        if figure == PROCESSOR:
            yield _ratio(row["ratios"].get(BY_HAND.name), figure)
    yield _ms(medians["max_us"])
    yield f"{medians['rps']:.0f}"
    yield _ratio(ratios, "rps")
    yield f"{medians['resident_mib']:.0f}"
    yield _ratio(ratios, "resident_mib")
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
        f"Medians of {section['rounds']} rounds of {section['count']} creates; × is the median of the ratios to the run "
        "without a webhook of the same round. The callers are threads of one Python process, whose own time is in every figure."
    )
    for scene in section["scenes"]:
        yield ""
        yield from _prose(f"**{scene['name']}**: {scene['what']}.")
        yield ""
        yield from _table(
            "webhook", "creates per s", "×", "p50 ms", "×", "p99 ms", "×", "processor µs of the webhook per create"
        )
        for name, row in scene["results"].items():
            spent = f"{row['processor_us']:.0f}" if row["processor_us"] else ""
            pairs = scene["pairs"].get(name)
            cells = [
                *(name, f"{row['rate']:.0f}", _ratio(pairs, "rate"), f"{row['p50_ms']:.1f}", _ratio(pairs, "p50_ms")),
                *(f"{row['p99_ms']:.1f}", _ratio(pairs, "p99_ms"), spent),
            ]
            yield "| " + " | ".join(cells) + " |"


def caches(section: Json) -> Iterator[str]:
    """The chapter of the watch caches."""
    yield "## Watch caches"
    yield ""
    yield from _prose(_where(section))
    yield ""
    yield from _prose(
        "A process that only follows one kind, ours and one on controller-runtime (typed objects, Protobuf, a transform that "
        "keeps the fields that ours keeps), from its first request until it has everything. They are started in pairs, as "
        "often as the last column says; a figure is a median, a ratio the median of the ratios of pairs. Memory is looked at "
        f"0.5 s after, and in one further pair {section['later_s']:g} s after (later), when Go has given back what it needed "
        "to sync: the target takes whichever ratio favours the peer. Then "
        f"{section['bursts']} bursts of {section['burst']} changes are written while both of that pair follow, and the figures "
        "are medians over bursts. Behind: from the last answered write until it is heard of; 0 when that is before the answer."
    )
    yield ""
    figures = (
        "sync s",
        "×",
        "RSS MiB",
        "×",
        "PSS MiB",
        "later: RSS MiB",
        "×",
        "PSS MiB",
        "processor s to sync",
        "of the API server s",
        "writes per s",
        "µs per event",
        "×",
        "behind s",
        "rounds",
    )
    yield from _table("objects", "KiB each", "cache", *figures)
    for row in section["results"]:
        for name in (GATEHOUSE.name, REFERENCE):
            own, ratios = row["caches"][name], row["ratios"] if name == GATEHOUSE.name else None
            what = [f"{row['objects']:,} {row['kind']}", f"{row['bytes'] / 1024:.1f}"] if ratios else ["", ""]
            cells = [
                *(*what, name, f"{own['sync_s']:.2f}", _ratio(ratios, "sync_s")),
                *(f"{own['resident_mib']:.0f}", _ratio(ratios, "resident_mib"), f"{own['proportional_mib']:.0f}"),
                *(f"{own['later_resident_mib']:.0f}", _ratio(ratios, "later_resident_mib")),
                f"{own['later_proportional_mib']:.0f}",
                *(f"{own['processor_s']:.2f}", f"{own['server_s']:.2f}", f"{row['writes_per_s']:.0f}" if ratios else ""),
                *(f"{own['event_us']:.0f}", _ratio(ratios, "event_us"), f"{own['behind_s']:.3f}"),
                str(row["rounds"]) if ratios else "",
            ]
            yield "| " + " | ".join(cells) + " |"


def _table(*heads: str) -> Iterator[str]:
    yield "| " + " | ".join(heads) + " |"
    yield "| --- " * len(heads) + "|"


def _prose(text: str) -> list[str]:
    return textwrap.wrap(text, 130, break_long_words=False, break_on_hyphens=False)


def _ratio(ratios: Json | None, figure: str) -> str:
    if not ratios:
        return ""
    return "–" if ratios[figure] is None else f"{ratios[figure]:.2f}"


def _ms(microseconds: float | None) -> str:
    """In milliseconds, as many digits as mean something; a dash where nothing is known."""
    if microseconds is None:
        return "–"
    return f"{microseconds / 1000:.{2 if microseconds < 10_000 else 1}f}"


def _memory(section: Json) -> str:
    """What is to be said of memory, so that nobody takes it for an advantage."""
    own, peer = (_rows(section).get(("small-3k", 4, name)) for name in (GATEHOUSE.name, REFERENCE))
    if not own or not peer:
        return ""
    held, others = own["medians"], peer["medians"]
    word = "more" if held["resident_mib"] > others["resident_mib"] else "less"
    return (
        f"Gatehouse holds {word} memory than the peer: {held['resident_mib']:.0f} MiB resident beside "
        f"{others['resident_mib']:.0f} MiB after the first case, an interpreter and its modules included."
    )


def _where(section: Json) -> str:
    machine = section["machine"]
    return (
        f"{section['date']}, {machine['processor']}, {machine['cores']} cores, Linux {machine['kernel']}, "
        f"Python {machine['python']}, {_go(machine)}load average before: {machine['load_average_before']}{_end(section)}."
    )


def _go(machine: Json) -> str:
    return f"{machine['go'].replace('go', 'Go ')} (GOMAXPROCS {machine['gomaxprocs']}), " if machine.get("go") else ""


def _end(section: Json) -> str:
    if "load_average_after" not in section:
        return ""
    return f", at the end, its own load included: {section['load_average_after']}, after {section['elapsed_s']} s"


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
