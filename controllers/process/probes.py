"""Health as HTTP: /healthz, /readyz, /readyz/<service>, with ?verbose and ?exclude=.

And the pages of the metrics port: /metrics, /status for a browser, /statusz as JSON, /explain where something explains.

Follows the API server's own probes: `ok` or a list of checks, 500 when one fails, reasons only in the log, since the port is
open to whoever reaches the pod. Per service as in gRPC's health protocol: "" is the whole process, an unknown one is 404.
Liveness never depends on the API server: a restart mends nothing there. Any thread may call the applications.
"""

from __future__ import annotations

import ipaddress
import json
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

from controllers.authorization.gate import AUTHORIZED, is_loopback
from webhook.logs import get_log
from webhook.objects.meta import Json
from webhook.telemetry import CONTENT_TYPE, Telemetry

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

log = get_log("probes")

Check = Callable[[], str | None]  # None when all is well, else why not

TEXT = "text/plain; charset=utf-8"


class Probes:
    """Named checks, and what to say of them."""

    def __init__(
        self,
        live: Mapping[str, Check],
        ready: Mapping[str, Check],
        services: Mapping[str, Check],
        apart: Mapping[str, Mapping[str, Check]] | None = None,
    ) -> None:
        """live, ready: the checks of /healthz and /readyz; services: one check a service, all part of /readyz too.

        apart: what /readyz/SERVICE asks besides, and /readyz never does: it must not put the other services out of service.
        """
        self._groups = {"healthz": dict(live), "readyz": {**ready, **services}}
        self._services = dict(services)
        self._ready = dict(ready)
        self._apart = {service: dict(checks) for service, checks in (apart or {}).items()}
        self._lock = threading.Lock()  # guards _failing
        self._failing: dict[str, str] = {}

    def answer(self, path: str, query: str) -> tuple[str, str]:
        """The status line's code and phrase, and the body, for a GET of *path*."""
        group, _, name = path.strip("/").partition("/")
        checks = self._groups.get(group)
        if checks is None:
            return "404 Not Found", "have /healthz, /readyz, /readyz/SERVICE and ?verbose\n"
        if name:
            if name in self._services:
                # A service is ready when it is, and the process as a whole is.
                checks = {**self._ready, name: self._services[name], **self._apart.get(name, {})}
            elif name in checks:
                checks = {name: checks[name]}
            else:
                return "404 Not Found", f"no check of that name: have {', '.join(sorted(checks))}\n"
        options = parse_qs(query, keep_blank_values=True, max_num_fields=32)
        excluded = frozenset(options.get("exclude", ()))
        return self._report(group, {key: check for key, check in checks.items() if key not in excluded}, "verbose" in options)

    def failing(self) -> list[str]:
        """The checks of /readyz that fail at this moment."""
        return [name for name, check in self._groups["readyz"].items() if check() is not None]

    def checks(self) -> dict[str, str | None]:
        """Every check of /healthz and /readyz, and why it fails; None for one that passes. Not for strangers."""
        return {name: check() for group in self._groups.values() for name, check in group.items()}

    def _report(self, group: str, checks: Mapping[str, Check], verbose: bool) -> tuple[str, str]:
        lines, healthy = [], True
        for name, check in checks.items():
            why = check()
            self._log_change(f"{group}/{name}", why)
            healthy = healthy and why is None
            lines.append(f"[+]{name} ok" if why is None else f"[-]{name} failed: reason withheld")
        if healthy and not verbose:
            return "200 OK", "ok"
        lines.append(f"{group} check {'passed' if healthy else 'failed'}")
        return ("200 OK" if healthy else "500 Internal Server Error"), "\n".join(lines) + "\n"

    def _log_change(self, name: str, why: str | None) -> None:
        with self._lock:
            before = self._failing.get(name)
            if why == before:
                return
            if why is None:
                del self._failing[name]
            else:
                self._failing[name] = why
        if why is None:
            log.info("check passes again", check=name)
        else:
            log.info("check fails", check=name, why=why)


def health_application(probes: Probes) -> WSGIApplication:
    """The application on --health-probe-bind-address."""

    def respond(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        try:
            status, text = probes.answer(environ.get("PATH_INFO", ""), environ.get("QUERY_STRING", ""))
        except ValueError:
            status, text = "400 Bad Request", "the query cannot be read\n"
        return _send(environ, start_response, status, TEXT, text.encode())

    return respond


def metrics_application(
    telemetry: Telemetry,
    status: Callable[[], Json],
    wall_s: Callable[[], float],
    explain: Callable[[WSGIEnvironment], tuple[str, bytes]] | None = None,
) -> WSGIApplication:
    """The application on --metrics-bind-address. /status and /statusz name objects: for loopback, and whom the gate lets in.

    wall_s: seconds since the epoch, now.
    explain: status line and JSON of the answer to a POST of /explain, which is for the same; None: there is no such page.
    """
    have = "/metrics, /status and /statusz" if explain is None else "/metrics, /status, /statusz and /explain"

    def respond(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        path = environ.get("PATH_INFO")
        if path == "/metrics":
            return _send(environ, start_response, "200 OK", CONTENT_TYPE, telemetry.expose())
        if path not in ("/status", "/statusz") and (path != "/explain" or explain is None):
            return _send(environ, start_response, "404 Not Found", TEXT, f"have {have}\n".encode())
        if AUTHORIZED not in environ and not (is_loopback(environ.get("REMOTE_ADDR", "")) and _meant_here(environ)):
            text = "only from inside the pod: kubectl exec or port-forward"
            if path == "/explain":
                return _send_answer(start_response, "403 Forbidden", json.dumps({"error": text}).encode())
            return _send(environ, start_response, "403 Forbidden", TEXT, f"{text}\n".encode())
        if path == "/explain" and explain is not None:
            return _send_answer(start_response, *explain(environ))
        if path == "/status":
            return _send_page(environ, start_response, status(), wall_s())
        return _send(environ, start_response, "200 OK", "application/json", json.dumps(status()).encode())

    return respond


def _send_answer(start_response: StartResponse, status: str, body: bytes) -> Iterable[bytes]:
    headers = [("Content-Type", "application/json"), ("X-Content-Type-Options", "nosniff"), ("Cache-Control", "no-store")]
    allow = [("Allow", "POST")] if status.startswith("405") else []
    start_response(status, [*headers, *allow, ("Content-Length", str(len(body)))])
    return (body,)


def _send_page(environ: WSGIEnvironment, start_response: StartResponse, status: Json, now_s: float) -> Iterable[bytes]:
    # Only now: most processes are never looked at.
    from controllers.status.web import serving
    from controllers.status.web.page import page

    try:
        refresh_s = serving.refresh_s(environ.get("QUERY_STRING", ""))
    except ValueError:
        return _send(environ, start_response, "400 Bad Request", TEXT, b"the query cannot be read\n")
    body = page(status, now_s, refresh_s).encode()
    return _send(environ, start_response, "200 OK", serving.CONTENT_TYPE, body, serving.HEADERS)


def _meant_here(environ: WSGIEnvironment) -> bool:
    """Whether the request names this machine, and not a domain that somebody's web page has made to point at loopback.

    Source: DNS rebinding; a browser then sends that domain as Host. `kubectl port-forward` is localhost or 127.0.0.1.
    """
    try:
        host = urlsplit(f"//{environ.get('HTTP_HOST', 'localhost')}").hostname or ""
        return host == "localhost" or bool(ipaddress.ip_address(host))
    except ValueError:
        return False


def _send(
    environ: WSGIEnvironment,
    start_response: StartResponse,
    status: str,
    kind: str,
    body: bytes,
    more: Sequence[tuple[str, str]] = (),
) -> Iterable[bytes]:
    headers = [("Content-Type", kind), ("X-Content-Type-Options", "nosniff"), ("Cache-Control", "no-store"), *more]
    if environ["REQUEST_METHOD"] not in ("GET", "HEAD"):
        status, body = "405 Method Not Allowed", b"only GET\n"
        headers.append(("Allow", "GET, HEAD"))
    start_response(status, [*headers, ("Content-Length", str(len(body)))])
    return (b"" if environ["REQUEST_METHOD"] == "HEAD" else body,)
