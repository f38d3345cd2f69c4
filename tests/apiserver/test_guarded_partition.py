"""A site goes silent while its peers vouch for two of its nodes: those neither lose pods nor addresses; the third does."""

from __future__ import annotations

import time
from collections.abc import Iterator

import attrs
import pytest

from tests.apiserver.audit import AuditLog
from tests.apiserver.gatehouse import Gatehouse
from tests.apiserver.lengths import long
from tests.apiserver.nodes import Heartbeats
from tests.apiserver.partition import Record, Site, always, ever, last, reached, silence
from tests.apiserver.registration import USER
from tests.cluster import Api, Cluster

SITE = Site("guarded", 2)
LOOK_ON_S = long(60.0, 20.0)  # pods tolerate the taint for 5 s


@attrs.frozen
class Outcome:
    """The site for a while, and what Gatehouse did in it."""

    record: Record
    silent: set[str]  # nodes whose Ready is Unknown after that time
    patched: dict[str, float]  # service -> answers with a patch
    forbidden: list[str]
    failed_open: list[str]  # webhooks whose answers the API server did not accept


@pytest.fixture(scope="module")
def outcome(
    cluster: Cluster,
    admin: Api,
    heartbeats: Heartbeats,
    audit: AuditLog,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Outcome]:
    """A partition with everything registered."""
    since = audit.from_now()
    with (
        Gatehouse(cluster, tmp_path_factory.mktemp("guarded")) as gatehouse,
        gatehouse.registration().applied(admin),
    ):
        gatehouse.wait_until_called(admin)
        with silence(admin, heartbeats, SITE) as record:
            reached(lambda: last(record.evicted()) == SITE.pods(SITE.unhealthy), "the unhealthy node's pods evicted")
            time.sleep(LOOK_ON_S)
            patched = {service: gatehouse.patched(service) for service in ("node-taint", "pod-status")}
            silent = record.silent()
        yield Outcome(record, silent, patched, since.forbidden(USER), since.failed_open())


def test_a_vouched_node_never_bears_a_no_execute_taint(outcome: Outcome) -> None:
    assert not ever(outcome.record.tainted()) & set(SITE.vouched)


def test_pods_of_vouched_nodes_stay_ready_all_the_time(outcome: Outcome) -> None:
    assert always(outcome.record.ready_pods()) == SITE.pods(*SITE.vouched)


def test_endpoint_slices_keep_the_addresses_of_vouched_nodes_ready_all_the_time(outcome: Outcome) -> None:
    assert always(outcome.record.in_slices()) == SITE.addresses(*SITE.vouched)


def test_endpoints_keep_the_addresses_of_vouched_nodes_ready_all_the_time(outcome: Outcome) -> None:
    assert always(outcome.record.in_endpoints()) == SITE.addresses(*SITE.vouched)


def test_no_pod_of_a_vouched_node_is_evicted(outcome: Outcome) -> None:
    assert not ever(outcome.record.evicted()) & SITE.pods(*SITE.vouched)


def test_the_unhealthy_node_is_tainted(outcome: Outcome) -> None:
    assert last(outcome.record.tainted()) == {SITE.unhealthy}


def test_no_address_of_the_unhealthy_node_stays_ready(outcome: Outcome) -> None:
    assert not last(outcome.record.in_slices()) & SITE.addresses(SITE.unhealthy)
    assert not last(outcome.record.in_endpoints()) & SITE.addresses(SITE.unhealthy)


def test_the_pods_of_the_unhealthy_node_are_evicted(outcome: Outcome) -> None:
    assert last(outcome.record.evicted()) == SITE.pods(SITE.unhealthy)


def test_it_was_gatehouse_that_kept_the_taint_off_and_the_pods_ready(outcome: Outcome) -> None:
    assert outcome.patched["node-taint"] > 0
    assert outcome.patched["pod-status"] >= len(SITE.pods(*SITE.vouched))


def test_the_nodes_themselves_are_never_made_to_look_well(outcome: Outcome) -> None:
    assert outcome.silent >= set(SITE.nodes)


def test_the_api_server_accepted_every_answer(outcome: Outcome) -> None:
    assert outcome.failed_open == []


def test_its_service_account_was_never_refused(outcome: Outcome) -> None:
    assert outcome.forbidden == []
