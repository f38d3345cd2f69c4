"""The committed figures, what is made of them, and when a change of them is told."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Set
from pathlib import Path
from typing import Any

import attrs
import pytest

from tests.bench import page, results, schedule, targets
from tests.bench.contenders import BY_HAND, CONTENDERS, GATEHOUSE, PEER, REFERENCE
from tests.bench.measure import Sample
from tests.bench.picture import picture
from tests.bench.report import Row
from tests.bench.reviews import CASES, WORDS
from tests.bench.targets import RATIOS

MARKED = f"# Title\n\n{page.BEGIN}old\n{page.END}\nmore\n"


def sample(processor_us: float) -> Sample:
    return Sample(100, processor_us, 500, 1000, 2000, 1000.0, 50.0, 40.0)


def rows(ours_us: float, theirs_us: float, case: str = "node-20k") -> list[Row]:
    samples = {GATEHOUSE.name: [sample(ours_us)], PEER.name: [sample(theirs_us)]}
    return [Row(case, 20_000, 4, name, runs, samples) for name, runs in samples.items()]


def section(ours_us: float, theirs_us: float) -> dict[str, Any]:
    machine = {"processor": "A <fast> one", "cores": 2, "kernel": "6", "python": "3", "load_average_before": 0.0}
    measured = {
        "rounds": 7,
        "seconds": 0.8,
        "contenders": {GATEHOUSE.name: "we", PEER.name: "they"},
        "results": [row.as_json() for row in rows(ours_us, theirs_us)],
    }
    return results.stamped(measured, machine)


def test_the_pages_are_what_the_committed_figures_make() -> None:
    assert page.stale() == [], "run `make performance-pages`"


def test_other_figures_make_other_pages() -> None:
    before = page.rendered({"admissions": section(200, 1000)}, MARKED)
    after = page.rendered({"admissions": section(300, 1000)}, MARKED)

    assert before[page.README] != after[page.README]
    assert before[page.PAGE] != after[page.PAGE]


def test_rendering_again_changes_nothing() -> None:
    document = {"admissions": section(200, 1000)}
    once = page.rendered(document, MARKED)[page.README]

    assert page.rendered(document, once)[page.README] == once
    assert once.startswith("# Title\n\n") and once.endswith("\nmore\n")


def test_a_readme_without_marks_is_not_written_to() -> None:
    with pytest.raises(ValueError, match="no section between"):
        page.rendered({"admissions": section(200, 1000)}, "# Title\n")


def test_a_missed_target_is_shown_as_missed() -> None:
    text = page.rendered({"admissions": section(900, 1000)}, MARKED)[page.PAGE]

    line = next(
        line for line in text.splitlines() if line.startswith("| node of 20 KiB keeps its pods, 4 callers: processor time")
    )
    assert line.endswith("| 0.9 × | **missed** |")


def test_creates_have_a_table_for_each_scene_and_a_target() -> None:
    run = {"rate": 300.0, "p50_ms": 9.0, "p99_ms": 20.0, "processor_us": 0.0}
    slower = run | {"p99_ms": 28.0, "processor_us": 700.0}
    pairs = {"rate": 1.0, "p50_ms": 1.0, "p99_ms": 1.4, "p99_beyond_ms": 6.0}
    measured = {"none": run, GATEHOUSE.name: slower, PEER.name: slower}
    creates = {
        "kubernetes": "v1",
        "callers": 8,
        "rounds": 9,
        "count": 500,
        "bytes": 4096,
        "scenes": [
            {"name": "sidecar", "what": "a sidecar", "results": measured, "pairs": {GATEHOUSE.name: pairs, PEER.name: pairs}}
        ],
    }

    text = page.rendered({"admissions": section(200, 1000), "creates": section(1, 1) | creates}, MARKED)[page.PAGE]

    assert "| gatehouse | 300 | 1.00 | 9.0 | 1.00 | 28.0 | 1.40 | 700 |" in text
    target = next(line for line in text.splitlines() if line.startswith("| pod creates at a real API server"))
    assert target.endswith("| ≤ 5 ms | 6 ms | **missed** |")


def test_caches_have_two_lines_for_each_size_and_targets() -> None:
    memory = ("resident_mib", "proportional_mib", "later_resident_mib", "later_proportional_mib")
    cache = dict.fromkeys(("sync_s", "processor_s", "server_s", *memory, "event_us", "behind_s"), 1.0)
    row = {"kind": "nodes", "objects": 5000, "bytes": 10240.0, "rounds": 7, "writes_per_s": 200.0}
    row |= {"caches": {GATEHOUSE.name: cache, PEER.name: cache}, "ratios": cache | {"sync_s": 0.5, "resident_mib": 0.5}}
    caches = section(1, 1) | {"bursts": 7, "burst": 200, "later_s": 20.0, "results": [row]}

    text = page.rendered({"admissions": section(200, 1000), "caches": caches}, MARKED)[page.PAGE]

    assert "| 5,000 nodes | 10.0 | gatehouse | 1.00 | 0.50 |" in text
    assert "| cache of 5,000 nodes: time to sync to that of client-go's | ≤ 0.7 × | 0.5 × | met |" in text
    assert "| cache of 5,000 nodes: memory to that of client-go's | ≤ 0.6 × | 1 × | **missed** |" in text


def test_the_picture_is_xml_with_a_bar_for_each_case() -> None:
    image = ElementTree.fromstring(picture(section(200, 1000)))

    bars = [one for one in image if one.get("class") in ("ours", "over")]
    assert [bar.get("class") for bar in bars] == ["ours"]
    assert "0.20×" in " ".join(image.itertext())


def test_a_bar_beyond_its_target_has_another_colour() -> None:
    image = ElementTree.fromstring(picture(section(900, 1000)))

    assert [one.get("class") for one in image if one.get("class") in ("ours", "over")] == ["over"]


@pytest.mark.parametrize(("now", "factor"), [(200, 1.0), (250, 1.25), (400, 2.0)])
def test_a_change_is_the_factor_between_ratios(now: float, factor: float) -> None:
    (change,) = results.changes(rows(now, 1000), section(200, 1000))

    assert change.factor == pytest.approx(factor)


@pytest.mark.parametrize(
    ("now", "code", "said"), [(248, 0, ""), (250, 0, "warning: node-20k"), (400, 1, "FAILED: node-20k"), (100, 0, "")]
)
def test_twice_as_bad_fails_and_a_quarter_warns(now: float, code: int, said: str) -> None:
    heard: list[str] = []

    assert results.judged(rows(now, 1000), section(200, 1000), lambda doubtful: rows(now, 1000), heard.append) == code

    told = [line for line in heard if line.startswith(("warning", "FAILED"))]
    assert [line[: len(said)] for line in told] == ([said] if said else [])


def test_what_is_worse_is_noted_for_whoever_repeats_it(tmp_path: Path) -> None:
    heard: list[str] = []
    noted = tmp_path / "warnings"
    noted.write_text("of before\n")

    results.judged(rows(250, 1000), section(200, 1000), lambda _: rows(250, 1000), results.noting(noted, heard.append))

    of_before, warning = noted.read_text().splitlines()
    assert of_before == "of before"
    assert warning.startswith("bench: warning: node-20k, 4 callers") and warning.removeprefix("bench: ") in heard
    assert len(heard) > 1


def test_nothing_is_noted_where_nothing_is_worse(tmp_path: Path) -> None:
    noted = tmp_path / "warnings"

    assert results.judged(rows(200, 1000), section(200, 1000), lambda _: [], results.noting(noted, lambda line: None)) == 0

    assert not noted.exists()


def test_what_was_bad_by_chance_is_measured_again_before_it_is_judged() -> None:
    asked: list[set[tuple[str, int]]] = []

    def again(doubtful: Set[tuple[str, int]]) -> list[Row]:
        asked.append(set(doubtful))
        return rows(210, 1000)

    assert results.judged(rows(900, 1000), section(200, 1000), again, lambda line: None) == 0
    assert asked == [{("node-20k", 4)}]


def test_a_case_without_committed_figures_fails_and_says_what_to_run() -> None:
    heard: list[str] = []

    assert results.judged(rows(200, 1000, "slice-100"), section(200, 1000), lambda doubtful: [], heard.append) == 1
    assert results.judged(rows(200, 1000), {}, lambda doubtful: [], heard.append) == 1

    assert all("run `make performance`" in line for line in heard) and "slice-100, 4 callers" in heard[0]


@pytest.mark.parametrize(("callers", "figure"), [(64, "rps"), (4, "resident_mib")])
def test_throughput_of_crowds_and_memory_are_compared_too(callers: int, figure: str) -> None:
    ours, theirs = Sample(100, 1, 500, 1000, 2000, 1000.0, 50.0, 40.0), Sample(100, 1, 500, 1000, 2000, 1000.0, 50.0, 40.0)
    half = attrs.evolve(ours, rps=500.0, resident_mib=100.0)

    def measured(own: Sample) -> Row:
        return Row("small-3k", 1, callers, GATEHOUSE.name, [own], {GATEHOUSE.name: [own], PEER.name: [theirs]})

    found = {one.figure: one.factor for one in results.changes([measured(half)], {"results": [measured(ours).as_json()]})}

    assert found == {"processor_us": pytest.approx(1.0), figure: pytest.approx(2.0)}


def test_the_committed_figures_have_all_that_the_short_form_measures() -> None:
    committed = results.read()["admissions"]
    for step in schedule.short().steps:
        samples = {one.name: [sample(200)] for one in step.contenders}
        measured = [Row(step.case, 1, step.callers, name, runs, samples) for name, runs in samples.items()]

        assert results.uncommitted(measured, committed) == []


def test_figures_that_are_not_known_are_dashes() -> None:
    measured = section(200, 1000)
    for row in measured["results"]:
        row["medians"]["p99_us"] = None
        for ratios in row["ratios"].values():
            ratios["p99_us"] = None

    pages = page.rendered({"admissions": measured}, MARKED)

    assert "| – | – |" in pages[page.README] and "| – | – |" in pages[page.PAGE]
    assert not [one for one in targets.verdicts({"admissions": measured}) if "p99" in one.what]


def test_hand_written_patches_are_shown_without_a_target() -> None:
    samples = {GATEHOUSE.name: [sample(200)], PEER.name: [sample(1000)], BY_HAND.name: [sample(500)]}
    measured = section(200, 1000)
    measured["results"] = [Row("node-20k", 20_000, 4, name, runs, samples).as_json() for name, runs in samples.items()]

    pages = page.rendered({"admissions": measured}, MARKED)

    assert "| no target set | 0.4 × | |" in pages[page.PAGE]
    assert "| 0.20 | 0.20 | 0.40 |" in pages[page.PAGE]
    assert [one.get("class") for one in ElementTree.fromstring(pages[page.PICTURE])].count("hand") == 1


def test_throughput_of_a_crowd_is_taken_of_rounds_where_they_are_kept() -> None:
    measured = section(200, 1000) | {"throughput_64_to_4": {GATEHOUSE.name: {"ratio": 0.7, "between": [0.6, 0.9]}}}

    (found,) = [one for one in targets.verdicts({"admissions": measured}) if "with 64 callers to that with 4" in one.what]

    assert (found.value, found.met) == (0.7, False)


def test_enough_is_asked_where_a_target_is_a_p99() -> None:
    assert targets.needs_p99("node-20k", 4) and not targets.needs_p99("endpoints-1000", 4)


def test_every_case_has_words() -> None:
    assert list(WORDS) == list(CASES)


def test_a_slower_machine_is_no_change() -> None:
    (change,) = results.changes(rows(2000, 10_000), section(200, 1000))

    assert change.factor == pytest.approx(1.0)


def test_what_is_not_committed_is_not_compared() -> None:
    assert list(results.changes(rows(200, 1000, "small-3k"), section(200, 1000))) == []


def test_a_section_is_replaced_alone(tmp_path: Path) -> None:
    file = tmp_path / "performance.json"
    results.write("admissions", {"a": 1}, file)
    results.write("caches", {"b": 2}, file)

    results.write("admissions", {"a": 3}, file)

    assert results.read(file) == {"admissions": {"a": 3}, "caches": {"b": 2}}


def test_targets_name_cases_and_servers_that_are_measured() -> None:
    measured = {(step.case, step.callers, one.name) for step in schedule.whole().steps for one in step.contenders}

    for case, callers, _, reference, _ in RATIOS:
        assert {(case, callers, GATEHOUSE.name), (case, callers, reference)} <= measured


def test_every_case_is_measured_beside_the_peer() -> None:
    for step in schedule.whole().steps:
        assert {GATEHOUSE, PEER} <= set(step.contenders)
    assert {step.case for step in schedule.whole().steps} == set(CASES)
    assert set(schedule.whole().contenders) == set(CONTENDERS)


def test_the_short_form_compares_what_is_committed() -> None:
    whole = {(step.case, step.callers) for step in schedule.whole().steps}

    assert {(step.case, step.callers) for step in schedule.short().steps} <= whole
    assert {one.name for one in schedule.short().contenders} == {GATEHOUSE.name, REFERENCE}


def test_a_target_of_throughput_is_met_from_below_up() -> None:
    assert targets.Verdict("throughput", 0.8, 0.81, at_least=True).met
    assert not targets.Verdict("throughput", 0.8, 0.79, at_least=True).met
