"""What an installation decides of fixed addresses where no AddressPool says otherwise. Pure; filled from the configuration."""

from __future__ import annotations

import attrs

from webhook.addresses.facts import EXPIRY_S, OnExhausted
from webhook.addresses.ranges import AddressSet


@attrs.frozen
class AddressPolicy:
    """The settings of features.podIP, for pods that bring a list of their own; an AddressPool has its own."""

    ranges: AddressSet = AddressSet()  # what the network takes where Calico's pools cannot say it; empty = anything
    expiry_s: float = EXPIRY_S
    cooldown_s: float = 0.0
    on_exhausted: OnExhausted = OnExhausted.DENY
