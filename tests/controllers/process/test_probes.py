"""Probes: groups, services, verbose, exclude, and nothing told to strangers."""

from __future__ import annotations

from wsgiref.util import setup_testing_defaults
from wsgiref.validate import validator

import pytest

from controllers.process.probes import Probes, health_application, metrics_application
from webhook.telemetry import Telemetry


def probes(**why: str) -> Probes:
    def check(name: str):
        return lambda: why.get(name)

    return Probes({"threads": check("threads")}, {"server": check("server")}, {"endpoint": check("endpoint")})


def get(app, path: str, query: str = "", method: str = "GET", peer: str = "127.0.0.1") -> tuple[str, str]:
    environ = {"SCRIPT_NAME": "", "PATH_INFO": path, "QUERY_STRING": query, "REQUEST_METHOD": method, "REMOTE_ADDR": peer}
    setup_testing_defaults(environ)
    seen: list[str] = []
    body = validator(app)(environ, lambda status, headers, exc_info=None: seen.append(status))
    text = b"".join(body).decode()
    body.close()
    return seen[0], text


def test_a_healthy_process_says_ok() -> None:
    assert get(health_application(probes()), "/readyz") == ("200 OK", "ok")
    assert get(health_application(probes()), "/healthz") == ("200 OK", "ok")


def test_a_failing_service_makes_the_process_unready_but_not_dead() -> None:
    app = health_application(probes(endpoint="the pods cache has not synced"))

    assert get(app, "/readyz")[0].startswith("500")
    assert get(app, "/readyz/endpoint")[0].startswith("500")
    assert get(app, "/healthz")[0] == "200 OK"


def test_what_is_apart_makes_only_its_own_service_unready() -> None:
    ok = {"endpoint": lambda: None, "pod-ip": lambda: None}
    apart = {"pod-ip": {"addresses": lambda: "the leader has not adopted the pods of: web"}}
    app = health_application(Probes({}, {"server": lambda: None}, ok, apart))

    assert get(app, "/readyz") == ("200 OK", "ok")
    assert get(app, "/readyz/endpoint") == ("200 OK", "ok")
    status, text = get(app, "/readyz/pod-ip")
    assert status.startswith("500")
    assert "[-]addresses failed: reason withheld" in text and "[+]pod-ip ok" in text


def test_a_service_is_not_ready_while_the_process_is_not() -> None:
    assert get(health_application(probes(server="draining")), "/readyz/endpoint")[0].startswith("500")


def test_reasons_are_never_told() -> None:
    _, text = get(health_application(probes(endpoint="secret reason")), "/readyz", "verbose")

    assert "secret" not in text
    assert "[-]endpoint failed: reason withheld" in text
    assert "[+]server ok" in text


def test_an_excluded_check_does_not_count() -> None:
    assert get(health_application(probes(endpoint="x")), "/readyz", "exclude=endpoint")[0] == "200 OK"


@pytest.mark.parametrize("path", ["/readyz/nothing", "/", "/statusz"])
def test_unknown_paths_are_404(path: str) -> None:
    assert get(health_application(probes()), path)[0].startswith("404")


def test_a_flood_of_query_fields_is_refused() -> None:
    assert get(health_application(probes()), "/readyz", "&".join(f"a{n}" for n in range(100)))[0].startswith("400")


def test_only_reading_is_allowed() -> None:
    assert get(health_application(probes()), "/readyz", method="POST")[0].startswith("405")
    assert get(metrics_application(Telemetry(), dict, lambda: 0.0), "/metrics", method="DELETE")[0].startswith("405")


def test_an_unknown_page_is_told_which_there_are() -> None:
    def explain(environ: object) -> tuple[str, bytes]:
        return "200 OK", b"{}"

    without = metrics_application(Telemetry(), dict, lambda: 0.0)
    with_it = metrics_application(Telemetry(), dict, lambda: 0.0, explain)

    assert get(without, "/explain") == ("404 Not Found", "have /metrics, /status and /statusz\n")
    assert get(with_it, "/") == ("404 Not Found", "have /metrics, /status, /statusz and /explain\n")


def test_metrics_are_prometheus_text() -> None:
    telemetry = Telemetry()
    telemetry.counter("gatehouse_things", "Things").inc()

    status, text = get(metrics_application(telemetry, dict, lambda: 0.0), "/metrics")

    assert status == "200 OK"
    assert "gatehouse_things_total 1.0" in text


def test_the_status_page_is_for_loopback_only() -> None:
    app = metrics_application(Telemetry(), lambda: {"process": {"ready": True}}, lambda: 0.0)

    assert get(app, "/statusz", peer="10.0.0.9")[0].startswith("403")
    assert get(app, "/statusz", peer="")[0].startswith("403")
    for peer in ("127.0.0.1", "::1", "::ffff:127.0.0.1"):
        assert get(app, "/statusz", peer=peer) == ("200 OK", '{"process": {"ready": true}}')
