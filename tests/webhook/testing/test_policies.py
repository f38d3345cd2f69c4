"""Policies of golden cases are the values that rules take."""

from __future__ import annotations

from typing import Any

import pytest

from webhook.objects.compliance import Capabilities, CompliancePolicy, Labels
from webhook.objects.creators import CreatorPolicy, CreatorRule, Subjects
from webhook.objects.enforcement import Mode, Namespaces
from webhook.objects.quantity import parse
from webhook.objects.resource_policies import Absent, Bounds, ResourcePolicy, Span
from webhook.testing import policies


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        (
            ResourcePolicy,
            {"name": "a", "absent": "Passes", "pod": {"cpu": {"limits": {"max": 2}, "maxRatio": "1.5"}}},
            ResourcePolicy("a", absent=Absent.PASSES, pod={"cpu": Bounds(limits=Span(max=parse("2")), max_ratio=parse("1.5"))}),
        ),
        (
            CompliancePolicy,
            {
                "name": "a",
                "runAsNonRoot": "Warn",
                "capabilities": {"mode": "Deny", "dropAll": True, "allow": ["KILL"]},
                "labels": {"required": {"team": ["shop"]}},
            },
            CompliancePolicy(
                "a",
                run_as_non_root=Mode.WARN,
                capabilities=Capabilities(Mode.DENY, True, frozenset({"KILL"})),
                labels=Labels(required={"team": ("shop",)}),
            ),
        ),
        (
            CreatorPolicy,
            {
                "rules": [
                    {"name": "a", "resources": ["pods"], "namespaces": {"only": ["x"]}, "allow": {"serviceAccounts": ["a/b"]}}
                ]
            },
            CreatorPolicy((CreatorRule("a", ("pods",), namespaces=Namespaces(("x",)), allow=Subjects((), (), ("a/b",))),)),
        ),
    ],
)
def test_keys_are_the_attributes_in_camel_case(kind: type[Any], value: dict[str, Any], expected: Any) -> None:
    assert policies.read(kind, value) == expected


@pytest.mark.parametrize("value", [{"nam": "a"}, {"name": 1}, {"name": "a", "container": {"cpu": {"request": {}}}}])
def test_what_cannot_be_meant_is_an_error(value: dict[str, Any]) -> None:
    with pytest.raises(AssertionError, match=r"unknown keys|expected str"):
        policies.read(ResourcePolicy, value)
