"""docs/configuration.md shows every key with its default, and every flag."""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import Any

import attrs

from controllers.config.decoder import key_of
from controllers.config.document import Configuration, parse
from controllers.config.flags import add_override_flags
from webhook.objects.documents import read_documents

TEXT = (Path(__file__).parents[3] / "docs" / "configuration.md").read_text()
SHOWN = next(block for block in re.findall(r"```yaml\n(.*?)```", TEXT, re.S) if "kind: GatehouseConfiguration" in block)


def keys_of(section: Any) -> dict[str, Any]:
    """The keys of *section*, and of the sections in it."""
    values = {key_of(field): getattr(section, field.name) for field in attrs.fields(type(section)) if field.metadata}
    return {key: keys_of(value) if type(value).__name__.endswith("Section") else None for key, value in values.items()}


def keys_in(value: dict[str, Any], known: dict[str, Any]) -> dict[str, Any]:
    """The keys of *value* as far as they are *known*."""
    return {key: keys_in(value[key], inner) if inner else None for key, inner in known.items() if key in value}


def test_what_the_page_shows_is_the_default() -> None:
    shown = parse(SHOWN, "docs/configuration.md")

    assert shown == Configuration()


def test_the_page_shows_every_key() -> None:
    (document,) = read_documents(SHOWN, "docs/configuration.md")
    known = keys_of(Configuration())

    assert keys_in(document.value, known) == known


def test_the_page_names_every_flag() -> None:
    parser = argparse.ArgumentParser(add_help=False)
    add_override_flags(parser)

    for action in parser._actions:
        assert f"`{action.option_strings[0]}`" in TEXT
