"""A real API server refuses the pods whose spec.resources we say to be too small, and no others for that."""

from __future__ import annotations

import random

from tests.apiserver import injection
from tests.cluster import Api, ApiError, Json
from webhook.objects.pod_totals import overdrafts

NAMESPACE = "pod-totals"
CPU = ("10m", "50m", "100m", "200m", "500m")
# pkg/apis/core/validation, validatePodResourceConsistency
SAYS_SO = ("must be greater than or equal to aggregate container", "must be less than or equal to pod limits")


def test_totals_are_too_small_where_we_say_so(admin: Api) -> None:
    injection.namespace(admin, NAMESPACE, {})
    chance = random.Random(37)
    counts = {True: 0, False: 0}

    for _ in range(300):
        pod = injection.pod(**_spec(chance))
        refusal = _refusal(admin, pod)
        if refusal and not any(text in refusal for text in SAYS_SO):
            continue  # invalid for another reason
        found = overdrafts(pod)
        assert bool(found) is bool(refusal), f"{refusal or 'admitted'}: {found} in {pod['spec']}"
        counts[bool(found)] += 1

    assert min(counts.values()) >= 40, counts


def _spec(chance: random.Random) -> Json:
    containers = [_container(chance, f"app-{index}") for index in range(chance.randint(1, 3))]
    inits = [_container(chance, f"init-{index}") for index in range(chance.randint(0, 2))]
    for init in inits:
        if chance.random() < 0.5:
            init["restartPolicy"] = "Always"
    return {"containers": containers, "initContainers": inits, "resources": _amounts(chance)}


def _container(chance: random.Random, name: str) -> Json:
    return {"name": name, "image": "busybox", "resources": _amounts(chance)}


def _amounts(chance: random.Random) -> Json:
    """Requests and limits, either of them or none, the request not above the limit."""
    low, high = sorted(chance.choices(range(len(CPU)), k=2))
    result = {}
    if chance.random() < 0.7:
        result["requests"] = {"cpu": CPU[low]}
    if chance.random() < 0.5:
        result["limits"] = {"cpu": CPU[high]}
    return result


def _refusal(admin: Api, pod: Json) -> str:
    """Why the API server refuses *pod*, "" when it does not: a dry run."""
    try:
        injection.create(admin, NAMESPACE, pod, "?dryRun=All")
    except ApiError as error:
        return str(error)
    return ""
