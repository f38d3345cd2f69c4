"""Amounts of any size are compared, divided and told: no two that are accepted are too much for an answer."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from webhook.objects import limit_ranges, resource_policies, resources
from webhook.objects.limit_ranges import LimitItem, LimitRange
from webhook.objects.meta import Json
from webhook.objects.quantity import NANOS, Quantity, parse, ratio
from webhook.objects.resource_policies import Bounds, ResourcePolicy, Span

LONGEST_MESSAGE = 400

amounts = st.builds(
    "{}{}{}".format,
    st.one_of(st.integers(1, 9), st.integers(1, 10**40)),
    st.sampled_from(("", ".5", ".000000001")),
    st.one_of(st.sampled_from(("", "n", "m", "k", "E", "Ki", "Ei")), st.integers(-2100, 2100).map("e{}".format)),
)


def pod(request: str, limit: str) -> Json:
    resources = {"requests": {"cpu": request}, "limits": {"cpu": limit}}
    return {"spec": {"containers": [{"name": "app", "resources": resources}, {"name": "two", "resources": resources}]}}


@settings(max_examples=300, deadline=None)
@given(amounts, amounts, amounts)
def test_no_amounts_are_too_much_for_a_policy_or_a_limit_range(request: str, limit: str, bound: str) -> None:
    amount = parse(bound)
    bounds = {"cpu": Bounds(Span(max=amount), Span(min=amount), amount)}
    found = resource_policies.breaches(pod(request, limit), ResourcePolicy("a", container=bounds, pod=bounds))
    items = tuple(LimitItem(kind, {"cpu": amount}, {"cpu": amount}, max_ratio={"cpu": amount}) for kind in ("Container", "Pod"))
    broken = limit_ranges.violations(pod(request, limit), [LimitRange("ns", "a", items)])
    doubts = resource_policies.hints(resources.read(pod(request, limit)))

    messages = [one.message for one in found] + [one.message for one in broken] + [sentence for _, sentence in doubts]

    assert all(len(message) <= LONGEST_MESSAGE for message in messages)


@given(st.integers(1, 10**30), st.integers(1, 10**30), st.integers(NANOS, 10**21))
def test_a_ratio_that_is_told_exceeds_the_bound_that_is_told(limit: int, request: int, most: int) -> None:
    bound = Quantity(most)
    if limit * NANOS <= request * most:
        return
    found = ratio(Quantity(limit), Quantity(request), bound)

    assert found > bound
    assert found.text.startswith("more than") or parse(found.text) > bound


@pytest.mark.parametrize(
    ("limit", "request_", "most", "text"),
    [
        ("4", "1", "3", "4"),
        ("10", "3", "3", "3.33333"),
        ("4.00000001", "1", "4", "4.00000001"),
        ("400", "1", "4", "400"),
        ("1e306", "1m", "4", "1e+309"),
    ],
)
def test_a_ratio_has_as_many_digits_as_tell_it_from_its_bound(limit: str, request_: str, most: str, text: str) -> None:
    assert ratio(parse(limit), parse(request_), parse(most)).text == text
