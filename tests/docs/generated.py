"""Everything of the documentation that is generated, by the file that it belongs to."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Final

from tests.docs import diagrams, picture
from tests.docs.pages import ROOT
from tests.docs.references import configuration, crds, flags, labels, metrics, reasons

DOCS: Final = ROOT / "docs"
REFERENCE: Final = DOCS / "reference"
ARCHITECTURE: Final = DOCS / "architecture.md"
_MARKED: Final = "<!-- {name}: written by `make docs` -->\n"
_END: Final = "<!-- end -->\n"

FILES: Final[dict[Path, Callable[[], str]]] = {
    REFERENCE / "configuration.md": configuration.markdown,
    REFERENCE / "flags.md": flags.markdown,
    REFERENCE / "metrics.md": metrics.markdown,
    REFERENCE / "reasons.md": reasons.markdown,
    REFERENCE / "labels-and-annotations.md": labels.markdown,
    REFERENCE / "crds.md": crds.markdown,
    ARCHITECTURE: lambda: with_sections(ARCHITECTURE.read_text(), diagrams.sections()),
    DOCS / "pictures" / "first-minute.svg": picture.drawn,
}


def with_sections(page: str, sections: dict[str, str]) -> str:
    """*page* with what belongs between its markers, `<!-- NAME: written by … -->` and `<!-- end -->`."""
    for name, text in sections.items():
        marker = _MARKED.format(name=name)
        if page.count(marker) != 1:
            raise ValueError(f"docs/architecture.md must have the line {marker.strip()} once")
        page = re.sub(
            re.escape(marker) + ".*?" + re.escape(_END),
            lambda _, m=marker, t=text: f"{m}\n{t.strip()}\n\n{_END}",
            page,
            flags=re.S,
        )
    return page
