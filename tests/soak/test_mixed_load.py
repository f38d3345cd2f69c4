"""Half an hour of every kind of review while the watches are busy: memory, threads and tail stay as they are.

SOAK_MINUTES=5 makes it short. The curves are drawn into build/soak/mixed-load.svg, their figures beside it.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from tests.server.figures import Figures
from tests.soak import mixed_load
from tests.soak.curves import Line, Panel, picture
from tests.soak.mixed_load import Window

MINUTES = float(os.environ.get("SOAK_MINUTES", "30"))
OUTPUT = Path(__file__).parents[2] / "build" / "soak"
GROWTH_BELOW_MIB = 5.0  # after the first fifth, in which the allocator's arenas fill
TAIL_BELOW = 3.0  # times: other programs on the machine show in it


def test_half_an_hour_of_mixed_load_leaves_memory_threads_and_tail_flat(tmp_path: Path, figures: Figures) -> None:
    windows = mixed_load.run(MINUTES, tmp_path)

    OUTPUT.mkdir(parents=True, exist_ok=True)
    (OUTPUT / "mixed-load.svg").write_text(draw(windows))
    (OUTPUT / "mixed-load.json").write_text(mixed_load.as_json(windows))
    early, late = thirds(windows[len(windows) // 5 :])
    growth = median(one.resident_mib for one in late) - median(one.resident_mib for one in early)
    tails = {kind: tail(late, kind) / tail(early, kind) for kind in windows[0].p99_ms}
    last = windows[-1]
    figures.add(
        f"mixed load, {MINUTES:g} min, {last.rps:.0f} reviews/s, {last.writes_per_s:.0f} writes/s: {last.resident_mib:.0f} MiB",
        f"{growth:+.1f} MiB",
        f"< +{GROWTH_BELOW_MIB:g} MiB",
        growth < GROWTH_BELOW_MIB,
    )
    worst = max(tails, key=lambda kind: tails[kind])
    figures.add(
        f"p99 of the last third to the first: {worst}", f"{tails[worst]:.2f}x", f"< {TAIL_BELOW:g}x", tails[worst] < TAIL_BELOW
    )
    assert growth < GROWTH_BELOW_MIB
    assert {one.threads for one in late} == {one.threads for one in early}
    assert max(tails.values()) < TAIL_BELOW


def thirds(windows: Sequence[Window]) -> tuple[Sequence[Window], Sequence[Window]]:
    """The first and the last third."""
    third = max(1, len(windows) // 3)
    return windows[:third], windows[-third:]


def tail(windows: Sequence[Window], kind: str) -> float:
    """The usual p99 of one kind of review, in milliseconds."""
    return median(one.p99_ms[kind] for one in windows)


def draw(windows: Sequence[Window]) -> str:
    """The picture."""
    tails = [Line(kind, [one.p99_ms[kind] for one in windows]) for kind in windows[0].p99_ms]
    panels = (
        Panel("resident memory", "MiB", [Line("gatehouse", [one.resident_mib for one in windows])]),
        Panel("threads", "", [Line("gatehouse", [one.threads for one in windows])]),
        Panel("p99 by kind of review", "ms", tails),
        Panel("reviews a second", "/s", [Line("all kinds", [one.rps for one in windows])]),
        Panel("writes to the API server", "/s", [Line("nodes and pods", [one.writes_per_s for one in windows])]),
    )
    return picture("Mixed load with watch traffic", MINUTES, panels)


def test_a_picture_holds_each_curve() -> None:
    windows = [Window({"node": 1.0 + at, "pod": 2.0}, 10.0, 60.0, 20, 0.5, 30.0) for at in range(3)]

    drawn = draw(windows)

    assert drawn.count("<polyline") == 6
    assert "node" in drawn and "pod" in drawn
