"""Whatever happens between us and the server: the store ends equal to it, and handlers hear a consistent history.

Driven by hypothesis, step by step on one thread, against `Objects` without sockets: thousands of interleavings.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controllers.runtime import errors
from controllers.runtime.errors import ApiError, error_from_status
from controllers.runtime.resource import Cancellation, Params
from controllers.runtime.store import Addition, Change, Deletion, Update
from controllers.runtime.watch import WatchPolicy
from controllers.testing import FakeClock, Objects
from controllers.testing.objects import Refusal, Target
from tests.controllers.runtime.builders import informer, node
from webhook.cluster import NodeFacts

NAMES = ("a", "b", "c", "d", "e")
STATUSES = ("True", "False", "Unknown")


class _NeverCancelled:
    cancelled = False

    def cancel(self) -> None:
        """Nothing: one thread only."""


class Ends(Exception):
    """A scheduled fault: the watch ends cleanly, but at once."""


Fault = ApiError | Ends


class Wire:
    """A ListWatch straight onto Objects, with faults that are scheduled.

    A watch that has nothing more to say ends after two seconds, so that it is no failure.
    """

    def __init__(self, objects: Objects, clock: FakeClock, *, watch_list: bool) -> None:
        self.objects = objects
        self.clock = clock
        self.watch_list = watch_list
        self.faults: list[Fault] = []  # one for each of the next requests and event reads
        self.requests = 0
        self.meanwhile: list[tuple[Any, ...]] = []  # happens right before the next watch begins, while nobody listens
        self.settled = False  # True: no more faults

    def cancellation(self) -> Cancellation:
        return _NeverCancelled()

    def list_page(self, path: str, params: Params, *, cancellation: Cancellation | None = None) -> bytes:
        self._fault()
        return cast(bytes, self._refusing(lambda target: self.objects.list_page(target, params), path))

    def listing(
        self, path: str, params: Params, *, cancellation: Cancellation | None = None
    ) -> AbstractContextManager[Iterable[bytes]]:
        return nullcontext((self.list_page(path, params),))

    def watch(self, path: str, params: Params, read_timeout_s: float, *, cancellation: Cancellation | None = None) -> Stream:
        while self.meanwhile:
            happen(self.objects, self, self.meanwhile.pop())
        self._fault()
        if params.get("sendInitialEvents") and not self.watch_list:
            raise errors.Invalid("sendInitialEvents is forbidden")
        target = self.objects.target(path)
        lines, position = self._refusing(lambda target: self.objects.initial_lines(target, params), path)
        return Stream(self, target, lines, position, params)

    def fault(self) -> Fault | None:
        return self.faults.pop() if self.faults and not self.settled else None

    def _fault(self) -> None:
        self.requests += 1
        if self.faults and isinstance(self.faults[-1], Ends):
            return  # that one is for a stream
        error = self.fault()
        if error is not None:
            raise error

    def _refusing(self, ask: Any, path: str) -> Any:
        try:
            return ask(self.objects.target(path))
        except Refusal as refusal:
            body = errors.StatusBody(refusal.code, refusal.reason, refusal.message)
            raise error_from_status(path, body) from refusal


class Stream:
    """An open watch: yields what there is, then ends."""

    def __init__(self, wire: Wire, target: Target, lines: list[bytes], position: int, params: Mapping[str, str]) -> None:
        self._wire, self._target, self._lines, self._position, self._params = wire, target, lines, position, params

    def __iter__(self) -> Iterator[bytes]:
        bookmarks = self._params.get("allowWatchBookmarks") == "true"
        while True:
            if not self._lines:
                self._lines, self._position = self._wire.objects.lines_from(self._target, self._position, bookmarks=bookmarks)
            error = self._wire.fault()
            if isinstance(error, Ends):
                return
            if error is not None:
                raise error
            if not self._lines:
                self._wire.clock.advance(2.0)
                return
            yield self._lines.pop(0)

    def close(self) -> None:
        self._lines = []


class Ledger:
    """A handler that checks history as it hears it."""

    def __init__(self) -> None:
        self.known: dict[str, tuple[str, str]] = {}  # key -> uid, version
        self.facts: dict[str, NodeFacts] = {}
        self.broken: list[AssertionError] = []  # an informer survives what its handlers raise

    def __call__(self, change: Change[NodeFacts]) -> None:
        try:
            self._hear(change)
        except AssertionError as error:
            self.broken.append(error)

    def _hear(self, change: Change[NodeFacts]) -> None:
        item = change.item
        match change:
            case Addition():
                assert item.key not in self.known, "added twice"
            case Update(old, _):
                assert self.known.get(item.key) == (old.uid, old.version), "updated from something never heard of"
                assert old.uid == item.uid, "one object became another"
                assert old.version != item.version, "nothing has changed"
            case Deletion():
                assert item.key in self.known, "deleted without having been added"
                assert self.known.pop(item.key)[0] == item.uid, "another object was deleted"
                del self.facts[item.key]
                return
        self.known[item.key] = (item.uid, item.version)
        self.facts[item.key] = item.facts


FAULTS: tuple[Fault, ...] = (
    Ends(),
    errors.Unreachable("reset"),
    errors.TimedOut("silent"),
    errors.ServerError("boom", status=500),
    errors.Throttled("busy", status=429, retry_after_s=2.0),
    errors.Gone("expired", status=410),
    errors.TooLargeResourceVersion("too large", status=504),
    errors.Forbidden("no", status=403),
    errors.UndecodableAnswer("html"),
)

PUT = st.tuples(st.just("put"), st.sampled_from(NAMES), st.sampled_from(STATUSES))
DROP = st.tuples(st.just("drop"), st.sampled_from(NAMES))
RECREATE = st.tuples(st.just("recreate"), st.sampled_from(NAMES))
FAULT = st.tuples(st.just("fault"), st.sampled_from(FAULTS))
STEPS = st.tuples(st.just("steps"), st.integers(1, 8))
OTHERS = st.sampled_from([("compact",), ("bookmark",), ("noise",)])
MEANWHILE = st.tuples(st.just("meanwhile"), st.one_of(PUT, DROP, RECREATE))
EVENTS = st.lists(st.one_of(PUT, DROP, RECREATE, FAULT, STEPS, MEANWHILE, OTHERS), max_size=40)


def happen(objects: Objects, wire: Wire, what: tuple[Any, ...]) -> None:
    match what:
        case ("put", name, status):
            objects.put(node(name, ready=status))
        case ("drop", name):
            if name in objects.all("Node"):
                objects.drop("Node", name)
        case ("recreate", name):
            if name in objects.all("Node"):
                objects.drop("Node", name)
            objects.put(node(name))
        case ("fault", error):
            wire.faults.append(error)
        case ("meanwhile", event):
            wire.meanwhile.append(event)
        case ("compact",):
            objects.compact()
        case ("bookmark",):
            objects.bookmark()
        case ("noise",):  # another kind moves the server's version
            objects.put({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x", "n": objects.version}})


@settings(max_examples=300, deadline=None)
@given(
    events=EVENTS,
    watch_list=st.booleans(),
    stream_lists=st.booleans(),
    page_limit=st.integers(1, 3),
    pages_at_zero=st.booleans(),
    random=st.floats(0, 1, exclude_max=True),
)
def test_the_store_ends_equal_to_the_server_and_history_is_consistent(
    events: list[tuple[Any, ...]],
    watch_list: bool,
    stream_lists: bool,
    page_limit: int,
    pages_at_zero: bool,
    random: float,
) -> None:
    objects = Objects(pages_at_zero=pages_at_zero)
    clock, ledger = FakeClock(auto_advance=True), Ledger()
    wire = Wire(objects, clock, watch_list=watch_list)
    nodes = informer(wire, clock, policy=WatchPolicy(page_limit=page_limit, stream_lists=stream_lists))
    nodes.add_handler(ledger)

    for what in events:
        if what[0] == "steps":
            for _ in range(what[1]):
                nodes.reflector.advance()
        else:
            happen(objects, wire, what)
    wire.settled = True
    for _ in range(300):
        nodes.reflector.advance()
        if nodes.has_synced() and versions(objects) == {item.key: item.version for item in nodes.store.items()}:
            break

    assert ledger.broken == []
    assert {item.key: item.version for item in nodes.store.items()} == versions(objects)
    assert {key: version for key, (_, version) in ledger.known.items()} == versions(objects)
    assert ledger.facts == {item.key: item.facts for item in nodes.store.items()}


@pytest.mark.parametrize("last", [("put", "a", "Unknown"), ("drop", "a"), ("bookmark",)], ids=" ".join)
@pytest.mark.parametrize("fault", [Ends(), errors.Unreachable("reset")], ids=["ends", "breaks"])
def test_what_happens_between_two_watches_is_not_lost(last: tuple[Any, ...], fault: Fault) -> None:
    """The next watch begins at the very version that the last one ended with: one later, and it would never be told."""
    objects, clock = Objects(), FakeClock(auto_advance=True)
    objects.put(node("a"))
    wire = Wire(objects, clock, watch_list=False)
    nodes = informer(wire, clock, policy=WatchPolicy(stream_lists=False))
    for _ in range(8):
        nodes.reflector.advance()
    before = nodes.store.version
    happen(objects, wire, ("noise",))  # the bookmark tells of it
    happen(objects, wire, last)
    while nodes.store.version == before:
        nodes.reflector.advance()

    wire.faults.append(fault)
    wire.meanwhile.append(("put", "b", "True"))
    for _ in range(8):
        nodes.reflector.advance()

    assert {item.key: item.version for item in nodes.store.items()} == versions(objects)


@settings(max_examples=100, deadline=None)
@given(faults=st.lists(st.sampled_from(FAULTS), min_size=1, max_size=12), stream_lists=st.booleans())
def test_no_cycle_of_faults_makes_us_spin(faults: list[Fault], stream_lists: bool) -> None:
    clock = FakeClock(auto_advance=True)
    wire = Wire(Objects(), clock, watch_list=True)
    nodes = informer(wire, clock, policy=WatchPolicy(stream_lists=stream_lists))
    began_s = clock.monotonic_s()

    while clock.monotonic_s() - began_s < 120.0 and wire.requests < 1000:
        if not wire.faults:
            wire.faults = list(faults)
        nodes.reflector.advance()

    # A watch of two seconds may be followed by the next at once: that is the fastest a server can drive us.
    assert wire.requests <= 60 + 40


def versions(objects: Objects) -> dict[str, str]:
    return {key: obj["metadata"]["resourceVersion"] for key, obj in objects.all("Node").items()}
