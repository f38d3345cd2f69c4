"""The page over HTTP: who may see it, and what its headers forbid."""

from __future__ import annotations

from collections.abc import Callable
from wsgiref.util import setup_testing_defaults
from wsgiref.validate import validator

import pytest

from controllers.authorization.gate import AUTHORIZED
from controllers.process.probes import metrics_application
from tests.controllers.status.web.scenes import NOW_S, busy
from webhook.telemetry import Telemetry

Get = Callable[..., tuple[str, dict[str, str], str]]


@pytest.fixture
def get() -> Get:
    app = validator(metrics_application(Telemetry(), busy, lambda: NOW_S))

    def ask(path: str = "/status", **environ: str) -> tuple[str, dict[str, str], str]:
        given = {"SCRIPT_NAME": "", "PATH_INFO": path, "QUERY_STRING": "", "REMOTE_ADDR": "127.0.0.1", **environ}
        setup_testing_defaults(given)
        seen: list[tuple[str, dict[str, str]]] = []
        body = app(given, lambda status, headers, exc_info=None: seen.append((status, dict(headers))))
        text = b"".join(body).decode()
        body.close()
        return *seen[0], text

    return ask


def test_the_page_is_html_of_this_moment(get: Get) -> None:
    status, headers, text = get()

    assert status == "200 OK"
    assert headers["Content-Type"] == "text/html; charset=utf-8"
    assert int(headers["Content-Length"]) == len(text.encode())
    assert "2026-11-30 01:30:00 UTC" in text


def test_its_headers_keep_it_to_itself(get: Get) -> None:
    _, headers, _ = get()

    assert headers["Content-Security-Policy"].startswith("default-src 'none'; style-src 'sha256-")
    assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]
    assert headers["Cache-Control"] == "no-store"
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["X-Frame-Options"] == "DENY"
    assert headers["Referrer-Policy"] == "no-referrer"
    assert headers["Cross-Origin-Resource-Policy"] == "same-origin"


def test_only_loopback_may_see_it(get: Get) -> None:
    for peer in ("10.0.0.9", "", "::ffff:10.0.0.9", "nonsense"):
        assert get(REMOTE_ADDR=peer)[0].startswith("403"), peer
    for peer in ("127.0.0.1", "::1", "::ffff:127.0.0.1"):
        assert get(REMOTE_ADDR=peer)[0].startswith("200"), peer


@pytest.mark.parametrize("path", ["/status", "/statusz"])
def test_a_domain_that_was_made_to_point_at_loopback_gets_nothing(get: Get, path: str) -> None:
    for host in ("evil.example", "evil.example:8080", "localhost.evil.example", "127.0.0.1.evil.example:80", "[::1", "", "a b"):
        assert get(path, HTTP_HOST=host)[0].startswith("403"), host
    for host in ("localhost", "localhost:8080", "LOCALHOST", "127.0.0.1:8080", "[::1]:8080", "10.0.0.5:8080"):
        assert get(path, HTTP_HOST=host)[0].startswith("200"), host


def test_whom_the_gate_lets_in_may_see_it_from_anywhere_under_any_name(get: Get) -> None:
    found = {AUTHORIZED: "ann", "REMOTE_ADDR": "10.0.0.9", "HTTP_HOST": "gatehouse-metrics.kube-system.svc"}

    assert get(**found)[0].startswith("200")


def test_it_is_for_reading(get: Get) -> None:
    assert get(REQUEST_METHOD="POST")[0].startswith("405")
    status, headers, text = get(REQUEST_METHOD="HEAD")
    assert status.startswith("200") and text == "" and int(headers["Content-Length"]) > 0


def test_the_query_says_how_often_it_renews_itself(get: Get) -> None:
    assert '<meta http-equiv="refresh" content="30">' in get(QUERY_STRING="refresh=30")[2]
    assert "http-equiv" not in get()[2]
    assert get(QUERY_STRING="&".join(f"a{number}=1" for number in range(100)))[0].startswith("400")


def test_what_there_is_is_said_to_who_asks_for_something_else(get: Get) -> None:
    status, _, text = get("/")

    assert status.startswith("404") and "/status" in text
