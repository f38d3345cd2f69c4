"""An entry comes in as a whole or not at all, and what the pod's own controller and kubelet see decides what is a conflict."""

from __future__ import annotations

import json
from typing import Any

import attrs
import pytest

from tests.webhook.sidecars.injection.injecting import APP_OWNER, Outcome, collector, empty, entry, pod, refused, run
from webhook.names import INJECTED, Reason
from webhook.objects.meta import Json
from webhook.sidecars.entries.entry import AppWiring, Conflict, Entry

APP = {"name": "app", "image": "app:1"}
PROXY = entry(
    "mesh", containers=({"name": "proxy", "image": "proxy:1"},), app=AppWiring(env=({"name": "HTTP_PROXY", "value": "x"},))
)
LOGS = empty("logs", log_collector=collector())
MOUNTED = empty(
    "conf",
    volumes=({"name": "conf", "configMap": {"name": "theirs"}},),
    app=AppWiring(volume_mounts=({"name": "conf", "mountPath": "/etc/conf"},)),
)


def records(done: Outcome) -> list[Json]:
    said: list[Json] = json.loads(done.pod["metadata"]["annotations"][INJECTED])
    return said


@pytest.mark.parametrize(
    ("sent", "given", "reason"),
    [
        (pod(APP, {"name": "proxy", "image": "mine:1"}), PROXY, Reason.NAME_CONFLICT),
        (pod(APP, {"name": "log-collector", "image": "mine:1"}), LOGS, Reason.NAME_CONFLICT),
        (pod(volumes=[{"name": "log-collector-logs", "secret": {"secretName": "s"}}]), LOGS, Reason.VOLUME_CONFLICT),
        (pod(volumes=[{"name": "conf", "secret": {"secretName": "s"}}]), MOUNTED, Reason.VOLUME_CONFLICT),
    ],
)
def test_where_the_pods_own_stays_nothing_of_the_entry_comes_in(sent: Json, given: Entry, reason: Reason) -> None:
    done = run(sent, given)

    assert done.pod["spec"] == sent["spec"]
    assert (done.applied, done.reasons) == ((), [reason])
    assert "left out as a whole" in done.findings[0].message
    assert [(one["entry"], one["leftOut"], one["revision"]) for one in records(done)] == [(given.name, reason, "r1")]


def test_the_other_entries_come_in() -> None:
    done = run(pod(APP, {"name": "proxy", "image": "mine:1"}), PROXY, entry())

    assert [one.name for one in done.applied] == ["envoy"]
    assert [(one["entry"], one.get("leftOut")) for one in records(done)] == [("mesh", Reason.NAME_CONFLICT), ("envoy", None)]


def test_a_record_of_what_was_left_out_goes_when_the_entry_comes_in() -> None:
    sent = run(pod(APP, {"name": "proxy", "image": "mine:1"}), PROXY).pod
    sent["spec"]["containers"].pop()

    assert [one.get("leftOut") for one in records(run(sent, PROXY))] == [None]


def test_a_record_that_would_be_too_much_for_the_pod_is_not_written() -> None:
    sent = pod(APP, {"name": "proxy", "image": "mine:1"})
    sent["metadata"]["annotations"] = {"k": "x" * (256 * 1024 - 1)}

    assert run(sent, PROXY).operations == []


# -- labels that controllers select by


def test_a_label_of_a_pod_that_has_a_controller_is_never_overridden() -> None:
    sent = pod()
    sent["metadata"]["ownerReferences"] = [APP_OWNER]

    done = run(sent, empty(labels={"app": "meshed", "mesh": "yes"}, on_conflict=Conflict.OVERRIDE))

    assert done.pod["metadata"]["labels"] == {"app": "web", "mesh": "yes"}
    assert done.reasons == [Reason.METADATA_CONFLICT]
    assert "controller" in done.findings[0].message


def test_a_label_of_a_pod_that_nobody_controls_gives_way_to_override() -> None:
    sent = pod()
    sent["metadata"]["ownerReferences"] = [{**APP_OWNER, "controller": False}]

    done = run(sent, empty(labels={"app": "meshed"}, on_conflict=Conflict.OVERRIDE))

    assert done.pod["metadata"]["labels"] == {"app": "meshed"}


# -- mount paths as the kubelet sees them


@pytest.mark.parametrize("path", ["/var//log/app", "/var/log/../log/app", "var/log/app", "//var/log/app/.", "/var/log/app/"])
def test_the_logs_are_read_where_the_app_has_its_own_volume_however_the_path_is_written(path: str) -> None:
    mount = {"name": "mine", "mountPath": path}
    sent = pod({**APP, "volumeMounts": [mount]}, volumes=[{"name": "mine", "emptyDir": {}}])

    done = run(sent, LOGS)

    assert done.container("app")["volumeMounts"] == [mount]
    assert done.container("log-collector")["volumeMounts"] == [{**mount, "readOnly": True}]
    assert done.pod["spec"]["volumes"] == sent["spec"]["volumes"]


@pytest.mark.parametrize("path", ["/etc//conf", "etc/conf", "/etc/./conf"])
def test_a_mount_at_one_place_conflicts_however_it_is_written(path: str) -> None:
    sent = pod({**APP, "volumeMounts": [{"name": "mine", "mountPath": path}]})

    assert run(sent, MOUNTED).reasons == [Reason.MOUNT_CONFLICT]


# -- a stamp that somebody else has written


WORKING = entry(
    "s",
    containers=(
        {"name": "s", "image": "r.example/team/s:1", "command": ["run"], "volumeMounts": [{"name": "c", "mountPath": "/c"}]},
    ),
    volumes=({"name": "c", "emptyDir": {}},),
)


def stamped(container: Json, **record: Any) -> Json:
    sent = pod(APP, container, volumes=[{"name": "c", "emptyDir": {}}])
    said = {"containers": ["s"], "entry": "s", "initContainers": [], "revision": "r1", "source": "shop/sidecars", "volumes": []}
    sent["metadata"]["annotations"] = {INJECTED: json.dumps([{**said, **record}])}
    return sent


MOUNTS = [{"name": "c", "mountPath": "/c"}]
FORGED: list[Json] = [
    {"name": "s", "image": "evil:1"},
    {"name": "s", "image": "s:1", "command": ["sleep"], "volumeMounts": MOUNTS},
    {"name": "s", "image": "s:1", "command": ["run"]},
    {"name": "s", "image": "evil:1", "command": ["run"], "volumeMounts": MOUNTS},
]
REWRITTEN: list[Json] = [
    {"name": "s", "image": "mirror.example/r.example/team/s@sha256:" + "0" * 64, "command": ["run"], "volumeMounts": MOUNTS},
    {
        "name": "s",
        "image": "s:1",
        "command": ["/wrap/env"],
        "args": ["run"],
        "volumeMounts": [{"name": "w", "mountPath": "/wrap"}, *MOUNTS],
    },
    {"name": "s", "image": "s:1", "command": ["run"], "volumeMounts": MOUNTS, "env": [{"name": "A", "value": "b"}]},
]


@pytest.mark.parametrize("container", FORGED)
def test_a_stamp_does_not_pass_the_users_container_off_as_ours(container: Json) -> None:
    sent = stamped(container)

    assert refused(sent, attrs.evolve(WORKING, on_conflict=Conflict.REFUSE)).reason is Reason.NAME_CONFLICT
    assert run(sent, attrs.evolve(WORKING, on_conflict=Conflict.OVERRIDE)).container("s") == WORKING.containers[0]
    assert run(sent, WORKING).reasons == [Reason.NAME_CONFLICT]


@pytest.mark.parametrize("container", REWRITTEN)
@pytest.mark.parametrize("policy", Conflict)
def test_what_other_webhooks_do_to_our_container_leaves_it_ours(container: Json, policy: Conflict) -> None:
    done = run(stamped(container), attrs.evolve(WORKING, on_conflict=policy))

    assert (done.container("s"), done.reasons) == (container, [])


def test_a_stub_that_runs_another_command_stays_ours() -> None:
    stub = {"name": "s", "image": "auto", "command": ["mine"]}

    done = run(pod(APP, stub), attrs.evolve(WORKING, on_conflict=Conflict.REFUSE))

    assert (done.container("s")["command"], records(done)[0]["filled"]) == (["mine"], ["s"])


def test_a_stub_counts_only_where_pods_may_change_the_entry() -> None:
    sent = stamped(FORGED[1], filled=["s"])

    assert refused(sent, attrs.evolve(WORKING, on_conflict=Conflict.REFUSE, overridable=False)).reason is Reason.NAME_CONFLICT


def test_a_port_that_a_stub_has_under_two_host_ports_stays_twice() -> None:
    ports = [{"containerPort": 80, "hostPort": 80}, {"containerPort": 80, "hostPort": 81}]
    given = attrs.evolve(WORKING, containers=({"name": "s", "image": "s:1", "ports": [{"containerPort": 80}]},))

    assert run(pod(APP, {"name": "s", "image": "auto", "ports": ports}), given).container("s")["ports"] == ports


def test_what_was_left_out_stays_out_when_another_entry_has_overridden_what_was_in_its_way() -> None:
    volumes = MOUNTED.volumes
    sent = pod(volumes=[{"name": "conf", "secret": {"secretName": "s"}}])

    done = run(sent, MOUNTED, empty("other", volumes=volumes, on_conflict=Conflict.OVERRIDE))

    assert [one.name for one in done.applied] == ["other"]
    assert done.pod["spec"]["volumes"] == list(volumes)
