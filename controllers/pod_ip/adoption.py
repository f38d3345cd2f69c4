"""The pods that carried their addresses before there was a pool, or anybody to reserve: who of them still has no reservation.

Their reservations are made by the passes over their addresses; a pool is adopted once none is missing. That it was is never
taken back: /readyz/pod-ip says no of a pool that has yet to be adopted, and one that is edited must not bring that about again.
Threads: any; look-ups only.
"""

from __future__ import annotations

from controllers.pod_ip.known import Known
from controllers.pod_ip.plan import is_live
from controllers.runtime.fixed import BY_ADDRESS
from webhook.addresses.address import Address, AddressError
from webhook.addresses.facts import PoolFacts


def without_reservation(pool: PoolFacts, known: Known) -> list[Address]:
    """The addresses of *pool* that live pods carry and nobody has reserved. O(addresses that pods carry)."""
    found = []
    for name in known.pods.values(BY_ADDRESS):
        try:
            address = Address.from_name(name)
        except AddressError:  # a label may say anything
            continue
        if address in pool.addresses and known.reservations.get(name) is None and any(map(is_live, known.carriers(address))):
            found.append(address)
    return found
