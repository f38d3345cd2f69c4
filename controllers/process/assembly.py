"""The composition root: a configuration becomes the parts of one process, in the order in which they start.

    traffic              counts what each service does, for the pages of the metrics port
    metrics and probes   before whatever waits, so that a process which does can be seen; metrics with metrics.tls after the
                         certificate that they show
    memory               the garbage collector is spared what stays (`heap`)
    certificate          where it is in a Secret: found there, or made by whichever replica comes first
    caches               they follow the API server, or the files of --local
    webhook              listens at once; each service answers 503 until the caches that it reads have synced
    shutdown delay       starts nothing; its stop: unready, then serve on while the cluster takes notice
    events, elector      led controllers start when the lease is won (or at once, without an election)

Stop, in reverse: led work ends, the lease is released → unready, and serve through webhook.shutdownDelay → 503 with
Retry-After → listener closed, what is in flight ends → caches → metrics and probes. The first SIGTERM, SIGINT or SIGHUP
begins it, a second one ends the process at once. Main thread only.
"""

from __future__ import annotations

import json
import sys
import threading
from base64 import b64encode
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import attrs

from controllers.certificates.expiry import watch_expiry
from controllers.collector.heap import Heap
from controllers.compatibility.requirements import requirements_of
from controllers.config.address import Address
from controllers.config.document import DEFAULT_HOME, Configuration
from controllers.config.webhook import CertificateOrigin
from controllers.explaining.late import BODY_BYTES
from controllers.plugins import news as plugins
from controllers.process.explain_page import explain_page
from controllers.process.facts import ClusterFacts, FileFacts, WatchedFacts
from controllers.process.leading import Leading, own_namespace
from controllers.process.probes import Check, Probes, health_application, metrics_application
from controllers.process.sections import Sections
from controllers.process.signals import signals
from controllers.process.supervisor import Part, Supervisor
from controllers.runtime.elector import make_identity
from controllers.status.traffic.sampler import Traffic
from webhook.admission.gate import Gate
from webhook.admission.service import BoundService
from webhook.admission.settings import Settings
from webhook.clock import Clock, Deadline, SystemClock
from webhook.cluster import NONE_ON_FILES
from webhook.logs import get_log
from webhook.objects.meta import Json
from webhook.serving.limits import ServerLimits
from webhook.serving.server import AdmissionServer
from webhook.serving.tls import CertificateError, CertificateSource, FileCertificates, KeyPair, MadeCertificates, WithoutClients
from webhook.serving.wsgi import application
from webhook.telemetry import Telemetry

if TYPE_CHECKING:
    from controllers.pod_ip.caches import AddressCaches
    from webhook.serving.chains import Leaf
    from webhook.serving.server import Application

log = get_log("process")

# After the shutdown delay: what is in flight may use the API server's longest time (30 s), and then the caches leave.
LEAVE_WITHIN_S = 30.0
SMALL_SERVER = ServerLimits(
    connections=64, unproven_connections=32, body_bytes=64 * 1024, buffered_bytes=4 * 2**20, queue_length=16
)
METRICS_SERVER = attrs.evolve(SMALL_SERVER, body_bytes=BODY_BYTES)  # a query to explain; all of them share buffered_bytes
SMALL_THREADS = 2
ASKING_THREADS = 6  # of the metrics port, when four of them may wait for what the API server says of their callers
SEND_AWAY_S = 1.0  # the API server waits Retry-After (1 s) between its tries


@attrs.frozen
class Options:
    """What the command line says beside the configuration."""

    config: Configuration
    local_dir: Path | None = None  # facts from these files instead of a cluster


class Announce(Protocol):
    """Where the line with the addresses goes."""

    def __call__(self, line: str) -> None: ...


def run(options: Options, *, announce: Announce | None = None, clock: Clock | None = None) -> int:
    """Run until a signal. The exit code: 0 after a clean stop, 1 when something failed."""
    process = Process(options, clock or SystemClock())
    with signals(process.supervisor):
        return process.supervisor.run(lambda: process.announce(announce or _print))


class Process:
    """All parts, wired. Building it opens nothing."""

    def __init__(self, options: Options, clock: Clock) -> None:
        self._config = config = options.config
        self._clock = clock
        started_s = clock.monotonic_s()
        self._local = options.local_dir is not None
        self._telemetry = Telemetry()
        self._leaving = threading.Event()
        self._identity = make_identity()
        self._ca_pem = b""
        self._servers: dict[str, AdmissionServer] = {}
        self._source: CertificateSource | None = None  # of the served certificate, once a server starts
        self.facts = self._make_facts(options.local_dir)
        self._followed = self.facts.certificate if isinstance(self.facts, WatchedFacts) else None
        watch_expiry(
            self._telemetry, clock, self._leaf_expiry_s, self._followed.ca_expiry_s if self._followed else lambda: None
        )
        settings = config.settings(DEFAULT_HOME if self._local else own_namespace())
        self.leading: Leading | None = None
        if isinstance(self.facts, WatchedFacts):
            self.leading = Leading(config, settings.sidecars, self.facts, self._telemetry, clock, self._fail, self._identity)
        self.gate = Gate(settings, self.facts.cluster, self._telemetry, clock, synced=self.facts.has_synced)
        self._traffic = Traffic(self._telemetry, self.gate.paths, clock, self._fail)
        plugins.announce(self._config.plugins, self._telemetry, local=self._local)
        self._probes = self._make_probes()
        self._sections = Sections(
            config=config,
            clock=clock,
            facts=self.facts,
            leading=self.leading,
            gate=self.gate,
            traffic=self._traffic,
            probes=self._probes,
            leaf=self._leaf,
            waits_for=self._waits_for,
            started_s=started_s,
            local=self._local,
        )
        self._heap = Heap(lambda: all(cache["synced"] for cache in self.facts.caches().values()), clock)
        leave_within_s = LEAVE_WITHIN_S + config.webhook.shutdown_delay_s
        self.supervisor = Supervisor(self._parts(), clock, leave_within_s, self._look)

    def addresses(self) -> dict[str, str]:
        """The addresses in use, by server, and the CA of a certificate made at start (base64 of PEM)."""
        found = {name: _text(server.address) for name, server in self._servers.items()}
        return found | ({"caBundle": b64encode(self._ca_pem).decode("ascii")} if self._ca_pem else {})

    def announce(self, write: Announce) -> None:
        """Say which addresses are in use. Nobody listening keeps nobody from being served."""
        try:
            write(json.dumps(self.addresses()))
        except (OSError, ValueError, AttributeError) as error:  # standard output is closed, or was never open
            log.warning("the addresses could not be announced", why=error, **self.addresses())
        if self._local and "metrics" in self._servers:
            scheme = "https" if self._config.metrics.tls else "http"
            log.info("see what it does, in a browser", page=f"{scheme}://{self.addresses()['metrics']}/status")

    def status(self) -> Json:
        """What /statusz says. Any thread."""
        return self._sections.status()

    # -- inside

    def _leaf(self) -> Leaf | None:
        server = self._servers.get("webhook")
        return None if server is None else server.leaf

    def _leaf_expiry_s(self) -> float | None:
        leaf = self._leaf()
        return None if leaf is None else leaf.not_after_s

    def _ensure_certificate(self) -> None:
        if self._followed is not None:
            self._followed.ensure(self.supervisor.stopping)
            self._ca_pem = self._followed.bundle()

    def _why_no_certificate(self) -> str | None:
        expiry_s = self._leaf_expiry_s()
        if expiry_s is not None and self._clock.wall_s() >= expiry_s:
            return "the served certificate has expired"
        return None if self._followed is None else self._followed.why_not_ready()

    def _look(self) -> None:
        self._heap.look()
        self.gate.shared.look()

    def _address_caches(self) -> AddressCaches | None:
        return self.facts.addresses if isinstance(self.facts, WatchedFacts) else None

    def _apart(self) -> Mapping[str, Mapping[str, Check]]:
        """What a service waits for that must not put the others out of service: what needs CRDs, and a leader at work."""
        caches = self._address_caches()
        shared = self.gate.shared
        late: dict[str, Mapping[str, Check]] = {name: {"in-time": partial(shared.why_late, name)} for name in shared.names()}
        if caches is not None:
            late["pod-ip"] = {"addresses": caches.why_not_ready}
        elif self._config.features.pod_ip.enabled:
            late["pod-ip"] = {"addresses": lambda: NONE_ON_FILES}
        return late

    def _make_facts(self, local_dir: Path | None) -> ClusterFacts:
        policy = self._config.votes.policy()
        if local_dir is not None:
            return FileFacts(local_dir, policy, self._clock, self._fail)
        config = self._config
        return WatchedFacts(
            config.client_connection,
            policy,
            self._telemetry,
            self._clock,
            self._fail,
            injects=config.features.injects()
            or config.features.completes()
            or config.features.pod_ip.enabled
            or any(rule.service.caches_with(Settings()) for rule in config.plugins.rules_used),
            counts=config.features.resource_tuning.enabled,
            databases=config.controllers.database_instance.enabled,
            addresses=config.features.pod_ip.policy(),
            identity=self._identity,
            certificate=config.webhook.certificate.followed(own_namespace()),
            requirements=requirements_of(config),
            plugins=config.plugins.controllers_used,
        )

    def _fail(self, name: str, error: BaseException | None = None) -> None:
        self.supervisor.fail(name, error)

    def _parts(self) -> Sequence[Part]:
        config = self._config
        metrics = self._server_part("metrics", config.metrics.bind_address, *self._metrics_application())
        parts = [
            Part("traffic", self._traffic.start, self._traffic.stop, self._traffic.alive),
            None if config.metrics.tls else metrics,
            self._server_part("healthProbe", config.probes.bind_address, health_application(self._probes), SMALL_THREADS),
            Part("memory", self._heap.start, self._heap.stop),
            Part("certificate", self._ensure_certificate, lambda deadline: None),
            metrics if config.metrics.tls else None,
            Part("caches", self.facts.start, self.facts.stop, self.facts.alive),
            self._server_part("webhook", config.webhook.bind_address, application(self.gate, self._clock)),
            Part("shutdown delay", lambda: None, self._delay),
        ]
        if self.leading is not None:
            parts += self.leading.parts()
        else:
            log.info("local: facts from files, led controllers are off")
            if config.features.pod_ip.enabled:
                log.warning("local: no fixed addresses are given, since there is no API server to reserve them")
        return [part for part in parts if part is not None]

    def _metrics_application(self) -> tuple[Application, int]:
        """What is served on the metrics port, and with how many threads."""
        explain = explain_page(self.gate, self.facts, self._clock, lambda: self.leading)
        pages = metrics_application(self._telemetry, self.status, self._clock.wall_s, explain.respond)
        section = self._config.metrics
        if not section.asks_the_cluster():
            return pages, SMALL_THREADS
        from controllers.authorization.mounting import behind_the_cluster

        connection = self._config.client_connection
        return behind_the_cluster(pages, section, connection, self._telemetry, self._clock), ASKING_THREADS

    def _server_part(self, name: str, address: Address, app: Application, threads: int = 0) -> Part | None:
        if not address.enabled:
            return None
        webhook = name == "webhook"

        def start() -> None:
            limits = self._config.webhook.limits
            server = AdmissionServer(
                app,
                bind=(self._host(address), address.port),
                certificates=self._certificates_of(name),
                limits=limits.server_limits() if webhook else METRICS_SERVER if name == "metrics" else SMALL_SERVER,
                telemetry=self._telemetry if webhook else Telemetry(),  # the webhook's figures are not those of its probes
                clock=self._clock,
                threads=threads or limits.threads,
            )
            try:
                server.start()
            except OSError as error:
                # cheroot wraps what the kernel said into an error without a number
                where = _text((self._host(address), address.port))
                raise OSError(f"{name}: cannot listen on {where}: {error.strerror or error}") from error
            except CertificateError as error:
                raise OSError(f"{name}: {error}") from error
            self._servers[name] = server

        def stop(deadline: Deadline) -> None:
            if webhook and not self._local:
                # Who still calls is sent to another replica, inside the same admission call, before the port is closed.
                self.gate.drain()
                self._clock.wait(threading.Event(), min(SEND_AWAY_S, deadline.remaining_s()))
            if not self._servers[name].stop(deadline.remaining_s()):
                log.warning("requests were cut off", server=name)

        return Part(name, start, stop, lambda: name not in self._servers or self._servers[name].alive())

    def _host(self, address: Address) -> str:
        return address.host or ("127.0.0.1" if self._local else "")

    def _certificates_of(self, name: str) -> CertificateSource | None:
        """What the server *name* shows; None: it speaks in the clear."""
        if name != "webhook" and not (name == "metrics" and self._config.metrics.tls):
            return None
        if self._source is None:
            self._source = self._certificates()
        return self._source if name == "webhook" else WithoutClients(self._source)

    def _certificates(self) -> CertificateSource:
        section, auth = self._config.webhook.certificate, self._config.webhook.client_auth
        client_ca = Path(auth.ca_file) if auth.ca_file else None
        if section.source is CertificateOrigin.FILES:
            return FileCertificates(Path(section.cert_file), Path(section.key_file), client_ca)
        source = self._followed.source(client_ca) if self._followed is not None else None
        if source is not None:
            return source
        # Only now: it imports cryptography, 16 MiB that a process with a certificate from elsewhere need not have.
        from webhook.serving.selfsigned import make_self_signed

        if not self._local and section.is_for_localhost_only():
            log.warning("the certificate is for localhost only: set webhook.certificate.secretName, or no Service is trusted")
        made = make_self_signed(section.hosts, now_s=self._clock.wall_s())
        self._ca_pem = made.ca
        return MadeCertificates(KeyPair(made.certificate, made.key), client_ca)

    def _make_probes(self) -> Probes:
        live: dict[str, Check] = {"threads": lambda: None if self._all_alive() else "a thread has ended"}
        ready: dict[str, Check] = {
            "shutdown": lambda: "leaving" if self._leaving.is_set() else None,
            "webhook": lambda: None if "webhook" in self._servers else "not listening yet",
            "certificate": self._why_no_certificate,
        }
        services = {bound.service.name: self._service_check(sorted(bound.caches)) for bound in self.gate.services}
        return Probes({**live, **(self.leading.live_checks() if self.leading else {})}, ready, services, self._apart())

    def _waits_for(self, bound: BoundService) -> list[str]:
        """Why a service is not ready; [] when it is."""
        checks = [self._service_check(sorted(bound.caches)), *self._apart().get(bound.service.name, {}).values()]
        return [why for check in checks if (why := check()) is not None]

    def _service_check(self, caches: Sequence[str]) -> Check:
        def check() -> str | None:
            waiting = [cache for cache in caches if not self.facts.has_synced(cache)]
            return f"not synced: {', '.join(waiting)}" if waiting else None

        return check

    def _all_alive(self) -> bool:
        return self.facts.alive() and all(server.alive() for server in self._servers.values())

    def _delay(self, deadline: Deadline) -> None:
        self._leaving.set()
        if "webhook" in self._servers:
            # Each answer now ends its connection: a caller's next one goes to a replica that stays.
            self._servers["webhook"].begin_drain()
        delay_s = min(self._config.webhook.shutdown_delay_s, deadline.remaining_s())
        if delay_s > 0 and not self._local:
            log.info("unready, still serving", seconds=delay_s)
            self._clock.wait(threading.Event(), delay_s)


def _print(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def _text(address: tuple[str, int]) -> str:
    host, port = address
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
