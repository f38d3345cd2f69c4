"""A DatabaseInstance is gone only after its volumes are, which a pod used on a real node.

The volumes are of type hostPath: kube-controller-manager deletes those below /tmp itself (kubernetes/pkg/volume/hostpath).
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.apiserver.databases import VOLUMES, Place, clean_volumes, reference
from tests.apiserver.recorder import Recorder
from tests.apiserver.waiting import wait_for
from tests.cluster import Api
from tests.e2e import pods
from tests.e2e.installed import Installed

NAMESPACE = "databases"


@pytest.fixture(scope="module")
def place(gatehouse: Installed, api: Api) -> Iterator[Place]:
    yield Place(api, NAMESPACE)
    clean_volumes()


def test_an_instance_is_gone_only_after_its_pod_and_its_volume(place: Place, api: Api) -> None:
    instance = place.create_instance(volumes={"claimNames": ["data"]})
    volume = place.claim("data")
    writes = pods.container("db", "echo 1 > /data/rows; sleep 3600", volumeMounts=[{"name": "data", "mountPath": "/data"}])
    body = pods.pod("db-0", writes, volumes=[{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}])
    body["metadata"]["ownerReferences"] = [reference(instance)]
    api.create(place.path("pods"), body)
    pods.wait_phase(api, NAMESPACE, "db-0", "Running")

    with Recorder(api, VOLUMES) as volumes, Recorder(api, place.path("pods")) as running:
        with Recorder(api, place.path("databaseinstances", group="/apis/example.com/v1")) as instances:
            place.delete_instance()
            place.wait_gone()
            gone = _deleted(instances, "db")
        pod_gone, volume_gone = _deleted(running, "db-0"), _deleted(volumes, volume)

    assert pod_gone < volume_gone < gone
    assert place.claims() == []


def _deleted(recorder: Recorder, name: str) -> int:
    """The store's version when the object was deleted; fails the test when it is there.

    Each watch has a thread of its own: which of them heard first says nothing, and none may have heard yet.
    """
    found: list[int] = []

    def heard() -> bool:
        found[:] = [event.version for event in recorder.events() if event.name == name and event.object is None]
        return bool(found)

    wait_for(heard, 30.0, f"the end of {name}")
    return found[0]
