"""Files together are one frozen cluster: what counts when they disagree, and what each look-up finds in it."""

from __future__ import annotations

import logging
from typing import Any

import attrs
import pytest

from controllers.local.files import File, Placed, facts_of
from controllers.local.snapshot import Snapshot, cluster_of, combine
from controllers.testing import FakeClock
from webhook.clock import Deadline
from webhook.objects.databases import API_VERSION as DATABASES
from webhook.objects.meta import Json
from webhook.objects.votes import VotePolicy
from webhook.sidecars.entries.catalog import Catalog


@attrs.define
class Folder:
    """Who has the newest snapshot."""

    snapshot: Snapshot = Snapshot()


def made(kind: str, name: str, namespace: str = "", version: str = "v1", labels: Json | None = None, **fields: Any) -> Json:
    metadata = {"name": name, "namespace": namespace or None, "labels": labels}
    return {"apiVersion": version, "kind": kind, "metadata": metadata, **fields}


def pod(name: str, node: str = "", namespace: str = "shop") -> Json:
    return made("Pod", name, namespace, spec={"nodeName": node})


def node(name: str, version: str = "v1.33.0", **spec: Any) -> Json:
    return made("Node", name, spec=spec, status={"nodeInfo": {"kubeletVersion": version}})


def entries(image: object, name: str = "mesh") -> Json:
    data = {"proxy": f"containers: [{{name: proxy, image: {image}}}]\n"}
    return made("ConfigMap", name, "shop", labels={"gatehouse.dev/sidecars": "true"}, data=data)


def file(*objects: Json, name: str = "a.yaml") -> File:
    placed = (Placed(f"{name}:{line}", facts) for line, obj in enumerate(objects, 1) for facts in facts_of(obj, VotePolicy()))
    return File((0, 0, 0), tuple(placed))


def snapshot(*objects: Json) -> Snapshot:
    return combine([file(*objects)], Catalog())


def proxy(catalog: Catalog) -> object:
    state = catalog.find("proxy", "shop", "kube-system")
    return None if state is None or state.entry is None else state.entry.containers[0]["image"]


def soon() -> Deadline:
    return Deadline.after(1.0, FakeClock())


# -- what counts


def test_without_files_there_is_nothing() -> None:
    assert set(combine([], Catalog()).counts().values()) == {0}


def test_of_two_objects_of_one_name_the_later_counts_and_both_places_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    first, second = file(pod("web", "a"), name="a.yaml"), file(pod("web", "b"), name="b.yaml")

    with caplog.at_level(logging.WARNING):
        found = combine([first, second], Catalog())

    assert {key: one.node for key, one in found.pods.items()} == {"shop/web": "b"}
    assert list(found.pods_by_node) == ["b"]
    (line,) = (getattr(record, "facts", {}) for record in caplog.records)
    assert line == {"kind": "pod", "key": "shop/web", "first": "a.yaml:1", "second": "b.yaml:1"}


@pytest.mark.parametrize(
    "others",
    [
        (pod("web", namespace="shop"), pod("web", namespace="bank")),
        (made("LimitRange", "web", "shop", spec={"limits": []}), made("ResourceQuota", "web", "shop")),
    ],
)
def test_one_name_in_two_namespaces_or_of_two_kinds_is_two_objects(
    others: tuple[Json, Json], caplog: pytest.LogCaptureFixture
) -> None:
    found = snapshot(*others)

    assert sum(found.counts().values()) == 2
    assert not caplog.records


def test_a_stateful_set_written_twice_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    twice = made("StatefulSet", "db", "shop", "apps/v1", spec={"replicas": 3})

    found = snapshot(twice, twice)

    assert (len(caplog.records), list(found.ordinals), found.counts()["statefulsets"]) == (1, ["shop/db"], 1)


def test_objects_are_grouped_by_namespace_and_sorted_by_name_where_messages_name_them() -> None:
    places = (("b", "shop"), ("c", "bank"), ("a", "shop"))
    limits = [made("LimitRange", name, space, spec={"limits": []}) for name, space in places]
    quotas = [made("ResourceQuota", name, "shop") for name in ("z", "y")]

    found = snapshot(*limits, *quotas)

    named = {space: [one.name for one in group] for space, group in found.limit_ranges.items()}
    assert named == {"shop": ["a", "b"], "bank": ["c"]}
    assert [one.name for one in found.quotas["shop"]] == ["y", "z"]


def test_pods_that_no_node_has_are_on_none() -> None:
    found = snapshot(pod("a"), pod("b", "edge-1"))

    assert {node: [one.name for one in pods] for node, pods in found.pods_by_node.items()} == {"edge-1": ["b"]}


def test_the_oldest_kubelet_is_that_of_a_node_that_takes_pods() -> None:
    assert snapshot(node("a"), node("b", "v1.20.0", unschedulable=True), node("c", "v1.34.1")).oldest_kubelet == (1, 33)
    assert snapshot(pod("a")).oldest_kubelet is None


# -- sidecars


def test_a_broken_entry_is_what_it_was_before() -> None:
    before = combine([file(entries("proxy:1"))], Catalog()).catalog

    after = combine([file(entries(5))], before)

    assert (proxy(before), proxy(after.catalog)) == ("proxy:1", "proxy:1")
    assert after.readings["shop/mesh"][1].faults


def test_an_entry_that_was_never_good_is_none() -> None:
    assert proxy(snapshot(entries(5)).catalog) is None


def test_what_was_taken_away_is_not_remembered() -> None:
    before = combine([file(entries("proxy:1"))], Catalog()).catalog

    assert combine([file()], before).catalog.sources == {}


def test_a_config_map_of_another_trade_is_known_and_no_source_of_entries() -> None:
    found = snapshot(made("ConfigMap", "settings", "shop", data={"a": "b"}))

    assert (list(found.readings), found.catalog.sources) == (["shop/settings"], {})


# -- look-ups


def test_every_look_up_answers_from_the_newest_snapshot() -> None:
    folder = Folder()
    cluster = cluster_of(folder)
    assert (cluster.nodes.get("edge-1"), cluster.namespaces.get("shop"), cluster.pods.get("shop/web")) == (None, None, None)

    folder.snapshot = snapshot(
        node("edge-1"),
        pod("web", "edge-1"),
        made("Namespace", "shop"),
        entries("proxy:1"),
        made("LimitRange", "limits", "shop", spec={"limits": []}),
        made("ResourceQuota", "quota", "shop"),
        made("PersistentVolumeClaim", "data", "shop"),
        made("StatefulSet", "db", "shop", "apps/v1"),
        made("DatabaseInstance", "db", "shop", DATABASES, spec={"volumes": {"claimNames": ["data"]}}),
    )

    assert cluster.nodes.get("edge-1") is not None
    assert cluster.nodes.oldest_kubelet() == (1, 33)
    assert [one.name for one in cluster.pods.on_node("edge-1")] == ["web"]
    assert cluster.pods.get("shop/web") is not None
    assert cluster.namespaces.get("shop") is not None
    assert proxy(cluster.sidecars.catalog()) == "proxy:1"
    assert [one.name for one in cluster.limit_ranges.of("shop")] == ["limits"]
    assert [one.name for one in cluster.resource_quotas.of("shop")] == ["quota"]
    assert [one.name for one in cluster.databases.claims_in("shop")] == ["data"]
    assert [one.name for one in cluster.databases.makers_in("shop")] == ["db"]
    assert [one.key for one in cluster.databases.instances_in("shop")] == ["shop/db"]
    assert [one.key for one in folder.snapshot.database_instances()] == ["shop/db"]
    assert cluster.capacity.capacity() == folder.snapshot.capacity


def test_what_is_in_no_file_is_found_nowhere() -> None:
    cluster = cluster_of(Folder(snapshot(node("edge-1"), made("Namespace", "shop"))))

    assert (cluster.pods.on_node("edge-2"), cluster.limit_ranges.of("bank"), cluster.resource_quotas.of("bank")) == ((), (), ())
    assert (cluster.databases.instances_in("bank"), cluster.databases.claims_in("bank")) == ((), ())
    assert cluster.databases.makers_in("bank") == ()


def test_there_is_no_api_server_to_ask() -> None:
    cluster = cluster_of(Folder(snapshot(node("edge-1"), made("Namespace", "shop"), entries("proxy:1"))))

    assert cluster.nodes.confirm("edge-1", soon()) is None
    assert cluster.namespaces.confirm("shop", soon()) is None
    assert proxy(cluster.sidecars.awaited(["proxy"], "shop", "kube-system", soon())) == "proxy:1"
    assert cluster.databases.synced()


def test_a_config_map_that_files_lack_may_exist_where_the_pods_will_run() -> None:
    config_maps = cluster_of(Folder(snapshot(made("ConfigMap", "settings", "shop")))).config_maps

    assert [config_maps.exists(space, "settings", soon()) for space in ("shop", "bank")] == [True, None]
