"""What our server puts into the environ beside what PEP 3333 says, and what the application takes from it."""

from __future__ import annotations

ACCEPTED = "gatehouse.accepted"  # float: monotonic seconds at which the request's first byte was read
CLIENT = "gatehouse.client"  # str: common name of the verified client certificate, "" without one
CLOSE = "gatehouse.close"  # callable: end the connection after this answer; an application may not send Connection itself
