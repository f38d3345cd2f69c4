"""What an effect says of what exists."""

from __future__ import annotations

import attrs
import pytest

from tests.webhook.addresses.allocations import ONE, asked, reservation
from webhook.addresses.effects import Reserve


def test_a_reservation_of_the_same_key_and_request_was_made_by_it() -> None:
    wanted = asked()

    assert Reserve(wanted, ONE).made(reservation(ONE, wanted))


@pytest.mark.parametrize("other", [{"key": "key-2"}, {"request_uid": "request-2"}, {"namespace": "blog"}, {"deleting": True}])
def test_any_other_was_not(other: dict[str, object]) -> None:
    wanted = asked()

    assert not Reserve(wanted, ONE).made(attrs.evolve(reservation(ONE, wanted), **other))
