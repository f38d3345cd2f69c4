"""An API server that is told to send AdmissionReview v1beta1 only accepts the answers and applies them."""

from __future__ import annotations

import time
from collections.abc import Iterator

import attrs
import pytest

from tests.apiserver.audit import AuditLog
from tests.apiserver.gatehouse import Gatehouse
from tests.apiserver.nodes import Heartbeats
from tests.apiserver.partition import LATE_SERVICE, Record, Site, always, ever, last, reached, silence
from tests.apiserver.workloads import create_pod, create_service
from tests.cluster import Api, Cluster

SITE = Site("beta", 4)
# Pods that the node controller had marked before Gatehouse was there: only the endpoint service can still help them.
MARKED = {"10.204.9.1": SITE.vouched[0], "10.204.9.2": SITE.vouched[1]}
LOOK_ON_S = 10.0
GUARDS = ("node-taint.gatehouse.dev", "endpoint.gatehouse.dev", "pod-status.gatehouse.dev")


@attrs.frozen
class Outcome:
    """The site for a while, and which requests each webhook changed."""

    record: Record
    mutations: dict[str, int]  # webhook -> requests that it changed, by the API server's own account
    failed_open: list[str]  # webhooks whose answers the API server did not accept


@pytest.fixture(scope="module")
def outcome(
    cluster: Cluster,
    admin: Api,
    heartbeats: Heartbeats,
    audit: AuditLog,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Outcome]:
    """A partition with every webhook registered for v1beta1 alone."""
    since = audit.from_now()
    with Gatehouse(cluster, tmp_path_factory.mktemp("beta")) as gatehouse:
        registration = gatehouse.registration().speaking("v1beta1")
        with registration.applied(admin):
            gatehouse.wait_until_called(admin)
            with silence(admin, heartbeats, SITE) as record:
                for number, (address, node) in enumerate(MARKED.items()):
                    create_pod(admin, SITE.name, f"marked-{number}", node, address, {"app": LATE_SERVICE}, ready="False")
                create_service(admin, SITE.name, LATE_SERVICE, {"app": LATE_SERVICE})
                reached(lambda: last(record.in_slices(LATE_SERVICE)) == set(MARKED), "the marked pods in EndpointSlices")
                reached(lambda: last(record.in_endpoints(LATE_SERVICE)) == set(MARKED), "the marked pods in Endpoints")
                reached(lambda: last(record.evicted()) == SITE.pods(SITE.unhealthy), "the unhealthy node evicted")
                time.sleep(LOOK_ON_S)
            mutations = {name: len(since.mutations(name)) for name in GUARDS}
            yield Outcome(record, mutations, since.failed_open())


def test_a_vouched_node_is_not_tainted(outcome: Outcome) -> None:
    assert not ever(outcome.record.tainted()) & set(SITE.vouched)


def test_pods_and_addresses_of_vouched_nodes_stay_ready(outcome: Outcome) -> None:
    assert always(outcome.record.ready_pods()) == SITE.pods(*SITE.vouched)
    assert always(outcome.record.in_slices()) == SITE.addresses(*SITE.vouched)
    assert always(outcome.record.in_endpoints()) == SITE.addresses(*SITE.vouched)


def test_the_api_server_applied_a_patch_of_every_guard(outcome: Outcome) -> None:
    assert outcome.mutations
    assert all(outcome.mutations.values()), outcome.mutations


def test_the_api_server_refused_no_answer(outcome: Outcome) -> None:
    assert outcome.failed_open == []
