"""Pods that break the operator's rules are refused or warned about, by every field at once; old offenders may change."""

from __future__ import annotations

import copy
from typing import Any

import attrs
import pytest

from tests.webhook.features.asking import Asked
from tests.webhook.objects.security_pods import KINDS, container, hardened, single_mutations
from webhook.admission.review import Operations, User
from webhook.features.pod_compliance import KeepPodsCompliant
from webhook.names import Reason
from webhook.objects.compliance import (
    Capabilities,
    CompliancePolicy,
    HostPaths,
    Labels,
    Registries,
    Tags,
)
from webhook.objects.enforcement import Mode, Namespaces
from webhook.objects.meta import Json
from webhook.objects.pod_security import BASELINE, RESTRICTED, violations

DENY, WARN = Mode.DENY, Mode.WARN


def rule(**options: Any) -> KeepPodsCompliant:
    return KeepPodsCompliant((CompliancePolicy("strict", **options),))


def found(pod: Json, **options: Any) -> list[tuple[Reason, str]]:
    return [(breach.reason, breach.path) for breach in rule(**options).judge(pod, "shop")]


def pod_with(**fields: Any) -> Json:
    pod = hardened()
    pod["spec"]["containers"][0].update(fields)
    return pod


@pytest.mark.parametrize(
    ("pod", "options", "reason", "path"),
    [
        (
            pod_with(securityContext={"privileged": True}),
            {"privilege": DENY},
            Reason.PRIVILEGE,
            "spec.containers[0].securityContext.privileged",
        ),
        (
            pod_with(securityContext={"windowsOptions": {"hostProcess": True}}),
            {"privilege": DENY},
            Reason.PRIVILEGE,
            "spec.containers[0].securityContext.windowsOptions.hostProcess",
        ),
        (
            pod_with(securityContext={}),
            {"privilege_escalation": DENY},
            Reason.PRIVILEGE_ESCALATION,
            "spec.containers[0].securityContext.allowPrivilegeEscalation",
        ),
        ({"spec": {"hostIPC": True}}, {"host_namespaces": DENY}, Reason.HOST_NAMESPACE, "spec.hostIPC"),
        (
            pod_with(ports=[{"containerPort": 80, "hostPort": 80}]),
            {"host_ports": DENY},
            Reason.HOST_PORT,
            "spec.containers[0].ports[0].hostPort",
        ),
        (
            pod_with(securityContext={"runAsUser": 0}),
            {"run_as_non_root": DENY},
            Reason.RUNS_AS_ROOT,
            "spec.containers[0].securityContext.runAsUser",
        ),
        (
            {"spec": {"containers": [{"name": "app"}]}},
            {"run_as_non_root": DENY},
            Reason.RUNS_AS_ROOT,
            "spec.containers[0].securityContext.runAsNonRoot",
        ),
        (
            pod_with(securityContext={"capabilities": {"add": ["SYS_TIME"]}}),
            {"capabilities": Capabilities(DENY)},
            Reason.CAPABILITY,
            "spec.containers[0].securityContext.capabilities.add[0]",
        ),
        (
            pod_with(securityContext={}),
            {"capabilities": Capabilities(DENY, drop_all=True)},
            Reason.CAPABILITY,
            "spec.containers[0].securityContext.capabilities.drop",
        ),
        (
            {"spec": {"volumes": [{"name": "v", "hostPath": {"path": "/etc"}}]}},
            {"host_paths": HostPaths(DENY)},
            Reason.HOST_PATH,
            "spec.volumes[0].hostPath",
        ),
        (
            pod_with(image="evil.example/app:1"),
            {"registries": Registries(DENY, ("docker.io",))},
            Reason.IMAGE_SOURCE,
            "spec.containers[0].image",
        ),
        (
            {"spec": {"volumes": [{"name": "v", "image": {"reference": "evil.example/data:1"}}]}},
            {"registries": Registries(DENY, ("docker.io",))},
            Reason.IMAGE_SOURCE,
            "spec.volumes[0].image.reference",
        ),
        (pod_with(image="app"), {"tags": Tags(DENY)}, Reason.IMAGE_TAG, "spec.containers[0].image"),
        (
            {"metadata": {"labels": {"team": ""}}},
            {"labels": Labels(DENY, {"team": ()})},
            Reason.LABEL_REQUIRED,
            "metadata.labels[team]",
        ),
    ],
)
def test_each_rule_names_its_reason_and_the_field(pod: Json, options: dict[str, Any], reason: Reason, path: str) -> None:
    verdict = Asked(object=pod).of(rule(**options))

    assert found(pod, **options) == [(reason, path)]
    assert verdict.denial is not None
    assert (verdict.denial.code, verdict.denial.reason) == (403, reason.value)
    assert f"({path}, policy strict)" in verdict.denial.message


EVERYTHING = CompliancePolicy(
    "all",
    privilege=DENY,
    privilege_escalation=DENY,
    host_namespaces=DENY,
    host_ports=DENY,
    run_as_non_root=DENY,
    host_paths=HostPaths(DENY),
    capabilities=Capabilities(DENY, drop_all=True),
    registries=Registries(DENY, ("docker.io",)),
    tags=Tags(DENY),
    labels=Labels(DENY, {"team": ("shop", "pay")}),
)


def test_a_hardened_pod_breaks_nothing() -> None:
    pod = hardened()
    pod["metadata"]["labels"] = {"team": "shop"}

    assert Asked(object=pod).of(KeepPodsCompliant((EVERYTHING,))).reason is Reason.COMPLIANT


def test_a_policy_that_says_nothing_looks_at_nothing() -> None:
    assert found({"spec": {"hostPID": True, "containers": [{"name": "a", "securityContext": {"privileged": True}}]}}) == []


@pytest.mark.parametrize("kind", KINDS)
def test_containers_of_every_kind_are_judged(kind: str) -> None:
    pod = hardened()
    pod["spec"][kind][0] = {"name": "x", "image": "evil.example/x:1", "securityContext": {"privileged": True}}

    assert found(pod, privilege=DENY, registries=Registries(DENY, ("docker.io",))) == [
        (Reason.PRIVILEGE, f"spec.{kind}[0].securityContext.privileged"),
        (Reason.IMAGE_SOURCE, f"spec.{kind}[0].image"),
    ]


def test_every_breach_is_told_in_one_answer() -> None:
    pod = {"metadata": {"name": "web"}, "spec": {"hostPID": True, "containers": [{"name": "app", "image": "app"}]}}

    verdict = Asked(object=pod).of(rule(host_namespaces=DENY, tags=Tags(DENY), labels=Labels(DENY, {"team": ("a", "b")})))

    assert verdict.denial is not None
    assert verdict.denial.message == (
        "pod shop/web: the pod must not set hostPID to true (spec.hostPID, policy strict); "
        'container "app": image "app" has no tag, which means latest, which must not be used '
        "(spec.containers[0].image, policy strict); "
        "label team is missing and must be one of a, b (metadata.labels[team], policy strict)"
    )


def test_warnings_let_the_pod_in() -> None:
    verdict = Asked(object={"metadata": {"name": "web"}, "spec": {"hostPID": True}}).of(rule(host_namespaces=WARN))

    assert verdict.denial is None
    assert verdict.warnings == ("pod shop/web: the pod must not set hostPID to true (spec.hostPID, policy strict)",)


def test_warnings_and_denials_stand_side_by_side() -> None:
    verdict = Asked(object={"spec": {"hostPID": True}}).of(rule(host_namespaces=WARN, labels=Labels(DENY, {"team": ()})))

    assert verdict.denial is not None
    assert "hostPID" not in verdict.denial.message
    assert len(verdict.warnings) == 1


@pytest.mark.parametrize(
    ("path", "allowed"),
    [
        ("/var/log", True),
        ("/var/log/", True),
        ("/var/log/pods", True),
        ("/var//log/./pods", True),
        ("/var/logs", False),
        ("/var", False),
        ("/var/log/../../etc", False),
        ("var/log", False),
        ("/", False),
    ],
)
def test_a_host_path_is_allowed_by_its_folder(path: str, allowed: bool) -> None:
    pod = {"spec": {"volumes": [{"name": "v", "hostPath": {"path": path}}]}}

    assert (found(pod, host_paths=HostPaths(DENY, ("/var/log",))) == []) is allowed


@pytest.mark.parametrize(("drop_all", "added"), [(False, ["NET_ADMIN", "CHOWN"]), (True, ["NET_ADMIN", "NET_BIND_SERVICE"])])
def test_an_allowed_capability_may_be_added(drop_all: bool, added: list[str]) -> None:
    pod = pod_with(securityContext={"capabilities": {"drop": ["ALL"], "add": added}})

    assert found(pod, capabilities=Capabilities(DENY, drop_all, frozenset({"NET_ADMIN"}))) == []


@pytest.mark.parametrize(
    ("image", "tags", "passes"),
    [
        ("app:1", Tags(DENY), True),
        ("app:latest", Tags(DENY), False),
        ("app@sha256:0", Tags(DENY), True),
        ("app:latest@sha256:0", Tags(DENY), True),
        ("app:1-dev", Tags(DENY, ("dev*", "1-*")), False),
        ("app", Tags(DENY, ("dev",)), True),
        ("app:1", Tags(DENY, require_digest=True), False),
        ("app@sha256:0", Tags(DENY, require_digest=True), True),
    ],
)
def test_tags_that_can_move_are_told_apart(image: str, tags: Tags, passes: bool) -> None:
    assert (found({"spec": {"containers": [container("app", image=image)]}}, tags=tags) == []) is passes


def test_a_policy_counts_in_its_namespaces_only() -> None:
    policy = CompliancePolicy("prod", Namespaces(("prod-*",), ("prod-lab",)), host_namespaces=DENY)

    judged = {name: bool(KeepPodsCompliant((policy,)).judge({"spec": {"hostPID": True}}, name)) for name in NAMESPACES}

    assert judged == {"prod-a": True, "prod-lab": False, "shop": False}


NAMESPACES = ("prod-a", "prod-lab", "shop")


# -- updates


def update(old: Json, new: Json, **options: Any) -> Asked:
    return Asked(operation=Operations.UPDATE, object=new, old_object=old, **options)


def offender() -> Json:
    pod = hardened()
    pod["spec"]["hostPID"] = True
    pod["spec"]["containers"][1] = {"name": "proxy", "image": "evil.example/proxy", "securityContext": {"privileged": True}}
    return pod


def test_a_metadata_update_of_an_old_offender_passes() -> None:
    old, new = offender(), offender()
    old["metadata"]["finalizers"] = ["batch.kubernetes.io/job-tracking"]

    assert update(old, new).of(KeepPodsCompliant((EVERYTHING,))).denial is None


def test_an_update_is_judged_by_what_it_adds() -> None:
    old, new = offender(), offender()
    new["spec"]["containers"][1]["image"] = "worse.example/proxy:1"

    verdict = update(old, new).of(KeepPodsCompliant((EVERYTHING,)))

    assert verdict.denial is not None
    assert verdict.denial.message.count("policy") == 1
    assert "worse.example" in verdict.denial.message


def test_a_required_label_cannot_be_taken_off() -> None:
    old = hardened()
    old["metadata"]["labels"] = {"team": "shop"}

    assert update(old, hardened()).of(KeepPodsCompliant((EVERYTHING,))).reason is Reason.LABEL_REQUIRED


def test_a_privileged_debug_container_is_refused_in_a_running_pod() -> None:
    old, new = offender(), offender()
    new["spec"]["ephemeralContainers"].append(container("intruder", securityContext={"privileged": True}))

    verdict = update(old, new, subresource="ephemeralcontainers").of(rule(privilege=DENY))

    assert verdict.denial is not None
    assert 'container "intruder"' in verdict.denial.message


@pytest.mark.parametrize(
    "asked",
    [
        Asked(operation=Operations.DELETE, old_object=offender()),
        Asked(operation=Operations.CONNECT, subresource="exec", object=offender()),
        Asked(operation=Operations.UPDATE, subresource="resize", object=offender(), old_object=hardened()),
        Asked(resource="deployments", group="apps", object=offender()),
    ],
)
def test_what_brings_no_new_pod_is_not_judged(asked: Asked) -> None:
    assert asked.of(KeepPodsCompliant((EVERYTHING,))).reason is Reason.NOT_APPLICABLE


def test_a_status_is_judged_by_the_labels_that_it_takes_off() -> None:
    labelled: Json = {"metadata": {"name": "web", "labels": {"team": "shop"}}, "spec": {"containers": [{"name": "app"}]}}
    bare: Json = {"metadata": {"name": "web"}, "spec": {"containers": [{"name": "app", "image": "app:latest"}]}}
    rule = KeepPodsCompliant((CompliancePolicy("a", tags=Tags(Mode.DENY), labels=Labels(Mode.DENY, {"team": ()})),))

    taken = Asked(operation=Operations.UPDATE, subresource="status", object=bare, old_object=labelled).of(rule)
    missing = Asked(operation=Operations.UPDATE, subresource="status", object=bare, old_object=bare).of(rule)

    assert taken.denial is not None
    assert "label team is missing" in taken.denial.message
    assert "app:latest" not in taken.denial.message
    assert missing.reason is Reason.COMPLIANT


def test_a_mirror_pod_passes_only_from_its_kubelet() -> None:
    pod = offender()
    pod["metadata"]["annotations"]["kubernetes.io/config.mirror"] = "x"
    kubelet = User("system:node:n1", ("system:nodes",))

    shown = Asked(object=pod, user=kubelet).of(KeepPodsCompliant((EVERYTHING,)))
    pretended = Asked(object=copy.deepcopy(pod)).of(KeepPodsCompliant((EVERYTHING,)))

    assert (shown.denial, shown.reason) == (None, Reason.MIRROR_POD)
    assert pretended.denial is not None


# -- agreement with Pod Security


COVERED = {
    "privileged",
    "windowsHostProcess",
    "allowPrivilegeEscalation",
    "hostNamespaces",
    "hostPorts",
    "hostPathVolumes",
    "capabilities_restricted",
    "runAsNonRoot",
    "runAsUser",
}


def test_it_agrees_with_the_levels_of_pod_security_where_both_look() -> None:
    only_security = attrs.evolve(EVERYTHING, registries=Registries(), tags=Tags(), labels=Labels())

    for pod in single_mutations():
        ours = {breach.path for breach in KeepPodsCompliant((only_security,)).judge(pod, "shop")}
        theirs = {found for level in (BASELINE, RESTRICTED) for found in violations(pod, level) if found.check in COVERED}
        assert ours == {violation.path for violation in theirs}
