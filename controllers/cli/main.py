"""The command line: `gatehouse COMMAND …`.

Exit codes everywhere: 0 fine, 1 found problems, 2 wrong use; of `review` a refusal is an answer, no problem without --check.
Answers go to standard output, everything else to standard error.
"""

from __future__ import annotations

import argparse
import importlib
import json
import logging
import os
import platform
import signal
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, NoReturn

import attrs

from controllers.cli.usage import Failed, UsageError, placed
from controllers.collector.loading import undisturbed
from controllers.version import version
from webhook.errors import Interrupted, PluginError
from webhook.logs import ROOT
from webhook.names import PROJECT

if TYPE_CHECKING:
    from controllers.cli.grammar import Command as Grammar

FINE, PROBLEMS, WRONG_USE = 0, 1, 2


@attrs.frozen
class _Command:
    """One command; its module has `add_arguments(parser)`, `run(options) -> int` and `EXAMPLES`."""

    name: str
    module: str
    help: str


_COMMANDS: Final = (
    _Command("serve", "controllers.cli.serve", "answer admission reviews until stopped"),
    _Command("review", "controllers.cli.review", "decide admission reviews from files, as the server would"),
    _Command("check", "controllers.cli.check", "find faults in configuration and sidecar entries, with their lines"),
    _Command(
        "explain", "controllers.cli.explain", "say what every rule would answer about an object, why, and what would change it"
    ),
    _Command(
        "inject", "controllers.cli.inject", "put sidecars into the workloads of files, as the server would into their pods"
    ),
    _Command("manifests", "controllers.cli.manifests", "print the webhook configurations for kubectl apply"),
    _Command("ip", "controllers.cli.ip", "list and show fixed pod addresses, and give one back by hand"),
    _Command("status", "controllers.cli.status", "show what a running process knows"),
    _Command("completion", "controllers.cli.completion", "print a script that completes this command line in a shell"),
    _Command("version", "controllers.cli.main", "print the version"),
)

EXAMPLES: Final = """\
examples:
  gatehouse version
  gatehouse version -o json
"""

_OVERVIEW: Final = """\
start here:
  gatehouse serve --local examples/edge-health          no cluster needed
  gatehouse review --local examples/edge-health --config examples/edge-health/gatehouse.yaml examples/edge-health/reviews/*.yaml
  gatehouse COMMAND --help

exit codes: 0 fine, 1 found problems (of review a refusal only with --check), 2 wrong use
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Carry out the command in *argv* (default: the process's arguments); the exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if None in (sys.stdin, sys.stdout, sys.stderr):
        _open_standard_streams()
    # A command that sets up no logging stays silent but for its own words.
    if not logging.getLogger(ROOT).handlers:
        logging.getLogger(ROOT).addHandler(logging.NullHandler())
    try:
        options = _parser(arguments).parse_args(arguments)
        code: int = options.run(options)
        sys.stdout.flush()
    except SystemExit as ending:  # argparse: --help or wrong use, already said
        return ending.code if isinstance(ending.code, int) else WRONG_USE
    except PluginError as error:
        _complain(placed(error, options))
        return WRONG_USE
    except UsageError as error:
        _complain(error)
        return WRONG_USE
    except Failed as error:
        _complain(error)
        return PROBLEMS
    except BrokenPipeError:
        # The reader (`| head`) has enough; nothing more may be written, not even by the interpreter when it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return PROBLEMS
    except OSError as error:  # a full disk behind standard output; files that the user named are UsageErrors
        print(f"{PROJECT}: {error}", file=sys.stderr)
        return PROBLEMS
    except KeyboardInterrupt as ending:
        return (ending if isinstance(ending, Interrupted) else Interrupted(signal.SIGINT)).code
    return code


def _complain(error: Exception) -> None:
    """Each line of *error* on standard error: names of files and what a server says must not steer the terminal."""
    from controllers.cli.text import visible

    print("\n".join(f"{PROJECT}: {line}" for line in visible(str(error)).splitlines()), file=sys.stderr)


def _open_standard_streams() -> None:
    """Give a process that was started with closed standard streams (`>&-`) streams that lead nowhere."""
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        if getattr(sys, name) is None:
            descriptor = os.open(os.devnull, os.O_RDWR)
            if descriptor != number:
                os.dup2(descriptor, number)
                os.close(descriptor)
            setattr(sys, name, open(number, mode, closefd=False))  # noqa: SIM115 - open as long as the process


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags of `version`."""
    parser.add_argument("-o", "--output", choices=("text", "json"), default="text", help="json: one object")


def run(options: argparse.Namespace) -> int:
    """Print the version."""
    found = {"version": version(), "python": platform.python_version(), "platform": platform.platform()}
    print(json.dumps(found) if options.output == "json" else f"{PROJECT} {found['version']} (Python {found['python']})")
    return FINE


def grammar() -> Grammar:
    """All commands and flags, as `controllers.cli.grammar` has them. Imports every command."""
    from controllers.cli.grammar import command_of

    return command_of(_parser([command.name for command in _COMMANDS], every=True), PROJECT)


class _Parser(argparse.ArgumentParser):
    """A parser whose faults say where the examples are. Those of the commands are of this class, too."""

    def error(self, message: str) -> NoReturn:
        from controllers.cli.text import visible

        self.print_usage(sys.stderr)
        self.exit(WRONG_USE, f"{self.prog}: error: {visible(message)}\n{self.prog} --help has examples\n")


def _loaded(module: str) -> Any:
    with undisturbed():
        return importlib.import_module(module)


def _parser(arguments: Sequence[str], *, every: bool = False) -> argparse.ArgumentParser:
    """The parser with the flags of the command in *arguments*, or of all."""
    parser = _Parser(
        PROJECT,
        description="Guards a Kubernetes cluster: admission webhooks from one process.",
        epilog=_OVERVIEW,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"{PROJECT} {version()}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    chosen = next((argument for argument in arguments if not argument.startswith("-")), None)
    for command in _COMMANDS:
        # Only the command that runs is imported: `version` needs none of what `serve` does.
        module = _loaded(command.module) if every or command.name == chosen else None
        sub = commands.add_parser(
            command.name,
            help=command.help,
            description=f"{command.help[0].upper()}{command.help[1:]}.",
            epilog=module.EXAMPLES if module else None,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        if module is not None:
            module.add_arguments(sub)
            sub.set_defaults(run=module.run)
    return parser
