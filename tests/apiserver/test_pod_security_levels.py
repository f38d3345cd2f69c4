"""A real API server lets pods into labelled namespaces exactly where we foresee it, and pod-compliance is of its opinion."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator

import pytest

from tests.apiserver import injection
from tests.cluster import Api, ApiError, Json
from tests.webhook.objects.security_pods import hardened, several_mutations, single_mutations
from webhook.features.pod_compliance import KeepPodsCompliant
from webhook.objects.compliance import Capabilities, CompliancePolicy, HostPaths
from webhook.objects.enforcement import Mode
from webhook.objects.pod_security import BASELINE, RESTRICTED, Level, Profile, level_of, violations

LEVELS = (BASELINE, RESTRICTED, Level(Profile.RESTRICTED, 34))
# What pod-compliance covers of each profile; a pod that breaks none of it may still break the rest.
RULES = {
    Profile.BASELINE: CompliancePolicy(
        "as-baseline",
        privilege=Mode.DENY,
        host_namespaces=Mode.DENY,
        host_ports=Mode.DENY,
        host_paths=HostPaths(Mode.DENY),
        capabilities=Capabilities(Mode.DENY),
    ),
    Profile.RESTRICTED: CompliancePolicy(
        "as-restricted",
        privilege=Mode.DENY,
        privilege_escalation=Mode.DENY,
        host_namespaces=Mode.DENY,
        host_ports=Mode.DENY,
        run_as_non_root=Mode.DENY,
        host_paths=HostPaths(Mode.DENY),
        capabilities=Capabilities(Mode.DENY, drop_all=True),
    ),
}

COVERED = {
    *("privileged", "windowsHostProcess", "allowPrivilegeEscalation", "hostNamespaces", "hostPorts", "hostPathVolumes"),
    *("capabilities_baseline", "capabilities_restricted", "runAsNonRoot", "runAsUser"),
}


@pytest.fixture(scope="module")
def namespaces(admin: Api) -> dict[Level, str]:
    """One namespace for each level."""
    names = {}
    for level in LEVELS:
        name = f"level-{str(level).replace(':', '-').replace('.', '-')}"
        version = str(level).partition(":")[2]
        labels = {
            "pod-security.kubernetes.io/enforce": level.profile.value,
            "pod-security.kubernetes.io/enforce-version": version,
        }
        assert level_of(labels) == level
        injection.namespace(admin, name, labels)
        names[level] = name
    return names


def test_a_level_refuses_the_pods_that_we_say_it_refuses(admin: Api, namespaces: dict[Level, str]) -> None:
    judged = refused = 0
    for pod in _creatable([hardened(), *single_mutations(), *_mixtures(150)]):
        for level, namespace in namespaces.items():
            verdict = _is_refused(admin, namespace, pod)
            if verdict is None:
                continue
            found = violations(pod, level)
            assert verdict is bool(found), f"{level}: {found or 'nothing found'} in {pod}"
            judged += 1
            refused += verdict
    assert judged >= 400
    assert refused >= 150


def test_pod_compliance_is_of_the_levels_opinion_where_it_covers_the_same_fields(
    admin: Api, namespaces: dict[Level, str]
) -> None:
    refused = admitted = 0
    for pod in _creatable([hardened(), *single_mutations(), *_mixtures(60)]):
        if pod["spec"].get("hostUsers") is False:  # in a user namespace the level lets root in
            continue
        for level in (BASELINE, RESTRICTED):
            breaches = KeepPodsCompliant((RULES[level.profile],)).judge(pod, "shop")
            verdict = _is_refused(admin, namespaces[level], pod)
            if verdict is False:
                assert not breaches, f"{level}: {breaches} in {pod}"
                admitted += 1
            elif verdict and all(found.check in COVERED for found in violations(pod, level)):
                assert breaches, f"{level}: nothing found in {pod}"
                refused += 1
    assert refused >= 40
    assert admitted >= 40


def _mixtures(count: int) -> Iterator[Json]:
    chance = random.Random(37)
    return (several_mutations(chance) for _ in range(count))


def _creatable(pods: Iterable[Json]) -> Iterator[Json]:
    """As they may be created: without ephemeral containers, each of the other names once."""
    for pod in pods:
        pod["spec"].pop("ephemeralContainers", None)
        yield pod


def _is_refused(admin: Api, namespace: str, pod: Json) -> bool | None:
    """Whether Pod Security refuses it in a dry run; None when the API's own validation refuses it first."""
    body = {"apiVersion": "v1", "kind": "Pod", **pod}
    try:
        injection.create(admin, namespace, body, "?dryRun=All")
    except ApiError as error:
        if error.status in (400, 422):
            return None
        if "violates PodSecurity" not in str(error):
            raise
        return True
    return False
