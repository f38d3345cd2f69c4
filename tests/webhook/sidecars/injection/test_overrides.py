"""What a pod changes in the containers that it gets: stubs and annotations."""

from __future__ import annotations

from typing import Any

import pytest

from tests.webhook.sidecars.injection.injecting import TOKEN_MOUNT, defaulted, entry, once, pod, refused, run
from webhook.names import OVERRIDE_PREFIX, Reason
from webhook.sidecars.entries.entry import Entry

RESOURCES = {"requests": {"cpu": "100m", "memory": "64Mi"}, "limits": {"cpu": "1", "memory": "512Mi"}}
FULL = entry(
    containers=(
        {
            "name": "envoy",
            "image": "envoy:1",
            "args": ["--a", "--b"],
            "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "$(A)"}],
            "ports": [{"containerPort": 80, "name": "http"}],
            "resources": RESOURCES,
            "volumeMounts": [{"name": "conf", "mountPath": "/conf"}],
            "readinessProbe": {"httpGet": {"path": "/ready", "port": 80}, "timeoutSeconds": 5},
            "securityContext": {"runAsNonRoot": True},
        },
    ),
    volumes=({"name": "conf", "configMap": {"name": "c"}},),
)


def stubbed(**fields: Any) -> dict[str, Any]:
    return pod({"name": "app", "image": "app:1"}, {"name": "envoy", "image": "auto", **fields})


def annotated(**values: str) -> dict[str, Any]:
    sent = pod()
    sent["metadata"]["annotations"] = {
        f"envoy{OVERRIDE_PREFIX}{field.replace('_', '-')}": value for field, value in values.items()
    }
    return sent


@pytest.mark.parametrize("image", ["auto", "", None, "absent"])
def test_a_container_without_an_image_of_its_own_is_filled_in(image: str | None) -> None:
    sent = stubbed(image=image)
    if image == "absent":
        del sent["spec"]["containers"][1]["image"]

    assert run(sent, FULL).container("envoy") == FULL.containers[0]


def test_fields_of_the_stub_win_and_absent_ones_are_filled_in() -> None:
    done = run(
        stubbed(
            args=["--mine"],
            env=[{"name": "A", "value": "mine"}, {"name": "C", "value": "3"}],
            ports=[{"containerPort": 80, "protocol": "TCP", "name": "web"}, {"containerPort": 90}],
            resources={"requests": {"cpu": "200m"}},
            volumeMounts=[TOKEN_MOUNT, {"name": "mine", "mountPath": "/conf/"}],
            securityContext={"runAsUser": 1337},
        ),
        FULL,
    ).container("envoy")

    assert done["args"] == ["--mine"]
    assert [(it["name"], it["value"]) for it in done["env"]] == [("A", "mine"), ("B", "$(A)"), ("C", "3")]
    assert [(it["containerPort"], it.get("name")) for it in done["ports"]] == [(80, "web"), (90, None)]
    assert done["resources"] == {"requests": {"cpu": "200m", "memory": "64Mi"}, "limits": RESOURCES["limits"]}
    assert [it["mountPath"] for it in done["volumeMounts"]] == ["/conf/", TOKEN_MOUNT["mountPath"]]
    assert done["securityContext"] == {"runAsNonRoot": True, "runAsUser": 1337}


def test_an_override_survives_the_second_call() -> None:
    first = once(stubbed(securityContext={"runAsUser": 1337}), FULL)

    second = once(defaulted(first.pod), FULL)

    assert second.operations == []
    assert second.container("envoy")["securityContext"]["runAsUser"] == 1337


def test_what_the_api_server_sets_by_default_is_no_wish_of_the_user() -> None:
    pulled = entry(containers=({**FULL.containers[0], "imagePullPolicy": "IfNotPresent", "terminationMessagePath": "/m"},))

    done = once(defaulted(stubbed(readinessProbe={"periodSeconds": 3})), pulled).container("envoy")

    assert done["imagePullPolicy"] == "IfNotPresent"
    assert done["terminationMessagePath"] == "/m"
    assert done["readinessProbe"]["timeoutSeconds"] == 5
    assert done["readinessProbe"]["periodSeconds"] == 3


def test_a_pull_policy_that_follows_from_auto_does_not_stick_to_the_real_image() -> None:
    assert "imagePullPolicy" not in once(defaulted(stubbed()), FULL).container("envoy")


def test_another_handler_takes_the_place_of_that_of_the_entry() -> None:
    done = run(stubbed(readinessProbe={"exec": {"command": ["true"]}}), FULL)

    assert done.container("envoy")["readinessProbe"] == {"exec": {"command": ["true"]}, "timeoutSeconds": 5}


def test_a_stub_that_asks_for_more_than_its_limit_is_refused() -> None:
    refusal = refused(stubbed(resources={"requests": {"cpu": "2"}}), FULL)

    assert refusal.reason is Reason.INVALID_OVERRIDE
    assert "cpu request 2 exceeds the limit 1" in refusal.message


@pytest.mark.parametrize(
    ("field", "value", "where"),
    [
        ("cpu_request", "250m", ("requests", "cpu")),
        ("cpu_limit", "2", ("limits", "cpu")),
        ("memory_request", "100Mi", ("requests", "memory")),
        ("memory_limit", "1Gi", ("limits", "memory")),
    ],
)
def test_an_annotation_changes_only_what_it_names(field: str, value: str, where: tuple[str, str]) -> None:
    resources = run(annotated(**{field: value}), FULL).container("envoy")["resources"]

    expected = {kind: dict(amounts) for kind, amounts in RESOURCES.items()}
    expected[where[0]][where[1]] = value
    assert resources == expected


def test_an_annotation_gives_resources_to_a_container_that_has_none() -> None:
    assert run(annotated(cpu_request="1"), entry()).container("envoy")["resources"] == {"requests": {"cpu": "1"}}


def test_image_and_variables_can_be_changed() -> None:
    sent = annotated(image="mirror/envoy:2", **{"env.A": "mine", "env.NEW": 'quo"te\n'})

    done = run(sent, FULL).container("envoy")

    assert done["image"] == "mirror/envoy:2"
    assert [(it["name"], it["value"]) for it in done["env"]] == [("A", "mine"), ("B", "$(A)"), ("NEW", 'quo"te\n')]


def test_an_annotation_reaches_the_init_containers_of_an_entry() -> None:
    setup = entry(containers=(), init_containers=({"name": "envoy", "image": "setup:1"},))

    assert run(annotated(image="setup:2"), setup).container("envoy")["image"] == "setup:2"


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("cpu_request", "lots", "lots"),
        ("cpu_request", "1K", "1K"),
        ("cpu_request", "", "quantity"),
        ("memory_limit", "-1Gi", "negative"),
        ("cpu_request", "2", "cpu request 2 exceeds the limit 1"),
        ("memory_limit", "1Mi", "memory request 64Mi exceeds the limit 1Mi"),
        ("image", " ", "image"),
        ("cpu_requests", "1", "cpu-request"),
        ("env.", "x", "env.NAME"),
    ],
)
def test_a_wish_that_cannot_be_fulfilled_refuses_the_pod_and_names_the_annotation(field: str, value: str, said: str) -> None:
    refusal = refused(annotated(**{field: value}), FULL)

    assert refusal.reason is Reason.INVALID_OVERRIDE
    assert said in refusal.message
    assert f"envoy{OVERRIDE_PREFIX}" in refusal.message
    assert refusal.field.startswith("metadata.annotations[envoy")


def test_all_wishes_that_cannot_be_fulfilled_are_said_at_once() -> None:
    message = refused(annotated(cpu_request="x", memory_request="y"), FULL).message

    assert "cpu-request" in message
    assert "memory-request" in message


def test_a_wish_for_a_container_that_nobody_brings_is_said() -> None:
    sent = pod()
    sent["metadata"]["annotations"] = {f"envoi{OVERRIDE_PREFIX}image": "x"}

    assert run(sent, FULL).reasons == [Reason.INVALID_OVERRIDE]


FIXED: Entry = entry(containers=FULL.containers, overridable=False)


def test_an_entry_that_lets_no_pod_change_it_ignores_annotations_and_says_so() -> None:
    done = run(annotated(image="mine:1"), FIXED)

    assert done.container("envoy")["image"] == "envoy:1"
    assert done.reasons == [Reason.INVALID_OVERRIDE]


def test_an_entry_that_lets_no_pod_change_it_fills_in_a_stub_as_it_is_and_says_so() -> None:
    done = run(stubbed(args=["--mine"]), FIXED)

    assert done.container("envoy") == FIXED.containers[0]
    assert done.reasons == [Reason.INVALID_OVERRIDE]


def test_a_stub_that_asks_for_nothing_needs_no_word() -> None:
    assert once(defaulted(stubbed()), FIXED).findings == ()
