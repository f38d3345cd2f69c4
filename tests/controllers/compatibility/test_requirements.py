"""Which Kubernetes each part needs, and that the page says the same."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from controllers.compatibility import requirements
from controllers.compatibility.requirements import DATABASES, POD_IP, REQUIREMENTS, TESTED, WEBHOOKS, read_version, unmet
from controllers.config.document import parse
from controllers.status.text import describe
from tests.cluster import binaries

HEAD = "apiVersion: gatehouse.dev/v1alpha1\nkind: GatehouseConfiguration\n"
PAGE = (Path(__file__).parents[3] / "docs" / "installation.md").read_text()


@pytest.mark.parametrize(
    ("answer", "text", "minor"),
    [
        ({"gitVersion": "v1.37.2", "major": "1", "minor": "37"}, "v1.37.2", (1, 37)),
        ({"gitVersion": "v1.34.2-eks-1a2b3c", "major": "1", "minor": "34+"}, "v1.34.2-eks-1a2b3c", (1, 34)),
        ({"gitVersion": "v1.33.1+k3s1", "major": "1", "minor": "33"}, "v1.33.1+k3s1", (1, 33)),
        ({"major": "1", "minor": "33+"}, "1.33+", (1, 33)),
        ({"gitVersion": "", "major": "1", "minor": "9"}, "1.9", (1, 9)),
        ({"gitVersion": "develop", "major": "1", "minor": "36"}, "develop", (1, 36)),
        ({"gitVersion": "develop"}, "develop", (0, 0)),
        ({"gitVersion": 137, "major": 1, "minor": None}, "", (0, 0)),
        ({}, "", (0, 0)),
        (None, "", (0, 0)),
        ([{"gitVersion": "v1.37.2"}], "", (0, 0)),
        ("v1.37.2", "", (0, 0)),
        ({"gitVersion": "v1.37." + "2" * 5_000_000}, "v1.37." + "2" * 58, (1, 37)),
    ],
)
def test_a_version_is_read_whatever_its_build_adds_and_never_guessed(answer: object, text: str, minor: tuple) -> None:
    assert read_version(answer) == (text, minor)


@pytest.mark.parametrize(
    ("minor", "lacking"),
    [
        ((1, 29), [WEBHOOKS, POD_IP, DATABASES]),
        ((1, 30), [POD_IP, DATABASES]),
        ((1, 31), [POD_IP, DATABASES]),
        ((1, 32), []),
        ((1, 100), []),
        ((2, 0), []),
        ((0, 0), []),
    ],
)
def test_what_a_version_is_too_old_for_is_told_by_number(minor: tuple, lacking: list) -> None:
    assert unmet(minor, REQUIREMENTS) == lacking


def test_only_what_is_configured_is_asked_for() -> None:
    features = "features: {podIP: {enabled: true}}\ncontrollers: {databaseInstance: {enabled: true}}\n"

    assert requirements.requirements_of(parse(HEAD, "c.yaml")) == [WEBHOOKS]
    assert requirements.requirements_of(parse(HEAD + features, "c.yaml")) == [WEBHOOKS, POD_IP, DATABASES]


def test_the_message_names_the_part_both_versions_and_what_it_means() -> None:
    said = requirements.told("v1.31.9", POD_IP)

    assert said.startswith("features.podIP needs Kubernetes 1.32, and the API server is v1.31.9: its kinds cannot be installed")


def test_the_page_has_the_same_table() -> None:
    rows = dict(re.findall(r"^\| `?([\w.]+)`?[^|]* \| (1\.\d+) \|", PAGE.partition("## Kubernetes versions")[2], re.M))

    assert rows == {one.part: requirements.text(one.minimum) for one in REQUIREMENTS}
    assert f"{requirements.text(TESTED[0])} to {requirements.text(TESTED[1])}" in PAGE


def test_every_version_that_is_called_tested_can_be_tested() -> None:
    first, last = TESTED

    assert list(binaries.VERSIONS) == [f"1.{minor}" for minor in range(first[1], last[1] + 1)]


def test_the_command_says_what_the_api_server_is_too_old_for() -> None:
    old = {"version": "v1.31.9", "tested": False, "tooOldFor": [{"part": "features.podIP", "minimum": "1.32"}]}

    assert "Kubernetes v1.31.9 is TOO OLD for features.podIP, which needs 1.32" in describe({"kubernetes": old}).splitlines()
    assert "TOO OLD" not in describe({"kubernetes": {"version": "v1.37.2", "tested": True, "tooOldFor": []}})
    assert "TOO OLD" not in describe({"kubernetes": None})
