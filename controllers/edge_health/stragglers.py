"""The pods that could not be written: their turn comes after everybody else's, so that they keep nobody waiting.

Nothing is decided from it but the order of steps. It is memory of the leader: a node's ends with its first pass that fails
nowhere, `clear` forgets it all.
Threads: any; one node is in one thread's hands at a time (the work queue sees to that).
"""

from __future__ import annotations

import threading
from collections.abc import Sequence

from controllers.edge_health.plan import RemoveTaint, Step


class Stragglers:
    """Per node the uids of pods whose last write failed, the longest ago first."""

    def __init__(self) -> None:
        self._lock = threading.Lock()  # guards _failed and what is in it
        self._failed: dict[str, dict[str, None]] = {}

    def last(self, node: str, steps: Sequence[Step]) -> list[Step]:
        """*steps* of *node* in the order to be taken: those that failed at the end. A taint stays first: it has a deadline.

        What failed and is not among *steps* any more is forgotten.
        """
        wanted = {step.uid for step in steps if not isinstance(step, RemoveTaint)}
        with self._lock:
            known = [uid for uid in self._failed.pop(node, {}) if uid in wanted]
            if known:
                self._failed[node] = dict.fromkeys(known)
        turn = {uid: number for number, uid in enumerate(known, start=1)}
        return sorted(steps, key=lambda step: 0 if isinstance(step, RemoveTaint) else turn.get(step.uid, 0))

    def failed(self, node: str, step: Step) -> None:
        """*step* could not be taken."""
        if isinstance(step, RemoveTaint):
            return
        with self._lock:
            known = self._failed.setdefault(node, {})
            known.pop(step.uid, None)  # to the end
            known[step.uid] = None

    def forget(self, node: str) -> None:
        """Nothing of *node* fails any more, or it is gone."""
        with self._lock:
            self._failed.pop(node, None)

    def clear(self) -> None:
        """Forget every node: this replica does not lead any more."""
        with self._lock:
            self._failed.clear()
