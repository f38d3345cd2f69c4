"""What an operator sees: one command, two replicas of the single binary, ready soon and small.

Bounds are orders of magnitude, since the machine may have other things to do; the targets stand beside the figures.
"""

from __future__ import annotations

from tests.apiserver.waiting import wait_for
from tests.cluster import Api
from tests.e2e.installed import DEPLOYMENT, MIB, READY_AGAIN_S, REFERENCE, REPLICAS, Installed, Replica
from tests.server.figures import Figures

DEPLOY_TARGET_S, DEPLOY_BOUND_S = 20.0, 120.0
START_TARGET_S, START_BOUND_S = 2.0, 20.0  # of processor time: the clock runs for others, too
RESIDENT_TARGET_MIB, RESIDENT_BOUND_MIB = 80.0, 160.0


def test_one_command_deploys_two_ready_replicas(deployed: tuple[Installed, float], figures: Figures) -> None:
    gatehouse, took_s = deployed
    figures.add("deploy to both replicas ready", f"{took_s:.1f} s", f"<= {DEPLOY_TARGET_S:g} s", took_s <= DEPLOY_TARGET_S)

    assert gatehouse.all_ready()
    assert took_s <= DEPLOY_BOUND_S


def test_each_replica_is_the_single_binary_of_the_image_under_test(gatehouse: Installed, api: Api) -> None:
    pods = [api.get(f"/api/v1/namespaces/kube-system/pods/{replica.name}") for replica in gatehouse.replicas()]

    assert [pod["spec"]["containers"][0]["image"] for pod in pods] == [REFERENCE] * REPLICAS
    assert [pod["spec"]["containers"][0]["imagePullPolicy"] for pod in pods] == ["Never"] * REPLICAS
    assert [len(gatehouse.processes(replica)) for replica in gatehouse.replicas()] == [2] * REPLICAS  # launcher and program


def test_an_idle_replica_is_small(gatehouse: Installed, figures: Figures) -> None:
    resident = {
        replica.name: sum(process.resident for process in gatehouse.processes(replica)) / MIB
        for replica in gatehouse.replicas()
    }
    leader = gatehouse.leader()
    for name, mib in sorted(resident.items()):
        role = "the leader" if name == leader else "the other replica"
        figures.add(f"resident, {role}", f"{mib:.0f} MiB", f"<= {RESIDENT_TARGET_MIB:g} MiB", mib <= RESIDENT_TARGET_MIB)

    assert max(resident.values()) <= RESIDENT_BOUND_MIB


def test_a_replica_is_ready_soon_after_its_start(gatehouse: Installed, figures: Figures) -> None:
    """A replica is deleted; of the one that comes in its place the time from the launcher's start to /readyz counts."""
    before = {replica.name for replica in gatehouse.replicas()}
    victim = next(name for name in sorted(before) if name != gatehouse.leader())
    gatehouse.kubectl("-n", "kube-system", "delete", "pod", victim, "--wait=false")
    fresh: list[Replica] = []

    def started() -> bool:
        fresh[:] = [one for one in gatehouse.replicas() if one.name not in before and one.address]
        return bool(fresh)

    wait_for(started, READY_AGAIN_S, "a new replica")
    wait_for(lambda: gatehouse.answers_ready(fresh[0]), READY_AGAIN_S, "a new replica that says it is ready")
    now_s, both = gatehouse.uptime_s(fresh[0]), gatehouse.processes(fresh[0])
    took_s, used_s = now_s - both[0].started_s, sum(process.used_s for process in both)
    gatehouse.wait_all_ready()
    met = used_s <= START_TARGET_S
    figures.add("a replica's start to ready, its own time", f"{used_s:.1f} s", f"<= {START_TARGET_S:g} s", met)
    met = took_s <= START_TARGET_S
    figures.add("the same by the clock", f"<= {took_s:.1f} s", f"<= {START_TARGET_S:g} s", met)

    assert used_s <= START_BOUND_S


def test_the_deployment_asks_for_more_than_one_replica_at_all_times(api: Api, gatehouse: Installed) -> None:
    spec = api.get(DEPLOYMENT)["spec"]

    assert spec["replicas"] == REPLICAS
    assert spec["strategy"]["rollingUpdate"] == {"maxUnavailable": 0, "maxSurge": 1}
    assert len(gatehouse.published()) == REPLICAS
