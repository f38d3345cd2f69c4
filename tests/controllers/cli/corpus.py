"""Manifests as people write them, and what `gatehouse inject` makes of them.

FILES           every file of tests/cases/inject
CLUSTER         the folder with the Namespaces and the ConfigMaps that they are injected with
injected(file)  the bytes that come out
"""

from __future__ import annotations

import argparse
from functools import cache
from pathlib import Path
from typing import Final

from controllers.cli.injector import Injector, Outcome
from controllers.cli.offline import Offline, offline

FOLDER: Final = Path(__file__).parents[2] / "cases" / "inject"
CLUSTER: Final = FOLDER / "cluster"
FILES: Final = sorted(path for path in FOLDER.iterdir() if path.suffix in (".yaml", ".json"))
NAMESPACE: Final = "legacy"  # of objects that name none
NOW: Final = "2026-11-29T10:00:00Z"


@cache
def setup() -> Offline:
    """The cluster, the configuration and the clock that every file is decided with."""
    return offline(argparse.Namespace(local=str(CLUSTER), config="", now=NOW))


@cache
def injector() -> Injector:
    """What every file goes through."""
    return Injector(setup(), NAMESPACE)


def outcome(file: Path) -> Outcome:
    """What became of *file*, and what was said."""
    return injector().inject(file.read_bytes(), file.name)


def injected(file: Path) -> bytes:
    """What comes out for *file*. Raises AssertionError when something of it is refused."""
    found = outcome(file)
    assert not found.failed, "\n".join(f"{line.where}: {line.text}" for line in found.lines)
    return found.result
