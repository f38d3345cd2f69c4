"""What the process says of itself."""

from __future__ import annotations

from controllers.status import LISTED_ENTRIES, collect, describe, sidecar_entries, silent_nodes
from webhook.cluster import Status, Vote
from webhook.objects.votes import VotePolicy
from webhook.sidecars import source
from webhook.sidecars.catalog import Catalog
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


# -- sidecar entries

SOUND = "containers: [{name: proxy, image: proxy:1}]"
FAULTY = "containers: [{name: proxy, image: 5}]"


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
    section = sidecar_entries(catalog({f"e{number}": SOUND for number in range(LISTED_ENTRIES + 5)}))

    assert (section["count"], len(section["entries"])) == (LISTED_ENTRIES + 5, LISTED_ENTRIES)


def test_a_person_reads_of_entries_and_their_faults_in_lines() -> None:
    lines = describe({"sidecars": sidecar_entries(catalog({"a": FAULTY}))}).splitlines()

    assert "sidecar entries: 1 (0 good, 0 stale, 1 broken)" in lines
    assert "  a of shop/mesh: broken, revision none" in lines
    assert any(line.startswith("    data.a:1:") and "containers[0].image: " in line for line in lines)
