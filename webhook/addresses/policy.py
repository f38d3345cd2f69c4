"""What an installation decides of fixed addresses where no AddressPool says otherwise. Pure; filled from the configuration."""

from __future__ import annotations

from enum import StrEnum

import attrs

from webhook.addresses.facts import EXPIRY_S, OnExhausted
from webhook.addresses.ranges import AddressSet


class ByHand(StrEnum):
    """What becomes of pods that name an address of their own and do not ask for it: nobody reserves theirs."""

    REFUSE = "Refuse"
    ALLOW = "Allow"  # uniqueness does not hold for these


@attrs.frozen
class AddressPolicy:
    """The settings of features.podIP, for pods that bring a list of their own; an AddressPool has its own."""

    ranges: AddressSet = AddressSet()  # what the network takes where Calico's pools cannot say it; empty = anything
    expiry_s: float = EXPIRY_S
    cooldown_s: float = 0.0
    on_exhausted: OnExhausted = OnExhausted.DENY
    by_hand: ByHand = ByHand.REFUSE
