"""What the process says of itself."""

from __future__ import annotations

from controllers.status import collect, describe, silent_nodes
from webhook.cluster import Status, Vote
from webhook.objects.votes import VotePolicy
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
            {"node": "edge-1", "guarded": True, "reason": "Guarded", "vote": "healthy", "ageSeconds": 60.0},
            {"node": "edge-2", "guarded": False, "reason": "VoteUnhealthy", "vote": "unhealthy", "ageSeconds": None},
        ],
    }


def test_a_page_whose_sections_failed_can_still_be_read() -> None:
    def broken() -> object:
        raise KeyError("x")

    page = collect(dict.fromkeys(("process", "services", "caches", "leaderElection", "silentNodes"), broken))

    text = describe(page)

    assert "NOT READY" in text
    assert text.count("unknown, KeyError") == 4


def test_a_section_that_fails_does_not_take_the_page_with_it() -> None:
    def broken() -> object:
        raise KeyError("x")

    assert collect({"process": lambda: {"ready": True}, "caches": broken}) == {
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
