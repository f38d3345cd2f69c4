"""Which versions are compared: those of Python packages as installed, those of Go modules from the peer's go.mod.

Read, not written down, so that a figure names what it was taken of. A package that is not installed is left out.
"""

from __future__ import annotations

import functools
import importlib.metadata
import os
import shutil
import subprocess
from pathlib import Path

_MODULES = Path(__file__).parent / "peer" / "go.mod"
_PACKAGES = ("cheroot", "flask", "gunicorn", "kopf", "aiohttp", "jsonpatch")
_GO_MODULES = ("sigs.k8s.io/controller-runtime", "k8s.io/api", "gomodules.xyz/jsonpatch/v2")


@functools.cache
def installed() -> dict[str, str]:
    """By name of the package or path of the module."""
    found = {}
    for name in _PACKAGES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found | modules(_MODULES.read_text())


def modules(text: str) -> dict[str, str]:
    """Of the modules that matter, from the *text* of a go.mod."""
    words = [line.removeprefix("require ").split() for line in text.splitlines()]
    return {line[0]: line[1].removeprefix("v") for line in words if len(line) >= 2 and line[0] in _GO_MODULES}


def of(name: str) -> str:
    """The version with a space before it; "" when it is not known."""
    version = installed().get(name)
    return f" {version}" if version else ""


def go() -> str:
    """What builds the Go programs here; "" without Go."""
    program = shutil.which("go")
    if program is None:
        return ""
    # In the peer's folder, since its go.mod may ask for a toolchain of its own.
    command = [program, "env", "GOVERSION"]
    try:
        done = subprocess.run(
            command, cwd=_MODULES.parent, env=dict(os.environ), capture_output=True, text=True, timeout=30, check=False
        )
    except subprocess.TimeoutExpired:
        return ""
    return done.stdout.strip()
