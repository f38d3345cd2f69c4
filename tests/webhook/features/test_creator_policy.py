"""Who may create what: allow lists that add up, warnings first where wanted, the control plane always."""

from __future__ import annotations

from typing import Any

import pytest

from tests.webhook.features.asking import Asked
from webhook.admission.review import Operations, User
from webhook.features.creator_policy import RestrictCreators
from webhook.names import Reason
from webhook.objects.creators import CreatorPolicy, CreatorRule, Subjects
from webhook.objects.enforcement import Mode, Namespaces

DEPLOYER = User("system:serviceaccount:ci:deployer", ("system:serviceaccounts", "system:serviceaccounts:ci"))


def rules(*rules: CreatorRule) -> RestrictCreators:
    return RestrictCreators(CreatorPolicy(rules))


def rule(name: str = "pods", resources: tuple[str, ...] = ("pods",), **options: Any) -> CreatorRule:
    return CreatorRule(name, resources, **options)


def test_nobody_may_create_what_a_rule_closes() -> None:
    verdict = Asked().of(rules(rule()))

    assert verdict.denial is not None
    assert (verdict.denial.code, verdict.denial.reason) == (403, "CreatorNotAllowed")
    assert verdict.denial.message == 'user "ann" may not CREATE pods in namespace shop: rule pods allows nobody'


@pytest.mark.parametrize(
    ("user", "allow", "passes"),
    [
        (User("ann", ()), Subjects(users=("ann",)), True),
        (User("anna", ()), Subjects(users=("ann",)), False),
        (User("ci-7", ()), Subjects(users=("ci-*",)), True),
        (User("ann", ("dev",)), Subjects(groups=("ops", "dev")), True),
        (User("dev", ()), Subjects(groups=("dev",)), False),
        (DEPLOYER, Subjects(service_accounts=("ci/deployer",)), True),
        (DEPLOYER, Subjects(service_accounts=("ci/*",)), True),
        (DEPLOYER, Subjects(service_accounts=("shop/deployer",)), False),
        (User("ci/deployer", ()), Subjects(service_accounts=("ci/deployer",)), False),
        (DEPLOYER, Subjects(groups=("system:serviceaccounts:ci",)), True),
        (User("", ()), Subjects(users=("",)), True),
        (User("ann", ()), Subjects(), False),
    ],
)
def test_users_groups_and_service_accounts_may_be_allowed(user: User, allow: Subjects, passes: bool) -> None:
    verdict = Asked(user=user).of(rules(rule(allow=allow)))

    assert (verdict.denial is None) is passes


@pytest.mark.parametrize(
    ("pattern", "group", "resource", "subresource", "covered"),
    [
        ("pods", "", "pods", "", True),
        ("pods", "", "pods", "exec", False),
        ("pods", "metrics.k8s.io", "pods", "", True),
        ("pods/exec", "", "pods", "exec", True),
        ("pods/exec", "", "pods", "", False),
        ("pods/*", "", "pods", "exec", True),
        ("pods/*", "", "pods", "", False),
        ("*/scale", "apps", "deployments", "scale", True),
        ("*", "apps", "deployments", "", True),
        ("*", "apps", "deployments", "scale", False),
        ("*/*", "apps", "deployments", "scale", True),
        ("*/*", "apps", "deployments", "", True),
        ("deployments.apps", "apps", "deployments", "", True),
        ("deployments.apps", "extensions", "deployments", "", False),
        ("*.rbac.authorization.k8s.io", "rbac.authorization.k8s.io", "roles", "", True),
        ("*.rbac.authorization.k8s.io", "", "pods", "", False),
    ],
)
def test_resources_are_meant_as_in_a_registration(
    pattern: str, group: str, resource: str, subresource: str, covered: bool
) -> None:
    verdict = Asked(group=group, resource=resource, subresource=subresource).of(rules(rule(resources=(pattern,))))

    assert (verdict.denial is not None) is covered


@pytest.mark.parametrize(
    ("operations", "operation", "covered"),
    [
        (("CREATE",), Operations.CREATE, True),
        (("CREATE",), Operations.DELETE, False),
        (("DELETE", "UPDATE"), Operations.DELETE, True),
        (("*",), Operations.CONNECT, True),
    ],
)
def test_a_rule_is_about_its_operations(operations: tuple[str, ...], operation: Operations, covered: bool) -> None:
    verdict = Asked(operation=operation).of(rules(rule(operations=operations)))

    assert (verdict.denial is not None) is covered


@pytest.mark.parametrize(
    ("namespaces", "namespace", "covered"),
    [
        (Namespaces(), "shop", True),
        (Namespaces(), "", True),
        (Namespaces(("prod-*",)), "prod-a", True),
        (Namespaces(("prod-*",)), "shop", False),
        (Namespaces(("prod-*",)), "", False),
        (Namespaces((), ("shop",)), "shop", False),
        (Namespaces(("*",), ("kube-*",)), "kube-system", False),
    ],
)
def test_a_rule_is_about_its_namespaces(namespaces: Namespaces, namespace: str, covered: bool) -> None:
    verdict = Asked(namespace=namespace).of(rules(rule(namespaces=namespaces)))

    assert (verdict.denial is not None) is covered


def test_every_covering_rule_must_allow() -> None:
    wide = rule("everywhere", allow=Subjects(groups=("dev",)))
    narrow = rule("prod", namespaces=Namespaces(("prod",)), allow=Subjects(users=("root-of-prod",)))

    assert Asked().of(rules(wide, narrow)).denial is None
    assert Asked(namespace="prod").of(rules(wide, narrow)).denial is not None
    assert Asked(namespace="prod").of(rules(narrow, wide)).denial is not None


def test_all_objecting_rules_are_told_at_once() -> None:
    verdict = Asked().of(rules(rule("a", allow=Subjects(users=("bob",))), rule("b", allow=Subjects((), ("ops",), ("ci/x",)))))

    assert verdict.denial is not None
    assert "rule a allows user bob; " in verdict.denial.message
    assert verdict.denial.message.endswith("rule b allows group ops, service account ci/x")


def test_a_rule_may_only_warn() -> None:
    verdict = Asked(namespace="").of(rules(rule(mode=Mode.WARN)))

    assert verdict.denial is None
    assert verdict.warnings == ('user "ann" may not CREATE pods outside of namespaces: rule pods allows nobody',)
    assert verdict.reason is Reason.CREATOR_NOT_ALLOWED


def test_a_rule_that_is_off_has_no_say() -> None:
    assert Asked().of(rules(rule(mode=Mode.OFF))).reason is Reason.CREATOR_ALLOWED


@pytest.mark.parametrize(
    "user",
    [
        User("system:serviceaccount:kube-system:replicaset-controller", ("system:serviceaccounts:kube-system",)),
        User("system:kube-controller-manager", ("system:authenticated",)),
        User("system:node:n1", ("system:nodes",)),
    ],
)
def test_the_control_plane_goes_on(user: User) -> None:
    assert Asked(user=user).of(rules(rule())).denial is None


def test_nobody_is_exempt_when_the_operator_says_so() -> None:
    node = User("system:node:n1", ("system:nodes",))

    assert Asked(user=node).of(RestrictCreators(CreatorPolicy((rule(),), exempt=Subjects()))).denial is not None


def test_a_deletion_is_judged_without_an_object() -> None:
    verdict = Asked(operation=Operations.DELETE, object=None, old_object={}).of(rules(rule(operations=("DELETE",))))

    assert verdict.denial is not None


@pytest.mark.parametrize(
    ("beginning", "namespaces", "refused"),
    [
        ("prod-", Namespaces(("prod-*",)), True),
        ("prod-a", Namespaces(("prod-*",)), True),
        ("shop", Namespaces(("shop",)), False),
        ("lab-", Namespaces(("prod-*",)), False),
        ("lab-", Namespaces((), ("lab-*",)), False),
        ("lab-", Namespaces(), True),
    ],
)
def test_a_namespace_whose_name_is_made_up_is_judged_by_the_beginning_of_it(
    beginning: str, namespaces: Namespaces, refused: bool
) -> None:
    made = Asked(resource="namespaces", namespace="", object={"metadata": {"generateName": beginning}})

    verdict = made.of(rules(rule(resources=("namespaces",), namespaces=namespaces)))

    assert (verdict.denial is not None) is refused
