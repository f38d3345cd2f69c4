"""Answers stand until their moment, and the least used goes first."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from controllers.authorization.kept import Kept


def test_a_value_stands_until_its_moment_and_not_at_it() -> None:
    kept: Kept[str] = Kept(2)
    kept.put(b"a", "yes", 10.0)

    assert kept.get(b"a", 9.999) == "yes"
    assert kept.get(b"a", 10.0) is None
    assert len(kept) == 0


def test_the_least_recently_used_makes_room() -> None:
    kept: Kept[int] = Kept(2)
    kept.put(b"a", 1, 10.0)
    kept.put(b"b", 2, 10.0)
    kept.get(b"a", 0.0)
    kept.put(b"c", 3, 10.0)

    assert [kept.get(key, 0.0) for key in (b"a", b"b", b"c")] == [1, None, 3]


@given(st.lists(st.tuples(st.binary(max_size=1), st.floats(0, 100), st.floats(0, 100)), max_size=50))
def test_never_more_than_its_capacity_and_never_a_value_past_its_moment(steps: list[tuple[bytes, float, float]]) -> None:
    kept: Kept[float] = Kept(3)
    for key, until_s, now_s in steps:
        kept.put(key, until_s, until_s)
        assert len(kept) <= 3
        found = kept.get(key, now_s)
        assert found is None if now_s >= until_s else found == until_s
