"""LimitRanges and ResourceQuotas decide here as Kubernetes' own LimitRanger and quota evaluator, compiled in, decide."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

import pytest

from tests.apiserver.limit_scenes import Scenes
from tests.webhook.objects.oracles import Ask, asking
from webhook.objects import limit_ranges, resource_quotas, resources
from webhook.objects.limit_ranges import Bound, LimitRange, Violation
from webhook.objects.meta import Json
from webhook.objects.quantity import Amounts
from webhook.objects.resource_quotas import ResourceQuota, Shortage
from webhook.objects.resources import PodResources

SCENES = 2000

Fact = tuple[str, str, str, str, str, bool]  # range, "Container" or "Pod", resource, bound, part, whether it is absent


@pytest.fixture(scope="module")
def go(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ask]:
    with asking("limits", tmp_path_factory.mktemp("oracle")) as ask:
        yield ask


def test_any_pod_is_judged_as_by_limit_ranger_and_the_quota_evaluator(go: Ask) -> None:
    scenes = Scenes(seed=1)
    told = Counter[str]()
    for _ in range(SCENES):
        scene = scenes.next()
        ranges = [limit_ranges.from_object(one) for one in scene["ranges"]]
        quotas = [resource_quotas.from_object(one) for one in scene["quotas"]]

        theirs = go(scene)

        completed = limit_ranges.with_defaults(resources.read(scene["pod"]), ranges)
        assert stated(completed) == stated(resources.read(theirs["pod"])), scene
        found = limit_ranges.violations(scene["pod"], ranges)
        assert Counter(map(our_fact, found)) == Counter(map(their_fact, theirs["limits"])), scene
        with_defaults = {**theirs["pod"], "status": scene["pod"].get("status")}
        assert texts(resource_quotas.usage(with_defaults)).keys() == theirs["usage"].keys(), scene
        assert [resource_quotas.matches(quota, with_defaults) for quota in quotas] == theirs["matches"], scene
        refusals = quota_refusals(scene["pod"], quotas, ranges)
        assert refusals == theirs["quotas"], scene
        told += Counter(violations=len(found), refusals=len(refusals), matches=sum(theirs["matches"]))
    assert min(told.values()) > SCENES // 4, f"too tame: {told}"


def texts(amounts: Amounts) -> dict[str, str]:
    return {resource: str(amount) for resource, amount in amounts.items()}


def stated(pod: PodResources) -> list[tuple[str, dict[str, str], dict[str, str]]]:
    return [(one.path, texts(one.requests), texts(one.limits)) for one in (*pod.containers, pod.pod)]


def our_fact(found: Violation) -> Fact:
    kind = "Pod" if found.path == "spec" else "Container"
    return found.range, kind, found.resource, found.kind.value, found.part.value if found.part else "", found.value is None


def their_fact(text: str) -> Fact:
    name, _, why = text.partition(": ")
    if bound := re.match(r"(min|max)imum (\S+) usage per (\S+) is \S+?(?:\.  No (\w+) is|, but (\w+) is)", why):
        return name, bound[3], bound[2], bound[1], f"{bound[4] or bound[5]}s", bound[4] is not None
    ratio = re.match(r"(\S+) max limit to request ratio per (\S+) is .*(no \w+ is|provided ratio)", why)
    assert ratio, text
    return name, ratio[2], ratio[1], Bound.RATIO.value, "", ratio[3] != "provided ratio"


def quota_refusals(pod: Json, quotas: list[ResourceQuota], ranges: list[LimitRange]) -> list[str]:
    """In the words of the API server: of each quota, what is missing, or else what is short."""
    missing: dict[str, list[str]] = {}
    for one in resource_quotas.missing(pod, quotas, ranges):
        missing.setdefault(one.quota, []).append(f"{one.resource} for: {','.join(sorted(one.containers))}")
    short: dict[str, list[Shortage]] = {}
    for each in sorted(resource_quotas.shortages(pod, quotas, ranges), key=lambda each: each.resource):
        short.setdefault(each.quota, []).append(each)
    refusals = []
    for quota in quotas:
        if quota.name in missing:
            refusals.append(f"failed quota: {quota.name}: must specify {'; '.join(sorted(missing[quota.name]))}")
        elif quota.name in short:
            wanted, used, hard = (
                ",".join(f"{one.resource}={getattr(one, figure)}" for one in short[quota.name])
                for figure in ("wanted", "used", "hard")
            )
            refusals.append(f"exceeded quota: {quota.name}, requested: {wanted}, used: {used}, limited: {hard}")
    return refusals
