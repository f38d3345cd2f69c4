"""A controller's own writes, until its caches have seen them: so that no pass decides from facts older than its last deed.

    writes = OwnWrites({"pods": lambda: pods.store.version}, clock, telemetry)
    answer = client.patch_merge(...); writes.note(key, "pods", answer["metadata"]["resourceVersion"])

A controller that is given `own_writes` puts a key off, without counting a failure, until each cache has reached the resource
version of the key's last write there. Bounded in time: versions go back when the server is restored from a backup, and then
the guard must not hold a key for ever.

Any thread; the lock guards the notes, memory only.
Source: KEP-5504 (resource versions of one resource are comparable decimal numbers), KEP-5647 (stale controller mitigation).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping

import attrs

from webhook.clock import Clock
from webhook.logs import get_log
from webhook.telemetry import Telemetry

log = get_log("freshness")

POLL_S = 0.1  # an event follows its write within milliseconds
PATIENCE_S = 30.0  # of a key with its last write; a watch that is silent for longer is reconnected by then


def has_reached(seen: str, written: str) -> bool:
    """Whether a cache at version *seen* includes the write that gave *written*.

    What is no decimal number cannot be compared and counts as reached; "" (before the first list) as not reached.
    """
    if not seen:
        return False
    if not (seen.isdecimal() and written.isdecimal()):
        return True
    return int(seen) >= int(written)


@attrs.frozen
class _Note:
    version: str
    until_s: float


class OwnWrites:
    """The last write of each key to each resource."""

    def __init__(
        self, versions: Mapping[str, Callable[[], str]], clock: Clock, telemetry: Telemetry, patience_s: float = PATIENCE_S
    ) -> None:
        """versions: the version that the cache of each resource has reached, by its plural name."""
        self._versions = dict(versions)
        self._clock = clock
        self._patience_s = patience_s
        self._lock = threading.Lock()  # guards _notes
        self._notes: dict[str, dict[str, _Note]] = {}  # key -> resource -> note
        self._given_up = telemetry.counter(
            "gatehouse_own_writes_unseen", "Writes that the cache had not seen after the longest wait.", ("resource",)
        )

    def note(self, key: str, resource: str, version: str) -> None:
        """A write for *key* made *version* (metadata.resourceVersion of the answer). KeyError for an unknown resource."""
        self._versions[resource]
        if version:
            note = _Note(version, self._clock.monotonic_s() + self._patience_s)
            with self._lock:
                self._notes.setdefault(key, {})[resource] = note

    def wait_s(self, key: str) -> float:
        """Seconds after which to ask again; 0 when the caches have seen every write of *key*, or had time enough."""
        with self._lock:
            notes = dict(self._notes.get(key, {}))
        if not notes:
            return 0.0
        now_s = self._clock.monotonic_s()
        late = {resource: note for resource, note in notes.items() if not has_reached(self._versions[resource](), note.version)}
        held = {resource: note for resource, note in late.items() if now_s < note.until_s}
        for resource in late.keys() - held.keys():
            self._given_up.labels(resource).inc()
            log.warning("own write not seen, going on", key=key, resource=resource, seconds=self._patience_s)
        with self._lock:
            current = self._notes.get(key, {})
            for resource, note in notes.items():
                if resource not in held and current.get(resource) is note:
                    del current[resource]
            if not current:
                self._notes.pop(key, None)
        return POLL_S if held else 0.0
