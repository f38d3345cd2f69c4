"""What a person reads of a review."""

from __future__ import annotations

from controllers.cli.text import describe, subject


def test_names_from_strangers_do_not_steer_the_terminal() -> None:
    review = {"request": {"operation": "UPDATE", "name": "a\x1b[2J\x9bb", "resource": {"resource": "nodes"}}}

    shown = subject(review) + describe(review, 400, b'{"message": "no \\u001b[31m"}')

    assert "\x1b" not in shown
    assert "\x9b" not in shown
    assert "\\x1b[2J" in shown
