"""What the process says of itself."""

from __future__ import annotations

import pytest

from controllers.status.gathering import LISTED_ENTRIES, gather, sidecar_entries, silent_nodes
from controllers.status.text import describe
from webhook.cluster import Status, Vote
from webhook.objects.meta import Json
from webhook.objects.votes import VotePolicy
from webhook.sidecars.entries import source
from webhook.sidecars.entries.catalog import Catalog
from webhook.testing.facts import node_facts


def test_silent_nodes_are_listed_with_what_guards_them() -> None:
    nodes = [
        node_facts("edge-2", vote=Vote.UNHEALTHY),
        node_facts("edge-1", ready_since_s=40.0),
        node_facts("cloud-1", ready=Status.TRUE),
    ]

    assert silent_nodes(nodes, VotePolicy(), 100.0) == {
        "count": 2,
        "guarded": 1,
        "nodes": [
            {
                "node": "edge-1",
                "guarded": True,
                "reason": "Guarded",
                "vote": "healthy",
                "ageSeconds": 60.0,
                "endsInSeconds": 86340.0,
            },
            {
                "node": "edge-2",
                "guarded": False,
                "reason": "VoteUnhealthy",
                "vote": "unhealthy",
                "ageSeconds": None,
                "endsInSeconds": None,
            },
        ],
    }


def test_a_page_whose_sections_failed_can_still_be_read() -> None:
    def broken() -> object:
        raise KeyError("x")

    page = gather(dict.fromkeys(("process", "services", "caches", "leaderElection", "databases", "silentNodes"), broken))

    text = describe(page)

    assert "NOT READY" in text
    assert text.count("unknown, KeyError") == 6


def test_a_section_that_fails_does_not_take_the_page_with_it() -> None:
    def broken() -> object:
        raise KeyError("x")

    assert gather({"process": lambda: {"ready": True}, "caches": broken}) == {
        "process": {"ready": True},
        "caches": {"error": "KeyError"},
    }


def test_a_person_reads_the_page_in_lines() -> None:
    page = {
        "process": {"version": "0.1.0", "ready": False, "failing": ["endpoint"], "uptimeSeconds": 300.0},
        "services": {"endpoint": {"path": "/endpoint", "ready": False}},
        "caches": {"nodes": {"synced": True, "objects": 3, "silenceSeconds": 1.5}, "pods": {"synced": False}},
        "silentNodes": {
            "count": 1,
            "guarded": 1,
            "nodes": [{"node": "edge-1", "guarded": True, "reason": "Guarded", "vote": "healthy", "ageSeconds": 8000.0}],
        },
    }

    text = describe(page)

    assert "gatehouse 0.1.0: NOT READY (endpoint), up 5 min" in text
    assert "nodes  yes     3        1.5" in text
    assert "edge-1: guarded, Guarded, vote healthy, age 2.2 h" in text


# -- sidecar entries

SOUND = "containers: [{name: proxy, image: proxy:1}]"
FAULTY = "containers: [{name: proxy, image: 5}]"


def test_an_entry_that_another_config_map_gives_as_well_is_said_to_be_unused() -> None:
    both = catalog({"a": SOUND}).absorb(source.read("shop", "zone", {"gatehouse.dev/sidecars": "true"}, {"a": SOUND}))

    lines = describe({"sidecars": sidecar_entries(both)}).splitlines()

    (unused,) = [line for line in lines if "not in use" in line]
    assert unused.startswith("  a of shop/zone: good") and "shop/mesh has an entry of that name, and comes first" in unused


def catalog(*versions: dict[str, str], name: str = "mesh") -> Catalog:
    """What is in force after these versions of one ConfigMap."""
    made = Catalog()
    for data in versions:
        made = made.absorb(source.read("shop", name, {"gatehouse.dev/sidecars": "true"}, data))
    return made


def test_entries_are_listed_with_source_state_and_faults_faulty_ones_first() -> None:
    section = sidecar_entries(catalog({"a": SOUND, "b": SOUND}, {"a": SOUND, "b": FAULTY, "c": FAULTY}))

    rows = [(row["entry"], row["source"], row["state"], bool(row["revision"])) for row in section["entries"]]
    assert rows == [("c", "shop/mesh", "broken", False), ("b", "shop/mesh", "stale", True), ("a", "shop/mesh", "good", True)]
    assert {key: section[key] for key in ("count", "good", "stale", "broken")} == {
        "count": 3,
        "good": 1,
        "stale": 1,
        "broken": 1,
    }
    (fault,) = section["entries"][0]["faults"]
    assert (fault["line"], fault["path"]) == (1, "containers[0].image")


def test_of_many_entries_the_first_are_listed() -> None:
    names = [f"e{number}" for number in range(LISTED_ENTRIES + 5)]
    both = catalog(dict.fromkeys(names[:253], SOUND))
    labels = {"gatehouse.dev/sidecars": "true"}
    section = sidecar_entries(both.absorb(source.read("shop", "zone", labels, dict.fromkeys(names[253:], SOUND))))

    assert (section["count"], len(section["entries"])) == (LISTED_ENTRIES + 5, LISTED_ENTRIES)


def test_a_person_reads_of_entries_and_their_faults_in_lines() -> None:
    lines = describe({"sidecars": sidecar_entries(catalog({"a": FAULTY}))}).splitlines()

    assert "sidecar entries: 1 (0 good, 0 stale, 1 broken)" in lines
    assert "  a of shop/mesh: broken, revision none" in lines
    assert any(line.startswith("    data.a:1:") and "containers[0].image: " in line for line in lines)


# -- fixed addresses

ADDRESSES: Json = {
    "reservations": 12,
    "bound": 9,
    "reserved": 2,
    "cooling": 1,
    "oldestUnboundSeconds": 130.0,
    "waitingFor": [],
    "network": {"source": "Calico", "pools": [{"name": "old", "obstacle": "is disabled"}, {"name": "new", "obstacle": None}]},
    "pools": [
        {"name": "web", "size": 64, "used": 12, "free": 52, "adopted": True, "fault": None},
        {"name": "db", "size": 8, "used": 0, "free": 8, "adopted": False, "fault": None},
        {"name": "bad", "size": 0, "used": 0, "free": 0, "adopted": False, "fault": "spec.addresses[0]: no address"},
    ],
}


def test_a_person_reads_of_addresses_and_pools_in_lines() -> None:
    lines = describe({"addresses": ADDRESSES}).splitlines()

    assert "fixed addresses: 12 (9 bound, 2 reserved, 1 cooling), the oldest without a pod since 2 min" in lines
    assert "  the network's pools: Calico" in lines
    assert "    old is disabled" in lines
    assert "  pool web: 12 of 64 used, 52 free" in lines
    assert "  pool db: 0 of 8 used, 8 free, not adopted yet" in lines
    assert "  pool bad: 0 of 0 used, 0 free, FAULT: spec.addresses[0]: no address" in lines


def test_a_person_reads_what_addresses_wait_for() -> None:
    lines = describe({"addresses": {**ADDRESSES, "waitingFor": ["addresspools", "calico"], "pools": []}}).splitlines()

    assert "  WAITS for addresspools, calico: pods that ask are refused until then" in lines


def test_where_addresses_are_off_nothing_is_said_of_them() -> None:
    assert "fixed addresses" not in describe({"addresses": None})


# -- the election


@pytest.mark.parametrize(
    ("election", "text"),
    [
        ({"leading": True, "leaseAgeSeconds": 1.6}, "this replica leads; leader: me; lease renewed 2 s ago"),
        ({"leader": "other", "holder": "other"}, "another replica leads; leader: other"),
        ({"holder": "me", "settlesInSeconds": 7.6}, "nobody leads (this replica holds the lease and settles, 8 s left)"),
        (
            {"holder": "other", "holderExpiredSeconds": 300.0},
            "nobody leads (the lease of other has run out 5 min ago)",
        ),
        ({"holder": ""}, "nobody leads"),
        (
            {"seen": False, "lastContactSeconds": None},
            "who leads is unknown (the lease has not been seen); no answer about the lease so far",
        ),
        (
            {"leader": "other", "lastContactSeconds": 9.0, "lastError": "GET /x: 403 no"},
            "another replica leads; no answer about the lease since 9 s ago; last error: GET /x: 403 no; leader: other",
        ),
        ({"holder": "", "lastContactSeconds": 300.0}, "nobody leads; no answer about the lease since 5 min ago"),
    ],
    ids=range(8),
)
def test_a_person_reads_who_leads_and_whether_that_is_known(election: Json, text: str) -> None:
    page = {"leaderElection": {"enabled": True, "identity": "me", "seen": True, "lastContactSeconds": 1.0, **election}}

    assert f"leader election: {text}" in describe(page).splitlines()
