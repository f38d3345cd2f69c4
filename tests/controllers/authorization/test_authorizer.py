"""Verdicts: how long they stand, what asking them costs, and what happens when the API server does not answer."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from controllers.authorization.authorizer import Authorizer, Bounds
from controllers.authorization.decision import ACCESS_REVIEWS, TOKEN_REVIEWS, Outcome, Verdict
from controllers.runtime.errors import Forbidden, ServerError, Throttled, TimedOut, Unreachable
from controllers.testing.clock import FakeClock
from tests.controllers.authorization.cluster import PROMETHEUS, READER, STRANGER, Reviews
from webhook.clock import SystemClock
from webhook.telemetry import Telemetry

BOUNDS = Bounds()
HERE = "10.9.9.9"


class Scene:
    def __init__(self, bounds: Bounds = BOUNDS) -> None:
        self.api, self.clock, self.telemetry = Reviews(), FakeClock(), Telemetry()
        self.authorizer = Authorizer(self.api, self.telemetry, self.clock, bounds)

    def authorize(self, token: str = READER, path: str = "/metrics", peer: str = HERE) -> Verdict:
        return self.authorizer.authorize(f"Bearer {token}" if token else "", "get", path, peer)

    def asked(self) -> tuple[int, int]:
        """Token reviews and access reviews so far."""
        return self.api.count(TOKEN_REVIEWS), self.api.count(ACCESS_REVIEWS)


def test_whom_the_cluster_allows_is_allowed_and_called_by_name() -> None:
    assert Scene().authorize() == Verdict(Outcome.ALLOWED, PROMETHEUS)


def test_another_path_needs_a_right_of_its_own() -> None:
    scene = Scene()

    assert scene.authorize().outcome is Outcome.ALLOWED
    assert scene.authorize(path="/statusz").outcome is Outcome.FORBIDDEN
    assert scene.asked() == (1, 2)


@pytest.mark.parametrize("token", ["", "two words", STRANGER])
def test_who_shows_no_good_token_is_nobody(token: str) -> None:
    scene = Scene()

    assert scene.authorize(token).outcome is Outcome.UNAUTHENTICATED
    assert scene.asked() == (1 if token == STRANGER else 0, 0)


def test_an_identity_stands_a_minute_and_a_right_five() -> None:
    scene = Scene()
    for second in range(0, 301, 10):
        scene.authorize()
        assert scene.asked() == (second // 60 + 1, second // 300 + 1), second
        scene.clock.advance(10.0)


def test_a_token_that_is_revoked_is_refused_within_a_minute() -> None:
    scene = Scene()
    scene.authorize()
    scene.api.users.clear()
    scene.clock.advance(BOUNDS.identity_s)

    assert scene.authorize().outcome is Outcome.UNAUTHENTICATED


def test_a_refusal_stands_half_a_minute() -> None:
    scene = Scene()
    assert scene.authorize(path="/statusz").outcome is Outcome.FORBIDDEN
    scene.api.may.add((PROMETHEUS, "get", "/statusz"))

    scene.clock.advance(BOUNDS.deny_s - 1)
    assert scene.authorize(path="/statusz").outcome is Outcome.FORBIDDEN
    scene.clock.advance(1.0)
    assert scene.authorize(path="/statusz").outcome is Outcome.ALLOWED


@pytest.mark.parametrize(
    ("error", "retry_after_s"),
    [
        (Unreachable("refused"), 1),
        (TimedOut("nothing came"), 1),
        (Throttled("busy", status=429, retry_after_s=7.2), 8),
        (ServerError("broken", status=500), 1),
        (Forbidden("may not create tokenreviews", status=403), 1),
    ],
)
def test_without_an_answer_nobody_is_let_in_and_the_caller_is_told_when_to_come_again(
    error: Exception, retry_after_s: int
) -> None:
    scene = Scene()
    scene.api.error = error  # type: ignore[assignment]

    assert scene.authorize() == Verdict(Outcome.UNAVAILABLE, retry_after_s=retry_after_s)


def test_an_api_server_that_is_away_is_asked_once_a_second() -> None:
    scene = Scene()
    scene.api.error = Unreachable("refused")
    for _ in range(20):
        assert scene.authorize().outcome is Outcome.UNAVAILABLE
    assert scene.asked() == (1, 0)

    scene.clock.advance(1.0)
    scene.api.error = None
    assert scene.authorize().outcome is Outcome.ALLOWED


def test_what_was_allowed_is_not_while_nobody_can_be_asked_any_more() -> None:
    scene = Scene()
    scene.authorize()
    scene.api.error = Unreachable("refused")

    scene.clock.advance(BOUNDS.identity_s - 1)
    assert scene.authorize().outcome is Outcome.ALLOWED
    scene.clock.advance(1.0)
    assert scene.authorize().outcome is Outcome.UNAVAILABLE


def test_each_question_has_a_deadline() -> None:
    scene = Scene()
    scene.authorize()

    assert [timeout_s for _, _, timeout_s in scene.api.bodies] == [BOUNDS.call_s, BOUNDS.call_s]


def test_both_questions_share_one_deadline() -> None:
    scene = Scene()
    scene.api.before = lambda: scene.clock.advance(2.9)
    scene.authorize()

    assert scene.api.bodies[1][2] == pytest.approx(BOUNDS.total_s - 2.9)


def test_many_requests_with_one_token_are_one_question() -> None:
    api, waiting, go = Reviews(), threading.Semaphore(0), threading.Event()
    authorizer = Authorizer(api, Telemetry(), SystemClock())

    def slow() -> None:
        waiting.release()
        assert go.wait(10.0)

    api.before = slow
    with ThreadPoolExecutor(8) as pool:
        answers = [pool.submit(authorizer.authorize, f"Bearer {READER}", "get", "/metrics", HERE) for _ in range(8)]
        assert waiting.acquire(timeout=10.0)
        go.set()
        assert {answer.result(10.0).outcome for answer in answers} == {Outcome.ALLOWED}

    assert (api.count(TOKEN_REVIEWS), api.count(ACCESS_REVIEWS)) == (1, 1)


def test_no_more_questions_are_open_at_once_than_allowed_and_who_is_known_is_answered_all_the_same() -> None:
    api, waiting, go = Reviews(), threading.Semaphore(0), threading.Event()
    api.users |= {f"token-{number}": {"username": f"user-{number}"} for number in range(2)}
    authorizer = Authorizer(api, Telemetry(), SystemClock(), Bounds(at_once=2))
    assert authorizer.authorize(f"Bearer {READER}", "get", "/metrics", HERE).outcome is Outcome.ALLOWED

    def slow() -> None:
        waiting.release()
        assert go.wait(10.0)

    api.before = slow
    with ThreadPoolExecutor(2) as pool:
        answers = [
            pool.submit(authorizer.authorize, f"Bearer token-{number}", "get", "/metrics", f"10.0.0.{number}")
            for number in range(2)
        ]
        assert all(waiting.acquire(timeout=10.0) for _ in range(2))

        assert authorizer.authorize("Bearer third", "get", "/metrics", HERE).outcome is Outcome.UNAVAILABLE
        assert authorizer.authorize(f"Bearer {READER}", "get", "/metrics", HERE).outcome is Outcome.ALLOWED
        go.set()
        assert {answer.result(10.0).outcome for answer in answers} == {Outcome.FORBIDDEN}


def test_invented_tokens_neither_load_the_api_server_nor_keep_out_who_is_known() -> None:
    scene = Scene()
    scene.authorize()
    scene.clock.advance(BOUNDS.identity_s)
    before = scene.api.count(TOKEN_REVIEWS)
    outcomes = [scene.authorize(f"invented-{number}").outcome for number in range(500)]

    assert scene.api.count(TOKEN_REVIEWS) - before <= 10
    assert outcomes.count(Outcome.UNAVAILABLE) >= 490
    assert scene.authorize().outcome is Outcome.ALLOWED


def test_what_is_kept_is_bounded_and_holds_no_token() -> None:
    scene = Scene(Bounds(kept=10, strangers_per_s=1000.0, address_per_s=1000.0))
    for number in range(100):
        scene.authorize(f"invented-{number}")

    held = vars(scene.authorizer)["_identities"]
    assert len(vars(held)["_kept"]) == 10
    assert "invented" not in repr(vars(held)["_kept"]._values)


def test_nothing_that_is_logged_or_counted_has_the_token(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG")
    scene = Scene()
    scene.authorize(path="/statusz")
    scene.api.error = Unreachable("refused")
    scene.authorize(STRANGER)

    lines = "".join(f"{record.getMessage()} {record.__dict__}" for record in caplog.records)
    assert PROMETHEUS in lines
    assert READER not in lines + scene.telemetry.expose().decode()
    assert STRANGER not in lines + scene.telemetry.expose().decode()


def test_that_nobody_can_be_asked_is_said_once_and_that_it_is_over_too(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    scene = Scene()
    scene.authorize()
    scene.api.error = Forbidden("may not create tokenreviews", status=403)
    for _ in range(5):
        scene.authorize(STRANGER)
        scene.authorize()  # out of what is kept, which says nothing of the API server
        scene.clock.advance(1.0)
    scene.api.error = None
    scene.authorize(STRANGER)

    said = [record.getMessage() for record in caplog.records if "API server" in record.getMessage()]
    assert [line.partition(" who ")[0] for line in said] == [
        "the API server says nothing about",
        "the API server says again",
    ]


def test_what_invented_tokens_cause_is_not_blamed_on_the_api_server(caplog: pytest.LogCaptureFixture) -> None:
    scene = Scene()
    for number in range(50):
        scene.authorize(f"invented-{number}")

    assert not [record for record in caplog.records if "API server" in record.getMessage()]


def test_each_outcome_is_counted() -> None:
    scene = Scene()
    scene.authorize()
    scene.authorize("")

    text = scene.telemetry.expose().decode()
    assert 'gatehouse_metrics_requests_total{outcome="allowed"} 1.0' in text
    assert 'gatehouse_metrics_requests_total{outcome="unauthenticated"} 1.0' in text
