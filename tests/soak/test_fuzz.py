"""Two million inputs: one by chance and what is known to be wrong with requests, one guided by the branches they reach."""

from __future__ import annotations

import itertools
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.server.figures import Figures
from tests.server.fuzz import LIMITS, PIECES, Bench, Mutator

INPUTS = 1_000_000
LIMIT_S = 3000
ROOT = Path(__file__).parents[2]


def escaped(piece: bytes) -> str:
    """As libFuzzer's dictionaries have it."""
    return "".join(f"\\x{byte:02x}" for byte in piece)


def test_a_million_mutated_requests_leave_the_server_sound(figures: Figures) -> None:
    bench, seed = Bench(), time.time_ns()

    for pieces in itertools.islice(Mutator(seed), INPUTS):
        try:
            bench.try_(pieces)
        except Exception as error:
            pytest.fail(f"seed {seed}, input {bench.inputs}, {pieces!r}: {error!r}")

    figures.add(
        f"{INPUTS} mutated inputs: {bench.requests} requests, {bench.refusals} refusals; slowest",
        f"{bench.slowest_s * 1000:.0f} ms",
        "< 1000 ms",
        True,
    )


def test_a_million_inputs_guided_by_coverage_leave_the_server_sound(tmp_path: Path, figures: Figures) -> None:
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    for number, piece in enumerate(PIECES):
        (corpus / str(number)).write_bytes(b"\0" + piece)
    words = tmp_path / "words"
    words.write_text("".join(f'"{escaped(piece)}"\n' for piece in PIECES if len(piece) < 60))
    options = [
        f"-runs={INPUTS}",
        f"-max_len={2 * LIMITS.head_bytes}",
        "-timeout=10",
        f"-dict={words}",
        f"-artifact_prefix={tmp_path}/",
    ]
    command = [sys.executable, "-m", "tests.soak.fuzz_target", *options, str(corpus)]

    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=LIMIT_S)

    assert done.returncode == 0, done.stderr[-4000:]
    reached = re.findall(r"cov: (\d+)", done.stderr)
    figures.add(f"{INPUTS} guided inputs: {done.stdout.strip().splitlines()[-1]}; branches", reached[-1], "no crash", True)
