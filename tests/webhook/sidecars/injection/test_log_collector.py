"""The log collector sees what the app writes, wherever the app's own mounts put it."""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from tests.webhook.sidecars.injection.injecting import NATIVE, SCENE, add_container, collector, empty, once, pod, run
from webhook.names import Reason
from webhook.sidecars.entries import log_reader
from webhook.sidecars.entries.entry import AppWiring, Entry

LOGS = empty("logs", log_collector=collector("/var/log/app"))
OURS = {"name": "log-collector-logs", "mountPath": "/var/log/app"}


def app(*mounts: dict[str, Any], name: str = "app") -> dict[str, Any]:
    return {"name": name, "image": "app:1", "volumeMounts": list(mounts)}


def reader_mounts(done: Any) -> Any:
    return done.container("log-collector")["volumeMounts"]


@pytest.mark.parametrize("scene", [SCENE, NATIVE])
def test_a_shared_folder_is_put_over_that_of_the_app(scene: Any) -> None:
    done = run(pod(), LOGS, scene=scene)

    assert done.container("app")["volumeMounts"] == [OURS]
    assert reader_mounts(done) == [{**OURS, "readOnly": True}]
    assert done.pod["spec"]["volumes"] == [{"name": "log-collector-logs", "emptyDir": {}}]


@pytest.mark.parametrize(
    "mount",
    [
        {"name": "mine", "mountPath": "/var/log/app"},
        {"name": "mine", "mountPath": "/var/log/app", "subPath": "web"},
        {"name": "mine", "mountPath": "/var/log"},
        {"name": "mine", "mountPath": "/var", "subPath": "deep/er"},
    ],
)
def test_a_volume_that_the_app_mounts_there_or_above_is_read_at_the_same_path(mount: dict[str, Any]) -> None:
    sent = pod(app(mount), volumes=[{"name": "mine", "emptyDir": {}}])

    done = run(sent, LOGS)

    assert reader_mounts(done) == [{**mount, "readOnly": True}]
    assert done.container("app")["volumeMounts"] == [mount]
    assert [volume["name"] for volume in done.pod["spec"]["volumes"]] == ["mine"]


def test_the_nearest_mount_counts() -> None:
    near, far = {"name": "near", "mountPath": "/var/log/app/"}, {"name": "far", "mountPath": "/var/log"}

    assert reader_mounts(run(pod(app(far, near)), LOGS)) == [{**near, "readOnly": True}]


def test_a_mount_beside_or_below_is_none() -> None:
    done = run(pod(app({"name": "a", "mountPath": "/var/log/app2"}, {"name": "b", "mountPath": "/var/log/app/old"})), LOGS)

    assert reader_mounts(done) == [{**OURS, "readOnly": True}]


def test_of_two_volumes_at_the_folder_the_first_is_read_and_the_other_is_said() -> None:
    one, two = {"name": "one", "mountPath": "/var/log/app"}, {"name": "two", "mountPath": "/var/log/app"}

    done = run(pod(app(one), app(two, name="web")), LOGS)

    assert reader_mounts(done) == [{**one, "readOnly": True}]
    assert done.reasons == [Reason.MOUNT_CONFLICT]
    assert done.findings[0].field == "spec.containers[1].volumeMounts[0]"


def test_a_path_that_only_the_app_can_expand_is_said() -> None:
    done = run(pod(app({"name": "mine", "mountPath": "/var/log/app", "subPathExpr": "$(POD)"})), LOGS)

    assert reader_mounts(done) == [{"name": "mine", "mountPath": "/var/log/app", "readOnly": True}]
    assert done.reasons == [Reason.MOUNT_CONFLICT]
    assert "$(POD)" in done.findings[0].message


def test_only_the_containers_that_the_entry_names_share_the_folder() -> None:
    named = attrs.evolve(LOGS, app=AppWiring(("web",)))

    done = run(pod(app(), app(name="web")), named)

    assert done.container("app")["volumeMounts"] == []
    assert done.container("web")["volumeMounts"] == [OURS]


def test_a_container_that_comes_between_the_calls_shares_the_folder_too() -> None:
    between = add_container(once(pod(), LOGS).pod, {"name": "late", "image": "late:1"})

    done = run(between, LOGS)

    assert done.container("late")["volumeMounts"] == [OURS]
    assert done.findings == ()


def test_the_reader_keeps_its_other_mounts() -> None:
    reader = {"name": "log-collector", "image": "b:1", "volumeMounts": [{"name": "conf", "mountPath": "/conf"}]}
    with_conf: Entry = attrs.evolve(LOGS, log_collector=attrs.evolve(collector(), container=reader))

    assert [mount["mountPath"] for mount in reader_mounts(run(pod(), with_conf))] == ["/conf", "/var/log/app"]


def test_the_volume_is_known_as_ours() -> None:
    assert '"volumes":["log-collector-logs"]' in run(pod(), LOGS).pod["metadata"]["annotations"]["gatehouse.dev/injected"]


def test_the_reader_runs_as_the_user_who_writes_the_files() -> None:
    files = log_reader.build("/var/log/app/app.log")
    writer = app() | {"securityContext": {"runAsUser": 1001}}

    done = run(pod(writer), empty("logs", log_collector=files))

    assert done.container("log-collector")["securityContext"]["runAsUser"] == 1001
