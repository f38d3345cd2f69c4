"""`python -m release.binary FILE`: the program as one executable file, made by PyInstaller from gatehouse.spec.

The same sources, Python and packages give the same bytes, in whatever folder they lie: docs/binary.md.
Raises CalledProcessError; the end of PyInstaller's words is on standard error.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path

SPECIFICATION = Path(__file__).with_name("gatehouse.spec")
# Whatever a build would take from its surroundings: the order of sets, dates (2026-01-01), bytecode caches.
FIXED = {"PYTHONHASHSEED": "0", "SOURCE_DATE_EPOCH": "1767225600", "PYTHONDONTWRITEBYTECODE": "1", "LC_ALL": "C.UTF-8"}


def build(target: Path) -> str:
    """Write the file *target*; its SHA-256 in hexadecimal."""
    inherited = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    with tempfile.TemporaryDirectory(prefix="gatehouse-build-") as folder:
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


if __name__ == "__main__":
    print(f"{build(Path(sys.argv[1]))}  {sys.argv[1]}")
