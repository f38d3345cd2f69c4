"""A request that got no answer is made once more, on a new connection.

For callers whose failure is somebody's refused write. The first attempt may have reached the server, so only requests that
stand being made twice belong here: reads, writes that a version guards, and creations by name whose AlreadyExists is looked
into. Everything else is repeated by whoever asked for it.

Threads: any; the caller blocks as long as both attempts do.
Errors:  those of the last attempt, whose cause is the first one's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar

from controllers.runtime.errors import ApiError, HeldBack, TimedOut, Unreachable
from controllers.runtime.transport import on_new_connections
from webhook.clock import Deadline
from webhook.logs import get_log

log = get_log("again")

# Of a second attempt: TCP, TLS and the request are three round trips. In less time it would be lost too, and leave a write.
LEAST_S: Final = 0.1

T = TypeVar("T")


def asked_again(attempt: Callable[[float], T], deadline: Deadline, *, most_s: float, least_s: float = LEAST_S) -> T:
    """What *attempt* gives; a second one is made when nothing was heard of the first and *deadline* leaves it *least_s*.

    attempt: one request, told the seconds that it may take: *most_s*, or what is left when that is less.
    Raises TimedOut when nothing is left for the first.
    """
    try:
        return attempt(time_left_s(deadline, most_s))
    except Unreachable as error:
        if not may_ask_again(error, deadline, least_s):
            raise
        log.debug("asked again on a new connection", error=error)
        first = error
    # Not one of those that are kept: trust in them may have been restored a moment before they went dark.
    with on_new_connections():
        try:
            return attempt(time_left_s(deadline, most_s))
        except ApiError as second:
            raise second from first


def may_ask_again(error: ApiError, deadline: Deadline, least_s: float = LEAST_S) -> bool:
    """Whether nothing was heard of a request that failed with *error*, and *deadline* leaves *least_s* for another.

    Answers of every kind, refusals too, stand; our own rate limit would only hold a second request back as well.
    """
    unheard = isinstance(error, Unreachable) and not isinstance(error, HeldBack)
    return unheard and deadline.remaining_s() >= least_s


def time_left_s(deadline: Deadline, most_s: float) -> float:
    """For the next request. Raises TimedOut when that is nothing."""
    left_s = min(most_s, deadline.remaining_s())
    if left_s <= 0:
        raise TimedOut("no time is left to ask")
    return left_s
