"""What is told of entries: an Event on their ConfigMap when one breaks, and one when it is mended.

Threads: any; nothing blocks.
"""

from __future__ import annotations

import hashlib
from typing import Final

from controllers.runtime.events import Announcer, Reference
from webhook.names import Reason
from webhook.sidecars.entries.catalog import State

SHOWN_FAULTS: Final = 3  # a note has room for 1024 bytes


class News:
    """The voice of the controller."""

    def __init__(self, announcer: Announcer) -> None:
        self._announcer = announcer

    def entry_broken(self, config_map: Reference, state: State) -> None:
        """The newest version of an entry has faults."""
        if state.entry is None:
            effect = "no version of it was good since this process started: pods that ask for it do not get it"
        else:
            effect = f"its last good version ({state.entry.revision}) stays in force"
        shown = "; ".join(fault.told() for fault in state.faults[:SHOWN_FAULTS])
        more = f"; and {len(state.faults) - SHOWN_FAULTS} more" if len(state.faults) > SHOWN_FAULTS else ""
        note = f'sidecar entry "{state.name}" is broken, {effect}: {shown}{more}'
        # Another entry, or another fault of this one, is an Event of its own: in a series only the first note is ever shown.
        topic = f"{state.name} {hashlib.sha256(note.encode(errors='replace')).hexdigest()[:16]}"
        self._tell(config_map, Reason.ENTRY_BROKEN, "KeepLastGood", note, topic, warning=True)

    def entry_mended(self, config_map: Reference, state: State) -> None:
        """An entry that was told of as broken is sound again."""
        revision = f" ({state.entry.revision})" if state.entry else ""
        note = f'sidecar entry "{state.name}" is sound again: its newest version{revision} is in force'
        self._tell(config_map, Reason.ENTRY_MENDED, "UseEntry", note, state.name)

    def _tell(
        self, config_map: Reference, reason: Reason, action: str, note: str, topic: str, *, warning: bool = False
    ) -> None:
        self._announcer.record(config_map, reason=reason.value, action=action, note=note, warning=warning, topic=topic)
