"""Real Deployments, StatefulSets, Jobs and bare pods: who gives an address back, and who finds it again."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.apiserver.addresses import objects
from tests.apiserver.addresses.kubelet import ONCE, Kubelet
from tests.apiserver.addresses.objects import address, create, from_pool, phase, pod, template, wait_bound, wait_released
from tests.apiserver.waiting import stays, wait_for
from tests.apiserver.workloads import create_namespace, pods_path
from tests.cluster import Api, Json
from tests.cluster.kinds import apply, object_path

WITHIN_S = 30.0
ROLL_OUT: Json = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}
pytestmark = pytest.mark.usefixtures("kubelet")


def workload(kind: str, namespace: str, name: str, pool: str, **spec: object) -> Json:
    """A workload whose pods ask for addresses of *pool*, with an AddressPool of that name made before."""
    labels = {"app": name}
    body = {"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": name, "namespace": namespace}}
    return body | {"spec": {"selector": {"matchLabels": labels}, "template": template(labels | from_pool(pool))} | spec}


def job(namespace: str, name: str, pool: str, count: int) -> Json:
    made = template(from_pool(pool) | ONCE, restartPolicy="Never")
    head = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name, "namespace": namespace}}
    return head | {"spec": {"completions": count, "parallelism": count, "template": made}}


def living(api: Api, namespace: str, app: str) -> list[Json]:
    """The pods of *app* that run and do not end."""
    return [
        one
        for one in objects.pods(api, namespace, f"app={app}")
        if one["status"].get("phase") == "Running" and not one["metadata"].get("deletionTimestamp")
    ]


def running(api: Api, namespace: str, app: str, count: int) -> Callable[[], bool]:
    return lambda: len(living(api, namespace, app)) == count


def by_name(api: Api, namespace: str, app: str) -> dict[str, str]:
    return {one["metadata"]["name"]: address(one) for one in living(api, namespace, app)}


def rolled_out(api: Api, made: Json) -> Callable[[], bool]:
    def done() -> bool:
        found = api.get(object_path(made))
        status, wanted = found.get("status", {}), found["spec"]["replicas"]
        seen = status.get("observedGeneration", 0) >= found["metadata"]["generation"]
        return bool(
            seen and status.get("updatedReplicas") == status.get("availableReplicas") == status.get("replicas") == wanted
        )

    return done


def failure(api: Api, namespace: str, app: str) -> str:
    """What the ReplicaSets of *app* say about pods that they could not create."""
    found = api.get(f"/apis/apps/v1/namespaces/{namespace}/replicasets?labelSelector=app={app}")["items"]
    conditions = [one for item in found for one in item["status"].get("conditions", [])]
    return " ".join(one["message"] for one in conditions if one["type"] == "ReplicaFailure")


def test_a_rolling_update_with_max_surge_needs_one_spare_address_and_says_so(api: Api, namespace: str) -> None:
    objects.make_pool(api, "web", "10.108.0.1-10.108.0.3")
    web = workload("Deployment", namespace, "web", "web", replicas=3, strategy=ROLL_OUT)
    apply(api, web)
    wait_for(rolled_out(api, web), WITHIN_S, "three pods")
    before = by_name(api, namespace, "web")

    web["spec"]["template"]["spec"]["containers"][0]["image"] = "app:2"
    apply(api, web)
    wait_for(lambda: "maxSurge" in failure(api, namespace, "web"), WITHIN_S, "the advice in the ReplicaSet's status")
    stuck = by_name(api, namespace, "web")
    objects.make_pool(api, "web", "10.108.0.1-10.108.0.4")
    wait_for(rolled_out(api, web), 2 * WITHIN_S, "the roll-out, with one address more")  # the ReplicaSet has backed off

    after = by_name(api, namespace, "web")
    assert stuck == before
    assert not set(before) & set(after)
    assert len(set(after.values())) == 3


def test_ordinals_keep_their_addresses_when_scaled_down_and_up(api: Api, namespace: str) -> None:
    objects.make_pool(api, "db", "10.108.1.0/28")
    db = workload("StatefulSet", namespace, "db", "db", replicas=3, serviceName="db", podManagementPolicy="Parallel")
    apply(api, db)
    wait_for(running(api, namespace, "db", 3), WITHIN_S, "three pods")
    before = by_name(api, namespace, "db")

    apply(api, db | {"spec": db["spec"] | {"replicas": 1}})
    wait_for(running(api, namespace, "db", 1), WITHIN_S, "one pod")
    wait_for(lambda: len(objects.pods(api, namespace, "app=db")) == 1, WITHIN_S, "two pods gone")
    apply(api, db)
    wait_for(running(api, namespace, "db", 3), WITHIN_S, "three pods again")
    scaled = by_name(api, namespace, "db")
    old = living(api, namespace, "db")
    for one in old:
        objects.delete(api, one)
    uids = {one["metadata"]["uid"] for one in old}  # a successor may be there before the last of them is asked to go
    wait_for(lambda: not uids & {one["metadata"]["uid"] for one in objects.pods(api, namespace)}, WITHIN_S, "their end")
    wait_for(running(api, namespace, "db", 3), WITHIN_S, "their successors")

    assert len(set(before.values())) == 3
    assert scaled == before
    assert by_name(api, namespace, "db") == before


def test_a_set_of_the_same_name_made_anew_shares_no_address_with_the_old_pods(api: Api, namespace: str) -> None:
    objects.make_pool(api, "anew", "10.108.2.0/28")
    anew = workload("StatefulSet", namespace, "anew", "anew", replicas=2, serviceName="a", podManagementPolicy="Parallel")
    apply(api, anew)
    wait_for(running(api, namespace, "anew", 2), WITHIN_S, "two pods")
    before = by_name(api, namespace, "anew")

    api.delete(f"{object_path(anew)}?propagationPolicy=Foreground")
    wait_for(lambda: api.find(object_path(anew)) is None, WITHIN_S, "the set gone")
    apply(api, anew)
    wait_for(running(api, namespace, "anew", 2), WITHIN_S, "two pods of the new set")

    assert not set(before.values()) & set(by_name(api, namespace, "anew").values())


def test_a_pod_that_only_names_a_set_as_its_owner_leaves_nothing_behind(api: Api, namespace: str) -> None:
    objects.make_pool(api, "named", "10.108.10.0/29")
    own = workload("StatefulSet", namespace, "named", "named", replicas=1, serviceName="n")
    apply(api, own)
    wait_for(running(api, namespace, "named", 1), WITHIN_S, "the pod of the set")
    uid = api.get(object_path(own))["metadata"]["uid"]
    stray = pod("stray-0", from_pool("named"))
    owner = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "named", "uid": uid, "controller": True}
    stray["metadata"]["ownerReferences"] = [owner]
    made = create(api, namespace, stray)
    wait_bound(api, made)

    objects.delete(api, made)

    wait_released(api, [address(made)])
    kept = by_name(api, namespace, "named")["named-0"]
    wait_for(lambda: phase(api, kept) == "Bound", WITHIN_S, "the reservation of the set's own pod")


def test_a_finished_job_gives_its_addresses_back(api: Api, namespace: str) -> None:
    objects.make_pool(api, "jobs", "10.108.3.0/29")
    made = job(namespace, "batch", "jobs", 4)
    apply(api, made)

    wait_for(lambda: api.get(object_path(made)).get("status", {}).get("succeeded") == 4, WITHIN_S, "the job")

    pods = objects.pods(api, namespace, f"{objects.POOL_LABEL}=jobs")
    held = [address(one) for one in pods]
    assert len(set(held)) == 4
    wait_released(api, held)
    assert len(objects.pods(api, namespace, f"{objects.POOL_LABEL}=jobs")) == 4


def test_a_pod_that_its_kubelet_evicted_gives_its_address_back(api: Api, namespace: str) -> None:
    objects.make_pool(api, "evicted", "10.108.4.0/29")
    made = create(api, namespace, pod("evicted-", from_pool("evicted")))
    wait_bound(api, made)

    objects.set_status(api, made, phase="Failed", reason="Evicted", message="The node was low on resource: memory.")

    wait_released(api, [address(made)])
    assert objects.pods(api, namespace, f"{objects.POOL_LABEL}=evicted")


def test_a_pod_that_ends_holds_its_address_until_it_is_gone(api: Api, namespace: str, kubelet: Kubelet) -> None:
    objects.make_pool(api, "ending", "10.108.5.0/29")
    made = create(api, namespace, pod("ending-", from_pool("ending")))
    path = f"{pods_path(namespace)}/{made['metadata']['name']}"
    wait_for(lambda: api.get(path)["status"]["phase"] == "Running", WITHIN_S, "the pod")
    wait_bound(api, made)
    kubelet.keeps_deleted.set()
    try:
        body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": made["metadata"]["name"]}}
        api.create(f"{path}/eviction", body)
        wait_for(lambda: bool(api.get(path)["metadata"].get("deletionTimestamp")), WITHIN_S, "its end begun")
        stays(lambda: phase(api, address(made)) == "Bound", 2.0, "its reservation")
    finally:
        kubelet.keeps_deleted.clear()

    wait_released(api, [address(made)])


def test_a_bare_pod_made_again_at_once_shares_its_address_with_nobody(api: Api, namespace: str) -> None:
    objects.make_pool(api, "bare", "10.108.6.1-10.108.6.2")
    first = create(api, namespace, pod("bare", from_pool("bare")))
    path = f"{pods_path(namespace)}/bare"
    wait_bound(api, first)
    objects.delete(api, first)
    wait_for(lambda: api.find(path) is None, WITHIN_S, "the pod gone")

    other = create(api, namespace, pod("other-", from_pool("bare")))
    second = create(api, namespace, pod("bare", from_pool("bare")))

    assert address(other) != address(second)
    wait_bound(api, other)
    wait_bound(api, second)


def test_a_finished_pod_that_is_deleted_late_takes_nothing_from_its_successor(api: Api, namespace: str) -> None:
    objects.make_pool(api, "single", "10.108.8.1")
    finished = create(api, namespace, pod("finished-", from_pool("single")))
    wait_bound(api, finished)
    objects.set_status(api, finished, phase="Succeeded")
    wait_released(api, [address(finished)])
    successor = create(api, namespace, pod("successor-", from_pool("single")))
    wait_bound(api, successor)

    objects.delete(api, finished)

    assert address(successor) == address(finished)
    stays(lambda: phase(api, address(successor)) == "Bound", 2.0, "the reservation of the one that runs")


def test_a_lost_reservation_of_a_living_pod_is_made_again(api: Api, namespace: str) -> None:
    objects.make_pool(api, "lost", "10.108.7.0/29")
    made = create(api, namespace, pod("lost-", from_pool("lost")))
    wait_bound(api, made)

    api.delete(f"{objects.RESERVATIONS}/{address(made)}")

    wait_bound(api, made)
    assert (objects.reservation(api, address(made)) or {})["spec"]["reservationKey"] == objects.key(made)


def test_a_deleted_namespace_gives_everything_back(api: Api, namespace: str) -> None:
    objects.make_pool(api, "leaving", "10.108.9.0/29")
    create_namespace(api, "addr-leaving")
    held = [address(create(api, "addr-leaving", pod(name, from_pool("leaving")))) for name in ("named", "nameless-")]

    api.delete("/api/v1/namespaces/addr-leaving")

    wait_released(api, held, 2 * WITHIN_S)
    assert not objects.pods(api, "addr-leaving")
