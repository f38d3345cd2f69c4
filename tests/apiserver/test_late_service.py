"""Only nodes, endpoints and endpointslices are registered: pods turn NotReady, and yet a Service created during the
partition is published with the addresses of the vouched nodes.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import attrs
import pytest

from tests.apiserver.gatehouse import Gatehouse
from tests.apiserver.lengths import long
from tests.apiserver.nodes import Heartbeats
from tests.apiserver.partition import LATE_SERVICE, SERVICE, Record, Site, always, last, reached, silence
from tests.apiserver.registration import ENDPOINT_SLICES, ENDPOINTS, NODES
from tests.apiserver.workloads import create_service
from tests.cluster import Api, Cluster

SITE = Site("late", 3)
LOOK_ON_S = long(60.0, 15.0)


@attrs.frozen
class Outcome:
    """The site for a while, and what Gatehouse did in it."""

    record: Record
    patched: dict[str, float]  # service -> answers with a patch


@pytest.fixture(scope="module")
def outcome(
    cluster: Cluster, admin: Api, heartbeats: Heartbeats, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Outcome]:
    """A partition without the guard of pods' status, and a Service that comes in the middle of it."""
    with Gatehouse(cluster, tmp_path_factory.mktemp("late")) as gatehouse:
        registration = gatehouse.registration().only(NODES, ENDPOINTS, ENDPOINT_SLICES)
        with registration.applied(admin):
            gatehouse.wait_until_called(admin)
            with silence(admin, heartbeats, SITE) as record:
                reached(lambda: not last(record.ready_pods()), "no pod Ready: nothing guards their status")
                create_service(admin, SITE.name, LATE_SERVICE, {"app": SERVICE})
                wanted = SITE.addresses(*SITE.vouched)
                reached(lambda: last(record.in_slices(LATE_SERVICE)) == wanted, "the new Service's EndpointSlice")
                reached(lambda: last(record.in_endpoints(LATE_SERVICE)) == wanted, "the new Service's Endpoints")
                time.sleep(LOOK_ON_S)
                patched = {service: gatehouse.patched(service) for service in ("node-taint", "endpoint", "pod-status")}
            yield Outcome(record, patched)


def test_a_service_created_during_the_partition_is_published_with_the_vouched_addresses(outcome: Outcome) -> None:
    wanted = SITE.addresses(*SITE.vouched)

    assert last(outcome.record.in_slices(LATE_SERVICE)) == wanted
    assert last(outcome.record.in_endpoints(LATE_SERVICE)) == wanted


def test_no_version_of_what_is_published_for_it_lacks_them(outcome: Outcome) -> None:
    versions = outcome.record.published(LATE_SERVICE)

    assert len(versions) >= 2
    assert versions == [SITE.addresses(*SITE.vouched)] * len(versions)


def test_the_service_that_was_there_keeps_the_vouched_addresses_all_the_time(outcome: Outcome) -> None:
    assert always(outcome.record.in_slices()) == SITE.addresses(*SITE.vouched)
    assert always(outcome.record.in_endpoints()) == SITE.addresses(*SITE.vouched)


def test_it_was_gatehouse_that_kept_the_addresses(outcome: Outcome) -> None:
    assert outcome.patched["node-taint"] > 0
    assert outcome.patched["endpoint"] > 0
    assert outcome.patched["pod-status"] == 0
