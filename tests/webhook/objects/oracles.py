"""Runs one of the Go programs of tests/oracles: a question is one JSON value, and so is its answer."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

ORACLES = Path(__file__).parents[2] / "oracles"

Ask = Callable[[Any], Any]


@contextmanager
def asking(
    name: str,
    folder: Path,
    command: Callable[[list[str]], list[str]] = list,
    environment: Mapping[str, str] | None = None,
) -> Iterator[Ask]:
    """Builds the program *name* into *folder*, and ends it afterwards.

    command: makes the command line that it runs by, of the one it has; environment: what it finds beside ours.
    """
    if shutil.which("go") is None:
        pytest.fail("the Go toolchain is missing: these tests compare with Kubernetes' own code (see README, Tests)")
    binary = folder / name
    built = subprocess.run(
        ["go", "build", "-o", str(binary), "."], cwd=ORACLES / name, capture_output=True, text=True, timeout=300, check=False
    )
    assert built.returncode == 0, built.stderr
    argv, around = command([str(binary)]), {**os.environ, **(environment or {})}
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=around) as process:
        stdin, stdout = process.stdin, process.stdout
        assert stdin and stdout

        def ask(question: Any) -> Any:
            # The program reads a whole line before it answers, so that neither side waits for the other's pipe.
            # Go's encoder, by which objects reach the API server, escapes line separators, and else only what JSON has to.
            line = json.dumps(question, ensure_ascii=False).replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
            stdin.write(line + "\n")
            stdin.flush()
            return json.loads(stdout.readline())

        yield ask
        stdin.close()
