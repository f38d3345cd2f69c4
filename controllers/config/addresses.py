"""The sections `features.podIP` and `controllers.podIP`: fixed addresses of pods. docs/pod-ip.md is the reference. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import attrs

from controllers.config.decoder import Reader, choice, duration, flag, setting, takes
from webhook.addresses.address import AddressError
from webhook.addresses.facts import EXPIRY_S, LEAST_EXPIRY_S, OnExhausted
from webhook.addresses.grammar import MAX_ITEMS, parse_item
from webhook.addresses.policy import AddressPolicy, ByHand
from webhook.addresses.ranges import AddressSet, Span
from webhook.objects.faults import Faults, Path, json_type

LONGEST_S: Final = 168 * 3600.0  # as the CRD has it


def _ranges() -> Reader:
    """A list of addresses, ranges and CIDRs, as an AddressSet."""

    @takes("list of addresses, ranges and CIDRs")
    def read(value: Any) -> AddressSet:
        if not isinstance(value, list):
            raise ValueError(f"must be a list of addresses, ranges and CIDRs, not {json_type(value)}")
        if len(value) > MAX_ITEMS:
            raise ValueError(f"has {len(value)} items, at most {MAX_ITEMS} are read: write ranges or CIDRs")
        spans: list[Span] = []
        faults: list[tuple[Path, str]] = []
        for index, item in enumerate(value):
            faults += [((index,), fault) for fault in _item(item, spans)]
        if faults:
            raise Faults(*faults)
        return AddressSet.of(spans)

    return read


def _item(item: Any, spans: list[Span]) -> Iterator[str]:
    """What is wrong with *item*; nothing, then its addresses are in *spans*."""
    if not isinstance(item, str):
        yield f'must be a string such as "10.0.0.0/24", not {json_type(item)}'
        return
    try:
        spans.append(parse_item(item))
    except AddressError as error:
        yield str(error)


@attrs.frozen
class PodIPSection:
    """features.podIP: fixed addresses, for pods that ask"""

    # Needs the CRDs, and rights to make reservations: nobody has them who did not ask.
    #: needs the kinds AddressPool and AddressReservation, and rights to make reservations
    enabled: bool = setting(False, flag())
    #: what the network takes where Calico's pools cannot be read; none: anything
    ranges: AddressSet = setting(AddressSet(), _ranges())
    # Of reservations and lists outside of every AddressPool, which has its own.
    #: of a reservation for which no pod came, if of no AddressPool
    expiry_s: float = setting(EXPIRY_S, duration(at_least_s=LEAST_EXPIRY_S, at_most_s=LONGEST_S))
    #: for how long such an address is not given to others
    cooldown_s: float = setting(0.0, duration(at_most_s=LONGEST_S))
    #: of pods with a list of their own, when none is free. `gate`: they wait behind a scheduling gate
    on_exhausted: OnExhausted = setting(OnExhausted.DENY, choice(OnExhausted))
    #: of pods that bear an address and do not ask for it. `Allow`: they may share one with a pod that asks
    by_hand: ByHand = setting(ByHand.REFUSE, choice(ByHand))

    def policy(self) -> AddressPolicy | None:
        """The same for `webhook`; None = it is off."""
        if not self.enabled:
            return None
        return AddressPolicy(self.ranges, self.expiry_s, self.cooldown_s, self.on_exhausted, self.by_hand)


@attrs.frozen
class PodIPControllerSection:
    """controllers.podIP: addresses are given back; it runs where features.podIP is on"""

    #: off: no address ever comes free
    enabled: bool = setting(True, flag())
