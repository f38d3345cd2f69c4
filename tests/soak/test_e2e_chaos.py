"""The long form of tests/e2e/test_chaos.py: everything that is done to the installation, again and again in another order.

Between two rounds the replicas are replaced, so that no container waits longer and longer for its next start.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable

from tests.e2e import turmoil
from tests.e2e.conftest import api, deployed, gatehouse, ground
from tests.e2e.creating import Told, under_load
from tests.e2e.grounds import Ground
from tests.e2e.installed import Installed
from tests.e2e.turmoil import Window
from tests.server.figures import Figures

__all__ = ["api", "deployed", "gatehouse", "ground"]

SECONDS = float(os.environ.get("E2E_CHAOS_SECONDS") or 1200.0)
SEED = 10

Deed = Callable[[Installed], list[Window]]


def _harmless(deed: Callable[[Installed], object]) -> Deed:
    def done(gatehouse: Installed) -> list[Window]:
        deed(gatehouse)
        return []

    return done


def _to_each(deed: Callable[..., Window]) -> Deed:
    def done(gatehouse: Installed) -> list[Window]:
        windows = []
        for replica in gatehouse.replicas():
            windows.append(deed(gatehouse, replica))
            gatehouse.wait_all_ready()
        return windows

    return done


DEEDS: dict[str, Deed] = {
    "leader": _harmless(turmoil.delete_leader),
    "leaf": _harmless(turmoil.rotate_leaf),
    "ca": _harmless(turmoil.rotate_authority),
    "secret": _harmless(turmoil.delete_secret),
    "bundle": lambda gatehouse: [turmoil.empty_ca_bundles(gatehouse)],
    "apiserver": lambda gatehouse: [turmoil.restart_api_server(gatehouse)],
    "killed": _to_each(turmoil.kill),
    "memory": _to_each(turmoil.exhaust_memory),
}


def test_in_whatever_order_things_happen_nothing_is_admitted_bare_and_only_open_calls_are_refused(
    gatehouse: Installed, ground: Ground, figures: Figures
) -> None:
    order, end_s = random.Random(SEED), time.monotonic() + SECONDS
    strays: list[str] = []
    calls = refused = rounds = 0

    def count(told: Told, name: str, windows: list[Window]) -> None:
        nonlocal calls, refused
        calls += len(told.created) + len(told.held) + len(told.refused)
        refused += len(told.refused)
        strays.extend(f"round {rounds}, {name}: {one.what}" for one in told.outside(*windows))

    while time.monotonic() < end_s:
        count(under_load(ground, f"{rounds}-rolling", lambda: turmoil.roll(gatehouse)), "rolling", [])
        for name in order.sample(sorted(DEEDS), len(DEEDS)):
            windows: list[Window] = []
            told = under_load(ground, f"{rounds}-{name}", lambda name=name, found=windows: found.extend(DEEDS[name](gatehouse)))  # type: ignore[misc]
            gatehouse.wait_all_ready()
            count(told, name, windows)
        rounds += 1
    figures.add(f"{rounds} rounds of chaos: refused", f"{refused} of {calls} calls", "open calls only", not strays)
    assert strays == []
