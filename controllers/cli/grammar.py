"""The command line as data: commands, their flags and what may stand behind these, read off the argparse parsers. Pure.

What a value is, is told by its choices or by its metavar: FILE and DIR are paths, every other word is free text.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Final

import attrs


class Kind(StrEnum):
    """What completes a value."""

    WORDS = "words"  # one of the choices
    FILE = "file"
    FOLDER = "folder"
    TEXT = "text"  # nothing can


@attrs.frozen
class Value:
    """What may be written in one place."""

    kind: Kind
    words: tuple[str, ...] = ()
    name: str = ""  # its metavar, for messages


@attrs.frozen
class Flag:
    """An option with all its spellings."""

    names: tuple[str, ...]  # "-o", "--output"
    help: str
    value: Value | None  # None: it stands alone, or its value must follow "="


@attrs.frozen
class Command:
    """A command, and those below it."""

    name: str
    help: str
    flags: tuple[Flag, ...]
    first: Value | None  # its first positional argument
    others: Value | None  # and every other one
    below: tuple[Command, ...] = ()

    def walk(self, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Command]]:
        """This command and all below it, each with the words that lead there."""
        yield path, self
        for one in self.below:
            yield from one.walk((*path, one.name))


_PATHS: Final[Mapping[str, Kind]] = {"FILE": Kind.FILE, "DIR": Kind.FOLDER}


def command_of(parser: argparse.ArgumentParser, name: str, help_text: str = "") -> Command:
    """The command that *parser* reads."""
    flags, values, below = [], [], []
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            told = {one.dest: one.help or "" for one in action._choices_actions}
            below += [command_of(inner, word, told.get(word, "")) for word, inner in action.choices.items()]
        elif action.option_strings:
            flags.append(_flag(action))
        else:
            values.append(_value(action))
    first, others = (*values, None, None)[:2]
    return Command(name, help_text, tuple(flags), first, others if others is not None else first, tuple(below))


def _flag(action: argparse.Action) -> Flag:
    alone = action.nargs == 0 or action.nargs == "?"
    text = "" if action.help in (None, argparse.SUPPRESS) else action.help
    return Flag(tuple(action.option_strings), " ".join((text or "").split()), None if alone else _value(action))


def _value(action: argparse.Action) -> Value:
    name = action.metavar if isinstance(action.metavar, str) else action.dest.upper()
    if action.choices is not None:
        return Value(Kind.WORDS, tuple(str(choice) for choice in action.choices), name)
    found = [kind for word, kind in _PATHS.items() if word in name.replace("|", " ").replace("[", " ").split()]
    return Value(Kind.FILE if Kind.FILE in found else found[0] if found else Kind.TEXT, (), name)
