"""No replica answers while a site goes silent: its nodes are tainted, its pods marked, its addresses gone. Then one comes back.

The registrations stay, so that the API server calls a port where nobody listens and goes on without an answer
(failurePolicy Ignore), as on a real cluster. Nobody sends those writes again: to mend them is the led controller's work.
Source: kubernetes/pkg/controller/nodelifecycle, pkg/controller/tainteviction.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator

import attrs
import pytest

from tests.apiserver import nodes
from tests.apiserver.audit import AuditLog
from tests.apiserver.gatehouse import Gatehouse
from tests.apiserver.nodes import Heartbeats
from tests.apiserver.partition import Record, Site, ever, last, reached, silence
from tests.apiserver.registration import USER
from tests.apiserver.waiting import wait_for
from tests.cluster import Api, Cluster, Json
from tests.server.figures import Figures

SITE = Site("missed", 5, tolerates_s=20)
TURNED, KEPT = SITE.vouched  # the first one's vote turns in the end
DOWN_S = 10.0  # from the last heartbeat on
MENDED_WITHIN_S = 30.0
DROPPED_WITHIN_S = 15.0
# The evictions that Kubernetes had scheduled, and its rounds.
EVICTED_BY_S = SITE.tolerates_s + 5.0
EVENTS = "/apis/events.k8s.io/v1/namespaces/default/events"
REPORTER = "gatehouse.dev/gatehouse"
MENDING = {"GuardBegun", "TaintRemoved", "PodsRestored"}
LETTING_GO = {"GuardEnded", "PodsLetGo"}
CONFIG: Json = {"leaderElection": {"enabled": True, "leaseDuration": "4s", "renewDeadline": "3s", "retryPeriod": "1s"}}


@attrs.frozen
class Outcome:
    """An absence, what it did, and what became of it."""

    failed_open: list[str]  # calls that the API server made in vain
    mended_s: float  # from the start of the process to the last taint, pod and address
    mended_after_taint_s: float
    ready: set[str]  # pods, when the evictions were long due
    published: tuple[set[str], set[str]]  # addresses in slices and in Endpoints, at the same time
    evicted: set[str]  # pods, by that time
    tainted: set[str]  # nodes, at that time
    dropped_from_slices_s: float  # after a vote had turned
    dropped_from_endpoints_s: float
    told: dict[str, set[str]]  # node -> reasons of the Events about it
    forbidden: list[str]


@pytest.fixture(scope="module")
def outcome(
    cluster: Cluster, admin: Api, heartbeats: Heartbeats, audit: AuditLog, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Outcome]:
    """The only replica is killed, the site falls silent, and 10 s later a replica starts on the same address."""
    since = audit.from_now()
    gone = Gatehouse(cluster, tmp_path_factory.mktemp("gone"), config=CONFIG)
    with gone, gone.registration().applied(admin):
        gone.wait_until_called(admin)
        gone.process.signal(signal.SIGKILL)
        with silence(admin, heartbeats, SITE) as record:
            reached(lambda: last(record.tainted()) == set(SITE.nodes), "all nodes tainted")
            reached(lambda: not last(record.ready_pods()), "no pod Ready")
            reached(lambda: not last(record.in_slices()) and not last(record.in_endpoints()), "no address published")
            wait_for(lambda: time.monotonic() - record.silent_s >= DOWN_S, DOWN_S, "the end of the absence")
            failed_open = since.failed_open()
            started_s = time.monotonic()
            returned = Gatehouse(cluster, tmp_path_factory.mktemp("returned"), config=CONFIG, arguments=_in_place_of(gone))
            with returned:
                yield _mended(admin, record, since, failed_open, started_s)


def _in_place_of(gone: Gatehouse) -> list[str]:
    """The flags that give a process the address and the certificate of another one."""
    folder = gone.ca_file.parent
    files = [f"--tls-cert-file={folder / 'tls.crt'}", f"--tls-private-key-file={folder / 'tls.key'}"]
    return [f"--webhook-bind-address={gone.addresses['webhook']}", *files]


def _mended(admin: Api, record: Record, since: AuditLog, failed_open: list[str], started_s: float) -> Outcome:
    tainted_s = next(at_s for at_s, names in record.tainted() if names)
    pods, addresses = SITE.pods(*SITE.vouched), SITE.addresses(*SITE.vouched)
    wait_for(lambda: last(record.tainted()) == {SITE.unhealthy}, MENDED_WITHIN_S, "the taints gone")
    wait_for(lambda: last(record.ready_pods()) == pods, MENDED_WITHIN_S, "the pods Ready")
    wait_for(lambda: last(record.in_slices()) == addresses, MENDED_WITHIN_S, "the addresses in the slices")
    wait_for(lambda: last(record.in_endpoints()) == addresses, MENDED_WITHIN_S, "the addresses in the Endpoints")
    mended_s = time.monotonic()
    wait_for(lambda: time.monotonic() - tainted_s > EVICTED_BY_S, EVICTED_BY_S, "the time of the evictions")
    reached(lambda: ever(record.evicted()) >= SITE.pods(SITE.unhealthy), "the unhealthy node's pods evicted")
    ready, tainted, evicted = last(record.ready_pods()), last(record.tainted()), ever(record.evicted())
    published = last(record.in_slices()), last(record.in_endpoints())

    turned_s = time.monotonic()
    nodes.set_vote(admin, TURNED, "false")
    kept = SITE.addresses(KEPT)
    reached(lambda: last(record.in_slices()) == kept and last(record.in_endpoints()) == kept, "the addresses dropped")
    wait_for(lambda: _told(admin)[TURNED] >= MENDING | LETTING_GO, 30.0, "Events")
    return Outcome(
        failed_open,
        mended_s - started_s,
        mended_s - tainted_s,
        ready,
        published,
        evicted,
        tainted,
        _first_without(record.in_slices(), turned_s) - turned_s,
        _first_without(record.in_endpoints(), turned_s) - turned_s,
        _told(admin),
        since.forbidden(USER),
    )


def _first_without(history: list[tuple[float, set[str]]], since_s: float) -> float:
    """When all addresses of the node whose vote has turned were gone."""
    return next(at_s for at_s, members in history if at_s > since_s and not members & SITE.addresses(TURNED))


def _told(admin: Api) -> dict[str, set[str]]:
    events = [item for item in admin.get(EVENTS)["items"] if item.get("reportingController") == REPORTER]
    return {node: {str(item["reason"]) for item in events if item["regarding"].get("name") == node} for node in SITE.nodes}


def test_nobody_had_answered_when_the_site_fell_silent(outcome: Outcome) -> None:
    assert any("node-taint" in call for call in outcome.failed_open)
    assert any("pod-status" in call for call in outcome.failed_open)


def test_the_taints_go_and_the_pods_are_ready_and_published_before_anybody_is_evicted(
    outcome: Outcome, figures: Figures
) -> None:
    figures.add("missed guard: mended after the start", f"{outcome.mended_s:.1f} s", "< 10 s", outcome.mended_s < 10)
    after_s, due_s = outcome.mended_after_taint_s, SITE.tolerates_s
    figures.add("missed guard: mended after the taint", f"{after_s:.1f} s", f"< {due_s} s", after_s < due_s)

    assert not outcome.evicted & SITE.pods(*SITE.vouched)
    assert outcome.tainted == {SITE.unhealthy}
    assert outcome.ready == SITE.pods(*SITE.vouched)
    assert outcome.published == (SITE.addresses(*SITE.vouched), SITE.addresses(*SITE.vouched))


def test_the_pods_of_the_unhealthy_node_are_evicted(outcome: Outcome) -> None:
    assert outcome.evicted == SITE.pods(SITE.unhealthy)


def test_services_move_on_within_seconds_when_a_vote_turns(outcome: Outcome, figures: Figures) -> None:
    slices_s, endpoints_s = outcome.dropped_from_slices_s, outcome.dropped_from_endpoints_s
    figures.add("vote turns unhealthy: out of slices", f"{slices_s:.2f} s", "< 5 s", slices_s < 5)
    figures.add("vote turns unhealthy: out of Endpoints", f"{endpoints_s:.2f} s", "< 5 s", endpoints_s < 5)

    assert max(slices_s, endpoints_s) < DROPPED_WITHIN_S


def test_events_tell_of_it(outcome: Outcome) -> None:
    assert outcome.told[TURNED] >= MENDING | LETTING_GO
    assert outcome.told[KEPT] >= MENDING
    assert not outcome.told[KEPT] & LETTING_GO


def test_its_service_account_was_never_refused(outcome: Outcome) -> None:
    assert outcome.forbidden == []
