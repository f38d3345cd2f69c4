"""The figures as a picture: an SVG of plain shapes, legible on light and on dark pages. Pure: sections in, text out.

One bar a case: how much of the peer's processor time Gatehouse needs; a tick where the target is; a diamond where the bar would
end if the peer's patches were written by hand.
"""

from __future__ import annotations

from collections.abc import Sequence
from xml.sax.saxutils import escape

from tests.bench.contenders import BY_HAND, GATEHOUSE, REFERENCE
from tests.bench.reviews import WORDS
from tests.bench.targets import PROCESSOR, RATIOS
from webhook.objects.meta import Json

_WIDTH, _LEFT, _RIGHT, _TOP, _STEP, _BAR = 960, 230, 270, 90, 30, 18
_TITLE = escape(f"Processor time per admission, beside the same webhook on {REFERENCE}")
_STYLE = """\
text { font: 13px system-ui, sans-serif; fill: #1f2328 } .small { font-size: 12px; fill: #59636e }
.title { font-size: 16px; font-weight: 600 } .page { fill: #ffffff } .track { fill: #eaeef2 }
.ours { fill: #0969da } .over { fill: #bc4c00 } .peer { stroke: #59636e; stroke-dasharray: 3 3 }
.target { stroke: #1a7f37; stroke-width: 3 } .hand { fill: #8250df }
@media (prefers-color-scheme: dark) {
text { fill: #f0f6fc } .small { fill: #9198a1 } .page { fill: #0d1117 } .track { fill: #262c36 }
.ours { fill: #4493f8 } .over { fill: #db6d28 } .peer { stroke: #9198a1 } .target { stroke: #3fb950 } .hand { fill: #ab7df8 }
}"""


def picture(section: Json, callers: int = 4) -> str:
    """The SVG of the section admissions."""
    peers = {row["case"]: row for row in section["results"] if row["contender"] == REFERENCE and row["callers"] == callers}
    rows = [
        row
        for row in section["results"]
        if row["contender"] == GATEHOUSE.name and row["callers"] == callers and row["case"] in peers
    ]
    shown = [row["ratios"][name][PROCESSOR] for row in rows for name in (REFERENCE, BY_HAND.name) if name in row["ratios"]]
    longest = max(1.2, *(ratio * 1.05 for ratio in shown))
    scale = (_WIDTH - _LEFT - _RIGHT) / longest
    bottom = _TOP + _STEP * len(rows)
    parts = [
        f'<text class="title" x="20" y="28">{_TITLE}</text>',
        '<text class="small" x="20" y="48">Shorter is better. Dashed: the peer. Green: the target. Orange: missed.</text>',
        '<text class="small" x="20" y="66">Diamond: the same beside the peer with hand-written patches (no target set).</text>',
    ]
    for number, row in enumerate(rows):
        parts += _bar(_TOP + _STEP * number, row, peers[row["case"]], scale)
    at = _LEFT + scale
    parts.append(f'<line class="peer" x1="{at:.1f}" x2="{at:.1f}" y1="{_TOP - 8}" y2="{bottom}"/>')
    date, machine = section["date"], section["machine"]
    note = (
        f"{date} · {machine['processor']}, {machine['cores']} cores · medians of {section['rounds']} runs, "
        f"{callers} callers · load average before: {machine['load_average_before']}"
    )
    parts.append(f'<text class="small" x="20" y="{bottom + 26}">{escape(note)}</text>')
    return _svg(parts, bottom + 44)


def _bar(y: int, row: Json, peer: Json, scale: float) -> Sequence[str]:
    ratio = row["ratios"][REFERENCE][PROCESSOR]
    limit = next(
        (most for case, _, figure, to, most in RATIOS if (case, figure, to) == (row["case"], PROCESSOR, REFERENCE)), None
    )
    kind = "over" if limit is not None and ratio > limit else "ours"
    text, base = f"{ratio:.2f}×  ({_time(row)} of {_time(peer)}){', missed' if kind == 'over' else ''}", y + _BAR - 4
    parts = [
        f'<text x="{_LEFT - 10}" y="{base}" text-anchor="end">{escape(WORDS[row["case"]])}</text>',
        f'<rect class="track" x="{_LEFT}" y="{y}" width="{_WIDTH - _LEFT - _RIGHT}" height="{_BAR}" rx="3"/>',
        f'<rect class="{kind}" x="{_LEFT}" y="{y}" width="{max(2.0, ratio * scale):.1f}" height="{_BAR}" rx="3"/>',
        f'<text x="{_WIDTH - _RIGHT + 12}" y="{base}">{escape(text)}</text>',
    ]
    if limit is not None:
        at = _LEFT + limit * scale
        parts.append(f'<line class="target" x1="{at:.1f}" x2="{at:.1f}" y1="{y - 3}" y2="{y + _BAR + 3}"/>')
    if BY_HAND.name in row["ratios"]:
        at, middle = _LEFT + row["ratios"][BY_HAND.name][PROCESSOR] * scale, y + _BAR / 2
        parts.append(f'<path class="hand" d="M{at:.1f} {middle - 7} l6 7 l-6 7 l-6 -7 z"/>')
    return parts


def _time(row: Json) -> str:
    microseconds = row["medians"][PROCESSOR]
    return f"{microseconds:.0f} µs" if microseconds < 1000 else f"{microseconds / 1000:.1f} ms"


def _svg(parts: Sequence[str], height: int) -> str:
    size = f'viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" height="{height}"'
    head, label = f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">', f"<title>{_TITLE}</title>"
    page = f'<rect class="page" width="{_WIDTH}" height="{height}" rx="8"/>'
    return "\n".join([head, label, f"<style>{_STYLE}</style>", page, *parts, "</svg>", ""])
