"""What an election shows of itself: the last answer, failures by reason, a record of a length beyond reason."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import attrs
import pytest

from controllers.runtime.election import Candidate, Moment, Seen, State, Woke, Written, step
from controllers.runtime.errors import Forbidden, Unreachable
from controllers.runtime.lease_contact import LeaseContact, standing
from controllers.testing import FakeClock
from tests.controllers.runtime.test_election import FOREIGN, Machine, leader, lease, written
from webhook.telemetry import Telemetry

CANDIDATE = Candidate("a", "kube-system", "gatehouse")


class Contact:
    """One candidate's, on a clock that stands still."""

    def __init__(self) -> None:
        self.clock, self.telemetry = FakeClock(), Telemetry()
        self.contact = LeaseContact(CANDIDATE, self.telemetry, self.clock)

    def sample(self, line: str) -> float:
        found = [text for text in self.telemetry.expose().decode().splitlines() if text.startswith(line + " ")]
        return float(found[0].rsplit(" ", 1)[1])


@pytest.fixture
def made() -> Contact:
    return Contact()


@pytest.fixture
def lines(caplog: pytest.LogCaptureFixture) -> Callable[[], list[str]]:
    caplog.set_level(logging.INFO, "gatehouse")
    return lambda: [record.getMessage() for record in caplog.records if record.name == "gatehouse.elector"]


def test_the_time_since_the_last_answer_is_a_metric_and_counts_from_the_start(made: Contact) -> None:
    gauge = 'gatehouse_leader_election_last_contact_seconds{name="gatehouse"}'
    made.clock.advance(7.0)
    before = made.sample(gauge)

    made.contact.answered()
    made.clock.advance(3.0)

    assert (before, made.sample(gauge)) == (7.0, 3.0)
    assert made.contact.status() == {"lastContactSeconds": 3.0, "lastError": None}


def test_a_missing_right_is_counted_by_its_reason_and_shown_until_a_request_passes(made: Contact) -> None:
    made.contact.failed(Forbidden("GET /lease: 403 no", status=403))
    shown = made.contact.status()

    made.contact.answered()

    assert shown == {"lastContactSeconds": None, "lastError": "GET /lease: 403 no"}
    assert made.contact.status()["lastError"] is None
    assert made.sample('gatehouse_leader_election_failures_total{name="gatehouse",reason="Forbidden"}') == 1


def test_tries_that_fail_alike_are_a_line_now_and_then(made: Contact, lines: Callable[[], list[str]]) -> None:
    for _ in range(30):
        made.contact.failed(Unreachable("refused"))
        made.clock.advance(2.0)
    made.contact.answered()

    assert lines() == ["lease request failed"] * 6 + ["lease requests pass again"]


def test_a_length_beyond_reason_is_said_once_and_then_every_minute(made: Contact, lines: Callable[[], list[str]]) -> None:
    machine = Machine()
    machine.see(Woke())
    machine.see(Seen(lease(attrs.evolve(FOREIGN, duration_s=100_000))))
    for _ in range(70):
        made.contact.waits_for(machine.state, machine.wait(2.0).now)

    assert len(lines()) == 3


def test_an_ordinary_lease_is_not_worth_a_line(made: Contact, lines: Callable[[], list[str]]) -> None:
    machine = Machine()
    machine.see(Woke())
    machine.see(Seen(lease(FOREIGN)))

    made.contact.waits_for(machine.state, machine.now)

    assert lines() == []


def shown(machine: Machine) -> dict[str, Any]:
    return {key: value for key, value in standing(machine.state, machine.now, machine.leading).items() if value}


def test_a_holder_leads_until_its_lease_has_run_out() -> None:
    machine = Machine()
    machine.see(Woke())
    machine.see(Seen(lease(FOREIGN)))

    fresh = shown(machine)
    machine.wait(30.0)

    assert fresh == {"holder": "b", "leader": "b", "seen": True}
    assert shown(machine) == {"holder": "b", "holderExpiredSeconds": 10.0, "leaseAgeSeconds": 30.0, "seen": True}


def test_who_settles_does_not_lead_yet() -> None:
    machine = Machine()
    machine.see(Woke())
    created = machine.see(Seen(lease(attrs.evolve(FOREIGN, holder=""))))
    machine.see(Written(written(created)))

    assert shown(machine) == {"holder": "a", "settlesInSeconds": 20.0, "seen": True}


def test_a_leader_says_so_itself() -> None:
    assert shown(leader()) == {"leading": True, "holder": "a", "leader": "a", "seen": True}


def test_before_the_first_answer_nothing_is_known() -> None:
    now = Moment(1.0, 1.0, 1.0)

    assert not any(standing(step(State(CANDIDATE), Woke(), now, 0.0)[0], now, False).values())
