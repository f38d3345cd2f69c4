"""The gate as HTTP: who comes through to the pages, and what the others are told."""

from __future__ import annotations

from wsgiref.util import setup_testing_defaults
from wsgiref.validate import validator

import pytest

from controllers.authorization.decision import Outcome, Verdict
from controllers.authorization.gate import AUTHORIZED, protected
from controllers.process.probes import metrics_application
from webhook.telemetry import Telemetry

ELSEWHERE, HERE = "10.1.2.3", "127.0.0.1"


class Table:
    """Decides by the header."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str, str]] = []
        self.peers: list[str] = []

    def authorize(self, header: str, verb: str, path: str, peer: str) -> Verdict:
        self.asked.append((header, verb, path))
        self.peers.append(peer)
        word = header.removeprefix("Bearer ")
        return Verdict(Outcome(word) if word in set(Outcome) else Outcome.UNAUTHENTICATED, "ann", 7)


def get(
    path: str = "/statusz", word: str = "", *, peer: str = ELSEWHERE, method: str = "GET", trust_loopback: bool = False
) -> tuple[str, dict[str, str], str, Table]:
    table = Table()
    app = protected(
        metrics_application(Telemetry(), lambda: {"process": {}}, lambda: 0.0), table, trust_loopback=trust_loopback
    )
    environ = {"PATH_INFO": path, "QUERY_STRING": "", "REQUEST_METHOD": method, "REMOTE_ADDR": peer, "SCRIPT_NAME": ""}
    if word:
        environ["HTTP_AUTHORIZATION"] = f"Bearer {word}"
    setup_testing_defaults(environ)
    seen: list[tuple[str, dict[str, str]]] = []
    body = validator(app)(environ, lambda status, headers, exc_info=None: seen.append((status, dict(headers))))
    text = b"".join(body).decode()
    body.close()
    return *seen[0], text, table


@pytest.mark.parametrize("path", ["/metrics", "/status", "/statusz"])
def test_with_a_good_token_every_page_is_open_from_anywhere(path: str) -> None:
    status, _, _, table = get(path, "allowed")

    assert status == "200 OK"
    assert table.asked == [("Bearer allowed", "get", path)]
    assert table.peers == [ELSEWHERE]


@pytest.mark.parametrize("path", ["/metrics", "/statusz", "/status", "/", "/no-such-page"])
@pytest.mark.parametrize("peer", [ELSEWHERE, HERE])
def test_without_a_token_no_page_is_there(path: str, peer: str) -> None:
    status, headers, _, _ = get(path, peer=peer)

    assert status == "401 Unauthorized"
    assert headers["WWW-Authenticate"] == 'Bearer realm="gatehouse"'


@pytest.mark.parametrize("path", ["/", "/x1", "/metrics/", "/metrics/x", "//metrics", "/STATUSZ", "/statusz?x"])
@pytest.mark.parametrize("word", ["allowed", "forbidden", "nonsense"])
def test_nobody_is_asked_about_a_page_that_is_not_there(path: str, word: str) -> None:
    status, _, text, table = get(path, word)

    assert (status, text) == ("404 Not Found", "have /explain, /metrics, /status, /statusz\n")
    assert table.asked == []


def test_a_token_that_is_not_good_is_told_from_none() -> None:
    status, headers, _, _ = get(word="nonsense")

    assert status == "401 Unauthorized"
    assert headers["WWW-Authenticate"] == 'Bearer realm="gatehouse", error="invalid_token"'


def test_who_may_not_is_told_what_and_which_role_would_let_them() -> None:
    status, _, text, _ = get(word="forbidden")

    assert status == "403 Forbidden"
    assert text == "ann may not get /statusz: bind it to a ClusterRole with {nonResourceURLs: [/statusz], verbs: [get]}\n"


def test_when_nobody_can_say_the_caller_is_asked_to_come_again() -> None:
    status, headers, _, _ = get(word="unavailable")

    assert status == "503 Service Unavailable"
    assert headers["Retry-After"] == "7"


@pytest.mark.parametrize("peer", [HERE, "::1", "::ffff:127.0.0.1"])
def test_loopback_is_trusted_where_the_operator_says_so(peer: str) -> None:
    status, _, _, table = get(peer=peer, trust_loopback=True)

    assert status == "200 OK"
    assert table.asked == []


def test_a_token_is_looked_at_wherever_it_comes_from() -> None:
    assert get(word="forbidden", peer=HERE, trust_loopback=True)[0] == "403 Forbidden"


def test_trust_in_loopback_opens_nothing_to_others() -> None:
    assert get("/metrics", trust_loopback=True)[0] == "401 Unauthorized"


@pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE", "OPTIONS"])
def test_only_reading_is_possible_and_nobody_is_asked_about_the_rest(method: str) -> None:
    status, headers, _, table = get(word="allowed", method=method)

    assert status == "405 Method Not Allowed"
    assert headers["Allow"] == "GET, HEAD, POST"
    assert table.asked == []


def test_what_is_sent_by_post_needs_a_right_to_post() -> None:
    assert get("/explain", "allowed", method="POST")[3].asked == [("Bearer allowed", "post", "/explain")]


def test_whoever_may_get_a_page_may_ask_for_its_head() -> None:
    status, _, text, table = get("/metrics", "allowed", method="HEAD")

    assert (status, text) == ("200 OK", "")
    assert table.asked == [("Bearer allowed", "get", "/metrics")]


def test_a_refused_head_has_no_body() -> None:
    assert get(method="HEAD")[2] == ""


def test_no_header_of_a_request_is_taken_for_the_gate_s_word() -> None:
    seen: list[object] = []

    def pages(environ, start_response):
        seen.append(environ.get(AUTHORIZED))
        return metrics_application(Telemetry(), dict, lambda: 0.0)(environ, start_response)

    environ = {"PATH_INFO": "/statusz", "REQUEST_METHOD": "GET", "REMOTE_ADDR": HERE, AUTHORIZED: "root", "SCRIPT_NAME": ""}
    setup_testing_defaults(environ)
    protected(pages, Table(), trust_loopback=True)(environ, lambda status, headers, exc_info=None: None)

    assert seen == [None]
