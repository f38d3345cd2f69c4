"""How questions are shared: whoever causes many of them leaves room for the others."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from controllers.authorization.authorizer import Authorizer, Bounds
from controllers.authorization.decision import ACCESS_REVIEWS, TOKEN_REVIEWS, Outcome
from controllers.authorization.sharing import Allowances, Seats, party_at
from controllers.testing.clock import FakeClock
from tests.controllers.authorization.cluster import PROMETHEUS, READER, Reviews
from tests.controllers.authorization.test_authorizer import Scene
from webhook.clock import SystemClock
from webhook.telemetry import Telemetry

MONITORING, STRANGE = "10.1.1.1", "10.2.2.2"
USER = "system:serviceaccount:shop:web"


def test_a_new_good_token_gets_through_while_another_address_invents_tokens() -> None:
    scene = Scene()
    for second in range(120):
        for number in range(50):
            scene.authorize(f"invented-{second}-{number}", peer=STRANGE)
        if second % 10 == 0:
            scene.api.users[f"new-{second}"] = scene.api.users[READER]
            assert scene.authorize(f"new-{second}", peer=MONITORING).outcome is Outcome.ALLOWED, second
        scene.clock.advance(1.0)

    assert scene.api.count(TOKEN_REVIEWS) < 120


def test_addresses_of_one_ipv6_network_share_what_they_may_cause() -> None:
    scene = Scene()
    for number in range(500):
        scene.authorize(f"invented-{number}", peer=f"2001:db8::{number:x}")

    assert scene.api.count(TOKEN_REVIEWS) == 5
    assert scene.authorize(peer="2001:db8:0:1::5").outcome is Outcome.ALLOWED


def test_a_user_with_many_good_tokens_uses_up_a_share_of_their_own() -> None:
    scene = Scene()
    tokens = [f"token-{number}" for number in range(100)]
    scene.api.users |= {token: {"username": USER, "extra": {"id": [token]}} for token in tokens}
    for number, token in enumerate(tokens):  # from many addresses, so that all of them become known
        scene.authorize(token, peer=f"10.3.0.{number}")
        scene.clock.advance(1.0)
    scene.clock.advance(60.0)
    before = sum(scene.asked())
    for _ in range(60):
        for token in tokens:
            scene.authorize(token, "/statusz", STRANGE)
        scene.clock.advance(1.0)

    assert sum(scene.asked()) - before <= 75
    assert scene.authorize(peer=MONITORING).outcome is Outcome.ALLOWED


def test_an_address_whose_questions_hang_leaves_seats_for_others() -> None:
    api, waiting, go = Reviews(), threading.Semaphore(0), threading.Event()
    authorizer = Authorizer(api, Telemetry(), SystemClock(), Bounds(at_once=4, at_once_each=2))

    def slow() -> None:
        waiting.release()
        assert go.wait(10.0)

    api.before = slow
    with ThreadPoolExecutor(2) as pool:
        hanging = [pool.submit(authorizer.authorize, f"Bearer no-{number}", "get", "/metrics", STRANGE) for number in range(2)]
        assert all(waiting.acquire(timeout=10.0) for _ in range(2))
        assert authorizer.authorize("Bearer no-3", "get", "/metrics", STRANGE).outcome is Outcome.UNAVAILABLE
        api.before = lambda: None
        assert authorizer.authorize(f"Bearer {READER}", "get", "/metrics", MONITORING).outcome is Outcome.ALLOWED
        go.set()
        assert {answer.result(10.0).outcome for answer in hanging} == {Outcome.UNAUTHENTICATED}


def test_what_is_refused_fills_no_log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    scene = Scene(Bounds(user_per_s=1000.0))
    for number in range(300):
        scene.authorize(path=f"/{number}")

    assert scene.api.count(ACCESS_REVIEWS) == 300
    assert len([record for record in caplog.records if PROMETHEUS in str(vars(record))]) <= 5


def test_seats_come_back() -> None:
    seats = Seats(2, 1)

    assert seats.take(b"a")
    assert not seats.take(b"a")
    assert seats.take(b"b")
    assert not seats.take(b"c")
    seats.give_back(b"a")
    assert seats.take(b"c")


def test_an_allowance_fills_again_and_only_so_many_are_remembered() -> None:
    clock = FakeClock()
    allowances = Allowances(1.0, 2, clock, kept=10)

    assert [allowances.take(b"a") for _ in range(3)] == [True, True, False]
    clock.advance(1.0)
    assert [allowances.take(b"a") for _ in range(2)] == [True, False]
    for number in range(1000):
        allowances.take(str(number).encode())
    assert len(vars(allowances)["_limits"]) == 10


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("10.0.0.1", "10.0.0.2", False),
        ("10.0.0.1", "::ffff:10.0.0.1", True),
        ("2001:db8::1", "2001:db8::2", True),
        ("2001:db8::1", "2001:db8:0:1::1", False),
        ("fe80::1%eth0", "fe80::2%eth1", True),
        ("", "unix", True),
    ],
)
def test_an_address_is_a_party(one: str, other: str, same: bool) -> None:
    assert (party_at(one) == party_at(other)) is same
