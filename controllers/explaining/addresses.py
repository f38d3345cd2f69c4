"""A fixed address: who has it, why, what the leader will do next, and what would change it. As `gatehouse ip show`. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from controllers.explaining.advice import STANDING
from controllers.explaining.report import Report
from controllers.pod_ip.plan import is_wanted
from controllers.pod_ip.seen import Seen
from controllers.pod_ip.telling import as_json, tell
from webhook.addresses.policy import AddressPolicy
from webhook.names import ALLOCATABLE_IPS, IP_POOL, Reason


def address_report(seen: Seen, now_s: float, policy: AddressPolicy | None, where: str = "") -> Report:
    """The report of one address. policy: as the configuration has it; None when nobody has read it."""
    told = tell(seen, now_s, policy)
    text = seen.situation.address.text
    facts = []
    for line in told.lines[1:]:
        word, _, said = line.strip().partition(": ")
        facts.append((word, said))
    verdict = told.lines[0].removeprefix(f"{text}: ")
    return Report(
        "address",
        f"Address {text}",
        where,
        f"CONFLICT: {verdict}" if told.conflict else verdict,
        tuple(facts),
        as_json(seen, told),
        advice=tuple(_advice(seen, conflict=told.conflict)),
        has_conflict=told.conflict,
    )


def _advice(seen: Seen, *, conflict: bool) -> Iterator[tuple[str, str]]:
    reservation, text = seen.reservation, seen.situation.address.text
    if conflict:
        yield Reason.ADDRESS_CONFLICT, STANDING[Reason.ADDRESS_CONFLICT]
    elif reservation is None and not seen.live():
        if seen.pools:
            yield "Free", f"a pod gets one of pool {seen.pools[0].name} by the label {IP_POOL}: {seen.pools[0].name}"
        else:
            yield "Free", f"no AddressPool has it: a pod of its own list asks by {ALLOCATABLE_IPS}: {text}"
    elif seen.live():
        kept = reservation is not None and is_wanted(reservation, seen.situation.stateful_set)
        then = "the ordinal keeps its address; scale the StatefulSet down to free it" if kept else "the address is free then"
        yield "Held", f"delete the pod: {then}"
    else:
        yield "Unheld", f"gatehouse ip release {text} gives it back at once"
