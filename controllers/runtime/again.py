"""A request that got no answer is made once more, on a new connection.

For callers whose failure is somebody's refused write. The first attempt may have reached the server, so only requests that
stand being made twice belong here: reads, writes that a version guards, and creations by name whose AlreadyExists is looked
into. Everything else is repeated by whoever asked for it.

Threads: any; the caller blocks as long as both attempts do.
Errors:  those of the last attempt.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from controllers.runtime.errors import HeldBack, Unreachable
from controllers.runtime.transport import on_new_connections
from webhook.clock import Deadline
from webhook.logs import get_log

log = get_log("again")

T = TypeVar("T")


def asked_again(attempt: Callable[[bool], T], deadline: Deadline) -> T:
    """What *attempt* gives; a second one is made when nothing was heard of the first and *deadline* leaves time.

    attempt: one request, bounded by itself; told whether an earlier one may have got through.
    Answers of every kind, refusals too, stand; our own rate limit would only hold a second request back as well.
    """
    try:
        return attempt(False)
    except HeldBack:
        raise
    except Unreachable as error:
        if deadline.expired():
            raise
        log.debug("asked again on a new connection", error=error)
    # Not one of those that are kept: trust in them may have been restored a moment before they went dark.
    with on_new_connections():
        return attempt(True)
