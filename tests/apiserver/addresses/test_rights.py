"""What is said when the API server does not let Gatehouse reserve: who asked is told at once, and what to mend."""

from __future__ import annotations

import time

from tests.apiserver.addresses import objects
from tests.apiserver.addresses.objects import create, from_pool, pod
from tests.apiserver.addresses.stage import Stage
from tests.apiserver.waiting import wait_for
from tests.cluster import Api, ApiError, Json

ROLE = "/apis/rbac.authorization.k8s.io/v1/clusterroles/gatehouse-pod-ip"


def without_create(rules: list[Json]) -> list[Json]:
    return [rule | {"verbs": [verb for verb in rule["verbs"] if verb != "create"]} for rule in rules]


def test_a_missing_right_is_told_to_whoever_asks_and_not_tried_again(stage: Stage, api: Api, namespace: str) -> None:
    objects.make_pool(api, "rights", "10.112.0.0/28")
    rules = api.get(ROLE)["rules"]
    said: list[tuple[str, float]] = []

    def refused() -> bool:
        began_s = time.monotonic()
        try:
            objects.delete(api, create(api, namespace, pod("refused-", from_pool("rights"))))
        except ApiError as error:
            said.append((str(error), time.monotonic() - began_s))
        return bool(said)

    api.patch(ROLE, {"rules": without_create(rules)})
    try:
        wait_for(refused, 20.0, "a refusal for want of rights")
    finally:
        api.patch(ROLE, {"rules": rules})

    ((message, took_s),) = said
    assert "Gatehouse needs the role gatehouse-pod-ip of manifests/base/20-rbac.yaml" in message
    assert took_s < 5.0  # of the ten that a retried call would have used up

    def served() -> bool:
        try:
            return bool(create(api, namespace, pod("served-", from_pool("rights"))))
        except ApiError:
            return False

    wait_for(served, 20.0, "an address with the right given back")
