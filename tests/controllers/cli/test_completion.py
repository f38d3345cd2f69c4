"""`gatehouse completion` in real shells: what TAB makes of a command line."""

from __future__ import annotations

import argparse
import subprocess
from pathlib import Path

import pytest

from controllers.cli.grammar import Kind, command_of
from controllers.cli.main import grammar, main
from tests.shells import fish, terminal, zsh

PROMPT = "READY> "


@pytest.fixture(scope="module")
def scripts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("completion")
    for shell in ("bash", "zsh", "fish"):
        with pytest.MonkeyPatch.context() as patch, (folder / shell).open("w") as out:
            patch.setattr("sys.stdout", out)
            assert main(["completion", shell]) == 0
    return folder


# What is typed, and the words of which it may become one.
LINES = [
    ("gatehouse exp", {"explain"}),
    ("gatehouse explain no", {"node"}),
    ("gatehouse explain d", {"deployment", "daemonset", "databaseinstance"}),
    ("gatehouse explain node --from-", {"--from-replica"}),
    ("gatehouse explain node --lo", {"--local"}),
    ("gatehouse explain node edge-1 -o ", {"text", "json"}),
    ("gatehouse review --output j", {"json"}),
    ("gatehouse ip ", {"list", "show", "release"}),
    ("gatehouse ip rel", {"release"}),
    ("gatehouse ip release --y", {"--yes"}),
    ("gatehouse completion z", {"zsh"}),
    ("gatehouse manifests --overlay edge", {"edge-only"}),
    ("gatehouse check mani", {"manifests.yaml"}),
    ("gatehouse review --local fol", {"folder"}),
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folded").touch()
    (tmp_path / "manifests.yaml").touch()
    return tmp_path


# -- bash


@pytest.mark.parametrize(
    ("line", "words"), [*LINES, ("gatehouse review --output=j", {"json"}), ("gatehouse --v", {"--version"})]
)
def test_bash_knows_what_may_come(line: str, words: set[str], scripts: Path, folder: Path) -> None:
    # As readline splits words: at blanks, and at "=".
    split = line.replace("=", " = ").split() + ([""] if line.endswith(" ") else [])
    quoted = " ".join(f"'{word}'" for word in split)
    program = f"""
        compopt() {{ :; }}
        source '{scripts / "bash"}'
        COMP_WORDS=({quoted}) COMP_CWORD={len(split) - 1}
        _gatehouse
        printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    done = subprocess.run(
        ["bash", "--norc", "-eu", "-c", program], cwd=folder, capture_output=True, text=True, timeout=30, check=True
    )

    assert set(done.stdout.split()) == words
    assert done.stderr == ""


def test_tab_completes_in_a_bash_that_somebody_sits_before(scripts: Path, folder: Path) -> None:
    with terminal(["/bin/bash", "--norc"], {"PS1": PROMPT}, folder) as bash:
        bash.until(PROMPT)
        bash.types(f"source {scripts / 'bash'}\n")
        bash.until(PROMPT)
        bash.types("gatehouse exp\t")
        bash.until("gatehouse explain ")
        bash.types("no\t")
        bash.until("node ")
        bash.types("--loc\t")
        bash.until("--local ")
        bash.types("fold\t\t")  # a folder, and not the file beside it
        bash.until("folder/")


# -- fish


@pytest.mark.parametrize(("line", "words"), LINES)
def test_fish_knows_what_may_come(line: str, words: set[str], scripts: Path, folder: Path) -> None:
    command, environ = fish()
    program = f"set fish_function_path $FUNCTIONS; source {scripts / 'fish'}; complete --do-complete '{line}'"
    done = subprocess.run(
        [*command, "-c", program],
        cwd=folder,
        env={"HOME": str(folder), "PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", **environ},
        capture_output=True,
        text=True,
        timeout=30,
        check=True,
    )

    # A line is the word, a tab, and what it means; fish also offers what only contains what was typed.
    found = {one.partition("\t")[0].rstrip("/") for one in done.stdout.splitlines()}
    last = "" if line.endswith(" ") else line.split()[-1]
    assert {word for word in found if word.startswith(last)} == words
    assert done.stderr == ""


# -- zsh


@pytest.mark.parametrize(
    ("line", "completed"),
    [
        ("gatehouse exp", "explain "),
        ("gatehouse explain no", "node "),
        ("gatehouse explain node --from-", "--from-replica "),
        ("gatehouse review --output j", "json "),
        ("gatehouse ip rel", "release "),
        ("gatehouse completion z", "zsh "),
        ("gatehouse manifests --overlay edge", "edge-only "),
        ("gatehouse check mani", "manifests.yaml "),
        ("gatehouse review --local fol", "folder/"),
    ],
)
def test_tab_completes_in_zsh(line: str, completed: str, scripts: Path, folder: Path) -> None:
    command, environ = zsh()
    setup = (
        "module_path=($ROOT/usr/lib/*/zsh/*(N)) fpath=($ROOT/usr/share/zsh/functions/**/*(/N)); "
        "autoload -Uz compinit && compinit -D -u; unsetopt zle_bracketed_paste PROMPT_SP; "
        f"source {scripts / 'zsh'}; PROMPT='{PROMPT}'"
    )
    with terminal(command, {**environ, "PS1": "START> "}, folder) as shell:
        shell.until("START> ")
        shell.types(f"{setup}\n")
        shell.until(PROMPT + "'")  # as it is typed
        shell.until(PROMPT)
        shell.types(f"{line}\t")
        shell.until(completed)


# -- the grammar


def test_every_command_and_every_flag_of_it_can_be_completed() -> None:
    found = dict(grammar().walk())

    assert {("serve",), ("explain",), ("ip", "release"), ("completion",)} <= found.keys()
    assert "--tls-cert-file" in {name for flag in found[("serve",)].flags for name in flag.names}
    assert all(command.help for path, command in found.items() if path)


@pytest.mark.parametrize(
    ("metavar", "kind"),
    [("FILE", Kind.FILE), ("DIR", Kind.FOLDER), ("FILE|DIR", Kind.FILE), ("NAME", Kind.TEXT), ("NS", Kind.TEXT)],
)
def test_a_metavar_says_what_completes_a_value(metavar: str, kind: Kind) -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--flag", metavar=metavar)

    (flag,) = (one for one in command_of(parser, "x").flags if "--flag" in one.names)
    assert flag.value is not None
    assert flag.value.kind is kind


def test_a_shell_that_we_do_not_know_is_wrong_use(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", "tcsh"]) == 2

    assert "invalid choice: 'tcsh'" in capsys.readouterr().err
