"""What is said when no address is free. Pure; any thread."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

from webhook.addresses.effects import Exhausted
from webhook.addresses.facts import Asked, Phase, ReservationFacts
from webhook.addresses.words import owner

NAMED_HOLDERS: Final = 5  # a message is one sentence of an event
_MANY = 2**53  # beyond, JSON readers lose digits, and nobody counts


def exhausted(version: int, size: int, held: Sequence[ReservationFacts]) -> Exhausted:
    """What the reservations *held* say about the *size* addresses of family *version* that a pod may have: none is free."""
    holders = Counter(map(owner, held))
    return Exhausted(
        version=version,
        size=min(size, _MANY),
        held=tuple(sorted(holders.items(), key=lambda pair: (-pair[1], pair[0]))),
        cooling=sum(one.phase is Phase.COOLING for one in held),
        unbound=sum(one.phase is Phase.RESERVED for one in held),
        elsewhere=min(max(0, size - len(held)), _MANY),
    )


def exhaustion_message(found: Exhausted, asked: Asked) -> str:
    """The sentence for the user: where, how many, who has them, and what helps."""
    family = f"IPv{found.version} " if found.version else ""
    where = f'AddressPool "{asked.pool}"' if asked.pool else "allocatable-ips"
    if not found.size:
        return f"{where} has no {family}address to give"
    if found.size == 1:
        parts = [f"the only {family}address of {where} is not free"]
    else:
        parts = [f"none of the {found.size} {family}addresses of {where} is free"]
    if found.held:
        named = ", ".join(f"{holder} has {count}" for holder, count in found.held[:NAMED_HOLDERS])
        others = len(found.held) - NAMED_HOLDERS
        parts.append(named + (f" and {others} other {'owner' if others == 1 else 'owners'}" if others > 0 else ""))
    states = [f"{found.unbound} of these wait for a pod"] if found.unbound else []
    states += [f"{found.cooling} cool down"] if found.cooling else []
    states += [f"{found.elsewhere} are just being reserved or in use without a reservation"] if found.elsewhere else []
    parts += [", ".join(states)] if states else []
    parts.append("a workload needs replicas + maxSurge addresses, or maxSurge: 0")
    return "; ".join(parts)
