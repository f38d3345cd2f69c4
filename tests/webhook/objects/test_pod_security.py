"""Levels of namespaces, the exact field of every violation, and what a repair fills in and leaves alone."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.webhook.objects.security_pods import CONTAINER, KINDS, POD, hardened
from webhook.errors import MalformedObject
from webhook.objects.meta import Json
from webhook.objects.pod_security import BASELINE, PRIVILEGED, RESTRICTED, Level, Profile, level_of, repaired, violations


def pod_with(kind: str = "containers", index: int = 0, **fields: Any) -> Json:
    """The hardened pod with *fields* in one container."""
    pod = hardened()
    pod["spec"][kind][index].update(fields)
    return pod


def paths(pod: Json, level: Level = RESTRICTED) -> list[str]:
    return [found.path for found in violations(pod, level)]


# -- levels


@pytest.mark.parametrize(
    ("labels", "level"),
    [
        ({}, PRIVILEGED),
        ({"pod-security.kubernetes.io/enforce": "baseline"}, BASELINE),
        ({"pod-security.kubernetes.io/enforce": "privileged"}, PRIVILEGED),
        (
            {"pod-security.kubernetes.io/enforce": "restricted", "pod-security.kubernetes.io/enforce-version": "latest"},
            RESTRICTED,
        ),
        (
            {"pod-security.kubernetes.io/enforce": "restricted", "pod-security.kubernetes.io/enforce-version": "v1.24"},
            Level(Profile.RESTRICTED, 24),
        ),
        ({"pod-security.kubernetes.io/enforce": "baseline", "pod-security.kubernetes.io/enforce-version": "v1.99"}, BASELINE),
        ({"pod-security.kubernetes.io/enforce": "baseline", "pod-security.kubernetes.io/enforce-version": "1.24"}, BASELINE),
        ({"pod-security.kubernetes.io/enforce": "baseline", "pod-security.kubernetes.io/enforce-version": "v1.024"}, BASELINE),
        ({"pod-security.kubernetes.io/enforce": "Baseline"}, RESTRICTED),
        ({"pod-security.kubernetes.io/enforce": ""}, RESTRICTED),
        ({"pod-security.kubernetes.io/enforce-version": "v1.24"}, PRIVILEGED),
        ({"pod-security.kubernetes.io/warn": "restricted"}, PRIVILEGED),
    ],
)
def test_a_namespace_enforces_what_its_labels_say(labels: dict[str, str], level: Level) -> None:
    assert level_of(labels) == level


def test_a_level_names_its_version() -> None:
    assert (str(RESTRICTED), str(Level(Profile.BASELINE, 24))) == ("restricted:latest", "baseline:v1.24")


# -- violations


def test_a_hardened_pod_is_let_in_by_every_level() -> None:
    assert [violations(hardened(), level) for level in (PRIVILEGED, BASELINE, RESTRICTED)] == [(), (), ()]


def test_a_privileged_namespace_forbids_nothing() -> None:
    assert violations({"spec": {"hostNetwork": True, "containers": []}}, PRIVILEGED) == ()


@pytest.mark.parametrize("kind", KINDS)
def test_a_container_of_every_kind_is_looked_at(kind: str) -> None:
    pod = pod_with(kind, securityContext={"privileged": True})

    assert f"spec.{kind}[0].securityContext.privileged" in paths(pod, BASELINE)


def test_all_violations_are_told_at_once_with_their_containers() -> None:
    pod = {"spec": {"initContainers": [{"name": "setup"}], "containers": [{"name": "app"}, {"name": "proxy"}]}}

    found = violations(pod, RESTRICTED)

    assert {(violation.check, violation.container) for violation in found} == {
        (check, container)
        for check in ("allowPrivilegeEscalation", "capabilities_restricted", "runAsNonRoot", "seccompProfile_restricted")
        for container in ("setup", "app", "proxy")
    }


@pytest.mark.parametrize(
    ("fields", "path", "message"),
    [
        (
            {"securityContext": {"capabilities": {"add": ["CHOWN", "SYS_ADMIN"]}}},
            "spec.containers[0].securityContext.capabilities.add[1]",
            'container "app" must not add the capability SYS_ADMIN',
        ),
        (
            {"ports": [{"containerPort": 80}, {"containerPort": 81, "hostPort": 8081}]},
            "spec.containers[0].ports[1].hostPort",
            'container "app" must not use hostPort 8081',
        ),
        (
            {"lifecycle": {"preStop": {"httpGet": {"port": 80, "host": "10.0.0.1"}}}},
            "spec.containers[0].lifecycle.preStop.httpGet.host",
            'container "app" must not call host "10.0.0.1" in lifecycle.preStop',
        ),
        (
            {"startupProbe": {"tcpSocket": {"port": 80, "host": "10.0.0.1"}}},
            "spec.containers[0].startupProbe.tcpSocket.host",
            'container "app" must not call host "10.0.0.1" in startupProbe',
        ),
        (
            {"securityContext": {"seccompProfile": {"type": "Unconfined"}}},
            "spec.containers[0].securityContext.seccompProfile.type",
            'container "app" must not set seccompProfile.type to "Unconfined", only to RuntimeDefault or Localhost',
        ),
        (
            {"securityContext": {"seLinuxOptions": {"user": "me"}}},
            "spec.containers[0].securityContext.seLinuxOptions.user",
            'container "app" must not set an SELinux user',
        ),
        (
            {"securityContext": {"procMount": "Unmasked"}},
            "spec.containers[0].securityContext.procMount",
            'container "app" must not set procMount to "Unmasked"',
        ),
    ],
)
def test_a_violation_names_field_subject_and_limit(fields: Json, path: str, message: str) -> None:
    (found,) = violations(pod_with(**fields), BASELINE)

    assert (found.path, found.message, found.container, found.profile) == (path, message, "app", Profile.BASELINE)


def test_a_volume_of_a_forbidden_type_is_named() -> None:
    pod = hardened()
    pod["spec"]["volumes"].append({"name": "share", "nfs": {"server": "s", "path": "/"}})

    (found,) = violations(pod, RESTRICTED)

    assert (found.path, found.volume, found.message) == (
        "spec.volumes[1].nfs",
        "share",
        'volume "share" must not be of type nfs',
    )


def test_an_unsafe_sysctl_and_a_host_namespace_are_the_pods() -> None:
    pod = hardened()
    pod["spec"]["hostPID"] = True
    pod["spec"]["securityContext"]["sysctls"] = [{"name": "net.core.somaxconn", "value": "1"}]

    assert paths(pod) == ["spec.hostPID", "spec.securityContext.sysctls[0].name"]


def test_an_apparmor_annotation_belongs_to_its_container() -> None:
    pod = hardened()
    pod["metadata"]["annotations"]["container.apparmor.security.beta.kubernetes.io/proxy"] = "unconfined"

    (found,) = violations(pod, BASELINE)

    assert found.container == "proxy"
    assert found.path == "metadata.annotations[container.apparmor.security.beta.kubernetes.io/proxy]"


def test_a_pod_that_lets_itself_be_root_is_named_beside_its_containers() -> None:
    pod = hardened()
    pod["spec"]["securityContext"]["runAsNonRoot"] = False

    assert paths(pod)[0] == "spec.securityContext.runAsNonRoot"
    assert "spec.containers[1].securityContext.runAsNonRoot" in paths(pod)


def test_a_user_namespace_lets_root_in_since_1_35() -> None:
    pod = hardened()
    pod["spec"].update(hostUsers=False, securityContext={"runAsUser": 0, "seccompProfile": {"type": "RuntimeDefault"}})

    assert paths(pod) == []
    assert "spec.securityContext.runAsUser" in paths(pod, Level(Profile.RESTRICTED, 34))


def test_a_windows_pod_need_not_say_what_only_linux_has() -> None:
    pod = {"spec": {"os": {"name": "windows"}, "containers": [{"name": "app", "securityContext": {"runAsNonRoot": True}}]}}

    assert paths(pod) == []


def test_null_reads_as_absent() -> None:
    pod = pod_with(
        securityContext={
            "allowPrivilegeEscalation": False,
            "privileged": None,
            "seccompProfile": None,
            "capabilities": {"drop": ["ALL"], "add": None},
        }
    )
    pod["spec"]["ephemeralContainers"] = None

    assert paths(pod) == []


@pytest.mark.parametrize(
    ("spec", "path"),
    [
        ({"hostPID": "yes"}, "spec.hostPID"),
        ({"containers": [{"name": "a", "securityContext": []}]}, r"spec.containers\[0\].securityContext"),
        ({"containers": [{"name": "a", "ports": [{"hostPort": "80"}]}]}, r"spec.containers\[0\].ports\[0\].hostPort"),
        (
            {"containers": [{"name": "a", "securityContext": {"capabilities": {"add": [{}]}}}]},
            r"spec.containers\[0\].securityContext.capabilities.add\[0\]",
        ),
        ({"securityContext": {"runAsUser": 0.5}}, "spec.securityContext.runAsUser"),
    ],
)
def test_a_field_of_a_forbidden_type_is_a_bad_request(spec: Json, path: str) -> None:
    with pytest.raises(MalformedObject, match=path):
        violations({"spec": spec}, RESTRICTED)


# -- repairs


def test_a_container_that_says_nothing_gets_all_that_restricted_asks_for() -> None:
    pod: Json = {"spec": {"containers": []}}

    assert repaired({"name": "log", "image": "log:1"}, pod, RESTRICTED) == {
        "name": "log",
        "image": "log:1",
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "seccompProfile": {"type": "RuntimeDefault"},
            "runAsNonRoot": True,
        },
    }


def test_what_the_pod_says_is_not_repeated() -> None:
    assert repaired({"name": "log"}, hardened(), RESTRICTED)["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
    }


@pytest.mark.parametrize("level", [PRIVILEGED, BASELINE])
def test_other_levels_ask_for_nothing(level: Level) -> None:
    container = {"name": "log"}

    assert repaired(container, hardened(), level) is container


def test_a_pod_for_windows_gets_no_settings_of_linux() -> None:
    pod = {"spec": {"os": {"name": "windows"}}}

    assert repaired({"name": "log"}, pod, RESTRICTED)["securityContext"] == {"runAsNonRoot": True}


@pytest.mark.parametrize(
    ("stated", "left_out"),
    [
        ({"privileged": True}, "allowPrivilegeEscalation"),
        ({"capabilities": {"add": ["SYS_ADMIN"]}}, "allowPrivilegeEscalation"),
        ({"runAsUser": 0}, "runAsNonRoot"),
    ],
)
def test_nothing_is_filled_in_that_contradicts_the_rest(stated: Json, left_out: str) -> None:
    assert left_out not in repaired({"name": "log", "securityContext": stated}, {"spec": {}}, RESTRICTED)["securityContext"]


settings_of = st.fixed_dictionaries({}, optional={key: st.sampled_from(values) for key, values in CONTAINER.items()})
pod_settings = st.fixed_dictionaries({}, optional={key: st.sampled_from(values) for key, values in POD.items()})


def is_kept(stated: Any, now: Any) -> bool:
    """Whether *now* still says everything that *stated* does; null states nothing."""
    if isinstance(stated, dict):
        return isinstance(now, dict) and all(is_kept(value, now[key]) for key, value in stated.items() if value is not None)
    return bool(stated == now)


@given(settings_of, pod_settings, st.sampled_from([24, 34, 37]))
def test_a_repair_keeps_every_stated_setting_and_adds_no_violation(own: Json, pods: Json, minor: int) -> None:
    level = Level(Profile.RESTRICTED, minor)
    container: Json = {"name": "log", "securityContext": own}
    before = copy.deepcopy(container)
    pod: Json = {"spec": {"securityContext": pods, "containers": [container]}}
    after: Json = {"spec": {"securityContext": pods, "containers": [repaired(container, pod, level)]}}

    assert container == before
    assert is_kept(own, after["spec"]["containers"][0]["securityContext"])
    assert set(violations(after, level)) <= set(violations(pod, level))
    assert repaired(after["spec"]["containers"][0], after, level) == after["spec"]["containers"][0]
