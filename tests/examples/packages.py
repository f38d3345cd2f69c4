"""The packages of examples/, installed by pip as anybody's would be: without a network, into a folder of their own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGES = ("own-rule", "second-controller")
LIMIT_S = 120


def install(folder: Path) -> Path:
    """Install both: the folder to put on PYTHONPATH."""
    target = folder / "site"
    sources = [Path(shutil.copytree(ROOT / "examples" / name, folder / name)) for name in PACKAGES]  # builds leave files beside
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "-q", "install"]
    offline = ["--no-index", "--no-deps", "--no-build-isolation", "--target", str(target)]
    done = subprocess.run(
        [*pip, *offline, *map(str, sources)], env=environment(), capture_output=True, text=True, timeout=LIMIT_S
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return target


def environment(*folders: Path) -> dict[str, str]:
    """Ours without what makes warnings errors, which is not pip's business; *folders* and this project are importable."""
    inherited = {key: value for key, value in os.environ.items() if key not in ("PYTHONWARNINGS", "PYTHONDEVMODE")}
    return inherited | {"PYTHONPATH": os.pathsep.join(map(str, (*folders, ROOT)))}
