"""Whatever is configured, and whatever a pod says: defaults and tuning never cost it its admission, and settle at once."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given, settings

from tests.webhook.defaults import strategies
from tests.webhook.defaults.defaulting import call, capacity
from webhook.admission.service import Rule
from webhook.cluster import Cluster
from webhook.defaults.sets import PodDefaults
from webhook.defaults.tuning import Tuning
from webhook.features.pod_defaults import SetPodDefaults
from webhook.features.resource_tuning import TuneResources
from webhook.objects import resources
from webhook.objects.limit_ranges import LimitRange, violations, with_defaults
from webhook.objects.meta import Json
from webhook.objects.pod_totals import overdrafts
from webhook.objects.resources import Resources, may_overcommit
from webhook.testing import facts

MANY = settings(max_examples=60, deadline=None)


def is_taken(pod: Json, ranges: Sequence[LimitRange]) -> bool:
    """Whether the API server takes it: its rules once more, as short as can be."""
    completed = with_defaults(resources.read(pod), ranges)
    whole = (*completed.containers, completed.pod)
    return not violations(pod, ranges) and not overdrafts(pod, ranges) and all(map(_holds_together, whole))


def _holds_together(one: Resources) -> bool:
    named = {*one.requests, *one.limits}
    return (
        all(request <= one.limits[name] for name, request in one.requests.items() if name in one.limits)
        and all(one.requests.get(name) == one.limits.get(name) for name in named if not may_overcommit(name))
        and (not any(name.startswith("hugepages-") for name in named) or bool(named & {"cpu", "memory"}))
        and all(amount.nanos >= 0 for amount in (*one.requests.values(), *one.limits.values()))
    )


def cluster(ranges: Sequence[LimitRange], percent: int = 0) -> Cluster:
    shop = facts.namespace_facts(labels={"team": "core"})
    return facts.cluster(namespaces=[shop], limit_ranges=ranges, capacity=capacity(percent))


def served(pod: Json, ranges: Sequence[LimitRange]) -> Json:
    """*pod* as the API server has it when it asks a second time: with its own defaults written down."""
    completed = with_defaults(resources.read(pod), ranges)
    amounts = {one.path: one for one in completed.containers}
    spec = dict(pod["spec"])
    for kind in ("containers", "initContainers"):
        if kind in spec:
            spec[kind] = [_written(one, amounts[f"spec.{kind}[{index}]"]) for index, one in enumerate(spec[kind])]
    return {**pod, "spec": spec}


def _written(container: Json, amounts: Resources) -> Json:
    parts = {"requests": amounts.requests, "limits": amounts.limits}
    return {**container, "resources": {part: {name: one.text for name, one in found.items()} for part, found in parts.items()}}


def check(rule: Rule, pod: Json, ranges: Sequence[LimitRange]) -> None:
    first = call(rule, pod)

    assert is_taken(first.pod, ranges) or not is_taken(pod, ranges)
    assert call(rule, first.pod).patch == []
    assert call(rule, served(first.pod, ranges)).patch == []


@MANY
@given(strategies.pods(), strategies.ranges(), strategies.sets())
def test_no_default_makes_a_pod_invalid_and_a_second_call_changes_nothing(
    pod: Json, ranges: list[LimitRange], configured: PodDefaults
) -> None:
    check(SetPodDefaults(configured, cluster(ranges)), pod, ranges)


@MANY
@given(strategies.pods(), strategies.ranges(), strategies.sets())
def test_defaults_add_and_change_nothing_that_is_there(pod: Json, ranges: list[LimitRange], configured: PodDefaults) -> None:
    after = call(SetPodDefaults(configured, cluster(ranges)), pod).pod

    assert _covers(after, pod)


def _covers(after: object, before: object) -> bool:
    if isinstance(before, dict) and isinstance(after, dict):
        return all(name in after and _covers(after[name], value) for name, value in before.items())
    if isinstance(before, list) and isinstance(after, list):
        return len(before) == len(after) and all(map(_covers, after, before))
    return before is None or after == before


@MANY
@given(strategies.pods(), strategies.ranges(), strategies.sets())
def test_a_pod_that_limit_ranger_has_seen_gets_the_same_as_one_from_a_file(
    pod: Json, ranges: list[LimitRange], configured: PodDefaults
) -> None:
    rule = SetPodDefaults(configured, cluster(ranges))

    online, offline = call(rule, served(pod, ranges)).pod, call(rule, pod).pod

    completed = [with_defaults(resources.read(one), ranges) for one in (online, offline)]
    assert completed[0] == completed[1]


@MANY
@given(strategies.pods(strategies.ASKING), strategies.ranges(), strategies.tunings(), strategies.percents())
def test_no_scaled_request_makes_a_pod_invalid_and_a_second_call_changes_nothing(
    pod: Json, ranges: list[LimitRange], tuning: Tuning, percent: int
) -> None:
    check(TuneResources(tuning, cluster(ranges, percent)), pod, ranges)


@MANY
@given(
    strategies.pods(strategies.ASKING), strategies.ranges(), strategies.tunings(), strategies.percents(), strategies.percents()
)
def test_what_was_scaled_once_is_never_scaled_again(
    pod: Json, ranges: list[LimitRange], tuning: Tuning, percent: int, later: int
) -> None:
    first = call(TuneResources(tuning, cluster(ranges, percent)), pod)

    if first.patch:
        assert call(TuneResources(tuning, cluster(ranges, later)), first.pod).patch == []
