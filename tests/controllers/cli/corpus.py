"""Manifests as people write them, and what `gatehouse inject` makes of them.

FILES           every file of tests/cases/inject
CLUSTER         the folder with the Namespaces and the ConfigMaps that they are injected with
injected(file)  the bytes that come out
pod_of(value)   the pod that an object is or makes
"""

from __future__ import annotations

import argparse
from functools import cache
from pathlib import Path
from typing import Final

from controllers.cli.injector import Injector, Outcome
from controllers.cli.offline import Offline, offline
from webhook.objects.meta import Json
from webhook.objects.workloads import workload_of

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


def pod_of(value: Json) -> Json:
    """The pod that *value* is or makes. Raises AssertionError for an object of another kind."""
    workload = workload_of(value)
    assert workload is not None
    return workload.pod(value)
