"""Local mode: the cluster's nodes and pods read from a folder of files, and read again when the files change.

Implements `webhook.cluster.Nodes` and `Pods`. Every *.yaml, *.yml and *.json below the folder, in path order; hidden
files and folders are left out (a mounted ConfigMap keeps its copies in `..data`). Kinds that no rule reads are passed over.
A file that breaks keeps its last good objects and is named with its line in the log.

Threads: one, `local/files`, looks for changes each second and swaps one frozen snapshot; look-ups by anyone, without a lock.
Errors:  LocalError from `read` and `start`; afterwards only the log.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeVar

import attrs

from controllers.runtime.errors import UndecodableObject
from controllers.runtime.projection import node_facts_from_object, pod_facts_from_object
from webhook.clock import Clock, Deadline
from webhook.cluster import Cluster, NodeFacts, PodFacts
from webhook.logs import get_log
from webhook.objects.documents import DocumentError, objects, read_documents
from webhook.objects.votes import VotePolicy

log = get_log("local")

THREAD_NAME: Final = "local/files"
POLL_INTERVAL_S: Final = 1.0
SUFFIXES: Final = (".yaml", ".yml", ".json")

T = TypeVar("T")


OnDeath = Callable[[str, BaseException], None]


class LocalError(OSError):
    """The folder cannot be read, or files in it are broken: the operator's fault. Its text has a line for each."""


@attrs.frozen
class _File:
    """What one file held when it was last good."""

    stamp: tuple[int, int, int]  # when it was looked at last, good or not: mtime in ns, size, inode
    nodes: tuple[tuple[str, NodeFacts], ...] = ()  # with "file:line", for messages
    pods: tuple[tuple[str, PodFacts], ...] = ()


@attrs.frozen
class _Snapshot:
    """All files together. Never changed, only replaced."""

    nodes: Mapping[str, NodeFacts] = attrs.field(factory=dict)
    pods: Mapping[str, PodFacts] = attrs.field(factory=dict)
    pods_by_node: Mapping[str, tuple[PodFacts, ...]] = attrs.field(factory=dict)


class LocalNodes:
    """Nodes from files."""

    def __init__(self, files: LocalCluster) -> None:
        self._files = files

    def get(self, name: str) -> NodeFacts | None:
        """The node as its file has it."""
        return self._files.snapshot.nodes.get(name)

    def confirm(self, name: str, deadline: Deadline) -> NodeFacts | None:
        """Nothing: there is no API server to ask."""
        return None


class LocalPods:
    """Pods from files."""

    def __init__(self, files: LocalCluster) -> None:
        self._files = files

    def get(self, key: str) -> PodFacts | None:
        """The pod as its file has it; *key* is "namespace/name"."""
        return self._files.snapshot.pods.get(key)

    def on_node(self, node: str) -> Sequence[PodFacts]:
        """The pods bound to *node*."""
        return self._files.snapshot.pods_by_node.get(node, ())


class LocalCluster:
    """A folder that stands for a cluster."""

    def __init__(
        self, folder: str | Path, policy: VotePolicy, clock: Clock, on_death: OnDeath = lambda name, error: None
    ) -> None:
        """policy: how votes are read from the nodes' annotations. on_death: told when the thread ends by an exception.

        Nothing is read yet; `cluster` is empty until then, and follows the files afterwards.
        """
        self.cluster = Cluster(LocalNodes(self), LocalPods(self))
        self.snapshot = _Snapshot()  # replaced as one value
        self._folder = Path(folder)
        self._policy = policy
        self._clock = clock
        self._on_death = on_death
        self._files: dict[Path, _File] = {}  # changed by `read`, and once the thread runs by it alone
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
        """Read what has changed since the last time; what is wrong with it, "file:line:column: message" each."""
        faults: list[str] = []
        try:
            found = dict(_stamps(self._folder))
        except OSError as error:
            return [f"{error.filename}: {error.strerror}"]
        changed = self._files.keys() - found.keys()
        for path in changed:
            del self._files[path]
        for path, stamp in found.items():
            known = self._files.get(path)
            if known is not None and known.stamp == stamp:
                continue
            changed = changed | {path}
            try:
                self._files[path] = self._read(path, stamp)
            except LocalError as error:
                faults.append(str(error))
                self._files[path] = attrs.evolve(known, stamp=stamp) if known else _File(stamp)
        if changed:
            self.snapshot = _combine([self._files[path] for path in sorted(self._files)])
            log.info("files read", folder=self._folder, nodes=len(self.snapshot.nodes), pods=len(self.snapshot.pods))
        return faults

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

    def _read(self, path: Path, stamp: tuple[int, int, int]) -> _File:
        nodes: list[tuple[str, NodeFacts]] = []
        pods: list[tuple[str, PodFacts]] = []
        if not path.is_file():
            raise LocalError(f"{path}: not a regular file")  # reading a pipe would wait for ever
        try:
            documents = read_documents(path.read_bytes(), str(path), positions=True)
        except OSError as error:
            raise LocalError(f"{path}: cannot be read: {error.strerror}") from error
        except DocumentError as error:
            raise LocalError(str(error)) from error
        for document in objects(documents):
            where = f"{path}:{document.line}"
            try:
                match _kind(document.value):
                    case ("v1", "Node"):
                        nodes.append((where, node_facts_from_object(document.value, self._policy)))
                    case ("v1", "Pod"):
                        pods.append((where, pod_facts_from_object(document.value)))
            except UndecodableObject as error:
                raise LocalError(f"{where}: {error}") from error
        return _File(stamp, tuple(nodes), tuple(pods))


def _kind(value: Any) -> tuple[object, object]:
    return (value.get("apiVersion"), value.get("kind")) if isinstance(value, dict) else (None, None)


def _stamps(folder: Path) -> Iterator[tuple[Path, tuple[int, int, int]]]:
    """The files below *folder* that may hold objects, each with what changes when it is written."""
    for place, folders, files in os.walk(folder, onerror=_refuse):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(files):
            if name.startswith(".") or not name.lower().endswith(SUFFIXES):
                continue
            path = Path(place, name)
            try:
                status = path.stat()
            except FileNotFoundError:
                continue  # removed while we looked, or a link to nowhere
            except OSError:
                yield path, (0, 0, 0)  # a link to itself; reading it says so
            else:
                yield path, (status.st_mtime_ns, status.st_size, status.st_ino)


def _refuse(error: OSError) -> None:
    raise error


def _combine(files: Sequence[_File]) -> _Snapshot:
    nodes = _unique(lambda node: node.name, [pair for file in files for pair in file.nodes], "node")
    pods = _unique(lambda pod: f"{pod.namespace}/{pod.name}", [pair for file in files for pair in file.pods], "pod")
    by_node: dict[str, list[PodFacts]] = {}
    for pod in pods.values():
        if pod.node:
            by_node.setdefault(pod.node, []).append(pod)
    return _Snapshot(nodes, pods, {node: tuple(found) for node, found in by_node.items()})


def _unique(key_of: Callable[[T], str], found: Sequence[tuple[str, T]], kind: str) -> dict[str, T]:
    """The objects by key; of two with the same key the later one, and a line in the log."""
    places: dict[str, str] = {}
    kept: dict[str, T] = {}
    for where, facts in found:
        key = key_of(facts)
        if key in kept:
            log.warning("object is written twice, the second counts", kind=kind, key=key, first=places[key], second=where)
        places[key], kept[key] = where, facts
    return kept
