"""What is registered for bounds follows from the policies: nothing without them, and nobody waits who cannot be refused."""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from webhook.admission.bounds import creator_entries, pod_entries
from webhook.admission.configurations import ClientConfig, configurations
from webhook.admission.registry import SERVICES, by_name, paths_for
from webhook.admission.review import Operations
from webhook.admission.service import Entry, Match
from webhook.admission.settings import Settings
from webhook.objects.compliance import Capabilities, CompliancePolicy, HostPaths, Labels, Registries, Tags
from webhook.objects.creators import CreatorPolicy, CreatorRule, Subjects
from webhook.objects.enforcement import Mode, Namespaces
from webhook.objects.quantity import parse
from webhook.objects.resource_policies import Bounds, ResourcePolicy, Span

CREATE, UPDATE, DELETE, CONNECT = Operations
DENY, WARN = Mode.DENY, Mode.WARN
BOUNDS = {"cpu": Bounds(Span(max=parse("1")))}


def limits(*namespaces: Namespaces, mode: Mode = DENY) -> Settings:
    found = (ResourcePolicy(f"p{index}", one, mode, container=BOUNDS) for index, one in enumerate(namespaces or [Namespaces()]))
    return Settings(resource_policies=tuple(found))


def compliance(**options: Any) -> Settings:
    return Settings(compliance=(CompliancePolicy("strict", **options),))


def rules(*found: CreatorRule, **options: Any) -> Settings:
    return Settings(creators=CreatorPolicy(found), **options)


def lines(entries: tuple[Entry, ...]) -> list[tuple[str, str, tuple[Operations, ...]]]:
    return [(match.group, match.resource, match.operations) for entry in entries for match in entry.matches]


def condition(entry: Entry, name: str) -> str:
    return dict(entry.match_conditions).get(name, "")


def excluded(entry: Entry) -> list[str]:
    (expression,) = entry.namespace_selector["matchExpressions"]
    assert (expression["key"], expression["operator"]) == ("kubernetes.io/metadata.name", "NotIn")
    found: list[str] = expression["values"]
    return found


# -- pods


@pytest.mark.parametrize("settings", [Settings(), limits(mode=Mode.OFF), compliance(), rules(), Settings(typo_hints=True)])
def test_nothing_configured_is_nothing_registered(settings: Settings) -> None:
    assert (pod_entries(settings), creator_entries(settings)) == ((), ())
    _, validating = configurations(SERVICES, ClientConfig.url("https://h"), settings)
    assert {webhook["name"] for webhook in validating["webhooks"]} == {"workload-warnings.gatehouse.dev"}


@pytest.mark.parametrize(
    ("settings", "registered"),
    [
        (limits(), {"pods": (CREATE,), "pods/resize": (UPDATE,)}),
        (compliance(host_namespaces=DENY), {"pods": (CREATE,)}),
        (compliance(host_paths=HostPaths(DENY)), {"pods": (CREATE,)}),
        (compliance(host_ports=DENY), {"pods": (CREATE,)}),
        (compliance(privilege=DENY), {"pods": (CREATE,), "pods/ephemeralcontainers": (UPDATE,)}),
        (compliance(capabilities=Capabilities(DENY)), {"pods": (CREATE,), "pods/ephemeralcontainers": (UPDATE,)}),
        (compliance(registries=Registries(DENY, ("a.b",))), {"pods": (CREATE, UPDATE), "pods/ephemeralcontainers": (UPDATE,)}),
        (compliance(labels=Labels(DENY, {"team": ()})), {"pods": (CREATE, UPDATE), "pods/status": (UPDATE,)}),
        (compliance(labels=Labels(DENY)), {"pods": (CREATE,)}),
    ],
)
def test_only_what_a_policy_can_decide_on_is_registered(settings: Settings, registered: dict[str, Any]) -> None:
    assert {resource: operations for _, resource, operations in lines(pod_entries(settings))} == registered


def test_pods_are_judged_with_the_promised_failure_policy_and_never_those_of_the_system() -> None:
    (entry,) = pod_entries(limits())

    assert (entry.failure_policy, entry.timeout_s, entry.match_policy, entry.side_effects) == ("Fail", 5, "Equivalent", "None")
    assert excluded(entry) == ["kube-node-lease", "kube-public", "kube-system"]


def test_our_own_pods_never_wait_and_nobody_evades_a_rule_by_their_label() -> None:
    (in_system,), (elsewhere,) = pod_entries(limits()), pod_entries(attrs.evolve(limits(), home="edge"))

    assert in_system.object_selector == elsewhere.object_selector == {}
    assert not condition(in_system, "not-our-own")
    assert '== "edge" && ' in condition(elsewhere, "not-our-own")


@pytest.mark.parametrize(
    "settings", [limits(mode=WARN), compliance(privilege=WARN), rules(CreatorRule("a", ("pods",), mode=WARN))]
)
def test_where_nothing_is_refused_an_outage_refuses_nothing(settings: Settings) -> None:
    assert (pod_entries(settings), creator_entries(settings)) == ((), ())
    (entry,) = (*pod_entries(settings, WARN), *creator_entries(settings, WARN))
    assert entry.failure_policy == "Ignore"


def test_a_rule_that_warns_does_not_wait_with_one_that_refuses() -> None:
    bounded, warned = limits(Namespaces(("prod",))), limits(Namespaces(("shop",)), mode=WARN)
    settings = attrs.evolve(
        compliance(privilege=DENY, tags=Tags(WARN), namespaces=Namespaces(("prod",))),
        resource_policies=bounded.resource_policies + warned.resource_policies,
        creators=CreatorPolicy((CreatorRule("a", ("pods",)), CreatorRule("b", ("secrets",), mode=WARN))),
    )

    (refusing,), (warning,) = pod_entries(settings), pod_entries(settings, WARN)

    assert (refusing.failure_policy, warning.failure_policy) == ("Fail", "Ignore")
    assert "pods" in {match.resource for match in refusing.matches if match.operations == (CREATE,)}
    assert ("", "pods", (CREATE, UPDATE)) in lines((warning,))
    assert "shop" not in condition(refusing, "in-a-namespace-of-a-policy")
    assert lines(creator_entries(settings)) == [("*", "pods", (CREATE,))]
    assert lines(creator_entries(settings, WARN)) == [("*", "secrets", (CREATE,))]


def test_other_namespaces_do_not_wait() -> None:
    (entry,) = pod_entries(limits(Namespaces(("prod-*", "shop")), Namespaces(("lab",))))

    term = condition(entry, "in-a-namespace-of-a-policy")

    assert '.startsWith("prod-")' in term
    assert 'in ["shop"]' in term
    assert 'in ["lab"]' in term


def test_a_policy_for_every_namespace_needs_no_condition() -> None:
    (entry,) = pod_entries(limits(Namespaces(("prod-*",)), Namespaces()))

    assert not condition(entry, "in-a-namespace-of-a-policy")


def test_updates_wait_only_when_something_that_is_judged_changes() -> None:
    (labelled,) = pod_entries(compliance(labels=Labels(DENY, {"team": ()})))
    (tagged,), (created,) = pod_entries(compliance(tags=Tags(DENY))), pod_entries(limits())
    of_labels, of_images = condition(labelled, "changes-what-is-judged"), condition(tagged, "changes-what-is-judged")

    assert '["team"].exists' in of_labels
    assert "image" not in of_labels
    assert "ephemeralContainers.map(c, has(c.image)" in of_images
    assert "labels" not in of_images
    assert "object.spec !=" not in of_images
    assert not condition(created, "changes-what-is-judged")


# -- who creates what


def test_resources_are_registered_as_the_rules_write_them() -> None:
    settings = rules(
        CreatorRule("a", ("pods", "deployments.apps")),
        CreatorRule("b", ("pods", "*/scale"), ("UPDATE", "DELETE")),
        CreatorRule("off", ("secrets",), mode=Mode.OFF),
    )

    assert lines(creator_entries(settings)) == [
        ("*", "pods", (CREATE, UPDATE, DELETE)),
        ("apps", "deployments", (CREATE,)),
        ("*", "*/scale", (UPDATE, DELETE)),
    ]


def test_every_operation_may_be_closed_connections_too() -> None:
    entries = creator_entries(rules(CreatorRule("a", ("pods/*",), ("*",))))

    assert lines(entries) == [("*", "pods/*", (CREATE, UPDATE, DELETE, CONNECT))]
    assert entries[0].object_selector == {}  # what is connected to bears no labels: with a selector it would never come


def test_our_own_namespace_is_never_closed() -> None:
    (entry,) = creator_entries(rules(CreatorRule("a", ("*",)), home="edge"))

    assert excluded(entry) == ["edge", "kube-node-lease", "kube-public", "kube-system"]
    assert 'startsWith("system:serviceaccount:edge:")' in condition(entry, "not-exempt")


def test_the_control_plane_and_whom_every_rule_allows_do_not_wait() -> None:
    (entry,) = creator_entries(rules(CreatorRule("a", ("pods",), allow=Subjects(("ann",), ("ops",), ("ci/*",)))))

    assert '"system:serviceaccounts:kube-system"' in condition(entry, "not-exempt")
    objecting = condition(entry, "somebody-may-object")
    assert 'in ["ann"]' in objecting
    assert 'exists(g, g in ["ops"])' in objecting
    assert 'startsWith("system:serviceaccount:ci:")' in objecting


def test_nobody_takes_the_exemption_of_the_control_plane_away_by_exempting_others() -> None:
    policy = CreatorPolicy((CreatorRule("a", ("pods",)),), exempt=Subjects(groups=("platform",)))
    (entry,) = creator_entries(Settings(creators=policy))

    assert '["platform", "system:nodes", "system:serviceaccounts:kube-system"]' in condition(entry, "not-exempt")


@pytest.mark.parametrize(("resource", "asked"), [("namespaces", True), ("*", True), ("pods", False)])
def test_a_namespace_whose_name_is_made_up_waits_by_the_beginning_of_it(resource: str, asked: bool) -> None:
    (entry,) = creator_entries(rules(CreatorRule("a", (resource,), namespaces=Namespaces(("prod-*",)))))

    assert ("object.metadata.generateName" in condition(entry, "somebody-may-object")) is asked


@pytest.mark.parametrize(
    ("resources", "left_out"),
    [
        (("*",), True),
        (("*/*",), True),
        (("pods",), False),
        (("*.apps",), False),
    ],
)
def test_a_wildcard_leaves_out_what_programs_write_all_day(resources: tuple[str, ...], left_out: bool) -> None:
    (entry,) = creator_entries(rules(CreatorRule("a", resources)))

    assert ('"leases.coordination.k8s.io"' in condition(entry, "not-housekeeping")) is left_out


@pytest.mark.parametrize("named", ["leases", "leases.coordination.k8s.io", "*.coordination.k8s.io"])
def test_what_a_rule_names_is_not_left_out(named: str) -> None:
    (entry,) = creator_entries(rules(CreatorRule("a", ("*", named))))

    term = condition(entry, "not-housekeeping")

    assert "leases" not in term
    assert '"events."' in term


def test_names_are_written_as_texts_of_cel() -> None:
    (entry,) = creator_entries(rules(CreatorRule("a", ("pods",), allow=Subjects(('o\'dd "one" \\',)))))

    assert '["o\'dd \\"one\\" \\\\"]' in condition(entry, "somebody-may-object")


def test_kubelets_never_wait_for_labels_where_the_condition_that_spares_them_is_too_long() -> None:
    many = tuple(
        CompliancePolicy(f"p{one}", Namespaces((f"team-{one}",)), labels=Labels(DENY, {"a": ()})) for one in range(500)
    )
    (entry,) = pod_entries(Settings(compliance=many))

    assert not condition(entry, "changes-what-is-judged")
    assert "pods/status" not in {match.resource for match in entry.matches}


def test_a_condition_that_the_api_server_would_not_parse_is_left_out() -> None:
    many = [CreatorRule(f"r{number}", ("pods",), namespaces=Namespaces((f"team-{number}",))) for number in range(500)]
    (few_rules,), (many_rules,) = creator_entries(rules(*many[:50])), creator_entries(rules(*many))

    assert condition(few_rules, "somebody-may-object")
    assert [name for name, _ in many_rules.match_conditions] == ["not-exempt"]


# -- what a registration brings


@pytest.mark.parametrize(
    ("pattern", "resource", "covered"),
    [
        ("pods", "pods", True),
        ("pods", "pods/status", False),
        ("pods/*", "pods/exec", True),
        ("pods/*", "pods", True),
        ("*", "secrets", True),
        ("*", "pods/exec", False),
        ("*/*", "pods/exec", True),
        ("*/*", "pods", True),
        ("*/scale", "deployments/scale", True),
        ("*/scale", "deployments", False),
    ],
)
def test_a_line_covers_what_the_api_server_sends_for_it(pattern: str, resource: str, covered: bool) -> None:
    match = Match("*", "*", pattern, (CREATE,))

    assert match.covers("any.group", "v7", resource, CREATE) is covered
    assert not match.covers("any.group", "v7", resource, UPDATE)
    assert not attrs.evolve(match, group="apps").covers("", "v1", resource, CREATE)


def test_a_review_goes_to_every_service_that_takes_it_mutating_ones_first() -> None:
    settings = Settings(
        resource_policies=limits().resource_policies, creators=CreatorPolicy((CreatorRule("a", ("*",), ("CREATE",)),))
    )

    assert paths_for("", "pods", "", CREATE, settings) == ("/mutate", "/validate", "/validate/creators")
    assert paths_for("", "pods", "resize", UPDATE, settings) == ("/validate",)
    assert paths_for("", "nodes", "", UPDATE, settings) == ("/node-taint",)
    assert paths_for("", "pods", "", CREATE) == ("/mutate",)


def test_a_service_without_registrations_has_a_timeout_all_the_same() -> None:
    assert by_name("validate").timeout_s == 5
