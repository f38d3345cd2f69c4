"""No link leads nowhere, and no page is without a way to it."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.docs.pages import PAGES, ROOT, anchors, links, name_of

# An address that is shown as an example leads nowhere on purpose.
EXAMPLES = ("example.com", "localhost")


def fault(page: Path, link: str) -> str | None:
    """What is wrong with *link* on *page*. Of an address elsewhere only its form is judged: these tests have no network."""
    parts = urlsplit(link)
    if parts.scheme:
        host = parts.hostname or ""
        sound = parts.scheme == "https" and ("." in host or host in EXAMPLES) and " " not in link
        return None if sound else "is no address that begins with https://"
    target = page if not parts.path else (page.parent / parts.path).resolve()
    if not target.is_relative_to(ROOT) or not target.exists():
        return "leads nowhere"
    if parts.fragment and parts.fragment not in anchors(target):
        return f"{name_of(target)} has no heading #{parts.fragment}"
    return None


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_link_of_a_page_leads_somewhere(page: Path) -> None:
    faults = [f"{link}: {found}" for link in links(page) if (found := fault(page, link))]

    assert faults == []


def test_every_page_can_be_reached_from_the_readme() -> None:
    reached, todo = set(), [ROOT / "README.md"]
    while todo:
        page = todo.pop()
        if page in reached:
            continue
        reached.add(page)
        targets = [(page.parent / urlsplit(link).path).resolve() for link in links(page) if not urlsplit(link).scheme]
        todo += [target for target in targets if target in PAGES]

    assert sorted(name_of(page) for page in set(PAGES) - reached) == []


@pytest.mark.parametrize("link", ["nowhere.md", "README.md#nothing", "http://example.com", "../outside.md"])
def test_what_leads_nowhere_is_found(link: str) -> None:
    assert fault(ROOT / "README.md", link) is not None
