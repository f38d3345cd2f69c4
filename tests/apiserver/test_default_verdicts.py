"""A real API server takes every pod with its defaults that it takes without them: any pod, any LimitRange, any default."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Mapping, Sequence

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.apiserver import injection
from tests.apiserver.lengths import many
from tests.cluster import Api, ApiError, Json
from tests.webhook.defaults import strategies
from tests.webhook.defaults.defaulting import amounts, call, capacity, default_set
from webhook.admission.service import Rule
from webhook.defaults.sets import PodDefaults
from webhook.defaults.tuning import Tuning
from webhook.features.pod_defaults import SetPodDefaults
from webhook.features.resource_tuning import TuneResources
from webhook.names import Reason
from webhook.objects.limit_ranges import LimitRange, from_object
from webhook.testing import facts

Items = Sequence[Json]

# Of every kind of bound one at least, and some that exclude each other once a pod has two containers.
RANGES: Mapping[str, Items] = {
    "defaults-none": [],
    "defaults-max": [{"type": "Container", "max": {"cpu": "1", "memory": "1Gi"}}],
    "defaults-min": [{"type": "Container", "min": {"cpu": "100m", "memory": "64Mi"}}],
    "defaults-given": [{"type": "Container", "default": {"cpu": "150m"}, "defaultRequest": {"cpu": "100m", "memory": "16Mi"}}],
    "defaults-request": [{"type": "Container", "defaultRequest": {"cpu": "1", "ephemeral-storage": "64Mi"}}],
    "defaults-ratio": [
        {
            "type": "Container",
            "default": {"memory": "64Mi"},
            "defaultRequest": {"memory": "64Mi"},
            "maxLimitRequestRatio": {"cpu": "2", "memory": "1.5"},
        }
    ],
    "defaults-pod": [{"type": "Pod", "max": {"cpu": "2", "memory": "1Gi"}}],
    "defaults-pod-min": [{"type": "Pod", "min": {"cpu": "150m"}}],
    "defaults-pod-ratio": [{"type": "Pod", "maxLimitRequestRatio": {"cpu": "3"}}],
}
TRIED = many(500, 200)
SERVER = settings(max_examples=TRIED, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))


@pytest.fixture(scope="module")
def spaces(admin: Api) -> Mapping[str, list[LimitRange]]:
    """The namespaces of RANGES, each with its LimitRange in force."""
    found: dict[str, list[LimitRange]] = {}
    for name, items in RANGES.items():
        injection.namespace(admin, name, {})
        one: Json = {"metadata": {"name": "bounds", "namespace": name}, "spec": {"limits": list(items)}}
        if items:
            admin.create(f"/api/v1/namespaces/{name}/limitranges", {"apiVersion": "v1", "kind": "LimitRange", **one})
        found[name] = [from_object(one)] if items else []
    return found


def answer(admin: Api, namespace: str, pod: Json) -> tuple[Json | None, str]:
    """The pod as the API server would store it, or why it would not: a dry run."""
    try:
        return injection.create(admin, namespace, {"apiVersion": "v1", "kind": "Pod", **pod}, "?dryRun=All")[0], ""
    except ApiError as error:
        return None, str(error)


def as_sent(stored: Json) -> Json:
    """What a webhook is asked about: LimitRanger has been there, the rest of the server's own fields has no say."""
    spec = {key: stored["spec"][key] for key in ("containers", "initContainers", "resources") if key in stored["spec"]}
    for container in (*spec["containers"], *spec.get("initContainers", ())):
        container.pop("volumeMounts", None)  # of the ServiceAccount's token, which the server adds each time
    return {"metadata": {"name": stored["metadata"]["name"], **_texts(stored)}, "spec": spec}


def _texts(stored: Json) -> Json:
    return {key: stored["metadata"][key] for key in ("labels", "annotations") if key in stored["metadata"]}


def hold(admin: Api, rule: Rule, pod: Json, namespace: str, told: Counter[str]) -> None:
    """Whether *pod* comes from a file or through LimitRanger: with what *rule* adds it is taken if it was without."""
    pod["spec"].pop("overhead", None)  # only RuntimeClasses may set it
    for container in (*pod["spec"]["containers"], *pod["spec"].get("initContainers", ())):
        container["image"] = "web:1.4"
    stored, _ = answer(admin, namespace, pod)
    if stored is None:
        told["refused anyway"] += 1
        return
    for one in (pod, as_sent(stored)):
        after = call(rule, one, namespace)
        told["changed" if after.patch else "unchanged"] += 1
        told["left out"] += any(reason in str(after.verdict.warnings) for reason in ("no default", "left out"))
        taken, refusal = answer(admin, namespace, after.pod)
        assert taken is not None, (refusal, one, after.patch)
        assert call(rule, as_sent(taken), namespace).patch == []


def test_no_default_costs_a_pod_its_admission(admin: Api, spaces: Mapping[str, list[LimitRange]]) -> None:
    told: Counter[str] = Counter()

    @SERVER
    @given(strategies.pods(), st.sampled_from(sorted(RANGES)), strategies.sets())
    def check(pod: Json, namespace: str, configured: PodDefaults) -> None:
        known = facts.cluster(namespaces=[facts.namespace_facts(namespace)], limit_ranges=spaces[namespace])
        hold(admin, SetPodDefaults(configured, known), pod, namespace, told)

    check()
    assert min(told["changed"], told["left out"], told["refused anyway"]) > 20, f"too tame: {told}"


def test_no_scaled_request_costs_a_pod_its_admission(admin: Api, spaces: Mapping[str, list[LimitRange]]) -> None:
    told: Counter[str] = Counter()

    @SERVER
    @given(strategies.pods(strategies.ASKING), st.sampled_from(sorted(RANGES)), strategies.tunings(), strategies.percents())
    def check(pod: Json, namespace: str, tuning: Tuning, percent: int) -> None:
        known = facts.cluster(limit_ranges=spaces[namespace], capacity=capacity(percent))
        hold(admin, TuneResources(tuning, known), pod, namespace, told)

    check()
    assert min(told["changed"], told["refused anyway"]) > 20, f"too tame: {told}"


def test_without_what_is_left_out_the_api_server_would_refuse(admin: Api, spaces: Mapping[str, list[LimitRange]]) -> None:
    pod: Json = {
        "metadata": {"name": "web-1"},
        "spec": {
            "containers": [
                {"name": "a", "image": "web:1.4", "resources": {"requests": {"memory": "16Mi"}, "limits": {"memory": "768Mi"}}},
                {"name": "b", "image": "web:1.4", "resources": {"requests": {"cpu": "100m"}, "limits": {"cpu": "100m"}}},
            ]
        },
    }
    known = facts.cluster(limit_ranges=spaces["defaults-pod"])
    given_ = default_set(app=amounts({"memory": "16Mi"}, {"memory": "512Mi", "cpu": "100m"}))
    careless = copy.deepcopy(pod)
    careless["spec"]["containers"][1]["resources"]["limits"]["memory"] = "512Mi"

    done = call(SetPodDefaults(PodDefaults((given_,)), known), pod, "defaults-pod")

    assert "maximum memory usage per Pod is 1Gi" in answer(admin, "defaults-pod", careless)[1]
    assert done.verdict.reason in (Reason.DEFAULTED, Reason.DEFAULT_LEFT_OUT)
    assert any("no default memory" in warning for warning in done.verdict.warnings)
