"""What the pages show is true: commands run, configurations load, objects can be read; the rest stands in `elsewhere`."""

from __future__ import annotations

import ast
import json
import tomllib
from pathlib import Path
from typing import Any

import attrs
import pytest

from controllers.config.decoder import key_of
from controllers.config.document import Configuration, parse
from tests.docs import elsewhere
from tests.docs.pages import PAGES, Block, all_blocks, blocks, name_of
from tests.docs.running import Desk, commands, is_offline, is_printed
from webhook.names import API_VERSION, CONFIG_KIND
from webhook.objects.documents import read_documents

HEAD = f"apiVersion: {API_VERSION}\nkind: {CONFIG_KIND}\n"
SECTIONS = {key_of(field) for field in attrs.fields(Configuration)}
WITH_COMMANDS = [block for block in all_blocks("sh", "") if commands(block)]


def documents(block: Block) -> list[Any]:
    return [document.value for document in read_documents(block.text.encode(), str(block))]


def is_configuration(value: Any) -> bool:
    return isinstance(value, dict) and (value.get("kind") == CONFIG_KIND or set(value) <= SECTIONS)


def is_object(value: Any) -> bool:
    return isinstance(value, dict) and {"apiVersion", "kind", "metadata"} <= set(value)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_what_a_page_tells_the_reader_to_run_runs(page: Path, tmp_path: Path) -> None:
    found = blocks(page)
    if not any(block in WITH_COMMANDS and is_offline(block) for block in found):
        return
    desk, printed = Desk(tmp_path), ""
    for block in found:
        if block.file:
            desk.write(block)
        elif elsewhere.is_listed(block):
            continue
        elif block in WITH_COMMANDS and block.info == "sh" and is_offline(block):
            printed = desk.run(block)
        elif block.info == "text" and block.behind == "sh":
            assert is_printed(block.text, printed), f"{block}: printed was\n{printed}"


@pytest.mark.parametrize("block", all_blocks("yaml"), ids=str)
def test_a_block_of_yaml_is_a_configuration_or_objects_or_is_read_elsewhere(block: Block) -> None:
    if elsewhere.is_listed(block):
        return
    for value in documents(block):
        if is_configuration(value):
            parse(block.text if "kind" in value else HEAD + block.text, str(block))
        else:
            assert is_object(value), f"{block}: neither a configuration nor an object: list it in tests/docs/elsewhere.py"


def test_what_is_shown_as_json_toml_or_python_can_be_read_as_such() -> None:
    for block in all_blocks("json"):
        json.loads(block.text)
    for block in all_blocks("toml"):
        tomllib.loads(block.text)
    for block in all_blocks("python"):
        ast.parse(block.text, str(block))


def test_no_command_is_left_out() -> None:
    # A transcript is not run, since what it printed would have to come out again.
    left = [
        block for block in WITH_COMMANDS if not (block.info == "sh" and is_offline(block)) and not elsewhere.is_listed(block)
    ]

    assert [f"{block}: {block.text.splitlines()[0]}" for block in left] == [], "run nowhere, and not in tests/docs/elsewhere.py"


def test_blocks_have_a_kind_that_somebody_looks_after() -> None:
    kinds = {block.info for page in PAGES for block in blocks(page)}

    assert kinds <= {"", "sh", "text", "yaml", "json", "toml", "python", "mermaid"}


@pytest.mark.parametrize("key", elsewhere.EVERYTHING, ids=" ".join)
def test_what_is_listed_is_one_block_with_a_reason(key: tuple[str, str]) -> None:
    meant = [block for page in PAGES for block in blocks(page) if elsewhere.is_meant(block, key)]

    assert len(meant) == 1
    assert elsewhere.EVERYTHING[key]


def test_few_blocks_are_run_nowhere() -> None:
    assert len(elsewhere.NOT_RUN) <= elsewhere.MOST_NOT_RUN
