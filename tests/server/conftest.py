"""Certificates, a recording application, and servers that are always stopped and never leave a thread behind."""

from __future__ import annotations

import re
import ssl
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any
from wsgiref.validate import validator

import attrs
import pytest
import trustme

from tests.server.client import Client, wait_until
from tests.server.figures import FIGURES, Figures
from webhook.serving.limits import ServerLimits
from webhook.serving.server import AdmissionServer
from webhook.serving.tls import CertificateSource, HeldCertificates, KeyPair
from webhook.telemetry import Telemetry


class Application:
    """A PEP 3333 application: echoes the body; `/hold` waits for `release`; keeps the environs it saw."""

    def __init__(self) -> None:
        self.seen: list[dict[str, Any]] = []
        self.release = threading.Event()
        self.holding = threading.Semaphore(0)  # one permit for each request that has begun to hold

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        self.seen.append(environ)
        body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or "0"))
        path = environ["PATH_INFO"]
        if path == "/hold":
            self.holding.release()
            self.release.wait(30)
        elif path == "/close":
            environ["gatehouse.close"]()
        elif path == "/large":
            body = b"x" * 12_000_000
        start_response("200 OK", [("Content-Type", "application/octet-stream"), ("Content-Length", str(len(body)))])
        return [body]


@attrs.frozen
class Running:
    """A started server and what is needed to talk to it."""

    server: AdmissionServer
    application: Application
    telemetry: Telemetry
    context: ssl.SSLContext
    secure: bool

    def connect(self, context: ssl.SSLContext | None = None) -> Client:
        """A new connection, its handshake done."""
        return Client(self.server.address, (context or self.context) if self.secure else None)

    def metric(self, name: str, **labels: str) -> float:
        """The present value of a metric; 0 when it has none."""
        text = "".join(f'{key}="{value}"' for key, value in labels.items())
        wanted = re.escape(f"{name}{{{text}}}" if text else name)
        found = re.search(rf"^{wanted} (\S+)$", self.telemetry.expose().decode(), re.MULTILINE)
        return float(found[1]) if found else 0.0

    def refused(self, reason: str) -> float:
        """How often the server turned somebody away for *reason*."""
        return self.metric("gatehouse_server_refused_total", reason=reason)

    def answers_at_once(self) -> bool:
        """Whether a stranger is answered, within the bound that only a stall would break."""
        with self.connect() as client:
            client.socket.settimeout(1.0)
            return client.post(b"still here").body == b"still here"


Serve = Callable[..., Running]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Show the figures that the tests have measured."""
    figures = terminalreporter.config.stash.get(FIGURES, None)
    if figures is not None and figures.rows:
        terminalreporter.section("figures, best of three at most")
        for line in figures.lines():
            terminalreporter.line(line)


@pytest.fixture
def figures(pytestconfig: pytest.Config) -> Figures:
    """Where a test puts what it has measured."""
    return pytestconfig.stash.setdefault(FIGURES, Figures())


@pytest.fixture(scope="session")
def authority() -> trustme.CA:
    return trustme.CA(key_type=trustme.KeyType.ECDSA)


def pair_of(authority: trustme.CA, *names: str, **options: Any) -> KeyPair:
    """A certificate for *names* and its key."""
    issued = authority.issue_cert(*(names or ("localhost", "127.0.0.1")), key_type=trustme.KeyType.ECDSA, **options)
    return KeyPair(b"".join(pem.bytes() for pem in issued.cert_chain_pems), issued.private_key_pem.bytes())


@pytest.fixture(scope="session")
def pair(authority: trustme.CA) -> KeyPair:
    return pair_of(authority)


@pytest.fixture(scope="session")
def trusting(authority: trustme.CA) -> ssl.SSLContext:
    """What a client needs to believe the authority's servers."""
    context = ssl.create_default_context()
    authority.configure_trust(context)
    return context


@pytest.fixture
def serve(pair: KeyPair, trusting: ssl.SSLContext) -> Iterator[Serve]:
    """Starts servers; at the end each must stop in time, and leave neither thread nor connection."""
    before = set(threading.enumerate())
    running: list[Running] = []

    def start(
        *,
        app: Any = None,
        limits: ServerLimits | None = None,
        certificates: CertificateSource | None = None,
        secure: bool = True,
        threads: int = 4,
        bind: tuple[str, int] = ("127.0.0.1", 0),
    ) -> Running:
        telemetry, application = Telemetry(), Application()
        server = AdmissionServer(
            app or validator(application),
            bind=bind,
            certificates=(certificates or HeldCertificates(pair)) if secure else None,
            limits=limits,
            telemetry=telemetry,
            threads=threads,
        )
        server.start()
        running.append(Running(server, application, telemetry, trusting, secure))
        return running[-1]

    yield start
    for one in running:
        one.application.release.set()
        assert one.server.stop(5.0)
        wait_until(lambda one=one: one.metric("gatehouse_server_connections") == 0)  # a hanging request lets go only now
        assert one.metric("gatehouse_server_buffered_bytes") == 0
    wait_until(lambda: set(threading.enumerate()) <= before)
