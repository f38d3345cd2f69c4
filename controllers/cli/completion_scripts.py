"""Completion scripts for bash, zsh and fish, from the grammar of the command line. Pure.

bash  4.4 and newer, without the package bash-completion; `--flag value` and `--flag=value`
zsh   5, as a file `_gatehouse` in $fpath, or by `source` after compinit
fish  3, as ~/.config/fish/completions/gatehouse.fish
Source: bash(1), Programmable Completion; zshcompsys(1), _arguments; fish-doc, complete.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from controllers.cli.grammar import Command, Flag, Kind, Value

_BASH = """\
# bash completion of gatehouse; made by `gatehouse completion bash`
_gatehouse_reply() { # KIND [WORDS]: what the current word may become
  case $1 in
    file) compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$current") ;;
    folder) compopt -o filenames; mapfile -t COMPREPLY < <(compgen -d -- "$current") ;;
    words) mapfile -t COMPREPLY < <(compgen -W "$2" -- "$current") ;;
  esac
}

_gatehouse() {
  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} command="" word before=""
  local -i index given=0
  local paths=" @PATHS@ " valued=" @VALUED@ "
  COMPREPLY=()
  # readline splits --flag=value at the "=".
  if [[ $current == "=" ]]; then current=""
  elif [[ $previous == "=" ]] && (( COMP_CWORD > 1 )); then previous=${COMP_WORDS[COMP_CWORD-2]}
  fi
  for (( index = 1; index < COMP_CWORD; index++ )); do
    word=${COMP_WORDS[index]}
    if [[ $word == "=" || $before == "=" ]]; then :
    elif [[ $paths == *" $command/$word "* ]]; then command+="/$word" given=0
    elif [[ $word != -* && $valued != *" $command:$before "* ]]; then given+=1
    fi
    before=$word
  done
  case "$command:$previous" in
@VALUES@
  esac
  if [[ $current == -* ]]; then
    case $command in
@FLAGS@
    esac
    return
  fi
  case "$command:$(( given > 0 ))" in
@ARGUMENTS@
  esac
}

complete -F _gatehouse gatehouse
"""


def bash(root: Command) -> str:
    """The script for bash."""
    found = dict(root.walk())
    paths = [_path(path) for path in found if path]
    valued = [f"{_path(path)}:{name}" for path, one in found.items() for flag in one.flags if flag.value for name in flag.names]
    values, flags, arguments = [], [], []
    for path, one in found.items():
        flags.append(f'      "{_path(path)}") _gatehouse_reply words {_quoted(" ".join(_names(one)))} ;;')
        for flag in one.flags:
            if flag.value is not None:
                patterns = "|".join(f'"{_path(path)}:{name}"' for name in flag.names)
                values.append(f"    {patterns}) {_reply(flag.value)}; return ;;")
        if one.below:
            words = " ".join(inner.name for inner in one.below)
            arguments.append(f'    "{_path(path)}":*) _gatehouse_reply words {_quoted(words)} ;;')
        else:
            for position, value in (("0", one.first), ("1", one.others)):
                if value is not None:
                    arguments.append(f'    "{_path(path)}:{position}") {_reply(value)} ;;')
    script = _BASH
    for mark, text in (
        ("@PATHS@", " ".join(paths)),
        ("@VALUED@", " ".join(valued)),
        ("@VALUES@", "\n".join(values)),
        ("@FLAGS@", "\n".join(flags)),
        ("@ARGUMENTS@", "\n".join(arguments)),
    ):
        script = script.replace(mark, text)
    return script


def _path(path: tuple[str, ...]) -> str:
    return "".join(f"/{word}" for word in path)


def _names(command: Command) -> Iterator[str]:
    return (name for flag in command.flags for name in flag.names)


def _reply(value: Value) -> str:
    if value.kind is Kind.WORDS:
        return f"_gatehouse_reply words {_quoted(' '.join(value.words))}"
    return f"_gatehouse_reply {value.kind.value}"


def _quoted(text: str) -> str:
    return shlex.quote(text)


# -- zsh


def zsh(root: Command) -> str:
    """The script for zsh."""
    lines = ["#compdef gatehouse", "# zsh completion of gatehouse; made by `gatehouse completion zsh`", ""]
    for path, command in reversed(list(root.walk())):
        lines += [*_zsh_function(path, command), ""]
    # In $fpath the file is the function's body; sourced, it tells compinit of it.
    lines += ['if [[ ${zsh_eval_context[-1]} == loadautofunc ]]; then _gatehouse "$@"; else compdef _gatehouse gatehouse; fi']
    return "\n".join(lines) + "\n"


def _zsh_name(path: tuple[str, ...]) -> str:
    return "_".join(("_gatehouse", *path))


def _zsh_function(path: tuple[str, ...], command: Command) -> Iterator[str]:
    yield f"{_zsh_name(path)}() {{"
    yield "  local curcontext=$curcontext state line"
    specs = [spec for flag in command.flags for spec in _zsh_flag(flag)]
    if command.below:
        specs += ["1:command:->command", "*::argument:->argument"]
    else:
        specs += [f"1:{_zsh_value(command.first)}"] if command.first else []
        specs += [f"*:{_zsh_value(command.others)}"] if command.others else []
    yield "  _arguments -s -S -C \\"
    yield " \\\n".join(f"    {_quoted(spec)}" for spec in specs)
    if command.below:
        yield "  case $state in"
        yield "    command)"
        yield "      local -a commands=("
        yield from (f"        {_quoted(f'{inner.name}:{inner.help}')}" for inner in command.below)
        yield "      )"
        yield "      _describe command commands ;;"
        yield "    argument)"
        yield "      case $line[1] in"
        yield from (f"        {inner.name}) {_zsh_name((*path, inner.name))} ;;" for inner in command.below)
        yield "      esac ;;"
        yield "  esac"
    yield "}"


def _zsh_flag(flag: Flag) -> Iterator[str]:
    for name in flag.names:
        # `=` after a long name takes both --flag=value and --flag value, `+` after a short one -fvalue and -f value.
        joint = "" if flag.value is None else "=" if name.startswith("--") else "+"
        value = "" if flag.value is None else f":{_zsh_value(flag.value)}"
        # `*`: some may be repeated, and to offer one again does no harm.
        yield f"*{name}{joint}[{_zsh_text(flag.help)}]{value}"


def _zsh_value(value: Value) -> str:
    name = _zsh_text(value.name or "value").lower()
    match value.kind:
        case Kind.WORDS:
            return f"{name}:({' '.join(value.words)})"
        case Kind.FILE:
            return f"{name}:_files"
        case Kind.FOLDER:
            return f"{name}:_files -/"
    return f"{name}: "


def _zsh_text(text: str) -> str:
    return "".join(f"\\{letter}" if letter in "[]:\\" else letter for letter in text)


# -- fish


def fish(root: Command) -> str:
    """The script for fish."""
    lines = ["# fish completion of gatehouse; made by `gatehouse completion fish`", "complete -c gatehouse -f"]
    for path, command in root.walk():
        seen = _fish_condition(path, command)
        for inner in command.below:
            lines.append(f"complete -c gatehouse -n {_quoted(seen)} -a {_quoted(inner.name)} -d {_quoted(inner.help)}")
        if not command.below:
            for value in dict.fromkeys(filter(None, (command.first, command.others))):
                lines.append(f"complete -c gatehouse -n {_quoted(seen)} {_fish_value(value)}")
        for flag in command.flags:
            names = " ".join(f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in flag.names)
            value_text = "" if flag.value is None else f" {_fish_argument(flag.value)}"
            lines.append(f"complete -c gatehouse -n {_quoted(seen)} {names} -d {_quoted(flag.help)}{value_text}")
    return "\n".join(lines) + "\n"


def _fish_condition(path: tuple[str, ...], command: Command) -> str:
    """When the completions of *command* are offered: its words were written, and none of those below it."""
    tests = [f"__fish_seen_subcommand_from {word}" for word in path]
    if command.below:
        tests.append(f"not __fish_seen_subcommand_from {' '.join(inner.name for inner in command.below)}")
    return "; and ".join(tests)


def _fish_argument(value: Value) -> str:
    """What a flag needs behind it; files are offered only where one is meant."""
    return "-r -F" if value.kind is Kind.FILE else "-x" if value.kind is Kind.TEXT else f"-x {_fish_value(value)}"


def _fish_value(value: Value) -> str:
    match value.kind:
        case Kind.WORDS:
            return f"-a {_quoted(' '.join(value.words))}"
        case Kind.FILE:
            return "-F"
        case Kind.FOLDER:
            return "-a '(__fish_complete_directories)'"
    return "-f"
