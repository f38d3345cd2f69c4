"""A list read in the pieces in which it arrives: its end, its faults, and what they leave behind."""

from __future__ import annotations

from pathlib import Path

import pytest

from controllers.runtime import errors
from controllers.runtime.rest import RestClient
from controllers.testing import FakeApi
from controllers.testing.answers import Exchange, body, drip
from tests.controllers.runtime.test_rest import connect

NODES = "/api/v1/nodes"


def short(exchange: Exchange) -> None:
    """Half of a list, then the end of the connection."""
    exchange.begin()
    exchange.chunk(b'{"kind":"NodeList"')
    exchange.cut()


def test_a_listing_that_is_read_whole_leaves_its_connection_to_the_next(api: FakeApi, client: RestClient) -> None:
    ports: list[int] = []

    def answer(exchange: Exchange) -> None:
        ports.append(exchange._handler.client_address[1])
        exchange.respond(200, b"{}")

    api.always("list", answer)

    for _ in range(3):
        with client.listing(NODES, {}) as pieces:
            assert b"".join(pieces) == b"{}"

    assert len(set(ports)) == 1


def test_a_listing_that_is_left_early_does_not_spoil_the_next_request(api: FakeApi, client: RestClient) -> None:
    api.next("list", body(b"x" * 2**21))

    with client.listing(NODES, {}) as pieces:
        assert next(iter(pieces)).startswith(b"x")

    assert client.get(NODES)["kind"] == "NodeList"


def test_a_listing_that_is_cut_is_unreachable(api: FakeApi, client: RestClient) -> None:
    api.next("list", short)

    with pytest.raises(errors.Unreachable), client.listing(NODES, {}) as pieces:
        list(pieces)


def test_a_dripping_listing_does_not_outlive_its_timeout(api: FakeApi, tmp_path: Path) -> None:
    api.next("list", drip(b"{" + b" " * 1000, 0.01))

    with pytest.raises(errors.TimedOut), connect(api, tmp_path, list_timeout_s=0.2).listing(NODES, {}) as pieces:
        list(pieces)
