"""Names of any length and lists of any length leave the status readable."""

from __future__ import annotations

from controllers.status.shortening import NAME_LIMIT, TEXT_LIMIT, shortened
from controllers.status.text import LISTED, describe
from controllers.status.web.page import page
from tests.controllers.status.web.scenes import quiet

LONG = "n" * 5000


def silent(count: int, name: str) -> dict[str, object]:
    row = {"guarded": True, "reason": "Guarded", "vote": "healthy", "ageSeconds": 1.0, "endsInSeconds": None}
    nodes = [{"node": f"{name}{number}", **row} for number in range(min(count, 500))]
    return {**quiet(), "silentNodes": {"count": count, "guarded": count, "nodes": nodes}}


def test_a_long_name_is_cut_in_the_text_and_on_the_page() -> None:
    status = silent(1, LONG)

    for shown in (describe(status), page(status, 0.0)):
        assert f"{'n' * NAME_LIMIT}…" in shown
        assert "n" * (NAME_LIMIT + 1) not in shown


def test_a_sentence_is_cut_later_than_a_name() -> None:
    found = shortened({"a": {"message": LONG, "checks": {"in-time": LONG}, "user": LONG}, LONG: 1})

    assert len(found["a"]["message"]) == len(found["a"]["checks"]["in-time"]) == TEXT_LIMIT + 1
    assert len(found["a"]["user"]) == NAME_LIMIT + 1
    assert max(map(len, found)) == NAME_LIMIT + 1


def test_of_a_long_list_the_rest_is_counted() -> None:
    told = describe(silent(1234, "edge-")).splitlines()

    assert f"  and {1234 - LISTED:,} more: gatehouse status -o json" in told
    assert sum(line.startswith("  edge-") for line in told) == LISTED


def test_a_short_list_has_no_rest() -> None:
    assert " more: " not in describe(silent(3, "edge-"))
