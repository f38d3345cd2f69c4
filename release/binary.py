"""`python -m release.binary FILE [PACKAGE…]`: the program as one executable file, made by PyInstaller from gatehouse.spec.

PACKAGE: a folder or a requirement that pip can install: a rule or controller of one's own, and what it needs beside what
Gatehouse brings. It goes into the file as if it were installed: a configuration may name its entry points.

The same sources, Python and packages give the same bytes, in whatever folder they lie: docs/binary.md.
Raises CalledProcessError; the end of PyInstaller's words is on standard error.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

SPECIFICATION: Final = Path(__file__).with_name("gatehouse.spec")
WITH: Final = "GATEHOUSE_WITH"  # read by the specification: the folder of those packages
EPOCH_S: Final = 1767225600  # 2026-01-01: the date of whatever a build dates
# Whatever a build would take from its surroundings: the order of sets, dates, bytecode caches.
FIXED: Final = {
    "PYTHONHASHSEED": "0",
    "SOURCE_DATE_EPOCH": str(EPOCH_S),
    "PYTHONDONTWRITEBYTECODE": "1",
    "LC_ALL": "C.UTF-8",
}


def build(target: Path, packages: Sequence[str] = ()) -> str:
    """Write the file *target* with *packages* in it; its SHA-256 in hexadecimal."""
    inherited = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    with tempfile.TemporaryDirectory(prefix="gatehouse-build-") as folder:
        if packages:
            more = install(packages, Path(folder))
            inherited |= {WITH: str(more), "PYTHONPATH": str(more)}
        command = [sys.executable, "-m", "PyInstaller", "--log-level", "WARN", "--noconfirm", "--distpath", folder]
        done = subprocess.run(
            [*command, "--workpath", f"{folder}/work", str(SPECIFICATION)],
            env={**inherited, **FIXED, "PYINSTALLER_CONFIG_DIR": f"{folder}/config"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        if done.returncode:
            print(done.stdout[-4000:], file=sys.stderr)
            done.check_returncode()
        content = (Path(folder) / "gatehouse").read_bytes()
    fresh = target.with_name(target.name + ".new")  # a build that is cut short leaves no half of a program under the name
    fresh.write_bytes(content)
    fresh.chmod(0o755)
    fresh.replace(target)
    return hashlib.sha256(content).hexdigest()


def install(packages: Sequence[str], folder: Path) -> Path:
    """Install *packages*, and nothing that they depend on, below *folder*: where they are."""
    target = folder / "with"
    # From copies: a build would leave its files beside the sources.
    sources = [
        str(shutil.copytree(package, folder / f"source-{number}")) if Path(package).is_dir() else package
        for number, package in enumerate(packages)
    ]
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "-q", "install", "--no-compile"]
    subprocess.run([*command, "--no-deps", "--no-build-isolation", "--target", str(target), *sources], check=True)
    return target


if __name__ == "__main__":
    print(f"{build(Path(sys.argv[1]), sys.argv[2:])}  {sys.argv[1]}")
