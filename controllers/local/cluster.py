"""Local mode: a cluster read from a folder of files, and read again when the files change.

Every *.yaml, *.yml and *.json below the folder, in path order; hidden files and folders are left out (a mounted ConfigMap keeps
its copies in `..data`). Kinds that no rule reads are passed over. A file that breaks keeps its last good objects and is named
with its line in the log; so does an entry of a sidecar ConfigMap.

Threads: one, `local/files`, looks for changes each second and swaps one frozen snapshot; look-ups by anyone, without a lock.
Errors:  LocalError from `read` and `start`; afterwards only the log.
"""

from __future__ import annotations

import threading
from collections.abc import Collection
from pathlib import Path
from typing import Final

import attrs

from controllers.local.files import SUFFIXES, File, LocalError, read_file, stamps
from controllers.local.snapshot import Snapshot, cluster_of, combine
from controllers.runtime.errors import OnDeath
from webhook.clock import Clock, Deadline
from webhook.logs import get_log
from webhook.objects.votes import VotePolicy
from webhook.sidecars.entries.catalog import Reading

__all__ = ["SUFFIXES", "LocalCluster", "LocalError"]

log = get_log("local")

THREAD_NAME: Final = "local/files"
POLL_INTERVAL_S: Final = 1.0


class LocalCluster:
    """A folder that stands for a cluster."""

    def __init__(
        self, folder: str | Path, policy: VotePolicy, clock: Clock, on_death: OnDeath = lambda name, error: None
    ) -> None:
        """policy: how votes are read from the nodes' annotations. on_death: told when the thread ends by an exception.

        Nothing is read yet; `cluster` is empty until then, and follows the files afterwards.
        """
        self.snapshot = Snapshot()  # replaced as one value
        self.cluster = cluster_of(self)
        self._folder = Path(folder)
        self._policy = policy
        self._clock = clock
        self._on_death = on_death
        self._files: dict[Path, File] = {}  # changed by `read`, and once the thread runs by it alone
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, name=THREAD_NAME, daemon=True)

    # -- called by the owner

    def read(self) -> None:
        """Read everything once. Raises LocalError with every fault of every file."""
        if not self._folder.is_dir():
            raise LocalError(f"{self._folder}: no such folder")
        faults = self.refresh()
        if faults:
            raise LocalError("\n".join(faults))

    def start(self) -> None:
        """Read everything, then look for changes. Raises LocalError as `read` does."""
        self.read()
        self._thread.start()

    def stop(self, deadline: Deadline) -> None:
        """End the thread."""
        self._stop.set()
        if self._thread.ident is not None:
            self._thread.join(deadline.remaining_s())

    # -- called by the thread, and by `read` before it runs

    def refresh(self) -> list[str]:
        """Read what has changed since the last time; what is wrong with it, "file:line:column: message" each.

        Faults of sidecar entries are in the snapshot and in the log: they stop nothing.
        """
        faults: list[str] = []
        try:
            found = dict(stamps(self._folder))
        except OSError as error:
            return [f"{error.filename}: {error.strerror}"]
        changed: Collection[Path] = self._files.keys() - found.keys()
        for path in changed:
            del self._files[path]
        for path, stamp in found.items():
            known = self._files.get(path)
            if known is not None and known.stamp == stamp:
                continue
            changed = {*changed, path}
            try:
                self._files[path] = read_file(path, stamp, self._policy)
            except LocalError as error:
                faults.append(str(error))
                self._files[path] = attrs.evolve(known, stamp=stamp) if known else File(stamp)
        if changed:
            self._swap(combine([self._files[path] for path in sorted(self._files)], self.snapshot.catalog))
        return faults

    def _swap(self, snapshot: Snapshot) -> None:
        before, self.snapshot = self.snapshot, snapshot
        log.info("files read", folder=self._folder, **snapshot.counts())
        for key, (where, reading) in snapshot.readings.items():
            if key not in before.readings or before.readings[key][1] != reading:
                _tell(where, reading)

    def _watch(self) -> None:
        before: list[str] = []
        try:
            while not self._clock.wait(self._stop, POLL_INTERVAL_S):
                faults = self.refresh()
                for fault in faults if faults != before else ():
                    log.warning("file is broken, its last good objects stay", fault=fault)
                before = faults
        except Exception as error:
            self._on_death(THREAD_NAME, error)


def _tell(where: str, reading: Reading) -> None:
    for fault in reading.faults:
        log.warning("sidecar entry is broken", file=where, entry=fault.entry, key=fault.key, fault=fault.told())
