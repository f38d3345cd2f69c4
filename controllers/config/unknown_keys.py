"""What is said of a key that the configuration does not know: what was meant, where it belongs, or what there is."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence

from webhook.objects.faults import Path, dotted


def told(path: Path, known: Iterable[str], sections: Mapping[str, Sequence[str]]) -> str:
    """What is said of the key at the end of *path*, where *known* is known.

    sections: of the whole document, those in each: a section that stands in another one is told its place.
    """
    key = str(path[-1])
    belongs = [(top, key) for top, inside in sections.items() if key in inside] + ([(key,)] if key in sections else [])
    if len(path) <= 2 and belongs:
        return f"unknown key here: it is {' or '.join(map(dotted, belongs))}"
    folded = {name.lower(): name for name in known}
    close = difflib.get_close_matches(key.lower(), folded, n=1, cutoff=0.6)
    if close:
        return f"unknown key: did you mean {folded[close[0]]}?"
    return f"unknown key (known: {', '.join(sorted(folded.values()))})"
