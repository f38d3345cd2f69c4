"""Pods that are refused after they were given an address: they take no more than that. The end is in test_what_is_left.py."""

from __future__ import annotations

from tests.apiserver.addresses import objects
from tests.apiserver.addresses.conftest import Drained
from tests.apiserver.addresses.objects import create, from_pool, pod, refusal
from tests.cluster import Api


def test_a_quota_that_refuses_every_pod_takes_no_more_than_was_asked_for(drained: Drained) -> None:
    assert 0 < len(drained.kept) <= 8
    assert all(one["status"]["phase"] == "Reserved" for one in drained.kept)


def test_what_a_later_check_refuses_is_withdrawn_or_waits_for_its_expiry(api: Api, namespace: str) -> None:
    objects.make_pool(api, "invalid", "10.105.1.0/28")
    for _ in range(5):
        refusal(api, namespace, pod("invalid-", from_pool("invalid"), restartPolicy="Sometimes"))

    assert create(api, namespace, pod("valid-", from_pool("invalid")))
