"""Two million quantities against Go's parser, 200,000 of them in one order each time."""

from __future__ import annotations

from pathlib import Path

from tests.webhook.objects.oracles import asking
from tests.webhook.objects.quantity_texts import quantity_texts
from tests.webhook.objects.test_quantity_go import agree_on_texts

TEXTS = 200_000
ROUNDS = 10


def test_two_million_texts_are_accepted_ordered_and_written_as_by_go(tmp_path: Path) -> None:
    with asking("quantity", tmp_path) as go:
        for round_ in range(1, ROUNDS + 1):
            agree_on_texts(go, list(quantity_texts(TEXTS, seed=round_)))
