"""A connection to a host of several addresses within one time: urllib3 grants the whole of it to each of them.

Three API servers behind one name, two of them gone, are ordinary; a request that has 3 s must not take 9 to find the third,
and must not reach it when its caller has long been told that it failed.
Threads: any; blocks at most for the connection's `timeout`, after the name has been resolved.
Errors:  those of the way to the last address.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from typing import Any, TypeVar

from urllib3.exceptions import ConnectTimeoutError, NewConnectionError

T = TypeVar("T")


def to_any_address(connection: Any, connect: Callable[[Any], T]) -> T:
    """What *connect* (urllib3's `_new_conn`) returns for the first address of the host that answers; each gets its share."""
    host, whole_s = connection._dns_host, connection.timeout
    addresses = _addresses(connection)
    if not addresses or not isinstance(whole_s, int | float):
        return connect(connection)
    ends_s = time.monotonic() + whole_s
    try:
        for index, address in enumerate(addresses):
            connection._dns_host = address  # also of one alone: its name is not to be resolved twice
            connection.timeout = max(0.001, (ends_s - time.monotonic()) / (len(addresses) - index))
            try:
                return connect(connection)
            except (ConnectTimeoutError, NewConnectionError):
                if index + 1 == len(addresses):
                    raise
        raise AssertionError("the last address answers or raises")
    finally:
        connection._dns_host, connection.timeout = host, whole_s


def _addresses(connection: Any) -> list[str]:
    """Of its host; none when they cannot be had, which is told best by whoever tries to connect."""
    try:
        found = socket.getaddrinfo(connection._dns_host.strip("[]"), connection.port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return []
    if any(len(one[4]) > 2 and one[4][3] for one in found):  # link-local: the number alone does not say on which link
        return []
    return list(dict.fromkeys(str(one[4][0]) for one in found))
