"""Injection: what every pod can rely on, whatever comes before, between and after our calls."""

from __future__ import annotations

import copy
from time import process_time
from typing import Any

import pytest

from tests.webhook.sidecars.injection.injecting import (
    NATIVE,
    SCENE,
    add_container,
    collector,
    defaulted,
    empty,
    entry,
    once,
    pod,
    run,
)
from webhook.admission.draft import Draft
from webhook.errors import MalformedObject
from webhook.names import DEFAULT_CONTAINER, INJECTED, Reason
from webhook.sidecars.entries.entry import AppWiring, NativeSidecar, Placement, Spot
from webhook.sidecars.injection import apply, plan

ENVOY = entry(
    "envoy-initializer",
    containers=(
        {
            "name": "envoy",
            "image": "lyft/envoy:1",
            "ports": [{"containerPort": 15001}],
            "resources": {"limits": {"cpu": "1000m", "memory": "1024Mi"}},
            "volumeMounts": [{"name": "envoy-conf", "mountPath": "/etc/envoy"}],
        },
    ),
    volumes=({"name": "envoy-conf", "configMap": {"name": "envoy"}},),
    app=AppWiring(
        env=({"name": "HTTP_PROXY", "value": "http://localhost:15001"}, {"name": "NO_PROXY", "value": ""}),
        env_from=({"configMapRef": {"name": "proxy"}},),
        volume_mounts=({"name": "envoy-conf", "mountPath": "/etc/proxy", "readOnly": False},),
    ),
    labels={"sidecar": "envoy"},
    annotations={"team/mesh": "a~b"},
    image_pull_secrets=({"name": "registry"},),
    host_aliases=({"ip": "10.0.0.1", "hostnames": ["mesh"]},),
)


def test_the_article_entry_joins_the_demo_pod() -> None:
    done = run(pod({"name": "demo-container", "image": "busybox"}), ENVOY)

    assert done.names() == ["demo-container", "envoy"]
    assert done.pod["spec"]["volumes"] == [{"name": "envoy-conf", "configMap": {"name": "envoy"}}]
    assert done.applied == (ENVOY,)
    assert done.findings == ()


def test_a_pod_without_annotations_gets_the_map() -> None:
    assert INJECTED in run(pod(), ENVOY).pod["metadata"]["annotations"]


def test_annotations_of_the_pod_survive() -> None:
    sent = pod()
    sent["metadata"]["annotations"] = {"a": "b", "x/y": "1", "p~q": "2", "a~1b": "3"}

    done = run(sent, ENVOY)

    assert sent["metadata"]["annotations"].items() <= done.pod["metadata"]["annotations"].items()
    assert done.pod["metadata"]["annotations"]["team/mesh"] == "a~b"


@pytest.mark.parametrize("key", ["x/y", "p~q", "a~1b", "~0", "/", "~"])
def test_any_key_is_escaped_as_a_pointer(key: str) -> None:
    sent = pod()
    sent["metadata"]["annotations"] = {"there": "already"}

    done = run(sent, empty(annotations={key: "v"}))

    assert done.pod["metadata"]["annotations"][key] == "v"


@pytest.mark.parametrize("absent", ["absent", None, []])
def test_lists_that_are_absent_null_or_empty_are_created(absent: Any) -> None:
    sent = pod({"name": "app", "image": "app:1"})
    if absent != "absent":
        for field in ("volumes", "initContainers", "imagePullSecrets", "hostAliases"):
            sent["spec"][field] = absent
        for field in ("env", "envFrom", "volumeMounts"):
            sent["spec"]["containers"][0][field] = absent
        sent["metadata"]["annotations"] = None

    done = run(sent, ENVOY, scene=NATIVE)

    app = done.container("app")
    assert done.names("initContainers") == ["envoy"]
    assert [mount["mountPath"] for mount in app["volumeMounts"]] == ["/etc/proxy"]
    assert [variable["name"] for variable in app["env"]] == ["HTTP_PROXY", "NO_PROXY"]
    assert app["envFrom"] == [{"configMapRef": {"name": "proxy"}}]
    assert done.pod["spec"]["imagePullSecrets"] == [{"name": "registry"}]


@pytest.mark.parametrize("scene", [SCENE, NATIVE])
def test_a_second_call_gives_no_patch_at_all(scene: Any) -> None:
    first = once(pod(), ENVOY, scene=scene)

    second = once(defaulted(first.pod), ENVOY, scene=scene)

    assert second.operations == []
    assert second.findings == ()
    assert second.applied == (ENVOY,)


def test_a_second_call_recognises_its_containers_even_when_another_webhook_took_the_annotation_away() -> None:
    first = once(pod(), ENVOY)
    between = defaulted(first.pod)
    del between["metadata"]["annotations"][INJECTED]

    second = once(between, ENVOY)

    assert second.names() == ["app", "envoy"]
    assert second.findings == ()
    assert second.pod["metadata"]["annotations"][INJECTED] in first.pod["metadata"]["annotations"][INJECTED].replace(
        '"volumes":["envoy-conf"]', '"volumes":[]'
    )


def test_a_container_that_another_webhook_adds_between_the_calls_is_wired_too() -> None:
    between = add_container(defaulted(once(pod(), ENVOY).pod), {"name": "late", "image": "late:1"})

    second = run(between, ENVOY)

    assert second.env("late") == [("HTTP_PROXY", "http://localhost:15001"), ("NO_PROXY", "")]
    assert {operation.path.split("/")[3] for operation in second.operations} == {"0"}


def test_nothing_foreign_is_removed() -> None:
    sent = pod(initContainers=[{"name": "other-init", "image": "other:1"}], volumes=[{"name": "other", "emptyDir": {}}])
    between = once(sent, entry(init_containers=())).pod
    between["spec"]["initContainers"].insert(0, {"name": "istio-init", "image": "istio:1"})

    second = run(between, entry(init_containers=()))

    assert second.names("initContainers") == ["istio-init", "other-init"]
    assert second.operations == []


def test_the_first_container_of_the_user_is_what_kubectl_means() -> None:
    sent = pod({"name": "istio-proxy", "image": "istio:1"}, {"name": "app", "image": "app:1"})
    first = entry(place=Placement(Spot.FIRST))

    assert run(sent, first).pod["metadata"]["annotations"][DEFAULT_CONTAINER] == "app"


def test_the_default_container_that_the_user_chose_stays() -> None:
    sent = pod()
    sent["metadata"]["annotations"] = {DEFAULT_CONTAINER: "other"}

    assert run(sent, ENVOY).pod["metadata"]["annotations"][DEFAULT_CONTAINER] == "other"


def test_an_entry_without_containers_sets_no_default_container() -> None:
    assert DEFAULT_CONTAINER not in run(pod(), empty(labels={"a": "b"})).pod["metadata"]["annotations"]


def test_two_entries_go_in_in_their_order() -> None:
    other = entry("vault", containers=({"name": "vault", "image": "vault:1"},))

    assert run(pod(), ENVOY, other).names() == ["app", "envoy", "vault"]
    assert run(pod(), ENVOY, other, scene=NATIVE).names("initContainers") == ["envoy", "vault"]


def test_two_entries_share_a_volume_of_the_same_content() -> None:
    other = entry("vault", containers=({"name": "vault", "image": "vault:1"},), volumes=ENVOY.volumes)

    done = run(pod(), ENVOY, other)

    assert len(done.pod["spec"]["volumes"]) == 1
    assert done.findings == ()


def test_what_was_planned_may_be_changed_before_it_goes_in() -> None:
    draft = Draft(pod())
    planned = plan(draft.object, [ENVOY], SCENE)
    (piece,) = planned.pieces()

    apply(draft, planned.with_container("envoy", {**piece.json, "securityContext": {"runAsNonRoot": True}}))

    assert draft.object["spec"]["containers"][1]["securityContext"] == {"runAsNonRoot": True}
    with pytest.raises(KeyError):
        planned.with_container("app", {})


def test_planning_changes_nothing() -> None:
    sent = pod()
    kept = copy.deepcopy(sent)

    plan(sent, [ENVOY], SCENE)

    assert sent == kept


def test_a_placeholder_without_a_value_leaves_its_whole_entry_out() -> None:
    needy = entry("needy", labels={"owner": "${pod.labels['owner']}"}, has_placeholders=True)

    done = run(pod(), needy, ENVOY)

    assert done.applied == (ENVOY,)
    assert done.reasons[0] is Reason.PLACEHOLDER_UNRESOLVED
    assert "needy" in done.findings[0].message
    assert "owner" not in done.pod["metadata"]["labels"]


@pytest.mark.parametrize("port", ["99999", "0", "-1"])
def test_a_value_that_the_api_server_would_refuse_leaves_its_whole_entry_out(port: str) -> None:
    ported = entry(
        containers=({"name": "envoy", "image": "e:1", "ports": [{"containerPort": "${pod.labels['port']}"}]},),
        has_placeholders=True,
    )
    sent = pod()
    sent["metadata"]["labels"] = {"port": port}

    done = run(sent, ported)

    assert done.reasons == [Reason.PLACEHOLDER_UNRESOLVED]
    assert done.names() == ["app"]


def test_a_placeholder_that_one_app_container_cannot_fill_leaves_its_whole_entry_out() -> None:
    tagged = entry(app=AppWiring(env=({"name": "TAG", "value": "${app.image.tag}"},)), has_placeholders=True)
    sent = pod({"name": "a", "image": "a:1"}, {"name": "b", "image": "b@sha256:" + "0" * 64})

    done = once(sent, tagged)

    assert done.pod["spec"] == sent["spec"]
    assert done.reasons == [Reason.PLACEHOLDER_UNRESOLVED]


def test_each_container_gets_its_own_name_and_tag() -> None:
    tagged = entry(app=AppWiring(env=({"name": "APP", "value": "${app.name}:${app.image.tag}"},)), has_placeholders=True)

    done = run(pod({"name": "a", "image": "a:1"}, {"name": "b", "image": "b:2"}), tagged)

    assert (done.env("a"), done.env("b")) == ([("APP", "a:1")], [("APP", "b:2")])


@pytest.mark.parametrize("value", ['a"b\nc: d', "{{ .Values }}", "'; rm -rf /", "\\", "log.filter: \"level='warn'\""])
def test_a_value_of_the_pod_stays_one_string(value: str) -> None:
    quoting = entry(
        containers=({"name": "envoy", "image": "e:1", "args": ["${pod.annotations['x/y']}"]},), has_placeholders=True
    )
    sent = pod()
    sent["metadata"]["annotations"] = {"x/y": value}

    assert run(sent, quoting).container("envoy")["args"] == [value]


def test_the_time_of_the_first_call_is_kept_also_for_a_container_that_comes_later() -> None:
    timed = entry(
        annotations={"injected-at": "${now}"}, app=AppWiring(env=({"name": "AT", "value": "${now}"},)), has_placeholders=True
    )
    first = run(pod(), timed)
    between = add_container(first.pod, {"name": "late", "image": "late:1"})

    second = run(between, timed, scene=NATIVE)

    at = first.pod["metadata"]["annotations"]["injected-at"]
    assert second.env("late") == second.env("app") == [("AT", at)]


def test_a_null_in_a_config_is_an_absent_key() -> None:
    capped = entry(containers=({"name": "envoy", "image": "e:1", "resources": {"limits": {"memory": "1Gi"}}},))

    assert run(pod(), capped).container("envoy")["resources"] == {"limits": {"memory": "1Gi"}}


@pytest.mark.parametrize(
    "spec",
    [
        {"containers": "app"},
        {"containers": [None]},
        {"containers": [{"name": 1}]},
        {"containers": [{"name": "app", "image": {}}]},
        {"containers": [{"name": "app", "env": "A=b"}]},
        {"containers": [{"name": "app", "env": [{"name": ["A"]}]}]},
        {"containers": [{"name": "app", "env": [{"name": "A", "value": 1}]}]},
        {"containers": [{"name": "app", "volumeMounts": [{"mountPath": {}}]}]},
        {"containers": [{"name": "app", "volumeMounts": [{"name": "x"}, {"mountPath": []}]}]},
        {"containers": [{"name": "app", "ports": [{"containerPort": "80"}]}]},
        {"containers": [{"name": "app", "ports": [{"containerPort": 80, "protocol": 6}]}]},
        {"containers": [{"name": "app", "envFrom": {}}]},
        {"containers": [], "volumes": {}},
        {"containers": [], "volumes": [{"name": {}}]},
        {"containers": [], "imagePullSecrets": ["x"]},
        {"containers": [], "hostAliases": 1},
        {"containers": [], "restartPolicy": 1},
        {"containers": [], "hostNetwork": "yes"},
    ],
)
def test_a_field_of_a_wrong_type_is_malformed(spec: dict[str, Any]) -> None:
    draft = Draft({"metadata": {"name": "web"}, "spec": spec})

    with pytest.raises(MalformedObject):
        apply(draft, plan(draft.object, [ENVOY, empty("logs", log_collector=collector())], SCENE))

    assert draft.operations == []


@pytest.mark.parametrize("metadata", [{"annotations": []}, {"annotations": {"a": 1}}, {"labels": "x"}, {"ownerReferences": {}}])
def test_metadata_of_a_wrong_type_is_malformed(metadata: dict[str, Any]) -> None:
    with pytest.raises(MalformedObject):
        plan({"metadata": metadata, "spec": {"containers": []}}, [ENVOY], SCENE)


def test_a_label_that_the_api_server_would_refuse_leaves_its_entry_out() -> None:
    sent = pod()
    sent["metadata"]["annotations"] = {"team": "a team with blanks"}

    done = run(sent, entry(labels={"team": "${pod.annotations['team']}"}, has_placeholders=True))

    assert (done.pod["spec"], done.pod["metadata"]["labels"]) == (sent["spec"], sent["metadata"]["labels"])
    assert done.reasons == [Reason.PLACEHOLDER_UNRESOLVED]
    assert "labels" in done.findings[0].message


@pytest.mark.parametrize("sent", [{}, {"metadata": None, "spec": None}, {"spec": {"containers": None}}])
def test_an_empty_pod_is_no_trouble(sent: dict[str, Any]) -> None:
    assert once(sent, ENVOY, scene=SCENE).names() == ["envoy"]


def large(variables: int, containers: int) -> dict[str, Any]:
    env = [{"name": f"V{index}", "value": f"$(V{index - 1})"} for index in range(variables)]
    return pod(*({"name": f"c{index}", "image": "i:1", "env": list(env)} for index in range(containers)))


@pytest.mark.parametrize(("small", "big"), [((1_500, 1), (15_000, 1)), ((50, 40), (50, 400))])
def test_ten_times_the_pod_takes_ten_times_as_long(small: tuple[int, int], big: tuple[int, int]) -> None:
    drafts = {size: [Draft(large(*size)) for _ in range(5)] for size in (small, big)}
    times = {size: min(_seconds(draft) for draft in drafts[size]) for size in drafts}

    assert times[big] < 30 * times[small]  # a scan within a scan would take 100 times as long


def _seconds(draft: Draft) -> float:
    start = process_time()
    apply(draft, plan(draft.object, [ENVOY], SCENE))
    return process_time() - start


def test_an_entry_that_is_never_native_stays_among_the_containers() -> None:
    assert run(pod(), entry(native_sidecar=NativeSidecar.NEVER), scene=NATIVE).names() == ["app", "envoy"]
