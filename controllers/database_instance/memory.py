"""What is remembered of what was seen: which volumes concern which instances, and which deletions orphan dependents.

That dependents are orphaned stands in the status as soon as a pass has come to it; until then the garbage collector may have
taken its finalizer off already, and only the watches have seen it: those of every replica, whichever leads.
Threads: any; the locks guard memory only.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable

from controllers.database_instance.values import ORPHAN
from controllers.runtime.reconcile import Key
from controllers.runtime.store import Change, Deletion, Update
from webhook.objects.databases import InstanceFacts


class Orphanings:
    """Of the deletions of instances, by uid: which ones orphan dependents, and which ones began before our eyes.

    It hears of every change from the start of the process, also while another replica leads.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()  # guards all below together
        self._orphaning: set[str] = set()
        self._witnessed: set[str] = set()

    def see(self, change: Change[InstanceFacts]) -> None:
        """Note what *change* says. Called on the reflector's thread."""
        facts = change.item.facts
        with self._lock:
            if isinstance(change, Deletion):
                self._orphaning.discard(facts.uid)
                self._witnessed.discard(facts.uid)
            elif facts.deleting_s is not None and ORPHAN in facts.finalizers:
                self._orphaning.add(facts.uid)
            elif facts.deleting_s is not None and isinstance(change, Update) and change.old.facts.deleting_s is None:
                self._witnessed.add(facts.uid)

    def is_orphaning(self, uid: str) -> bool:
        """Whether the deletion of the instance *uid* was seen to orphan its dependents."""
        with self._lock:
            return uid in self._orphaning

    def is_witnessed(self, uid: str) -> bool:
        """Whether the deletion of the instance *uid* was seen to begin, so that what `is_orphaning` says of it is all."""
        with self._lock:
            return uid in self._orphaning or uid in self._witnessed


class Memory:
    """Of volumes by name. The leader's: a new one looks at every instance once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()  # guards all below together
        self._names: dict[Key, frozenset[str]] = {}
        self._keys: dict[str, set[Key]] = {}

    def follow(self, key: Key, volumes: Collection[str]) -> None:
        """The instance *key* has to come up when one of *volumes* changes, and for no others."""
        names = frozenset(volumes)
        with self._lock:
            before = self._names.pop(key, frozenset())
            for name in before - names:
                self._keys[name].discard(key)
                if not self._keys[name]:
                    del self._keys[name]
            for name in names - before:
                self._keys.setdefault(name, set()).add(key)
            if names:
                self._names[key] = names

    def followers(self, volume: str) -> Iterable[Key]:
        """The instances that *volume* concerns."""
        with self._lock:
            return tuple(self._keys.get(volume, ()))

    def clear(self) -> None:
        """Forget everything: this replica does not lead any more."""
        with self._lock:
            self._names.clear()
            self._keys.clear()
