"""`gatehouse check` doubts rules of who may create what that can never mean what they seem to."""

from __future__ import annotations

import pytest

from controllers.checking.files import check

HEAD = "apiVersion: gatehouse.dev/v1alpha1\nkind: GatehouseConfiguration\nfeatures:\n  creatorPolicy:\n    rules:\n"


def warnings(*rules: str, head: str = HEAD) -> list[str]:
    """What is doubted in these rules."""
    text = head + "".join(f"      - {{name: r{index}, {rule}}}\n" for index, rule in enumerate(rules))
    report = check([("gatehouse.yaml", text.encode())], "default")
    assert not report.faults
    return [str(one) for one in report.warnings]


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ("resources: [pod]", 'Kubernetes has no resource "pod": did you mean pods?'),
        ("resources: [deployment.apps]", 'Kubernetes has no resource "deployment": did you mean deployments?'),
        ("resources: [configmap]", "did you mean configmaps?"),
        ("resources: [widget.example.com]", '"widget" is in the singular'),
        ("resources: [clusterroles], namespaces: {only: [shop]}", "clusterroles belong to no namespace"),
        (
            "resources: [validatingwebhookconfigurations.admissionregistration.k8s.io]",
            "the API server never asks a webhook about validatingwebhookconfigurations",
        ),
        ("resources: [pods], operations: [DELETE]", "name pods/eviction with CREATE"),
        ('resources: [pods], operations: ["*"]', "name pods/eviction with CREATE"),
    ],
)
def test_a_rule_that_never_means_what_it_says_is_doubted_at_its_resource(rule: str, said: str) -> None:
    (found,) = warnings(rule)

    assert found.startswith("gatehouse.yaml:6:")
    assert "features.creatorPolicy.rules[0].resources[0]" in found
    assert said in found


@pytest.mark.parametrize(
    "rules",
    [
        ["resources: [pods, deployments.apps, pods/exec, '*/scale', '*'], operations: ['*']", "resources: [pods/eviction]"],
        ["resources: [widgets.example.com, namespaces], namespaces: {only: ['prod-*']}"],
        ["resources: [clusterroles.rbac.authorization.k8s.io]"],
        ["resources: [pods], operations: [DELETE]", "resources: [pods/*]"],
    ],
)
def test_what_can_be_meant_is_not_doubted(rules: list[str]) -> None:
    assert warnings(*rules) == []


@pytest.mark.parametrize(("feature", "mode"), [("true", "Off"), ("false", "Deny")])
def test_a_rule_that_is_off_is_not_doubted(feature: str, mode: str) -> None:
    head = HEAD.replace("    rules:", f"    enabled: {feature}\n    rules:")

    assert warnings(f"resources: [pod], mode: {mode}", head=head) == []
