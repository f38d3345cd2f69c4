"""`gatehouse completion SHELL`: a script that completes commands, flags and their values; nothing of it runs the program.

Made from the parsers themselves, so that it is never behind them. Exit codes: 0 printed, 2 wrong use.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping
from typing import Final

from controllers.cli.completion_scripts import bash, fish, zsh
from controllers.cli.grammar import Command

EXAMPLES: Final = """\
examples:
  gatehouse completion bash
                     the script; for the shell that you are in: source <(gatehouse completion bash)
  gatehouse completion bash > /etc/bash_completion.d/gatehouse
                     for every shell that starts from now on
  gatehouse completion zsh > "${fpath[1]}/_gatehouse"
                     once compinit is called in ~/.zshrc
  gatehouse completion fish > ~/.config/fish/completions/gatehouse.fish

exit codes: 0 printed, 2 wrong use
"""

SHELLS: Final[Mapping[str, Callable[[Command], str]]] = {"bash": bash, "zsh": zsh, "fish": fish}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("shell", choices=tuple(SHELLS), help="the shell that reads the script")


def run(options: argparse.Namespace) -> int:
    """Print the script."""
    from controllers.cli.main import grammar  # the commands are its own

    sys.stdout.write(SHELLS[options.shell](grammar()))
    return 0
