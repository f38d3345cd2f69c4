"""The benchmark counts right, and leaves nothing running."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.bench import contenders, report, reviews, versions
from tests.bench.contenders import BARE, GATEHOUSE, ROOT, Place
from tests.bench.measure import MeasureError, Plan, Sample, measure
from tests.bench.report import Row, table
from tests.bench.usage import Usage, clock_s
from tests.cluster.processes import Process, Processes


def sample(processor_us: float, p99_us: int | None = 1000, rps: float = 1000.0) -> Sample:
    return Sample(100, processor_us, 500, p99_us, 2000, rps, 50.0, 40.0)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    place = Place(tmp_path)
    place.make(nodes=10, pods=10)
    return place


@pytest.fixture
def processes(tmp_path: Path) -> Iterator[Processes]:
    processes = Processes(tmp_path)
    yield processes
    for name in processes.names():
        processes.stop(name)


def test_a_ratio_is_that_of_neighbouring_runs() -> None:
    # Something else slowed the machine down in the second and third round, by different factors.
    ours, theirs = [sample(100), sample(300), sample(200)], [sample(200), sample(600), sample(400)]

    row = Row("small", 3072, 4, "ours", ours, {"ours": ours, "theirs": theirs})

    assert row.ratios("processor_us", "theirs") == [0.5, 0.5, 0.5]
    assert row.as_json()["ratios"]["theirs"]["processor_us"] == 0.5
    assert row.median("processor_us") == 200


def test_the_table_has_a_line_for_each_contender_and_one_ratio() -> None:
    ours, theirs = [sample(100)], [sample(200)]

    samples = {"ours": ours, "bare": theirs}
    text = table([Row("small", 3072, 4, name, samples[name], samples) for name in samples], "bare")

    _, _, first, second = text.splitlines()
    assert first.split()[:6] == ["small", "3.0", "4", "ours", "100", "0.50"]
    assert second.split()[:2] == ["bare", "200"]


def test_processor_time_of_descendants_counts() -> None:
    burn = "import time\nwhile time.process_time() < 0.3: pass\nprint('burnt', flush=True)\ntime.sleep(60)"
    outer = f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', {burn!r}])"
    with subprocess.Popen([sys.executable, "-c", outer], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None and parent.stdout.readline() == "burnt\n"

        usage = Usage.of(parent.pid)

        for pid in map(int, Path(f"/proc/{parent.pid}/task/{parent.pid}/children").read_text().split()):
            os.kill(pid, signal.SIGKILL)
    assert usage.processor_s >= 0.28
    assert usage.resident_mib > 5


def test_processor_time_is_finer_than_ticks_and_agrees_with_them() -> None:
    tick_s = 1.0 / os.sysconf("SC_CLK_TCK")
    burn = "import time\nwhile time.process_time() < 0.25: pass\nprint('burnt', flush=True)\ninput()"
    with subprocess.Popen([sys.executable, "-c", burn], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stdout.readline() == "burnt\n"

        spent_s = Usage.of(process.pid).processor_s

        fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
        process.kill()
    assert spent_s >= 0.25
    assert spent_s == pytest.approx((int(fields[11]) + int(fields[12])) * tick_s, abs=3 * tick_s)


def test_processor_time_of_children_that_were_waited_for_counts() -> None:
    burn = "import time\nwhile time.process_time() < 0.3: pass"
    outer = f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', {burn!r}])\nprint('done', flush=True)\ninput()"
    with subprocess.Popen([sys.executable, "-c", outer], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stdout.readline() == "done\n"

        assert Usage.of(process.pid).processor_s >= clock_s(process.pid) + 0.28

        process.kill()


def test_what_a_process_used_that_has_ended_is_not_known() -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait()

    with pytest.raises(ProcessLookupError):
        clock_s(process.pid)


def test_a_p99_of_too_few_is_left_out_and_has_no_ratio() -> None:
    ours, theirs = [sample(100, None), sample(100, 900)], [sample(200), sample(200)]
    samples = {"ours": ours, "theirs": theirs}

    row = Row("small", 3072, 4, "ours", ours, samples)

    assert row.as_json()["medians"]["p99_us"] is None
    assert row.as_json()["ratios"]["theirs"]["p99_us"] is None
    assert "–" in table([Row("small", 3072, 4, name, samples[name], samples) for name in samples], "theirs")


def test_the_lowest_and_highest_ratio_are_kept() -> None:
    ours, theirs = [sample(100), sample(300), sample(200)], [sample(200), sample(200), sample(200)]

    row = Row("small", 3072, 4, "ours", ours, {"ours": ours, "theirs": theirs}).as_json()

    assert row["ratios"]["theirs"]["processor_us"] == 1.0
    assert row["between"]["theirs"]["processor_us"] == [0.5, 1.5]


def test_throughput_of_a_crowd_is_compared_round_by_round() -> None:
    few, many = ([sample(1, rps=rate) for rate in rates] for rates in ((1000, 500, 1000), (900, 500, 100)))
    rows = [Row("small-3k", 1, callers, "ours", runs, {}) for callers, runs in ((4, few), (64, many))]

    assert report.scaling(rows) == {"ours": {"ratio": 0.9, "between": [0.1, 1.0]}}


def test_versions_are_read_from_where_they_are_pinned() -> None:
    text = (
        "go 1.26.0\nrequire sigs.k8s.io/controller-runtime v0.25.2\nrequire (\n\tk8s.io/api v0.37.2\n\tk8s.io/other v1.0.0\n)\n"
    )

    assert versions.modules(text) == {"sigs.k8s.io/controller-runtime": "0.25.2", "k8s.io/api": "0.37.2"}
    assert versions.of("cheroot") == f" {versions.installed()['cheroot']}"


def test_every_contender_is_measured_in_turn(place: Place, processes: Processes, tmp_path: Path) -> None:
    servers = [contenders.start(contender, place, processes) for contender in (GATEHOUSE, BARE)]
    plan = Plan(rounds=2, seconds=0.1, callers=2, ca_file=place.ca_file)

    samples = measure(reviews.variants("small-3k", 3), servers, plan, tmp_path, lambda line: None)

    assert {name: len(runs) for name, runs in samples.items()} == {"gatehouse": 2, "bare": 2}
    assert all(run.requests >= 40 and run.rps > 0 and run.resident_mib > 5 for runs in samples.values() for run in runs)


def test_a_wrong_answer_gives_no_figures(place: Place, processes: Processes, tmp_path: Path) -> None:
    server = contenders.start(GATEHOUSE, place, processes)
    plan = Plan(rounds=1, seconds=0.1, callers=1, ca_file=place.ca_file)
    review = reviews.Review("wrong", "/no-such-path", reviews.small().body, patched=False)

    with pytest.raises(MeasureError, match="status"):
        measure([review], [server], plan, tmp_path, lambda line: None)


def test_ctrl_c_ends_everything_that_was_started() -> None:
    command = [sys.executable, "-m", "tests.bench", "--case=small-3k", "--rounds=1000", "--server=gatehouse", "--server=bare"]
    bench = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True)
    try:
        assert bench.stderr is not None
        while "round 1 of" not in bench.stderr.readline():
            assert bench.poll() is None
        children = [Process.of(int(pid)) for pid in Path(f"/proc/{bench.pid}/task/{bench.pid}/children").read_text().split()]

        bench.send_signal(signal.SIGINT)
        bench.stderr.read()

        assert bench.wait(timeout=20) == 1
        assert len(children) >= 2
        end_s = time.monotonic() + 5
        while any(child.alive() for child in children) and time.monotonic() < end_s:
            time.sleep(0.02)
        assert not any(child.alive() for child in children)
    finally:
        with contextlib.suppress(ProcessLookupError):
            bench.kill()
        bench.wait()
        assert bench.stderr is not None
        bench.stderr.close()
