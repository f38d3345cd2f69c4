"""Bounds of pods, and of those who create things, are read exactly, or refused with every fault at its place."""

from __future__ import annotations

import pytest

from controllers.config.document import Configuration, ConfigurationError, parse
from webhook.admission.settings import Settings
from webhook.objects.compliance import Capabilities, CompliancePolicy, HostPaths, Labels, Registries, Tags
from webhook.objects.creators import CONTROL_PLANE, CreatorPolicy, CreatorRule, Subjects
from webhook.objects.enforcement import Mode, Namespaces
from webhook.objects.quantity import parse as amount
from webhook.objects.resource_policies import Absent, Bounds, ResourcePolicy, Span

HEAD = "apiVersion: gatehouse.dev/v1alpha1\nkind: GatehouseConfiguration\nfeatures:\n"


def read(features: str) -> Configuration:
    return parse(f"{HEAD}  {features}", "gatehouse.yaml")


def settings(features: str) -> Settings:
    return read(features).settings()


def faults(features: str) -> str:
    with pytest.raises(ConfigurationError) as caught:
        read(features)
    return str(caught.value)


# -- what is read


def test_by_default_nothing_is_judged_and_the_control_plane_is_exempt() -> None:
    found = Configuration().settings()

    assert (found.resource_policies, found.compliance) == ((), ())
    assert found.creators == CreatorPolicy((), CONTROL_PLANE)
    assert found.typo_hints


def test_resource_limits_are_what_the_file_says() -> None:
    body = """resourceLimits:
    typoHints: false
    policies:
      - name: article
        container: {cpu: {requests: {max: 1}}, memory: {requests: {max: 1Gi}}}
      - name: prod
        namespaces: {only: [prod-*], never: [prod-lab]}
        mode: Warn
        absent: Refused
        container: {cpu: {limits: {min: 0.1, max: "2"}, maxRatio: 4}}
        pod: {example.com/gpu: {limits: {max: 8}}}
"""
    found = settings(body)

    assert not found.typo_hints
    assert found.resource_policies == (
        ResourcePolicy(
            "article",
            container={"cpu": Bounds(Span(max=amount("1"))), "memory": Bounds(Span(max=amount("1Gi")))},
        ),
        ResourcePolicy(
            "prod",
            Namespaces(("prod-*",), ("prod-lab",)),
            Mode.WARN,
            Absent.REFUSED,
            {"cpu": Bounds(limits=Span(amount("0.1"), amount("2")), max_ratio=amount("4"))},
            {"example.com/gpu": Bounds(limits=Span(max=amount("8")))},
        ),
    )


def test_the_creator_policy_is_what_the_file_says() -> None:
    body = """creatorPolicy:
    exempt: {groups: [platform], serviceAccounts: [argocd/*]}
    rules:
      - name: a
        resources: [pods, "*.apps"]
        operations: ["*"]
        allow: {users: [ann], groups: [dev-*], serviceAccounts: [ci/x]}
"""
    rule = CreatorRule("a", ("pods", "*.apps"), ("*",), allow=Subjects(("ann",), ("dev-*",), ("ci/x",)))
    exempt = Subjects(CONTROL_PLANE.users, (*CONTROL_PLANE.groups, "platform"), ("argocd/*",))

    assert settings(body).creators == CreatorPolicy((rule,), exempt)


def test_pod_compliance_is_what_the_file_says() -> None:
    body = """podCompliance:
    policies:
      - name: strict
        namespaces: {never: [lab]}
        privilege: Deny
        privilegeEscalation: Warn
        hostNamespaces: Deny
        hostPorts: Off
        runAsNonRoot: Warn
        hostPaths: {mode: Deny, allow: [/var/log]}
        capabilities: {mode: Deny, dropAll: true, allow: [NET_ADMIN]}
        registries: {mode: Deny, allow: ["registry.example.com:5000", ghcr.io/team]}
        tags: {mode: Warn, forbid: [dev-*], requireDigest: true}
        labels: {mode: Deny, required: {team: [shop, pay], owner: []}}
"""
    expected = CompliancePolicy(
        "strict",
        Namespaces((), ("lab",)),
        Mode.DENY,
        Mode.WARN,
        Mode.DENY,
        Mode.OFF,
        Mode.WARN,
        HostPaths(Mode.DENY, ("/var/log",)),
        Capabilities(Mode.DENY, True, frozenset({"NET_ADMIN"})),
        Registries(Mode.DENY, ("registry.example.com:5000", "ghcr.io/team")),
        Tags(Mode.WARN, ("dev-*",), True),
        Labels(Mode.DENY, {"team": ("shop", "pay"), "owner": ()}),
    )

    assert settings(body).compliance == (expected,)


@pytest.mark.parametrize("word", ["Off", "off", '"Off"', "false"])
def test_off_is_a_mode_though_yaml_makes_false_of_it(word: str) -> None:
    body = f"resourceLimits: {{policies: [{{name: a, mode: {word}, container: {{cpu: {{requests: {{max: 1}}}}}}}}]}}"

    assert settings(body).resource_policies[0].mode is Mode.OFF


@pytest.mark.parametrize("feature", ["resourceLimits", "creatorPolicy", "podCompliance"])
def test_a_feature_that_is_off_judges_nothing_and_its_service_still_answers(feature: str) -> None:
    policies = {
        "resourceLimits": "policies: [{name: a, container: {cpu: {requests: {max: 1}}}}]",
        "creatorPolicy": "rules: [{name: a, resources: [pods]}]",
        "podCompliance": "policies: [{name: a, privilege: Deny}]",
    }

    found = settings(f"{feature}: {{enabled: false, {policies[feature]}}}")

    assert (found.resource_policies, found.creators.rules, found.compliance) == ((), (), ())
    assert found.disabled == frozenset()


# -- what is refused

LIMITS = "resourceLimits: {policies: [%s]}"
RULES = "creatorPolicy: {rules: [%s]}"
COMPLIANCE = "podCompliance: {policies: [%s]}"


@pytest.mark.parametrize(
    ("features", "item", "fault"),
    [
        (LIMITS, "{container: {cpu: {requests: {max: 1}}}}", "policies[0].name: must be set"),
        (LIMITS, "{name: A_b, container: {cpu: {requests: {max: 1}}}}", "policies[0].name: must be a DNS label"),
        (LIMITS, "{name: a}", "policies[0].container: bounds nothing"),
        (LIMITS, "{name: a, pod: {cpu: {}}}", "policies[0].pod.cpu.requests: bounds nothing"),
        (LIMITS, "null", "policies[0]: must be an object, not null"),
        (LIMITS, "{name: a, container: {cpu: {requests: {max: 1 Gi}}}}", "policies[0].container.cpu.requests.max: "),
        (LIMITS, "{name: a, container: {cpu: {requests: {max: -1}}}}", "requests.max: must not be negative, as -1 is"),
        (LIMITS, "{name: a, container: {cpu: {request: {max: 1}}}}", "cpu.request: unknown key: did you mean requests?"),
        (LIMITS, "{name: a, container: {gpu: {requests: {max: 1}}}}", 'container.gpu: "gpu" is no resource of a container'),
        (LIMITS, "{name: a, container: {cpu: {limits: {min: 2, max: 1}}}}", "cpu.limits.min: must not be above max"),
        (
            LIMITS,
            "{name: a, container: {cpu: {requests: {min: 2}, limits: {max: 1}}}}",
            "cpu.requests: asks for requests above",
        ),
        (LIMITS, "{name: a, container: {cpu: {maxRatio: 0.5}}}", "cpu.maxRatio: must be at least 1, not 0.5"),
        (
            LIMITS,
            "{name: a, container: {cpu: {requests: {max: 1}, limits: {min: 4}, maxRatio: 2}}}",
            "cpu.maxRatio: is less than the lowest limit has to the highest request",
        ),
        (
            LIMITS,
            "{name: a, container: {cpu: {requests: {min: 2}}}, pod: {cpu: {requests: {max: 1}}}}",
            "policies[0].pod: allows the whole pod less",
        ),
        (
            LIMITS,
            "{name: a, mode: Refuse, pod: {cpu: {requests: {max: 1}}}}",
            "policies[0].mode: must be one of Off, Warn, Deny",
        ),
        (
            LIMITS,
            "{name: a, absent: counts, pod: {cpu: {requests: {max: 1}}}}",
            "absent: must be one of Counts, Passes, Refused",
        ),
        (LIMITS, "{name: a, namespaces: {only: [a*b]}}", "namespaces.only[0]: must be the name of a namespace"),
        (LIMITS, "{name: a, namespaces: {only: [kube-system]}}", "namespaces.only[0]: nothing is judged in kube-node-lease"),
        (LIMITS, "{name: a, namespaces: {only: [x], never: [x]}}", "namespaces.only: names what stands in never, too"),
        (LIMITS, "{name: a, pod: {cpu: 1}}", "policies[0].pod.cpu: must be an object"),
        (LIMITS, "{name: a, pod: []}", "policies[0].pod: must be an object, not a list"),
        (RULES, "{name: a}", "rules[0].resources: must name a resource"),
        (RULES, "{name: a, resources: [Pods]}", "rules[0].resources[0]: must be a resource in the plural"),
        (RULES, "{name: a, resources: [pods, pods]}", "rules[0].resources: names a resource twice"),
        (
            RULES,
            "{name: a, resources: [pods], operations: [create]}",
            "operations[0]: must be one of CREATE, UPDATE, DELETE, CONNECT",
        ),
        (RULES, "{name: a, resources: [pods], operations: []}", "rules[0].operations: must name an operation"),
        (RULES, '{name: a, resources: [pods], operations: ["*", CREATE]}', "rules[0].operations: names an operation twice"),
        (RULES, "{name: a, resources: [pods/exec]}", "rules[0].operations: never happens to one of the resources"),
        (RULES, "{name: a, resources: [pods], operations: [CONNECT]}", "rules[0].operations: never happens to one of"),
        (
            RULES,
            "{name: a, resources: [pods], allow: {serviceAccounts: [deployer]}}",
            "serviceAccounts[0]: must be NAMESPACE/NAME",
        ),
        (RULES, "{name: a, resources: [pods], allow: {users: ['*-x']}}", 'allow.users[0]: may have "*" only at its end'),
        (RULES, "{name: a, resources: [pods], allow: [ann]}", "rules[0].allow: must be an object, not a list"),
        (COMPLIANCE, "{name: a}", "policies[0].name: names a policy that asks for nothing"),
        (COMPLIANCE, "{name: a, privileged: Deny}", "policies[0].privileged: unknown key: did you mean privilege?"),
        (COMPLIANCE, "{name: a, hostPaths: {allow: [/a]}}", "policies[0].hostPaths.mode: must be Warn or Deny"),
        (COMPLIANCE, "{name: a, hostPaths: {mode: Deny, allow: [a]}}", "hostPaths.allow[0]: must be an absolute path"),
        (COMPLIANCE, "{name: a, hostPaths: {mode: Deny, allow: [/a/../b]}}", "hostPaths.allow[0]: must be an absolute path"),
        (COMPLIANCE, "{name: a, capabilities: {mode: Deny, allow: [CAP_KILL]}}", "allow[0]: is written without CAP_: KILL"),
        (COMPLIANCE, "{name: a, registries: {mode: Deny}}", "registries.allow: must name a registry"),
        (COMPLIANCE, "{name: a, registries: {mode: Deny, allow: [team/app]}}", 'for Docker Hub write "docker.io/team/app"'),
        (COMPLIANCE, "{name: a, registries: {mode: Deny, allow: ['https://a.b']}}", "registries.allow[0]: must be a registry"),
        (COMPLIANCE, "{name: a, tags: {mode: Deny, forbid: []}}", "tags.forbid: must name a tag"),
        (COMPLIANCE, "{name: a, labels: {mode: Deny}}", "labels.required: must name a label"),
        (COMPLIANCE, "{name: a, labels: {mode: Deny, required: [team]}}", "labels.required: must be an object of label keys"),
        (COMPLIANCE, "{name: a, labels: {mode: Deny, required: {team: shop}}}", "required.team: must be a list of strings"),
        (COMPLIANCE, "{name: a, labels: {mode: Deny, required: {team: [a, a]}}}", "labels.required: names a value twice"),
        (COMPLIANCE, "{name: a, labels: {mode: Deny, required: {-x: []}}}", "labels.required.-x: label key"),
    ],
)
def test_what_cannot_be_meant_is_refused(features: str, item: str, fault: str) -> None:
    assert fault in faults(features % item)


@pytest.mark.parametrize(("features", "key"), [(LIMITS, "policies"), (RULES, "rules"), (COMPLIANCE, "policies")])
def test_a_name_may_stand_once(features: str, key: str) -> None:
    items = {"policies": "{name: a, %s}", "rules": "{name: a, resources: [pods]}"}
    body = "privilege: Deny" if features is COMPLIANCE else "pod: {cpu: {requests: {max: 1}}}"
    item = items[key] % body if "%s" in items[key] else items[key]

    assert f'{key}[1].name: "a" stands there twice' in faults(features % f"{item}, {item}")


@pytest.mark.parametrize("value", ["null", "{}", "1"])
def test_a_list_of_policies_is_a_list(value: str) -> None:
    if value == "null":
        assert settings("podCompliance: {policies: null}").compliance == ()
    else:
        assert "podCompliance.policies: must be a list of objects" in faults(f"podCompliance: {{policies: {value}}}")


def test_all_faults_are_told_at_once_with_their_lines() -> None:
    body = """resourceLimits:
    policies:
      - name: a
        container:
          cpu: {requests: {max: one}}
      - {name: a, pods: {}}
  podCompliance: {policies: [{name: b, privilege: Refuse}]}
"""
    told = faults(body).splitlines()

    assert [line.split(": ")[0:2] for line in told] == [
        ["gatehouse.yaml:8:28", "features.resourceLimits.policies[0].container.cpu.requests.max"],
        ["gatehouse.yaml:9:9", "features.resourceLimits.policies[1].container"],
        ["gatehouse.yaml:9:10", "features.resourceLimits.policies[1].name"],
        ["gatehouse.yaml:9:19", "features.resourceLimits.policies[1].pods"],
        ["gatehouse.yaml:10:40", "features.podCompliance.policies[0].privilege"],
    ]
