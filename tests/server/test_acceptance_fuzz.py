"""Any bytes after the handshake: nothing breaks, nobody is held up. The soak sends a million."""

from __future__ import annotations

import itertools
import random
import socket
import time

import pytest

from tests.server.client import wait_until
from tests.server.conftest import Application, Serve
from tests.server.figures import Figures
from tests.server.fuzz import Bench, Mutator
from webhook.serving import framing
from webhook.serving.limits import ServerLimits

SEED = 20261129
IN_MEMORY_S, ON_THE_WIRE_S = 6.0, 4.0


def test_inputs_in_memory_leave_the_server_sound(figures: Figures) -> None:
    bench, end_s = Bench(), time.monotonic() + IN_MEMORY_S

    for pieces in Mutator(SEED):
        try:
            bench.try_(pieces)
        except Exception as error:
            pytest.fail(f"input {pieces!r}: {error!r}")
        if time.monotonic() > end_s:
            break

    figures.add(
        f"fuzzing, {bench.inputs} inputs in {IN_MEMORY_S:g} s: slowest", f"{bench.slowest_s * 1000:.0f} ms", "< 1000 ms", True
    )
    assert bench.requests > bench.inputs / 200
    assert bench.refusals > bench.inputs / 20


def try_all(count: int) -> None:
    bench = Bench()
    for pieces in itertools.islice(Mutator(SEED), count):
        bench.try_(pieces)


def test_a_length_that_is_not_checked_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def unchecked(current: bool, variables: dict[str, str], limits: ServerLimits) -> int | None:
        return int(variables["CONTENT_LENGTH"]) if "CONTENT_LENGTH" in variables else 0

    monkeypatch.setattr(framing, "_body_bytes", unchecked)

    with pytest.raises((ValueError, AssertionError)):
        try_all(5000)


def test_inputs_through_tls_and_below_it_leave_the_server_sound(serve: Serve) -> None:
    running = serve(app=Application(), threads=2)  # as the validator of PEP 3333 takes offence at unusual methods
    chance = random.Random(SEED)
    end_s = time.monotonic() + ON_THE_WIRE_S
    inputs = 0

    for pieces in Mutator(SEED):
        with running.connect() as client:
            if inputs % 4:
                for piece in pieces:
                    client.send(piece)
            else:  # where TLS records are expected
                client.post(b"x")
                with socket.socket(fileno=client.socket.detach()) as raw:
                    raw.sendall(b"\x17\x03\x03" + b"".join(pieces) if chance.random() < 0.5 else b"".join(pieces))
        inputs += 1
        if time.monotonic() > end_s:
            break

    assert inputs > 100
    assert running.answers_at_once()
    assert running.server.alive()
    wait_until(lambda: running.metric("gatehouse_server_requests_in_flight") == 0)
    wait_until(lambda: running.metric("gatehouse_server_connections") == 0)
    assert running.metric("gatehouse_server_faults_total") == 0
