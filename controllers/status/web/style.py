"""Colours and layout of the page: one style sheet inside it, known to the policy by its hash.

Two palettes, by the reader's own setting. What a colour says is said in a word and a sign, too; each text keeps a contrast of
4.5 to its ground (WCAG 2.2, 1.4.3; a test computes it from the palettes). Below NARROW a row of a table becomes a block in
which each value stands beside its column's title: nothing is wider than a phone.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from hashlib import sha256
from typing import Final

NARROW: Final = "44rem"

LIGHT: Final[Mapping[str, str]] = {
    "ground": "#f4f6f8",
    "panel": "#ffffff",
    "ink": "#1b2129",
    "soft": "#55606c",
    "line": "#d5dbe2",
    "link": "#0a55b0",
    "ok": "#14642d",
    "ok-wash": "#e4f5e9",
    "attention": "#7a4a00",
    "attention-wash": "#fff1d0",
    "bad": "#a3142a",
    "bad-wash": "#ffe6e9",
    "ok-rim": "#2b9a4c",
    "attention-rim": "#d68b00",
    "bad-rim": "#d3263f",
}
DARK: Final[Mapping[str, str]] = {
    "ground": "#0e1217",
    "panel": "#171c23",
    "ink": "#e4eaf1",
    "soft": "#9fabb8",
    "line": "#313943",
    "link": "#85bdff",
    "ok": "#74da93",
    "ok-wash": "#13291b",
    "attention": "#f3bf5f",
    "attention-wash": "#2e2412",
    "bad": "#ff9ca6",
    "bad-wash": "#381b20",
    "ok-rim": "#3fae62",
    "attention-rim": "#d9a03a",
    "bad-rim": "#f0596b",
}
# Which text stands on which ground: what the contrast is held for.
TEXTS: Final = (
    *((text, ground) for text in ("ink", "soft", "link", "ok", "attention", "bad") for ground in ("ground", "panel")),
    *((level, f"{level}-wash") for level in ("ok", "attention", "bad")),
)


def _variables(palette: Mapping[str, str]) -> str:
    return "".join(f"--{name}:{value};" for name, value in palette.items())


CSS: Final = (
    f":root{{color-scheme:light dark;{_variables(LIGHT)}}}"
    f"@media (prefers-color-scheme:dark){{:root{{{_variables(DARK)}}}}}"
    """
* {box-sizing: border-box}
body {margin: 0; background: var(--ground); color: var(--ink);
  font: 0.9375rem/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif}
a {color: var(--link)}
a:focus-visible {outline: 2px solid var(--link); outline-offset: 2px}
header, main, footer {max-width: 80rem; margin: 0 auto; padding: 0 1.25rem; overflow-wrap: break-word}
bdi {overflow-wrap: anywhere}
time {white-space: nowrap}
header {display: flex; flex-wrap: wrap; gap: .25rem 1.5rem; align-items: baseline; justify-content: space-between;
  padding-top: 1.25rem}
h1 {font-size: 1.375rem; line-height: 1.25; margin: 0}
h1 small {font-weight: 400; font-size: .9375rem; color: var(--soft); margin-left: .375rem}
h2 {font-size: 1.0625rem; line-height: 1.3; margin: 0 0 .5rem}
p {margin: 0 0 .5rem}
nav ul, .facts, .checks {list-style: none; margin: 0; padding: 0}
nav ul {display: flex; flex-wrap: wrap; gap: .25rem 1rem}
nav a {display: inline-block; padding: .25rem 0}
nav a[aria-current] {color: var(--ink); font-weight: 600; text-decoration: none}
header p, header nav {color: var(--soft); margin: 0; font-size: .875rem}
header nav ul::before {content: "Refresh"; padding: .25rem 0}
.answers {display: grid; grid-template-columns: repeat(4, minmax(0, 1fr)); gap: 1rem; margin: 1rem 0}
.answer, .section {background: var(--panel); border: 1px solid var(--line); border-radius: .5rem; padding: 1rem}
.answer {border-top: 4px solid var(--rim, var(--line))}
.answer h2 {font-size: .875rem; font-weight: 600; color: var(--soft); margin-bottom: .25rem}
.headline {display: flex; gap: .5rem; align-items: flex-start; font-size: 1.1875rem; line-height: 1.3; font-weight: 650}
.facts {font-size: .875rem; color: var(--soft)}
.facts li {padding: .125rem 0}
.answer.bad .facts, .answer.attention .facts {color: var(--ink)}
.ok {--edge: var(--ok); --wash: var(--ok-wash); --rim: var(--ok-rim)}
.attention {--edge: var(--attention); --wash: var(--attention-wash); --rim: var(--attention-rim)}
.bad {--edge: var(--bad); --wash: var(--bad-wash); --rim: var(--bad-rim)}
.sections {margin: 0 0 1rem; font-size: .875rem}
.section {margin: 0 0 1rem; scroll-margin-top: .5rem}
.section > p, .section > .facts {color: var(--soft); font-size: .875rem}
.badge, .sign {color: var(--edge, var(--soft)); background: var(--wash, transparent); font-weight: 600;
  border: 1px solid var(--wash, var(--line))}
.badge {display: inline-flex; gap: .375rem; align-items: baseline; padding: 0 .5rem; border-radius: .25rem;
  font-size: .875rem}
.sign {flex: none; display: inline-flex; align-items: center; justify-content: center; width: 1.5rem; height: 1.5rem;
  border-radius: 50%; font-size: .9375rem; line-height: 1}
table {border-collapse: collapse; width: 100%}
.facts + table, p + table, table + table {margin-top: .75rem}
caption {text-align: left; color: var(--soft); font-size: .875rem; padding-bottom: .375rem}
th, td {text-align: left; vertical-align: top; padding: .375rem 1.25rem .375rem 0; border-top: 1px solid var(--line)}
th:last-child, td:last-child {padding-right: 0}
thead th {font-size: .8125rem; font-weight: 600; color: var(--soft); border-top: 0; white-space: nowrap}
tbody th {font-weight: 600}
.number {text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap}
th small, td small {display: block; color: var(--soft); font-weight: 400; font-size: .8125rem}
code {font: .875em/1.4 ui-monospace, SFMono-Regular, Menlo, "DejaVu Sans Mono", monospace}
.checks {display: flex; flex-wrap: wrap; gap: .375rem}
meter {width: 7rem; height: .75rem; vertical-align: middle; margin-right: .5rem}
.more {margin: .5rem 0 0}
footer {color: var(--soft); font-size: .875rem; padding-bottom: 2rem}
.spoken {position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%)}
@media (max-width: 68rem) {.answers {grid-template-columns: repeat(2, minmax(0, 1fr))}}
"""
    f"@media (max-width: {NARROW}) {{"
    """
header, main, footer {padding-left: .75rem; padding-right: .75rem}
.answers {grid-template-columns: minmax(0, 1fr); gap: .625rem}
.answer, .section {padding: .75rem}
table, caption, tbody, td, tbody th {display: block}
thead {position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%)}
tbody tr {display: grid; grid-template-columns: repeat(3, minmax(0, 1fr)); border-top: 1px solid var(--line); padding: .5rem 0}
tbody tr:last-child {padding-bottom: 0}
td, tbody th {border: 0; padding: .125rem 0; grid-column: 1 / -1}
td {display: grid; grid-template-columns: 6rem minmax(0, 1fr); gap: .5rem}
td::before {content: attr(data-label); color: var(--soft); font-size: .875rem}
td.number {text-align: left}
.figures td.number {display: block; grid-column: auto}
.figures td.number::before {display: block}
td.empty {display: none}
.figures td.number.empty {display: block}
nav a {padding: .375rem 0}
}
"""
)
# The only style that the policy lets in (Content Security Policy 3, hash sources).
CSS_HASH: Final = f"sha256-{b64encode(sha256(CSS.encode()).digest()).decode()}"
