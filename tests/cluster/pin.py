"""Pin the modules of another Kubernetes for the cluster of the tests: `python -m tests.cluster.pin v1.34.4`.

Writes versions/1.34/go.mod and go.sum, from which `binaries` builds what main.go of `controlplane` says. Kubernetes's own
go.mod points at folders of its repository for the modules that are published with it (k8s.io/api v0.34.4); here they are named.
Exit codes: 0 done, 1 failed, 2 wrong use.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.cluster import binaries

_SOURCES = Path(__file__).parent


def pin(version: str) -> Path:
    """The folder with both files for *version* ("v1.34.4"). Raises BuildError, CalledProcessError."""
    series = ".".join(version[1:].split(".")[:2])
    staging = f"v0.{version[1:].partition('.')[2]}"
    theirs = (binaries.module_files(f"k8s.io/kubernetes@{version}") / "go.mod").read_text()
    published = re.findall(r"^(?:replace)?\s*(k8s\.io/\S+) => \./staging/", theirs, re.M)
    (go,) = re.findall(r"^go (\S+)$", theirs, re.M)
    required = [f"k8s.io/component-base {staging}", f"k8s.io/kubernetes {version}"]
    replaced = [f"{name} => {name} {staging}" for name in published]
    blocks = [
        f"{word} (\n" + "".join(f"\t{line}\n" for line in lines) + ")"
        for word, lines in (("require", required), ("replace", replaced))
    ]
    target = _SOURCES / "versions" / series
    with tempfile.TemporaryDirectory() as work:
        folder = Path(work)
        shutil.copy(_SOURCES / "controlplane" / "main.go", folder)
        (folder / "go.mod").write_text("\n\n".join(["module controlplane", f"go {go}", *blocks]) + "\n")
        subprocess.run(["go", "mod", "tidy"], cwd=folder, check=True)
        target.mkdir(parents=True, exist_ok=True)
        for name in ("go.mod", "go.sum"):
            shutil.copy(folder / name, target)
    return target


if __name__ == "__main__":
    if len(sys.argv) != 2 or not re.fullmatch(r"v1\.\d+\.\d+", sys.argv[1]):
        sys.exit("usage: python -m tests.cluster.pin v1.MINOR.PATCH")
    print(pin(sys.argv[1]))
