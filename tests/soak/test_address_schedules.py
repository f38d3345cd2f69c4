"""100,000 random histories of fixed addresses, the last tenth three times as long: see tests/addresses_model."""

from __future__ import annotations

import pytest

from tests.addresses_model.schedules import STEPS, run

SCHEDULES = 100_000
PART = 5_000
SHORT = 90_000


@pytest.mark.parametrize("first", range(0, SCHEDULES, PART))
def test_no_history_gives_an_address_twice_or_loses_one(first: int) -> None:
    for number in range(1_000_000 + first, 1_000_000 + first + PART):
        run(number, STEPS if first < SHORT else 3 * STEPS)
