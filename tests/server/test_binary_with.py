"""`make binary WITH=…`: a rule of somebody else's is in the single file, and is used as an installed one is."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.controllers.served import LIMIT_S, ROOT
from tests.server.test_binary import BUILDING_S, make, outside_tests

OWN_RULE = ROOT / "examples" / "own-rule"

pytestmark = pytest.mark.timeout(2 * BUILDING_S)  # the plain one may have to be built before


def test_the_single_file_decides_by_the_rule_that_was_built_in(tmp_path: Path) -> None:
    make("binary")  # with the environment that builds
    file = tmp_path / "gatehouse"
    # As the recipe does, one build at a time, but not into dist/, where others look for the plain one.
    build = ["flock", "dist", ".venv-binary/bin/python", "-m", "release.binary", str(file), str(OWN_RULE)]
    subprocess.run(build, cwd=ROOT, env=outside_tests(), check=True, timeout=BUILDING_S)

    with_it = ["--local", str(OWN_RULE / "cluster"), "--config", str(OWN_RULE / "gatehouse.yaml")]
    review = [str(file), "review", *with_it, str(OWN_RULE / "review.yaml")]
    done = subprocess.run(review, env={"TMPDIR": str(tmp_path)}, capture_output=True, text=True, timeout=LIMIT_S)

    assert done.returncode == 0, done.stderr
    assert "refused (403 OwnerMissing)" in done.stdout
