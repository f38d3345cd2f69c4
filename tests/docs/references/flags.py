"""docs/reference/flags.md: each command with its arguments and examples, from the parsers.

Not argparse's own text: that differs with the version of Python and the width of the terminal.
"""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Iterator

from controllers.cli.main import _COMMANDS
from controllers.config.flags import _FLAGS
from tests.docs.references.tables import code, page, sentence, table

INTRODUCTION = """
What `gatehouse COMMAND --help` says, on one page. Answers go to standard output, everything else to standard error. Flags of
`serve` that set something stand above the key of the [configuration](configuration.md) that is named behind them.
"""


def markdown() -> str:
    """The whole page."""
    return page("Commands and flags", "controllers/cli", INTRODUCTION, _commands())


def _commands() -> Iterator[str]:
    for command in _COMMANDS:
        module = importlib.import_module(command.module)
        parser = argparse.ArgumentParser(command.name)
        module.add_arguments(parser)
        yield f"## gatehouse {command.name}\n"
        yield sentence(command.help) + ".\n"
        yield from _arguments(parser, command.name)
        yield f"```text\n{module.EXAMPLES.strip()}\n```\n"


def _arguments(parser: argparse.ArgumentParser, name: str) -> Iterator[str]:
    rows, inside = [], []
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            helps = {choice.dest: choice.help or "" for choice in action._choices_actions}
            inside = [(word, helps.get(word, ""), sub) for word, sub in action.choices.items()]
        elif not isinstance(action, argparse._HelpAction) and action.help != argparse.SUPPRESS:
            rows.append((_name(action), (action.help or "") % {"default": action.default, "prog": "gatehouse"} + _key(action)))
    if rows:
        yield table(("argument", "meaning"), rows)
    for word, help_, sub in inside:
        yield f"### gatehouse {name} {word}\n"
        if help_:
            yield sentence(help_) + ".\n"
        yield from _arguments(sub, f"{name} {word}")


def _key(action: argparse.Action) -> str:
    """The setting that *action* stands above."""
    keys = [".".join(map(str, flag.path)) for flag in _FLAGS if flag.name in action.option_strings]
    return f" → `{keys[0]}`" if keys else ""


def _name(action: argparse.Action) -> str:
    """An argument with what it takes."""
    words = "|".join(map(str, action.choices)) if action.choices else ""
    metavar = action.metavar if isinstance(action.metavar, str) else " ".join(action.metavar or ())
    takes = "" if action.nargs == 0 else metavar or words or action.dest.upper()
    if not action.option_strings:
        return code(metavar or action.dest.upper()) + (f" ({words})" if words and words != metavar else "")
    shown = f"[{takes}]" if action.nargs == "?" else takes
    return ", ".join(code(f"{option} {shown}".strip()) for option in action.option_strings)
