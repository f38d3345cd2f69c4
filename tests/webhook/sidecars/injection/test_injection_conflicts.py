"""What the pod has already: the entry says whether it stays, gives way, or refuses the pod; and it is said where."""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from tests.webhook.sidecars.injection.injecting import defaulted, empty, entry, once, pod, refused, run
from webhook.names import Reason
from webhook.objects.meta import Json
from webhook.sidecars.entries.entry import AppWiring, Conflict, Entry

APP = {"name": "app", "image": "app:1"}
MINE = {"name": "envoy", "image": "mine:1"}


def wiring(**app: Any) -> Entry:
    return empty(app=AppWiring(**app))


def looked_up(tree: Any, path: str) -> Any:
    for part in path.split("/"):
        tree = tree[int(part) if part.isdigit() else part]
    return tree


# what the pod has, what the entry brings, where it is, the entry's, reason, field
CONFLICTS: list[tuple[str, Json, Entry, str, Any, Reason, str]] = [
    (
        "a container of the same name",
        pod(APP, MINE),
        entry(),
        "spec/containers/1/image",
        "envoy:1",
        Reason.NAME_CONFLICT,
        "spec.containers[1].name",
    ),
    (
        "a variable",
        pod({**APP, "env": [{"name": "X", "value": "0"}, {"name": "A", "value": "mine"}]}),
        wiring(env=({"name": "A", "value": "theirs"},)),
        "spec/containers/0/env/1/value",
        "theirs",
        Reason.VARIABLE_CONFLICT,
        "spec.containers[0].env[1]",
    ),
    (
        "a mount path",
        pod({**APP, "volumeMounts": [{"name": "mine", "mountPath": "/data/"}]}),
        wiring(volume_mounts=({"name": "theirs", "mountPath": "/data"},)),
        "spec/containers/0/volumeMounts/0/name",
        "theirs",
        Reason.MOUNT_CONFLICT,
        "spec.containers[0].volumeMounts[0]",
    ),
    (
        "a volume of other content",
        pod(volumes=[{"name": "conf", "secret": {"secretName": "mine"}}]),
        empty(volumes=({"name": "conf", "configMap": {"name": "theirs"}},)),
        "spec/volumes/0",
        {"name": "conf", "configMap": {"name": "theirs"}},
        Reason.VOLUME_CONFLICT,
        "spec.volumes[0]",
    ),
    (
        "hosts of an address",
        pod(hostAliases=[{"ip": "10.0.0.1", "hostnames": ["mine"]}]),
        empty(host_aliases=({"ip": "10.0.0.1", "hostnames": ["theirs"]},)),
        "spec/hostAliases/0/hostnames",
        ["theirs"],
        Reason.HOST_ALIAS_CONFLICT,
        "spec.hostAliases[0]",
    ),
    (
        "a label",
        pod(),
        empty(labels={"app": "theirs"}),
        "metadata/labels/app",
        "theirs",
        Reason.METADATA_CONFLICT,
        "metadata.labels[app]",
    ),
    (
        "a host port",
        pod({**APP, "ports": [{"containerPort": 8080, "hostPort": 80}]}),
        entry(containers=({"name": "envoy", "image": "e:1", "ports": [{"containerPort": 80, "hostPort": 80}]},)),
        "spec/containers/1/ports/0",
        {"containerPort": 80, "hostPort": 80},
        Reason.PORT_CONFLICT,
        "spec.containers[0].ports[0]",
    ),
]
IDS = [case[0] for case in CONFLICTS]


def with_policy(given: Entry, policy: Conflict) -> Entry:
    return attrs.evolve(given, on_conflict=policy)


@pytest.mark.parametrize(("case", "sent", "given", "path", "theirs", "reason", "field"), CONFLICTS, ids=IDS)
def test_keep_leaves_the_pods_own_and_says_so(
    case: str, sent: Json, given: Entry, path: str, theirs: Any, reason: Reason, field: str
) -> None:
    done = run(sent, given)

    if reason is not Reason.PORT_CONFLICT:
        assert looked_up(done.pod, path) == looked_up(sent, path)
    assert [(finding.reason, finding.field) for finding in done.findings] == [(reason, field)]
    assert given.source in done.findings[0].message


@pytest.mark.parametrize(("case", "sent", "given", "path", "theirs", "reason", "field"), CONFLICTS, ids=IDS)
def test_override_puts_the_entrys_in_its_place_and_says_so(
    case: str, sent: Json, given: Entry, path: str, theirs: Any, reason: Reason, field: str
) -> None:
    done = run(sent, with_policy(given, Conflict.OVERRIDE))

    assert looked_up(done.pod, path) == theirs
    assert [(finding.reason, finding.field) for finding in done.findings] == [(reason, field)]


@pytest.mark.parametrize(("case", "sent", "given", "path", "theirs", "reason", "field"), CONFLICTS, ids=IDS)
def test_refuse_refuses_the_pod_and_names_the_field(
    case: str, sent: Json, given: Entry, path: str, theirs: Any, reason: Reason, field: str
) -> None:
    refusal = refused(sent, with_policy(given, Conflict.REFUSE))

    assert (refusal.reason, refusal.field) == (reason, field)
    assert given.source in refusal.message


@pytest.mark.parametrize("policy", Conflict)
@pytest.mark.parametrize(("case", "sent", "given", "path", "theirs", "reason", "field"), CONFLICTS, ids=IDS)
def test_what_was_injected_never_conflicts_with_itself(
    case: str, sent: Json, given: Entry, path: str, theirs: Any, reason: Reason, field: str, policy: Conflict
) -> None:
    given = with_policy(given, policy)
    first = once(pod(), given) if "label" not in case else once({"metadata": {}, "spec": {"containers": [APP]}}, given)

    second = once(defaulted(first.pod), given)

    assert (second.operations, second.findings, second.refusal) == ([], (), None)


def test_a_kept_host_port_leaves_the_entry_its_port() -> None:
    _, sent, given, *_ = CONFLICTS[-1]

    assert run(sent, given).container("envoy")["ports"] == [{"containerPort": 80}]


def test_an_overridden_host_port_leaves_the_pod_its_port() -> None:
    _, sent, given, *_ = CONFLICTS[-1]

    assert run(sent, with_policy(given, Conflict.OVERRIDE)).container("app")["ports"] == [{"containerPort": 8080}]


def test_on_the_nodes_network_every_port_is_a_host_port() -> None:
    sent = pod({**APP, "ports": [{"containerPort": 80}]}, hostNetwork=True)
    given = entry(containers=({"name": "envoy", "image": "e:1", "ports": [{"containerPort": 80}, {"containerPort": 81}]},))

    assert run(sent, given).container("envoy")["ports"] == [{"containerPort": 81}]
    assert run(sent, with_policy(given, Conflict.OVERRIDE)).container("app")["ports"] == []


@pytest.mark.parametrize(
    ("port", "conflicts"),
    [
        ({"containerPort": 80}, True),
        ({"containerPort": 80, "protocol": "TCP"}, True),
        ({"containerPort": 80, "protocol": "UDP"}, False),
        ({"containerPort": 81}, False),
    ],
)
def test_two_containers_with_one_port_are_only_told_of(port: Json, conflicts: bool) -> None:
    done = run(
        pod({**APP, "ports": [{"containerPort": 80}]}), entry(containers=({"name": "envoy", "image": "e:1", "ports": [port]},))
    )

    assert done.reasons == ([Reason.PORT_CONFLICT] if conflicts else [])
    assert done.container("envoy")["ports"] == [port]


@pytest.mark.parametrize(("on_host", "lost"), [(False, "its hostPort"), (True, "the port")])
def test_a_container_that_cannot_have_its_host_port_is_said_to_come_without_it(on_host: bool, lost: str) -> None:
    port = {"containerPort": 80, "hostPort": 80}

    done = run(
        pod({**APP, "ports": [port]}, hostNetwork=on_host),
        entry(containers=({"name": "envoy", "image": "e:1", "ports": [port]},)),
    )

    assert done.container("envoy")["ports"] == ([] if on_host else [{"containerPort": 80}])
    assert done.findings[0].message == (
        'host port 80/TCP of container "app", which container "envoy" wants too, conflicts with entry "envoy" (shop/sidecars) '
        f'and stays as it is: container "envoy" comes without {lost}'
    )


def test_a_port_that_the_user_wrote_into_a_stub_stays() -> None:
    own = {"containerPort": 80, "hostPort": 80}
    sent = pod({**APP, "ports": [own]}, {"name": "envoy", "image": "auto", "ports": [own]})

    done = run(sent, entry())

    assert done.container("envoy")["ports"] == [own]
    assert done.findings == ()


def test_a_port_of_a_plain_init_container_is_free_again() -> None:
    sent = pod(initContainers=[{"name": "init", "image": "i:1", "ports": [{"containerPort": 80}]}])

    assert run(sent, entry(containers=({"name": "envoy", "image": "e:1", "ports": [{"containerPort": 80}]},))).findings == ()


@pytest.mark.parametrize(
    "there",
    [
        {"name": "conf", "configMap": {"name": "c"}},
        {"name": "conf", "configMap": {"name": "c", "defaultMode": 420}},
    ],
)
def test_a_volume_of_the_same_content_is_the_same_volume(there: Json) -> None:
    done = run(pod(volumes=[there]), empty(volumes=({"name": "conf", "configMap": {"name": "c"}},)))

    assert done.pod["spec"]["volumes"] == [there]
    assert done.findings == ()


def test_amounts_that_the_api_server_rewrites_are_the_same() -> None:
    want = ({"name": "tmp", "emptyDir": {"sizeLimit": "1024Mi"}},)

    assert run(pod(volumes=[{"name": "tmp", "emptyDir": {"sizeLimit": "1Gi"}}]), empty(volumes=want)).findings == ()
    assert run(pod(volumes=[{"name": "tmp", "emptyDir": {"sizeLimit": "2Gi"}}]), empty(volumes=want)).findings != ()


def test_a_pull_secret_comes_once() -> None:
    done = run(
        pod(imagePullSecrets=[{"name": "registry"}]), empty(image_pull_secrets=({"name": "registry"}, {"name": "other"}))
    )

    assert done.pod["spec"]["imagePullSecrets"] == [{"name": "registry"}, {"name": "other"}]


def test_a_container_of_another_entry_is_never_replaced() -> None:
    other = with_policy(entry("other", containers=({"name": "envoy", "image": "other:1"},)), Conflict.OVERRIDE)

    done = run(pod(), entry(), other)

    assert done.container("envoy")["image"] == "envoy:1"
    assert done.reasons == [Reason.NAME_CONFLICT]
    assert refused(pod(), entry(), with_policy(other, Conflict.REFUSE)).reason is Reason.NAME_CONFLICT


@pytest.mark.parametrize("policy", [Conflict.KEEP, Conflict.OVERRIDE])
def test_of_two_entries_that_contradict_each_other_the_first_counts_at_every_call(policy: Conflict) -> None:
    one = with_policy(empty("one", labels={"a": "1"}, app=AppWiring(env=({"name": "A", "value": "1"},))), policy)
    two = with_policy(empty("two", labels={"a": "2"}, app=AppWiring(env=({"name": "A", "value": "2"},))), policy)

    done = run(pod(), one, two)

    assert done.pod["metadata"]["labels"]["a"] == "1"
    assert done.env() == [("A", "1")]
    assert done.reasons == [Reason.VARIABLE_CONFLICT, Reason.METADATA_CONFLICT]


def test_a_raw_device_at_a_mount_path_stays() -> None:
    sent = pod({**APP, "volumeDevices": [{"name": "disk", "devicePath": "/data"}]})

    done = run(sent, with_policy(wiring(volume_mounts=({"name": "theirs", "mountPath": "/data"},)), Conflict.OVERRIDE))

    assert "volumeMounts" not in done.container("app")
    assert done.reasons == [Reason.MOUNT_CONFLICT]


def test_all_conflicts_that_refuse_are_said_at_once() -> None:
    given = with_policy(empty(labels={"app": "x"}, app=AppWiring(env=({"name": "A", "value": "theirs"},))), Conflict.REFUSE)

    message = refused(pod({**APP, "env": [{"name": "A", "value": "mine"}]}), given).message

    assert 'variable "A"' in message
    assert "label app" in message


def test_an_app_container_that_an_entry_overrides_is_not_wired_as_the_users() -> None:
    given = with_policy(entry(app=AppWiring(env=({"name": "A", "value": "1"},))), Conflict.OVERRIDE)

    done = run(pod(APP, MINE), given)

    assert "env" not in done.container("envoy")
    assert done.env() == [("A", "1")]
