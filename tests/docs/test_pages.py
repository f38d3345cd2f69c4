"""The page of a feature answers what everybody asks of one."""

from __future__ import annotations

import re

import pytest

from tests.docs.pages import ROOT
from tests.docs.picture import COMMANDS

FEATURES = ("edge-health", "sidecars", "pod-defaults", "pod-bounds", "pod-ip", "database-instance")
ASKED = {
    "what the problem is": r"the problem",
    "the smallest example": r"smallest example|five minutes",
    "what it does not do": r"never does|will not do|refuses to do|does not do",
    "how to see that it worked": r"see that it work|is it working",
    "how to switch it off": r"switch it off",
}


@pytest.mark.parametrize("asked", ASKED)
@pytest.mark.parametrize("feature", FEATURES)
def test_the_page_of_a_feature_has_a_heading_for(feature: str, asked: str) -> None:
    headings = re.findall(r"^#+ (.*)$", (ROOT / "docs" / f"{feature}.md").read_text(), re.M)

    assert any(re.search(ASKED[asked], heading.lower()) for heading in headings), headings


def test_the_readme_is_short_and_shows_the_picture() -> None:
    text = (ROOT / "README.md").read_text()

    assert len(text.splitlines()) <= 260
    assert "(docs/pictures/first-minute.svg)" in text


def test_the_picture_shows_every_command_and_is_drawn_from_text_alone() -> None:
    picture = (ROOT / "docs" / "pictures" / "first-minute.svg").read_text()  # test_generated holds it to what they print

    assert picture.count(">$ gatehouse ") == len(COMMANDS)
    assert "<image" not in picture
    assert "href" not in picture
