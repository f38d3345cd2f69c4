"""The long form of tests/apiserver/test_database_storm.py: `python -m tests.soak.databases [--count 200] [--kills 20]`.

Ends with 1 when an instance hung, lost what it should keep or kept what it should lose, or an effect was had twice.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

from tests.apiserver import registration
from tests.apiserver.conftest import NOBODY_JUDGES
from tests.apiserver.database_storm import Storm, run
from tests.cluster import Cluster, Settings
from tests.cluster.components import CONTROLLER_MANAGER


def main() -> int:
    """Run, print, judge."""
    parser = argparse.ArgumentParser(description="many DatabaseInstances deleted at once while leaders are killed")
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--minutes", type=float, default=15.0, help="until all must be gone")
    options = parser.parse_args()
    settings = Settings(f"databases-{os.getpid()}", {CONTROLLER_MANAGER: NOBODY_JUDGES})
    with Cluster(settings) as cluster, tempfile.TemporaryDirectory() as folder:
        with cluster.api() as api:
            registration.apply_rbac(api)
        storm = run(cluster, Path(folder), options.count, options.kills, 60 * options.minutes, _say)
    wrong = complaints(storm)
    _say(f"{storm.count} instances, {storm.kills} kills, {storm.seconds:.0f} s: " + ("; ".join(wrong) or "no rule was broken"))
    return 1 if wrong else 0


def complaints(storm: Storm) -> list[str]:
    """Everything that must not be."""
    found = [f"still there: {name}" for name in storm.left]
    found += [f"claims left: {sorted(storm.claims)}"] if storm.claims != storm.retained() else []
    wrong = {name: what for name, what in storm.volumes.items() if what != ("Retain", "Bound")}
    found += [f"volumes: {wrong}"] if wrong or len(storm.volumes) != len(storm.retained()) else []
    found += [f"more than once: {effect}" for effect in storm.repeated()]
    return [*found, *storm.forbidden, *(["a traceback in a log"] if "Traceback" in storm.log else [])]


def _say(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    sys.exit(main())
