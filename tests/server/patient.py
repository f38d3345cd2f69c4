"""Callers who do as they are told: who is sent away with Retry-After comes back after that time, on a new connection."""

from __future__ import annotations

import math
import ssl
import threading
import time

import attrs

from tests.server.client import Client, Reply, post
from tests.server.replica import PATH, Replica, example_review


@attrs.define
class Patience:
    """What all callers met. Seconds, of single attempts."""

    admitted_s: list[float] = attrs.field(factory=list)
    refused_s: list[float] = attrs.field(factory=list)
    faults: list[str] = attrs.field(factory=list)

    def admitted_at(self, quantile: float) -> float:
        """A quantile of the attempts that were answered."""
        return _quantile(self.admitted_s, quantile)

    def refused_at(self, quantile: float) -> float:
        """A quantile of the attempts that were sent away; it includes the handshake of a new connection."""
        return _quantile(self.refused_s, quantile)


def call(running: Replica, callers: int, seconds: float) -> Patience:
    """What *callers* meet within *seconds*."""
    met, end_s = Patience(), time.monotonic() + seconds
    request = post(example_review(), f"{PATH}?timeout=10s", ["Content-Type: application/json"])
    context = running.trusting()
    threads = [
        threading.Thread(target=_call, args=(running.address, context, request, met, end_s), name=f"test/caller-{number}")
        for number in range(callers)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return met


def _call(address: tuple[str, int], context: ssl.SSLContext, request: bytes, met: Patience, end_s: float) -> None:
    client: Client | None = None
    try:
        while time.monotonic() < end_s:
            begin_s = time.monotonic()
            client = client or Client(address, context)
            client.send(request)
            reply = client.reply()
            took_s = time.monotonic() - begin_s
            if reply.status == 200:
                met.admitted_s.append(took_s)
            else:
                met.refused_s.append(took_s)
                met.faults += _unclean(reply)
            if reply.closes:
                client.close()
                client = None
            if reply.status != 200:
                time.sleep(float(reply.headers["retry-after"]))
    except (OSError, EOFError, KeyError) as error:
        met.faults.append(repr(error))
    finally:
        if client is not None:
            client.close()


def _unclean(reply: Reply) -> list[str]:
    clean = (reply.status, reply.headers.get("retry-after"), reply.closes) == (503, "1", True)
    return [] if clean else [str(reply)]


def _quantile(values: list[float], quantile: float) -> float:
    return sorted(values)[max(0, math.ceil(quantile * len(values)) - 1)] if values else math.inf
