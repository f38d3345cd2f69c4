"""Connections that are opened, used once and closed, as fast as the machine allows."""

from __future__ import annotations

import threading

from tests.server.client import Client, post
from tests.server.replica import PATH, Replica, example_review

THREADS = 3


def open_and_close(running: Replica, count: int) -> None:
    """*count* TLS connections with a review each; every second one ends without a goodbye. Raises the first failure."""
    context = running.trusting()
    body = example_review()
    ways = [["Content-Type: application/json", "Connection: close"], ["Content-Type: application/json"]]
    requests = [post(body, f"{PATH}?timeout=10s", headers) for headers in ways]
    failures: list[BaseException] = []

    def work(first: int) -> None:
        try:
            for number in range(first, count, THREADS):
                with Client(running.address, context) as client:
                    client.send(requests[number % 2])
                    reply = client.reply()
                    assert (reply.status, b'"allowed":true' in reply.body) == (200, True), reply
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=work, args=(first,), name=f"test/opener-{first}") for first in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
