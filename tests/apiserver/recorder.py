"""The whole history of a collection: every version that the API server ever published, by a watch.

What a sampler would miss between two looks, an address unready for a moment, is in here.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import TypeVar

import attrs

from tests.cluster import Api, Json

T = TypeVar("T")
_WATCH_S = 1  # the thread ends at most this long after the block


@attrs.frozen
class Event:
    """One change: the object after it, or None when it was deleted."""

    at_s: float  # monotonic, when it was heard of here
    name: str
    object: Json | None
    version: int  # the store's at that change: whose is higher came later, in whatever collection


class Recorder:
    """Records *path* inside its block. `states` may be called by any thread, also after the block."""

    def __init__(self, api: Api, path: str) -> None:
        self._api = api
        self._path = path
        self._lock = threading.Lock()  # guards _events and fault
        self._events: list[Event] = []
        self._fault: BaseException | None = None
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"test/recorder{path}", daemon=True)

    def __enter__(self) -> Recorder:
        listed = self._api.get(self._path)
        for item in listed["items"]:
            self._add(item, deleted=False)
        self._version = listed["metadata"]["resourceVersion"]
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._stop.set()
        self._thread.join(timeout=_WATCH_S + 30.0)

    def events(self) -> list[Event]:
        """Everything so far, in the order of the API server. Raises what ended the watch."""
        with self._lock:
            if self._fault is not None:
                raise AssertionError(f"the watch of {self._path} ended: {self._fault!r}")
            return list(self._events)

    def states(self, view: Callable[[list[Json]], T], since_s: float = 0.0) -> list[tuple[float, T]]:
        """What *view* made of all objects after each change since *since_s*, preceded by the state at that moment."""
        objects: dict[str, Json] = {}
        before: list[tuple[float, T]] = [(since_s, view([]))]
        after: list[tuple[float, T]] = []
        for event in self.events():
            if event.object is None:
                objects.pop(event.name, None)
            else:
                objects[event.name] = event.object
            state = view(list(objects.values()))
            if event.at_s <= since_s:
                before = [(since_s, state)]
            else:
                after.append((event.at_s, state))
        return before + after

    def now(self, view: Callable[[list[Json]], T]) -> T:
        """What *view* makes of the latest state."""
        return self.states(view)[-1][1]

    def _run(self) -> None:
        try:
            while not self._stop.is_set():
                for event in self._api.events(self._path, self._version, timeout_s=_WATCH_S):
                    self._take(event)
        except BaseException as fault:
            with self._lock:
                self._fault = fault

    def _take(self, event: Json) -> None:
        item = event["object"]
        if event["type"] == "ERROR":
            raise RuntimeError(item)
        self._version = item["metadata"]["resourceVersion"]
        if event["type"] != "BOOKMARK":
            self._add(item, deleted=event["type"] == "DELETED")

    def _add(self, item: Json, *, deleted: bool) -> None:
        meta = item["metadata"]
        event = Event(time.monotonic(), meta["name"], None if deleted else item, int(meta["resourceVersion"]))
        with self._lock:
            self._events.append(event)
