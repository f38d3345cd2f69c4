"""Measurements over time as a picture: panels of lines, in plain SVG that reads on light and on dark pages. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from xml.sax.saxutils import escape

import attrs

_WIDTH, _HEIGHT, _LEFT, _RIGHT, _TOP, _GAP = 860, 120, 90, 150, 60, 44
_COLOURS = ("#0969da", "#bc4c00", "#1a7f37", "#8250df", "#bf3989", "#59636e")
_STYLE = """\
text { font: 12px system-ui, sans-serif; fill: #1f2328 } .title { font-size: 16px; font-weight: 600 }
.page { fill: #ffffff } .frame { fill: none; stroke: #d1d9e0 } .line { fill: none; stroke-width: 1.5 }
@media (prefers-color-scheme: dark) { text { fill: #f0f6fc } .page { fill: #0d1117 } .frame { stroke: #3d444d } }"""


@attrs.frozen
class Line:
    """One curve; its points are evenly spaced in time."""

    name: str
    values: Sequence[float]


@attrs.frozen
class Panel:
    """Curves with one scale, from 0."""

    title: str
    unit: str
    lines: Sequence[Line]


def picture(title: str, minutes: float, panels: Sequence[Panel]) -> str:
    """The SVG text. minutes: how long it took, for the axis of time."""
    height = _TOP + len(panels) * (_HEIGHT + _GAP) + 10
    size = f'viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" height="{height}"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">',
        f"<title>{escape(title)}</title>",
        f"<style>{_STYLE}</style>",
        f'<rect class="page" width="{_WIDTH}" height="{height}" rx="8"/>',
        f'<text class="title" x="20" y="28">{escape(title)}</text>',
    ]
    for number, panel in enumerate(panels):
        parts += _panel(panel, _TOP + number * (_HEIGHT + _GAP), minutes)
    return "\n".join([*parts, "</svg>", ""])


def _panel(panel: Panel, top: int, minutes: float) -> Sequence[str]:
    most = max((value for line in panel.lines for value in line.values), default=0.0) * 1.1 or 1.0
    width, bottom = _WIDTH - _LEFT - _RIGHT, top + _HEIGHT
    parts = [
        f'<text x="{_LEFT}" y="{top - 6}">{escape(panel.title)}</text>',
        f'<rect class="frame" x="{_LEFT}" y="{top}" width="{width}" height="{_HEIGHT}"/>',
        f'<text x="{_LEFT - 8}" y="{top + 10}" text-anchor="end">{most:.4g} {escape(panel.unit)}</text>',
        f'<text x="{_LEFT - 8}" y="{bottom}" text-anchor="end">0</text>',
        f'<text x="{_LEFT + width}" y="{bottom + 15}" text-anchor="end">{minutes:.3g} min</text>',
    ]
    for number, line in enumerate(panel.lines):
        colour, step = _COLOURS[number % len(_COLOURS)], width / max(1, len(line.values) - 1)
        points = " ".join(
            f"{_LEFT + at * step:.1f},{bottom - value / most * _HEIGHT:.1f}" for at, value in enumerate(line.values)
        )
        parts.append(f'<polyline class="line" stroke="{colour}" points="{points}"/>')
        parts.append(
            f'<text x="{_LEFT + width + 10}" y="{top + 14 + 16 * number}" style="fill:{colour}">{escape(line.name)}</text>'
        )
    return parts
