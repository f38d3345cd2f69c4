"""What the server counts, and how often it says so: a flood of refusals is no flood of lines."""

from __future__ import annotations

import logging

import pytest

from controllers.testing import FakeClock
from webhook.serving.ledger import LOG_INTERVAL_S, Ledger
from webhook.telemetry import Telemetry


@pytest.fixture
def telemetry() -> Telemetry:
    return Telemetry()


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def ledger(telemetry: Telemetry, clock: FakeClock) -> Ledger:
    return Ledger(telemetry, clock)


def told(caplog: pytest.LogCaptureFixture) -> list[tuple[str, dict[str, object]]]:
    return [(record.getMessage(), getattr(record, "facts", {})) for record in caplog.records]


def counted(telemetry: Telemetry) -> set[str]:
    """Samples of the server that are not 0."""
    lines = telemetry.expose().decode().splitlines()
    return {
        line for line in lines if line.startswith("gatehouse_server_") and "_created" not in line and not line.endswith(" 0.0")
    }


def test_each_event_has_its_counter(ledger: Ledger, telemetry: Telemetry) -> None:
    ledger.accepted()
    ledger.shook_hands()
    ledger.handshake_failed("timeout", "10.0.0.1")
    ledger.refused("body-bytes", "10.0.0.1")
    ledger.closed("idle")
    ledger.transferred(3, 0)
    ledger.transferred(0, 5)

    assert counted(telemetry) == {
        "gatehouse_server_connections_accepted_total 1.0",
        'gatehouse_server_handshakes_total{result="ok"} 1.0',
        'gatehouse_server_handshakes_total{result="timeout"} 1.0',
        'gatehouse_server_refused_total{reason="body-bytes"} 1.0',
        'gatehouse_server_connections_closed_total{reason="idle"} 1.0',
        'gatehouse_server_bytes_total{direction="in"} 3.0',
        'gatehouse_server_bytes_total{direction="out"} 5.0',
    }


def test_gauges_are_read_when_they_are_scraped(ledger: Ledger, telemetry: Telemetry) -> None:
    now = {"connections": 1.0}
    ledger.watch(
        connections=lambda: now["connections"],
        unproven=lambda: 2.0,
        in_flight=lambda: 3.0,
        queued=lambda: 4.0,
        buffered_bytes=lambda: 5.0,
    )

    now["connections"] = 7.0

    assert counted(telemetry) == {
        "gatehouse_server_connections 7.0",
        "gatehouse_server_connections_unproven 2.0",
        "gatehouse_server_requests_in_flight 3.0",
        "gatehouse_server_requests_queued 4.0",
        "gatehouse_server_buffered_bytes 5.0",
    }


def test_of_many_refusals_for_one_reason_one_line_says_how_many_there_were(
    ledger: Ledger, clock: FakeClock, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    for number in range(5):
        ledger.refused("header", f"10.0.0.{number}")
    clock.advance(LOG_INTERVAL_S)
    ledger.refused("header", "10.0.0.9")
    clock.advance(LOG_INTERVAL_S)
    ledger.refused("header", "10.0.0.10")

    assert told(caplog) == [
        ("refused", {"reason": "header", "peer": "10.0.0.0"}),
        ("refused", {"reason": "header", "peer": "10.0.0.9", "also": 4}),
        ("refused", {"reason": "header", "peer": "10.0.0.10"}),
    ]


def test_each_reason_has_lines_of_its_own(ledger: Ledger, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)

    ledger.refused("header", "a")
    ledger.refused("chunk", "a")
    ledger.handshake_failed("header", "a")

    assert [(message, facts["reason"]) for message, facts in told(caplog)] == [
        ("refused", "header"),
        ("refused", "chunk"),
        ("handshake failed", "header"),
    ]


@pytest.mark.parametrize("result", ["eof", "reset"])
def test_a_probe_that_only_looks_in_is_counted_and_not_told(
    result: str, ledger: Ledger, telemetry: Telemetry, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)

    ledger.handshake_failed(result, "10.0.0.1")

    assert (len(counted(telemetry)), told(caplog)) == (1, [])


def test_a_fault_of_ours_is_counted_and_told_with_its_trace(
    ledger: Ledger, telemetry: Telemetry, caplog: pytest.LogCaptureFixture
) -> None:
    ledger.fault("it broke", ValueError("here"))

    (record,) = caplog.records
    assert (record.levelno, record.getMessage(), record.exc_info is not None) == (logging.ERROR, "it broke", True)
    assert counted(telemetry) == {"gatehouse_server_faults_total 1.0"}
