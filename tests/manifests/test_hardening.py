"""docs/hardening.md, line by line, held against the manifests of base and of every overlay."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import attrs
import pytest

from controllers.cli.installation import installation, overlays
from controllers.config.document import Configuration, parse
from controllers.config.webhook import MetricsAuthorization
from controllers.process.assembly import LEAVE_WITHIN_S
from tests.manifests.files import ROOT
from webhook.objects.meta import Json

SYSTEM = {"kube-system", "kube-node-lease", "kube-public"}
READING = {"get", "list", "watch"}


@attrs.frozen
class Installation:
    """What one overlay installs."""

    items: Sequence[Json]

    def of(self, kind: str) -> list[Json]:
        return [item for item in self.items if item["kind"] == kind]

    def pod(self) -> dict[str, Any]:
        (deployment,) = self.of("Deployment")
        found: dict[str, Any] = deployment["spec"]["template"]["spec"]
        return found

    def container(self) -> dict[str, Any]:
        (container,) = self.pod()["containers"]
        found: dict[str, Any] = container
        return found

    def rules(self, *kinds: str) -> Iterator[dict[str, Any]]:
        """Rules about resources."""
        for kind in kinds or ("ClusterRole", "Role"):
            for role in self.of(kind):
                yield from (rule for rule in role["rules"] if "nonResourceURLs" not in rule)

    def urls(self) -> set[tuple[str, str, str]]:
        """Role, path and verb of every right to a path that is no resource."""
        return {
            (role["metadata"]["name"], path, verb)
            for role in self.of("ClusterRole")
            for rule in role["rules"]
            for path in rule.get("nonResourceURLs", ())
            for verb in rule["verbs"]
        }

    def configuration(self) -> Configuration:
        (found,) = [item for item in self.of("ConfigMap") if item["metadata"]["name"] == "gatehouse"]
        return parse(found["data"]["configuration.yaml"], "configuration.yaml")

    def webhooks(self) -> list[Json]:
        kinds = ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
        return [webhook for kind in kinds for item in self.of(kind) for webhook in item["webhooks"]]


@functools.cache
def installed(chosen: tuple[str, ...]) -> Installation:
    """Read once: no check changes it."""
    return Installation(installation(chosen))


CHECKS: dict[str, Callable[[Installation], None]] = {}


def check(function: Callable[[Installation], None]) -> Callable[[Installation], None]:
    CHECKS[function.__name__] = function
    return function


# -- who may call


@check
def webhook_port_alone(found: Installation) -> None:
    (own,) = [policy for policy in found.of("NetworkPolicy") if policy["metadata"]["name"] == "gatehouse"]
    assert own["spec"]["policyTypes"] == ["Ingress", "Egress"]
    assert [port["port"] for rule in own["spec"]["ingress"] for port in rule["ports"]] == ["webhook"]


@check
def metrics_for_one_namespace(found: Installation) -> None:
    for policy in found.of("NetworkPolicy"):
        for rule in policy["spec"].get("ingress", ()):
            if any(port["port"] != "webhook" for port in rule["ports"]):
                (source,) = rule["from"]
                assert source["namespaceSelector"]["matchLabels"]


@check
def egress_to_api_and_dns(found: Installation) -> None:
    rules = [rule for policy in found.of("NetworkPolicy") for rule in policy["spec"].get("egress", ())]
    assert {port["port"] for rule in rules for port in rule["ports"]} == {443, 6443, 8443, 16443, 53}


# -- rights


@check
def no_wildcards(found: Installation) -> None:
    for rule in found.rules():
        assert not any("*" in name for key in ("apiGroups", "resources", "verbs") for name in rule[key]), rule
    assert not any("*" in path + verb for _, path, verb in found.urls())


@check
def lease_and_secret_by_name(found: Installation) -> None:
    for rule in found.rules("Role"):
        names = {"leases": ["gatehouse"], "secrets": ["gatehouse-tls"]}
        for resource in rule["resources"]:
            assert rule["verbs"] == ["create"] or rule["resourceNames"] == names[resource], rule
    assert not [rule for rule in found.rules("ClusterRole") if "leases" in rule["resources"]]
    assert any("secrets" in rule["resources"] for rule in found.rules("Role"))


@check
def no_secrets_of_the_cluster(found: Installation) -> None:
    assert not [rule for rule in found.rules("ClusterRole") if "secrets" in rule["resources"]]


@check
def own_webhooks_only(found: Installation) -> None:
    rules = [rule for rule in found.rules() if "admissionregistration.k8s.io" in rule["apiGroups"]]
    assert rules
    for rule in rules:
        assert rule["resourceNames"] == ["gatehouse"]
        assert set(rule["verbs"]) <= READING | {"patch"}


@check
def status_by_subresource(found: Installation) -> None:
    written = {(name, verb) for rule in found.rules() for name in rule["resources"] for verb in set(rule["verbs"]) - READING}
    assert ("pods/status", "patch") in written
    for resource in ("addressreservations", "addresspools"):
        assert (resource, "patch") not in written


@check
def no_rights_over_rights(found: Installation) -> None:
    for rule in found.rules():
        assert set(rule["verbs"]).isdisjoint({"escalate", "bind", "impersonate"}), rule
        assert set(rule["apiGroups"]).isdisjoint({"rbac.authorization.k8s.io", "certificates.k8s.io"}), rule
        assert set(rule["resources"]).isdisjoint(
            {"serviceaccounts/token", "pods/exec", "pods/ephemeralcontainers", "nodes/proxy"}
        )


@check
def deletion_apart(found: Installation) -> None:
    (main,) = [role for role in found.of("ClusterRole") if role["metadata"]["name"] == "gatehouse"]
    for rule in main["rules"]:
        assert set(rule["verbs"]) <= READING | {"patch", "create"}, rule
        assert "create" not in rule["verbs"] or set(rule["resources"]) <= {"events", "tokenreviews", "subjectaccessreviews"}, (
            rule
        )


# -- the pod


@check
def not_root(found: Installation) -> None:
    context = found.pod()["securityContext"]
    assert context["runAsNonRoot"] is True
    assert min(context["runAsUser"], context["runAsGroup"]) > 1000


@check
def seccomp(found: Installation) -> None:
    assert found.pod()["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}


@check
def no_capabilities(found: Installation) -> None:
    context = found.container()["securityContext"]
    assert context["capabilities"] == {"drop": ["ALL"]}
    assert context["allowPrivilegeEscalation"] is False


@check
def read_only_root(found: Installation) -> None:
    assert found.container()["securityContext"]["readOnlyRootFilesystem"] is True
    mounts = {mount["name"]: mount for mount in found.container()["volumeMounts"]}
    for volume in found.pod()["volumes"]:
        assert mounts[volume["name"]].get("readOnly") or volume["emptyDir"]["sizeLimit"]


@check
def nothing_of_the_host(found: Installation) -> None:
    pod = found.pod()
    assert not {"hostNetwork", "hostPID", "hostIPC"} & set(pod)
    assert not [volume for volume in pod["volumes"] if "hostPath" in volume]
    assert not [port for port in found.container()["ports"] if "hostPort" in port]


@check
def user_namespace_left_to_the_node(found: Installation) -> None:
    assert "hostUsers" not in found.pod()


@check
def no_service_links(found: Installation) -> None:
    assert found.pod()["enableServiceLinks"] is False


@check
def token_where_used(found: Installation) -> None:
    assert found.pod()["serviceAccountName"] == "gatehouse"
    assert found.pod()["automountServiceAccountToken"] is True
    assert [account["metadata"]["name"] for account in found.of("ServiceAccount")] == ["gatehouse"]
    assert not found.of("Secret")


@check
def bounded(found: Installation) -> None:
    assert found.container()["resources"] == {
        "requests": {"cpu": "50m", "memory": "96Mi"},
        "limits": {"memory": "256Mi"},
    }


@check
def critical(found: Installation) -> None:
    assert found.pod()["priorityClassName"] == "system-cluster-critical"


@check
def spread(found: Installation) -> None:
    for constraint in found.pod()["topologySpreadConstraints"]:
        assert constraint["whenUnsatisfiable"] == "ScheduleAnyway"
    keys = [constraint["topologyKey"] for constraint in found.pod()["topologySpreadConstraints"]]
    assert keys == ["kubernetes.io/hostname", "topology.kubernetes.io/zone"]


@check
def drains_go_on(found: Installation) -> None:
    (deployment,) = found.of("Deployment")
    budgets = found.of("PodDisruptionBudget")
    assert len(budgets) == (1 if deployment["spec"]["replicas"] > 1 else 0)
    for budget in budgets:
        assert budget["spec"]["maxUnavailable"] == 1
        assert budget["spec"]["unhealthyPodEvictionPolicy"] == "AlwaysAllow"


@check
def rolls_without_a_gap(found: Installation) -> None:
    (deployment,) = found.of("Deployment")
    assert deployment["spec"]["strategy"]["rollingUpdate"] == {"maxUnavailable": 0, "maxSurge": 1}
    assert found.pod()["terminationGracePeriodSeconds"] > found.configuration().webhook.shutdown_delay_s + LEAVE_WITHIN_S


# -- what it is registered for


@check
def closed_webhooks_spare_the_system(found: Installation) -> None:
    for webhook in found.webhooks():
        if webhook["failurePolicy"] == "Fail":
            excluded = [one["values"] for one in webhook["namespaceSelector"]["matchExpressions"] if one["operator"] == "NotIn"]
            assert {name for values in excluded for name in values} >= SYSTEM, webhook["name"]
        (own,) = webhook["objectSelector"]["matchExpressions"]
        assert own == {"key": "app.kubernetes.io/name", "operator": "NotIn", "values": ["gatehouse"]}


@check
def open_webhooks_are_quick(found: Installation) -> None:
    for webhook in found.webhooks():
        assert webhook["timeoutSeconds"] <= (5 if webhook["failurePolicy"] == "Fail" else 3), webhook["name"]
        if not webhook["namespaceSelector"].get("matchExpressions"):
            assert webhook["failurePolicy"] == "Ignore", webhook["name"]


@check
def heartbeats_pass(found: Installation) -> None:
    asked = {name for webhook in found.webhooks() for rule in webhook["rules"] for name in rule["resources"]}
    assert asked.isdisjoint({"*", "*/*", "leases", "events", "certificatesigningrequests", "nodes/status", "tokenreviews"})


@check
def seats_of_its_own(found: Installation) -> None:
    (schema,) = found.of("FlowSchema")
    (level,) = found.of("PriorityLevelConfiguration")
    assert schema["spec"]["priorityLevelConfiguration"]["name"] == level["metadata"]["name"]
    assert level["spec"]["limited"]["lendablePercent"] == 0


# -- metrics


@check
def metrics_are_for_whom_the_cluster_allows(found: Installation) -> None:
    metrics = found.configuration().metrics
    asks = metrics.authorization is MetricsAuthorization.KUBERNETES
    rights = {name for rule in found.rules() if rule["verbs"] == ["create"] for name in rule["resources"] if "reviews" in name}
    assert rights == ({"tokenreviews", "subjectaccessreviews"} if asks else set())
    assert found.urls() == ({("gatehouse-metrics-reader", "/metrics", "get")} if asks else set())
    assert metrics.tls is asks
    for monitor in found.of("ServiceMonitor"):
        (endpoint,) = monitor["spec"]["endpoints"]
        assert (endpoint.get("scheme") == "https") is asks
        assert ("bearerTokenFile" in endpoint) is asks
        assert ("tlsConfig" in endpoint) is asks


# -- supply


@check
def exact_versions(found: Installation) -> None:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    assert all(re.fullmatch(r"[\w.-]+==[\w.+]+", line) for line in lines if line and not line.startswith("#"))
    assert "-c constraints.txt" in (ROOT / "Makefile").read_text()


# -- the page

ROWS = [
    [cell.strip() for cell in line.strip("|").split(" | ")]
    for line in (ROOT / "docs" / "hardening.md").read_text().splitlines()
    if line.startswith("| ") and not line.startswith(("| **", "| line", "| ---"))
]
SEVERAL = ("monitoring", "metrics-authorization")  # one changes what the other brings
INSTALLATIONS = {"+".join(chosen) or "base": chosen for chosen in [(), *[(name,) for name in overlays()], SEVERAL]}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_a_line_has_a_state_and_something_that_holds_it(row: list[str]) -> None:
    _, state, _, held = row

    assert state in ("done", "option", "open")
    if state == "open":
        assert held == "–"
        return
    name = held.strip("`")
    file, _, test = name.partition("::")
    assert name in CHECKS or (ROOT / file).is_file()
    assert not test or f"def {test}(" in (ROOT / file).read_text()


def test_every_check_holds_a_line() -> None:
    assert set(CHECKS) <= {row[3].strip("`") for row in ROWS}


@pytest.mark.parametrize("chosen", INSTALLATIONS)
@pytest.mark.parametrize("name", CHECKS)
def test_a_line_holds(name: str, chosen: str) -> None:
    CHECKS[name](installed(INSTALLATIONS[chosen]))
