"""The list/watch machine: what to ask an API server next, so that a cache follows it through every fault.

Pure: `step(state, observation, now_s, random)` gives the next state and effects: notes and changes (Stage, Discard, Swap,
Apply, Advance, Note) and, last, exactly one question (ListPage, OpenWatch, ReadEvent, Sleep), whose answer is the next
observation. Asking anything but ReadEvent gives up the watch that is open.

    LIST   decoded as it arrives (`arriving`), staged, then swapped in whole, so that the store is never empty in between.
           The first asks for "0" (whatever the server has), later ones for at least the last version seen, or any ("")
           once that was refused. A watch cache answers whole, whatever the limit; pages of 500 come from servers without.
           What does not fit into the time of a list comes by WatchList, which has none, from then on.
    WATCH  from the last version seen, for 5 to 10 minutes, with bookmarks.

Every way from a failure back to a request passes through Sleep, but a few that happen once in a row: no server makes us spin.
Source: client-go tools/cache/reflector.go, tools/pager; kube-rs watcher; KEP-3157 (WatchList).
"""

from __future__ import annotations

from enum import StrEnum
from typing import Generic

import attrs

from controllers.runtime.backoff import Backoff
from controllers.runtime.errors import (
    ApiError,
    BadRequest,
    Gone,
    Invalid,
    ServerError,
    StoreError,
    Throttled,
    TimedOut,
    TooLargeResourceVersion,
    UndecodableAnswer,
    Unreachable,
)
from controllers.runtime.resource import Added, Bookmark, Event, F, Page, Params, Removed, Skipped

SHORT_WATCH_S = 1.0  # a watch that ends sooner counts as a failure
LONG_WATCH_S = 30.0  # one that breaks later is the first failure of a new row: quiet collections without bookmarks, and
# proxies that cut idle connections, break every watch after a minute, and must not make us deaf for half of the time
RETRY_AFTER_CAP_S = 60.0  # a server may ask for patience, not for a day of it
FAILURES_BEFORE_RELIST = 3  # of watches in a row that the server broke by itself, without any event
_OUTAGES = frozenset({Unreachable.code.lower(), TimedOut.code.lower()})  # reasons of a watch that follows an outage
FAILURES_BEFORE_PAGES = 2  # of WatchLists in a row that were cut before their end mark


@attrs.frozen
class WatchPolicy:
    """Figures of the machine. Seconds."""

    page_limit: int = 500
    watch_timeout_s: float = 300.0  # at least; each watch asks for up to twice that, so that clients spread out
    read_timeout_s: float = 75.0  # bookmarks come about every 60 s: longer silence is a dead connection
    stream_lists: bool = False  # WatchList first: thrice a list's processor time at the server (0.9 s, 5,000 nodes of 10 KiB)


class Phase(StrEnum):
    """What the machine waits for."""

    WAITING = "waiting"  # the end of a Sleep (or the start); `State.relist` says what comes then
    LISTING = "listing"  # a page
    OPENING_STREAM = "opening-stream"  # the head of a WatchList
    STREAMING = "streaming"  # an event of a WatchList before its end mark
    OPENING = "opening"  # the head of a watch
    WATCHING = "watching"  # an event of a watch


@attrs.frozen
class State:
    """Everything the machine remembers."""

    policy: WatchPolicy = WatchPolicy()
    phase: Phase = Phase.WAITING
    relist: bool = True  # after the wait: list, or watch from `version`
    reason: str = "start"  # why the next list or watch begins: a metric label
    version: str = ""  # last resource version seen; "" before the first list
    version_refused: bool = False  # the server does not know `version` (expired, or restored from a backup)
    paging: bool = False  # the server has paged a list at "0", so later lists gain by pages too
    stream_lists: bool = False  # as the policy says, until a list has not fitted into its time
    stream_failures: int = 0
    watch_failures: int = 0
    backoff: Backoff = Backoff()
    # of the list in progress
    list_version: str = ""  # asked for
    listed_version: str = ""  # answered by its first page
    token: str = ""
    # of the open watch
    opened_s: float = 0.0
    events: int = 0


# -- observations


@attrs.frozen
class Begun:
    """The start, or the end of a Sleep."""


@attrs.frozen
class GotPage(Generic[F]):
    """The answer to ListPage."""

    page: Page[F]


@attrs.frozen
class Opened:
    """The answer to OpenWatch."""


@attrs.frozen
class Got(Generic[F]):
    """The answer to ReadEvent."""

    event: Event[F]


@attrs.frozen
class Failed:
    """A question that ended in an error; None when a watch just ended. begun: of a list, whether its answer had."""

    error: ApiError | StoreError | None
    begun: bool = False


Observation = Begun | GotPage[F] | Opened | Got[F] | Failed


# -- effects


@attrs.frozen
class ListPage:
    """Ask for one page."""

    params: Params


@attrs.frozen
class OpenWatch:
    """Ask for a watch."""

    params: Params
    read_timeout_s: float


@attrs.frozen
class ReadEvent:
    """Wait for the next event of the open watch."""


@attrs.frozen
class Sleep:
    """Wait, because of *error* (None: a watch that ended too soon)."""

    seconds: float
    reason: str
    error: ApiError | StoreError | None


@attrs.frozen
class Stage(Generic[F]):
    """Keep these for the next Swap."""

    part: Page[F] | Added[F] | Removed[F] | Skipped


@attrs.frozen
class Discard:
    """Forget what is staged."""


@attrs.frozen
class Swap:
    """Replace the store's content by what is staged."""

    version: str


@attrs.frozen
class Apply(Generic[F]):
    """Change one object of the store."""

    event: Added[F] | Removed[F]


@attrs.frozen
class Advance:
    """The store has seen everything up to *version*."""

    version: str


@attrs.frozen
class Note:
    """For the metrics: a list or a watch begins because of *reason*, or *skipped* could not be used."""

    what: str  # "list", "watch" or "skip"
    reason: str
    skipped: Skipped | None = None


Effect = ListPage | OpenWatch | ReadEvent | Sleep | Stage[F] | Discard | Swap | Apply[F] | Advance | Note
Step = tuple[State, tuple[Effect[F], ...]]


def begin(policy: WatchPolicy, backoff: Backoff) -> State:
    """The state before the first Begun."""
    return State(policy=policy, stream_lists=policy.stream_lists, backoff=backoff)


def step(state: State, seen: Observation[F], now_s: float, random: float) -> Step[F]:
    """The next state and what to do, last of all one question.

    random: uniform in [0, 1); spreads the delays and the lengths of watches.
    """
    match seen:
        case Begun():
            return _list(state, random) if state.relist else _watch(state, random)
        case GotPage(page):
            return _got_page(state, page, now_s, random)
        case Opened():
            phase = Phase.STREAMING if state.phase is Phase.OPENING_STREAM else Phase.WATCHING
            return attrs.evolve(state, phase=phase, opened_s=now_s, events=0), (ReadEvent(),)
        case Got(event):
            return _got_staged(state, event) if state.phase is Phase.STREAMING else _got(state, event)
        case Failed(error, begun):
            return _failed(state, error, begun, now_s, random)


def _failed(state: State, error: ApiError | StoreError | None, begun: bool, now_s: float, random: float) -> Step[F]:
    if isinstance(error, StoreError):
        return _sleep(state, error, now_s, random, relist=True, reason="store-failed")
    match state.phase:
        case Phase.LISTING:
            assert error is not None  # a list either answers or fails
            if begun and isinstance(error, TimedOut):  # else the server is away, or our own rate limit held it back
                state = attrs.evolve(state, stream_lists=True)  # too large for its time, or its connection fell silent
            return _list_failed(state, error, now_s, random)
        case Phase.OPENING_STREAM | Phase.STREAMING:
            return _stream_failed(state, error, now_s, random)
        case _:
            return _watch_over(state, error, now_s, random)


# -- listing


def _list(state: State, random: float) -> Step[F]:
    if not state.stream_lists:
        return _first_page(state)
    params = {**_watch_params(state, random), "sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"}
    if state.version_refused:
        del params["resourceVersion"]
    question = OpenWatch(params, state.policy.read_timeout_s)
    return attrs.evolve(state, phase=Phase.OPENING_STREAM), (Discard(), Note("list", state.reason), question)


def _first_page(state: State, *, reason: str = "", everything: bool = False) -> Step[F]:
    """Begin a list of pages. *everything*: without a limit, since page tokens expire faster than we can follow."""
    version = "" if state.version_refused else state.version or "0"
    # With a real version pages would bypass the server's watch cache and go to etcd (client-go, pager).
    limited = not everything and (state.paging or version in ("", "0"))
    params = {"limit": str(state.policy.page_limit)} if limited else {}
    if version:
        params["resourceVersion"] = version
    state = attrs.evolve(state, phase=Phase.LISTING, list_version=version, listed_version="", token="")
    return state, (Discard(), Note("list", reason or state.reason), ListPage(params))


def _got_page(state: State, page: Page[F], now_s: float, random: float) -> Step[F]:
    version = state.listed_version or page.version
    if not version:
        return _list_failed(state, UndecodableAnswer("a list without a resource version"), now_s, random)
    if page.token:
        state = attrs.evolve(state, token=page.token, listed_version=version, paging=state.paging or state.list_version == "0")
        # The token holds the version: sending both is refused.
        return state, (Stage(page), ListPage({"limit": str(state.policy.page_limit), "continue": page.token}))
    listed = attrs.evolve(state, version=version, version_refused=False, reason="listed")
    following: Step[F] = _watch(listed, random)
    return following[0], (Stage(page), Swap(version), *following[1])


def _list_failed(state: State, error: ApiError, now_s: float, random: float) -> Step[F]:
    if isinstance(error, Gone) and state.token:
        return _first_page(state, reason="token-expired", everything=True)
    if isinstance(error, Gone | TooLargeResourceVersion) and state.list_version:
        return _first_page(attrs.evolve(state, version_refused=True), reason=_word(error))
    return _sleep(state, error, now_s, random, relist=True)


def _got_staged(state: State, event: Event[F]) -> Step[F]:
    match event:
        case Added() | Removed():
            return state, (Stage(event), ReadEvent())
        case Skipped():
            return state, (Note("skip", event.kind, event), Stage(event), ReadEvent())
        case Bookmark(version, True):
            following = attrs.evolve(
                state,
                phase=Phase.WATCHING,
                version=version,
                version_refused=False,
                stream_failures=0,
                watch_failures=0,
                events=1,
            )
            return following, (Swap(version), ReadEvent())
        case _:
            return state, (ReadEvent(),)  # progress, but no end mark: an ordinary bookmark says nothing about the start


def _stream_failed(state: State, error: ApiError | None, now_s: float, random: float) -> Step[F]:
    state = attrs.evolve(state, stream_failures=state.stream_failures + 1)
    if isinstance(error, Gone | TooLargeResourceVersion):
        return _sleep(attrs.evolve(state, version_refused=True), error, now_s, random, relist=True)
    if isinstance(error, Throttled):
        return _sleep(state, error, now_s, random, relist=True)
    # Refused or cut: the server is away, pages would fare no better. A proxy that always cuts is another matter.
    away = isinstance(error, Unreachable) and not isinstance(error, TimedOut)
    if away and (state.phase is Phase.OPENING_STREAM or state.stream_failures < FAILURES_BEFORE_PAGES):
        return _sleep(state, error, now_s, random, relist=True)
    if isinstance(error, Invalid | BadRequest):
        state = attrs.evolve(state, stream_lists=False)  # the server has no WatchList: asked again once a list does not fit
    return _first_page(state, reason="no-stream")


# -- watching


def _watch_params(state: State, random: float) -> dict[str, str]:
    return {
        "resourceVersion": state.version,
        "allowWatchBookmarks": "true",
        "timeoutSeconds": str(int(state.policy.watch_timeout_s * (1.0 + random))),
    }


def _watch(state: State, random: float) -> Step[F]:
    question = OpenWatch(_watch_params(state, random), state.policy.read_timeout_s)
    return attrs.evolve(state, phase=Phase.OPENING), (Note("watch", state.reason), question)


def _got(state: State, event: Event[F]) -> Step[F]:
    version = state.version
    effects: tuple[Effect[F], ...]
    match event:
        case Added() | Removed():
            version, effects = event.item.version or version, (Apply(event), ReadEvent())
        case Skipped():
            effects = (Note("skip", event.kind, event), ReadEvent())
        case Bookmark(version):
            effects = (Advance(version), ReadEvent())
    return attrs.evolve(state, version=version, events=state.events + 1, watch_failures=0), effects


def _watch_over(state: State, error: ApiError | None, now_s: float, random: float) -> Step[F]:
    lasted = state.phase is Phase.WATCHING and now_s - state.opened_s >= SHORT_WATCH_S
    if error is None and lasted:
        return _watch(attrs.evolve(state, reason="ended"), random)
    if error is None and state.events:
        return _sleep(state, None, now_s, random, relist=False, reason="short")
    if isinstance(error, Gone | TooLargeResourceVersion):
        # The list asks for at least the last version seen; only if that is refused too, for any. After an outage this is the
        # server's first answer: the wait of a failure in a row, half a minute, would keep us deaf for longer than the outage.
        # It cannot repeat without another outage, since the reason of the next watch is the list.
        if state.reason in _OUTAGES:
            state = attrs.evolve(state, backoff=attrs.evolve(state.backoff, failures=0))
        return _sleep(state, error, now_s, random, relist=True)
    if isinstance(error, Unreachable | Throttled):
        if state.phase is Phase.WATCHING and now_s - state.opened_s >= LONG_WATCH_S:
            state = attrs.evolve(state, backoff=attrs.evolve(state.backoff, failures=0))
        return _sleep(state, error, now_s, random, relist=False)
    state = attrs.evolve(state, watch_failures=state.watch_failures + 1)
    servers = error is None or isinstance(error, ServerError)  # a watch that ended at once counts as its fault too
    relist = not servers or state.watch_failures >= FAILURES_BEFORE_RELIST
    return _sleep(state, error, now_s, random, relist=relist, reason="short" if error is None else "")


def _sleep(
    state: State,
    error: ApiError | StoreError | None,
    now_s: float,
    random: float,
    *,
    relist: bool,
    reason: str = "",
) -> Step[F]:
    asked_s = (error.retry_after_s if isinstance(error, ApiError) else None) or 0.0
    backoff, delay_s = state.backoff.next(now_s, random, at_least_s=min(asked_s, RETRY_AFTER_CAP_S))
    reason = reason or (_word(error) if isinstance(error, ApiError) else "")
    state = attrs.evolve(state, phase=Phase.WAITING, relist=relist, reason=reason, backoff=backoff)
    return state, (Discard(), Sleep(delay_s, reason, error))


def _word(error: ApiError) -> str:
    return error.code.lower()
