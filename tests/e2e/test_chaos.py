"""Whatever happens to the installation, at 50 creates a second under failurePolicy Fail nothing is admitted un-mutated.

A rolling restart, an upgrade, the loss of the leader, both rotations and the deletion of the Secret refuse no create. A
killed replica, an emptied caBundle, a restarted API server and a memory limit that is hit may cost the calls that are open at
that moment, or within two seconds of the recovery; each succeeds when it is tried again.
"""

from __future__ import annotations

import pytest

from tests.cluster import Api
from tests.e2e import turmoil
from tests.e2e.creating import Told, under_load
from tests.e2e.grounds import Ground
from tests.e2e.installed import Installed
from tests.server.figures import Figures

FAILOVER_TARGET_S = 2.0


def refuses_nothing(told: Told, what: str, figures: Figures) -> None:
    figures.add(f"refused: {what}", told.summary(), "0", not told.refused)
    assert told.refused == []


def refuses_only(told: Told, what: str, windows: list[turmoil.Window], figures: Figures) -> None:
    strays = told.outside(*windows)
    lengths = " + ".join(f"{end - begin - turmoil.AFTER_S:.1f}" for begin, end in windows)
    figures.add(f"refused: {what}", f"{told.summary()}; {lengths} s to recover", "open calls only", not strays)
    assert strays == []
    assert len(told.tried_again_s) >= min(1, len(told.refused))


def test_a_rolling_restart_refuses_nothing(gatehouse: Installed, ground: Ground, figures: Figures) -> None:
    refuses_nothing(under_load(ground, "rolling", lambda: turmoil.roll(gatehouse)), "rolling restart", figures)


def test_an_upgrade_refuses_nothing(gatehouse: Installed, ground: Ground, figures: Figures) -> None:
    refuses_nothing(under_load(ground, "upgrade", lambda: turmoil.upgrade(gatehouse)), "deployed anew", figures)


def test_the_loss_of_the_leader_refuses_nothing(gatehouse: Installed, ground: Ground, figures: Figures) -> None:
    took_s: list[float] = []
    told = under_load(ground, "leader", lambda: took_s.append(turmoil.delete_leader(gatehouse)))
    figures.add("another leader after", f"{took_s[0]:.1f} s", f"<= {FAILOVER_TARGET_S:g} s", took_s[0] <= FAILOVER_TARGET_S)

    refuses_nothing(told, "leader deleted", figures)


def test_a_rotated_certificate_refuses_nothing(gatehouse: Installed, ground: Ground, figures: Figures) -> None:
    refuses_nothing(under_load(ground, "leaf", lambda: turmoil.rotate_leaf(gatehouse)), "leaf rotated", figures)


def test_a_rotated_ca_refuses_nothing(gatehouse: Installed, ground: Ground, figures: Figures) -> None:
    refuses_nothing(under_load(ground, "ca", lambda: turmoil.rotate_authority(gatehouse)), "CA rotated", figures)


def test_a_deleted_secret_refuses_nothing(gatehouse: Installed, ground: Ground, figures: Figures) -> None:
    refuses_nothing(under_load(ground, "secret", lambda: turmoil.delete_secret(gatehouse)), "Secret deleted", figures)


def test_emptied_bundles_cost_only_the_calls_until_they_are_back(
    gatehouse: Installed, ground: Ground, figures: Figures
) -> None:
    windows: list[turmoil.Window] = []
    told = under_load(ground, "bundle", lambda: windows.append(turmoil.empty_ca_bundles(gatehouse)))

    refuses_only(told, "caBundle emptied", windows, figures)


def test_killed_replicas_cost_only_the_calls_that_were_open(gatehouse: Installed, ground: Ground, figures: Figures) -> None:
    """One after the other, each with SIGKILL."""
    windows: list[turmoil.Window] = []

    def kill_each() -> None:
        for replica in gatehouse.replicas():
            windows.append(turmoil.kill(gatehouse, replica))
            gatehouse.wait_all_ready()

    told = under_load(ground, "killed", kill_each)

    refuses_only(told, "kill -9 of each", windows, figures)


def test_a_restarted_api_server_costs_only_the_calls_until_it_is_ready(
    gatehouse: Installed, ground: Ground, figures: Figures
) -> None:
    windows: list[turmoil.Window] = []
    told = under_load(ground, "apiserver", lambda: windows.append(turmoil.restart_api_server(gatehouse)))

    refuses_only(told, "API server restarted", windows, figures)


def test_a_replica_that_hits_its_memory_limit_costs_only_the_calls_that_were_open(
    gatehouse: Installed, ground: Ground, api: Api, figures: Figures
) -> None:
    turmoil.roll(gatehouse)  # fresh pods: one that has been killed waits before it is started again
    windows: list[turmoil.Window] = []
    victim = gatehouse.replicas()[0]
    told = under_load(ground, "memory", lambda: windows.append(turmoil.exhaust_memory(gatehouse, victim)))

    assert turmoil.last_end(api, victim)["reason"] == "OOMKilled"
    refuses_only(told, "memory limit hit", windows, figures)


@pytest.fixture(autouse=True)
def _all_is_well_before(gatehouse: Installed) -> None:
    gatehouse.wait_all_ready()
