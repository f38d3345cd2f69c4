"""The end of a listener."""

from __future__ import annotations

import select
import socket
from contextlib import ExitStack, closing

import pytest

from webhook.clock import SystemClock
from webhook.serving.acceptor import Acceptor
from webhook.serving.connections import Connection, ConnectionTable
from webhook.serving.exchange import Exchange
from webhook.serving.ledger import Ledger
from webhook.serving.limits import ServerLimits
from webhook.telemetry import Telemetry


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_who_has_connected_before_a_listener_closes_is_let_in_and_nobody_after(host: str) -> None:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    limits, clock = ServerLimits(), SystemClock()
    table, ledger, opened = ConnectionTable(limits), Ledger(Telemetry(), clock), list[Connection]()
    exchange = Exchange(table, limits, ledger, clock, lambda tls: "")
    listener = socket.create_server((host, 0), family=family, backlog=200)
    address = listener.getsockname()[:2]
    with ExitStack() as stack, closing(select.epoll()) as poll:
        acceptor = Acceptor(
            listener,
            poll,
            table,
            exchange,
            opened=opened.append,
            context=lambda: None,
            limits=limits,
            ledger=ledger,
            clock=clock,
        )
        early = [stack.enter_context(socket.create_connection(address, timeout=5)) for _ in range(150)]

        acceptor.turn_away()
        with pytest.raises(TimeoutError):
            stack.enter_context(socket.create_connection(address, timeout=0.3))
        acceptor.close()

        with pytest.raises(ConnectionRefusedError):
            stack.enter_context(socket.create_connection(address, timeout=5))
        assert len(opened) == len(early)
        for client in early:
            client.sendall(b"here")
        assert {connection.channel.receive() for connection in opened} == {b"here"}
        for connection in opened:
            exchange.close(connection)
