"""docs/sidecar-entries.md: its examples are entries, its defaults are the defaults, and it names every key."""

from __future__ import annotations

import re
from pathlib import Path

import attrs
import pytest

from webhook.objects import schema
from webhook.objects.documents import read_documents
from webhook.sidecars.entries import log_reader, source
from webhook.sidecars.entries.entry import AppWiring, Entry
from webhook.sidecars.entries.entry_reader import KEYS, MAX_CONTAINERS, MAX_VALUES
from webhook.sidecars.entries.placeholders import faults

TEXT = (Path(__file__).parents[4] / "docs" / "sidecar-entries.md").read_text()
BLOCKS = re.findall(r"```yaml\n(.*?)```", TEXT, re.S)
LABELLED = {"gatehouse.dev/sidecars": "true"}


def read(text: str) -> Entry:
    reading = source.read("shop", "tools", LABELLED, {"one": text})
    assert reading.faults == ()
    return reading.entries[0]


@pytest.mark.parametrize("block", BLOCKS, ids=range(len(BLOCKS)))
def test_every_example_is_an_entry(block: str) -> None:
    assert read(block)


def test_the_first_example_shows_every_key() -> None:
    (document,) = read_documents(BLOCKS[0], "example")

    assert set(document.value) == set(KEYS)


def test_its_choices_are_the_defaults() -> None:
    shown, plain = read(BLOCKS[0]), Entry("one", "shop", "tools", "one", "")
    choices = (
        "native_sidecar",
        "place",
        "init_place",
        "on_conflict",
        "if_refused",
        "repair",
        "overridable",
        "allow_host_network",
    )

    assert [getattr(shown, name) for name in choices] == [getattr(plain, name) for name in choices]
    assert attrs.evolve(shown.app, env=(), env_from=(), volume_mounts=()) == AppWiring()


def test_the_log_collector_is_shown_with_its_defaults() -> None:
    (document,) = read_documents(BLOCKS[1], "example")

    shown = document.value["logCollector"]

    assert log_reader.build(shown) == log_reader.build(shown["path"])


def test_the_table_has_every_key() -> None:
    rows = re.findall(r"^\| ((?:`\w+`(?:, )?)+) \|", TEXT.split("## Containers")[0], re.M)

    assert {key for row in rows for key in re.findall(r"\w+", row)} == set(KEYS)


def test_the_placeholders_of_the_table_are_those_that_exist() -> None:
    table = TEXT.split("## Placeholders")[1].split("\n- ")[0]
    shown = re.findall(r"`(\$\{\w[^`]+\})`", table)

    assert len(shown) == 12
    assert [list(faults(text, in_app=True)) for text in shown] == [[]] * len(shown)


def test_limits_and_versions_are_as_it_says() -> None:
    assert f"at most {MAX_CONTAINERS} containers, {MAX_VALUES:,} values\nand {source.MAX_TEXT_BYTES // 1024} KiB" in TEXT
    assert f"up to {log_reader.MAX_FILES} files" in TEXT and f"user {log_reader.NOBODY}" in TEXT
    assert f"Kubernetes {'.'.join(schema.version().split('.')[:2])}" in TEXT


def test_the_faults_of_the_page_are_told_so() -> None:
    text = BLOCKS[0].replace("\"${pod.annotations['proxy.example.com/admin-port']:-9901}\"", '"80"')
    text = text.replace("onConflict: Keep ", "onConflict: Keeep ")

    told = [fault.told() for fault in source.read("shop", "tools", LABELLED, {"proxy": text}).faults]

    assert [re.sub(r"\d+", "", line, count=1) for line in told] == [
        re.sub(r"\d+", "", line, count=1) for line in re.findall(r"^line \d+, .*", TEXT, re.M)
    ]
