"""Fixed addresses on pods that a node runs. Calico's kinds and pools are there, Calico itself is not on any node.

So what is to be seen is what Calico would read: the annotation, and the reservation that nobody else can have. That Calico
then gives the pod this address is tested with Calico's own code in tests/apiserver/addresses.
"""

from __future__ import annotations

import pytest

from tests.apiserver.addresses.objects import address, from_pool, make_pool, reservation, wait_bound
from tests.apiserver.workloads import pods_path
from tests.cluster import Api, Json
from tests.e2e import pods
from tests.e2e.installed import Installed

NAMESPACE = "addresses"
FREE = {"10.64.7.1", "10.64.7.2"}


@pytest.fixture(scope="module", autouse=True)
def _place(gatehouse: Installed, api: Api) -> None:
    pods.make_namespace(api, NAMESPACE)
    make_pool(api, "fixed", "10.64.7.1-10.64.7.2")


def test_pods_that_ask_are_annotated_with_an_address_each_which_is_reserved_for_them(api: Api) -> None:
    made = [_create(api, name) for name in ("first", "second")]
    held = {address(one): one["metadata"]["name"] for one in made}
    for one in made:
        pods.wait_phase(api, NAMESPACE, one["metadata"]["name"], "Running")
        wait_bound(api, one)

    assert set(held) == FREE
    assert {one: _holder(api, one) for one in FREE} == held


def test_a_third_pod_is_refused_while_both_are_taken(api: Api) -> None:
    said = pods.refusal(api, pods_path(NAMESPACE), pods.pod("third", pods.sleeper(), labels=from_pool("fixed")))

    assert "fixed" in said


def _create(api: Api, name: str) -> Json:
    return api.create(pods_path(NAMESPACE), pods.pod(name, pods.sleeper(), labels=from_pool("fixed")))


def _holder(api: Api, held: str) -> str:
    """The name of the pod that the reservation of an address is bound to."""
    found = reservation(api, held)
    assert found is not None
    return str(found["status"]["podName"])
