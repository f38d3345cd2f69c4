"""SIGTERM while reviews come in: each is answered rightly or sent elsewhere, nothing hangs, nothing leaks onto the wire."""

from __future__ import annotations

import json
import signal
import socket
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import attrs
import pytest

from tests.load.program import Program, Result
from tests.server.balancer import Balancer, Wiretap
from tests.server.client import Client, Reply, post, wait_until
from tests.server.figures import Figures
from tests.server.replica import PATH, Replica, example_review, replica_of_cluster
from tests.server.weakened import LEAVES_WITHIN_S

CALLERS = 6
DELAY_S = 1.5
SETTINGS = f"{{shutdownDelay: {DELAY_S:g}s}}"
# What only a replica that has closed its port may say: there is nobody to connect to.
GONE = {"refused"}


@attrs.frozen
class Departure:
    """One stop under load."""

    result: Result  # of callers that never try again
    probes: list[Reply]  # one after the other, each on a new connection, from the signal on
    answered_s: list[float]  # from the signal to each of them
    seconds: float
    exit_code: int
    wire: Wiretap
    log: str


def probe(running: Replica, replies: list[Reply], answered_s: list[float]) -> None:
    """Reviews on new connections for as long as somebody listens."""
    begin_s = time.monotonic()
    while True:
        try:
            with running.served.connect() as client:
                replies.append(client.post(example_review(), f"{PATH}?timeout=10s", ["Content-Type: application/json"]))
                answered_s.append(time.monotonic() - begin_s)
        except ConnectionRefusedError:
            return
        except OSError:
            continue  # counted by the callers, who judge it
        time.sleep(0.02)


def leave(folder: Path, weakened: Sequence[str] = ()) -> Departure:
    """Let a process go while callers call it directly, and others through a wire that is listened in on."""
    tap, replies, answered_s = Wiretap(), list[Reply](), list[float]()
    with replica_of_cluster(folder, SETTINGS, weakened=weakened) as running:
        with Balancer([lambda: socket.create_connection(running.address)], tap=tap) as wire:
            seconds = DELAY_S + 3.0
            load = running.load(callers=CALLERS, duration_s=seconds, warm_up=50, wait=True)
            overheard = running.load(callers=2, duration_s=seconds, port=wire.port)
            with Program.start(load) as callers, Program.start(overheard) as others:
                callers.wait_until_warm()
                callers.begin()
                wait_until(lambda: running.total("controller_runtime_webhook_requests_total", code="200") > 100)
                begin_s = time.monotonic()
                running.served.process.send_signal(signal.SIGTERM)
                prober = threading.Thread(target=probe, args=(running, replies, answered_s), name="test/prober")
                prober.start()
                exit_code = running.served.process.wait(30)
                took_s = time.monotonic() - begin_s
                prober.join(10)
                result = callers.result()
                others.result()
        return Departure(result, replies, answered_s, took_s, exit_code, tap, running.served.log())


@pytest.fixture(scope="module")
def departure(tmp_path_factory: pytest.TempPathFactory) -> Departure:
    return leave(tmp_path_factory.mktemp("departure"))


def test_no_review_is_answered_wrongly_or_cut(departure: Departure, figures: Figures) -> None:
    errors = {kind: count for kind, count in departure.result.errors.items() if kind not in GONE and kind != "status"}

    figures.add(
        f"SIGTERM under load: cut or wrong, of {departure.result.done} answered", f"{sum(errors.values())}", "0", not errors
    )
    assert errors == {}
    assert set(departure.result.statuses) == {"200", "503"}


def test_it_leaves_in_time_and_in_peace(departure: Departure) -> None:
    assert departure.exit_code == 0, departure.log
    assert DELAY_S <= departure.seconds < DELAY_S + 4.0
    assert "Traceback" not in departure.log


def test_it_serves_through_the_delay_and_then_sends_everybody_elsewhere(departure: Departure) -> None:
    statuses = [reply.status for reply in departure.probes]
    turn = statuses.index(503)

    assert departure.answered_s[turn] > DELAY_S - 0.5  # as long as the cluster has not taken notice
    assert set(statuses[:turn]) == {200}
    assert set(statuses[turn:]) == {503}
    for reply in departure.probes[turn:]:
        assert (reply.headers["retry-after"], reply.closes) == ("1", True)


def test_every_connection_is_told_to_end_from_the_first_moment(departure: Departure) -> None:
    assert all(reply.closes for reply in departure.probes[2:])


def test_nothing_but_tls_is_on_the_wire(departure: Departure) -> None:
    assert departure.wire.octets > 100_000
    assert departure.wire.faults == []


def test_a_process_that_neither_drains_nor_ends_its_connections_would_be_noticed(tmp_path: Path) -> None:
    departure = leave(tmp_path, ["never-drains", "closes-without-a-word"])

    assert 503 not in [reply.status for reply in departure.probes]
    assert not all(reply.closes for reply in departure.probes[2:])


@attrs.frozen
class Hanging:
    """A stop while a review hangs."""

    seconds: float
    exit_code: int
    wire: Wiretap


def hanging_review() -> bytes:
    review = json.loads(example_review())
    review["request"]["uid"] = "hang"
    return json.dumps(review).encode()


def hang(folder: Path, weakened: Sequence[str] = (), bound_s: float = 15.0) -> Hanging:
    """Let a process go whose deadline for leaving is short, while one review is never answered."""
    tap = Wiretap()
    request = post(hanging_review(), f"{PATH}?timeout=10s", ["Content-Type: application/json"])
    with replica_of_cluster(folder, "{shutdownDelay: 0s}", weakened=["hangs", "leaves-early", *weakened]) as running:
        with (
            Balancer([lambda: socket.create_connection(running.address)], tap=tap) as wire,
            Client(("127.0.0.1", wire.port), running.trusting()) as client,
        ):
            client.send(request)
            wait_until(lambda: running.total("gatehouse_server_requests_in_flight") == 1)
            begin_s = time.monotonic()
            running.served.process.send_signal(signal.SIGTERM)
            exit_code = running.served.process.wait(bound_s)
            took_s = time.monotonic() - begin_s
            assert client.ended()
        assert "Traceback" not in running.served.log()
    return Hanging(took_s, exit_code, tap)


def test_a_review_that_hangs_holds_up_nothing_beyond_the_deadline_and_says_nothing(tmp_path: Path) -> None:
    hanging = hang(tmp_path)

    assert LEAVES_WITHIN_S - 0.5 <= hanging.seconds < LEAVES_WITHIN_S + 3.0
    assert hanging.exit_code == 0
    assert hanging.wire.octets > 0
    assert hanging.wire.faults == []


def test_clear_text_on_a_connection_that_is_cut_would_be_noticed(tmp_path: Path) -> None:
    assert hang(tmp_path, ["speaks-in-the-clear"]).wire.faults != []


def test_a_stop_that_waits_for_a_handler_would_be_noticed(tmp_path: Path) -> None:
    with pytest.raises(Exception, match="timed out after"):
        hang(tmp_path, ["waits-for-handlers"], bound_s=LEAVES_WITHIN_S + 3.0)
