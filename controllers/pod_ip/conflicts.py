"""The addresses that several live pods carry, or that one carries which is another's: told once, counted while they last.

Threads: any; the lock guards everything, memory only.
"""

from __future__ import annotations

import threading

from controllers.pod_ip.actions import ReportConflict
from controllers.pod_ip.news import News
from webhook.addresses.address import Address
from webhook.telemetry import Telemetry


class Conflicts:
    """Memory of the leader."""

    def __init__(self, news: News, telemetry: Telemetry) -> None:
        self._news = news
        self._lock = threading.Lock()  # guards _known
        self._known: dict[Address, frozenset[str]] = {}  # uids of all who carry it
        self._count = telemetry.gauge(
            "gatehouse_address_conflicts", "Addresses that several live pods carry, or one that they do not belong to."
        )

    def note(self, address: Address, found: ReportConflict | None) -> None:
        """What a look at *address* has found. The same pods are not told again."""
        uids = frozenset[str]()
        if found is not None:
            uids = frozenset(one.uid for one in (*found.others, found.holder) if one is not None)
        with self._lock:
            before = self._known.pop(address, frozenset())
            if uids:
                self._known[address] = uids
            self._count.set(len(self._known))
        if found is not None and uids != before:
            self._news.conflict(found)
        elif found is None and before:
            self._news.conflict_over(address)

    def forget(self) -> None:
        """This replica does not lead any more."""
        with self._lock:
            self._known.clear()
            self._count.set(0)
