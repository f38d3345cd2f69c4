"""What a client may take of the server: every figure a limit, none of them a wish.

The defaults fit one kube-apiserver (25 idle connections a host, kept 90 s; reviews up to 7 MiB; calls up to 30 s) with
room for several, and hold the worst that a stranger can do to bounded memory. Pure values.

Source: apiserver pkg/util/webhook, Go net/http Transport, controller-runtime pkg/webhook/admission (body limit).
"""

from __future__ import annotations

from typing import Any

import attrs

MIB = 2**20


def _positive(_: Any, attribute: attrs.Attribute[Any], value: float) -> None:
    if not value > 0:
        raise ValueError(f"{attribute.name}: {value} is not above zero")


@attrs.frozen
class ServerLimits:
    """Limits of one server. Times are seconds, sizes bytes.

    handshake_s, head_s:   from the accept, and from a request's first byte, until the handshake or the head is whole
    request_s:             time for a whole request whose query names no `timeout`
    request_cap_s:         the longest `timeout` that is honoured
    idle_s:                a connection between requests; above the 90 s of Go's transport, so that the client closes first
    write_s:               until the client has taken the whole answer
    linger_s:              how long what a refused client still sends is read and dropped, so that the refusal arrives
    head_bytes, target_bytes, header_count: of one head
    body_bytes:            of one decoded body; two objects of at most 3 MiB and the envelope
    chunk_count:           chunks of one body; bounds the work that tiny chunks make
    buffered_bytes:        of all requests not yet answered and all answers not yet sent, over all connections
    connections:           open at once; the oldest idle one makes room
    unproven_connections:  of these, those that have not completed a request; the oldest makes room
    queue_length:          whole requests waiting for a free thread; beyond it the answer is 503
    requests_per_connection, connection_age_s: after about as many (jittered by a quarter) an answer ends the connection
    """

    handshake_s: float = attrs.field(default=5.0, validator=_positive)
    head_s: float = attrs.field(default=5.0, validator=_positive)
    request_s: float = attrs.field(default=10.0, validator=_positive)
    request_cap_s: float = attrs.field(default=30.0, validator=_positive)
    idle_s: float = attrs.field(default=120.0, validator=_positive)
    write_s: float = attrs.field(default=10.0, validator=_positive)
    linger_s: float = attrs.field(default=2.0, validator=_positive)
    head_bytes: int = attrs.field(default=64 * 1024, validator=_positive)
    target_bytes: int = attrs.field(default=8 * 1024, validator=_positive)
    header_count: int = attrs.field(default=128, validator=_positive)
    body_bytes: int = attrs.field(default=7 * MIB, validator=_positive)
    chunk_count: int = attrs.field(default=16 * 1024, validator=_positive)
    buffered_bytes: int = attrs.field(default=128 * MIB, validator=_positive)
    connections: int = attrs.field(default=4096, validator=_positive)
    unproven_connections: int = attrs.field(default=512, validator=_positive)
    queue_length: int = attrs.field(default=256, validator=_positive)
    requests_per_connection: int = attrs.field(default=10_000, validator=_positive)
    connection_age_s: float = attrs.field(default=300.0, validator=_positive)
