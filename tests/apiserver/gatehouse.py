"""The process under test: `python -m controllers serve` in the cluster's network namespace, as its ServiceAccount.

Nothing is imported from it: these tests know it by its command line, its ports, its metrics and its log.
"""

from __future__ import annotations

import json
import re
import signal
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType

import trustme

from tests.apiserver.nodes import NODES, create_node
from tests.apiserver.registration import ROOT, Registration, service_account_token
from tests.apiserver.waiting import wait_for
from tests.cluster import Api, Cluster, Json
from tests.cluster.api import Connections
from tests.cluster.processes import Process, Processes

READY_WITHIN_S = 30.0
# Longer than the shutdown delay and the longest deadline together.
STOP_WITHIN_S = 45.0
# What the answers to reviews achieve alone: led controllers would hide a review that was decided wrongly.
ADMISSION_ONLY: Json = {"controllers": {"edgeHealth": {"enabled": False}}}
_SAMPLE = re.compile(r"^(?P<name>[a-zA-Z_:][\w:]*)(?:\{(?P<labels>.*)\})? (?P<value>\S+)$", re.MULTILINE)
_LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')


class Gatehouse:
    """One process. As a context manager it is ready inside the block and ended after it, whatever happened.

    It listens on free ports of 127.0.0.1 inside the namespace and says so in its first line of standard output.
    """

    program: Sequence[str] = ("-m", "controllers")  # of the interpreter
    hosts: Sequence[str] = ("127.0.0.1",)  # that its certificate is good for

    def __init__(
        self,
        cluster: Cluster,
        folder: Path,
        *,
        config: Json | None = None,
        arguments: Sequence[str] = (),
        server: str = "",
    ) -> None:
        """Not started yet.

        folder:    its files, one folder for each process
        config:    sections of its configuration file; ADMISSION_ONLY when None
        arguments: more flags
        server:    where it is to find the API server, when not at its own address
        """
        self._cluster = cluster
        self._folder = folder
        self._config = ADMISSION_ONLY if config is None else config
        self._arguments = arguments
        self._server = server or cluster.server
        self._name = f"gatehouse-{folder.name}"  # one log for each process
        # Beside the components, so that `down` and the cleaning of crashed runs end it too.
        self._processes = Processes(cluster.folder)
        self._connections: dict[str, Connections] = {}  # server -> connections, once it has said where it listens
        self.addresses: dict[str, str] = {}  # server ("webhook", "metrics", "healthProbe") -> host:port
        self.ca_file = folder / "webhook-ca.pem"
        self._config_file = folder / "config.json"

    def start(self) -> None:
        """Start it and wait until it is ready."""
        self._make_certificate()
        with self._cluster.api() as admin:
            token = service_account_token(admin)
        kubeconfig = self._folder / "gatehouse.kubeconfig"
        self._cluster.credentials.write_kubeconfig(kubeconfig, self._server, token)
        head = {"apiVersion": "gatehouse.dev/v1alpha1", "kind": "GatehouseConfiguration"}
        # Nobody is called while it leaves, but for the tests that say so: 5 s each time would be minutes of a run.
        webhook = {"shutdownDelay": "0s", **self._config.get("webhook", {})}
        self._config_file.write_text(json.dumps(head | self._config | {"webhook": webhook}))
        argv = [sys.executable, *self.program, "serve", f"--config={self._config_file}", f"--kubeconfig={kubeconfig}"]
        argv += [f"--{server}-bind-address=127.0.0.1:0" for server in ("webhook", "metrics", "health-probe")]
        argv += self.certificate_flags()
        command = self._cluster.namespace.command([*argv, *self._arguments])
        self._processes.start(self._name, command, folder=ROOT)
        self._wait(self._has_announced, "its addresses")
        self._wait(self.is_ready, "ready")

    def certificate_flags(self) -> list[str]:
        """What it is told of the certificate that was made for it."""
        return [f"--tls-cert-file={self._folder / 'tls.crt'}", f"--tls-private-key-file={self._folder / 'tls.key'}"]

    def stop(self) -> float:
        """SIGTERM; the seconds it took to leave. Fails the test when it does not."""
        start_s = time.monotonic()
        self.process.signal(signal.SIGTERM)
        if not self.process.wait(STOP_WITHIN_S):
            raise AssertionError(f"gatehouse still runs {STOP_WITHIN_S:g} s after SIGTERM:\n{self.log()}")
        return time.monotonic() - start_s

    @property
    def process(self) -> Process:
        """Its process."""
        process = self._processes.get(self._name)
        if process is None:
            raise AssertionError("gatehouse has not been started")
        return process

    def log(self) -> str:
        """Everything it has written."""
        return self._processes.log_tail(self._name, lines=10_000)

    def registration(self) -> Registration:
        """Its webhook configurations, as an operator has them printed."""
        return Registration.printed(f"https://{self.addresses['webhook']}", self.ca_file, self._config_file)

    @property
    def probes(self) -> Connections:
        """Connections to the server of /readyz and /healthz."""
        return self._connections["healthProbe"]

    def is_ready(self) -> bool:
        """Whether /readyz says so now."""
        try:
            return self.probes.call("GET", "/readyz").status == 200
        except OSError:
            return False

    def total(self, metric: str, **labels: str) -> float:
        """The sum of all samples of *metric* that have *labels*; 0 when there are none."""
        text = self._connections["metrics"].call("GET", "/metrics").body.decode()
        return sum(
            float(sample["value"])
            for sample in _SAMPLE.finditer(text)
            if sample["name"] == metric and labels.items() <= dict(_LABEL.findall(sample["labels"] or "")).items()
        )

    def status(self) -> Json:
        """What its status page says to programs."""
        page: Json = json.loads(self._connections["metrics"].call("GET", "/statusz").body)
        return page

    def wait_until_called(self, admin: Api) -> None:
        """Wait until the API server sends reviews here: it takes a moment to notice a new registration."""
        name = "registration-probe"
        create_node(admin, name, name)
        try:
            start = self._reviews_of_nodes()
            wait_for(lambda: self._probed(admin, name) > start, READY_WITHIN_S, "reviews from the API server")
        finally:
            admin.delete(f"{NODES}/{name}")

    def patched(self, service: str) -> float:
        """How many answers of *service* carried a patch."""
        return self.total("gatehouse_admission_patched_total", service=service)

    def __enter__(self) -> Gatehouse:
        try:
            self.start()
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._end()

    def _end(self) -> None:
        self._processes.stop(self._name)
        for connections in self._connections.values():
            connections.close()

    def _probed(self, admin: Api, node: str) -> float:
        admin.patch(f"{NODES}/{node}?dryRun=All", {"metadata": {"annotations": {"probed": time.monotonic().hex()}}})
        return self._reviews_of_nodes()

    def _reviews_of_nodes(self) -> float:
        return self.total("controller_runtime_webhook_requests_total", webhook="/node-taint")

    def _wait(self, met: Callable[[], bool], what: str) -> None:
        wait_for(lambda: not self.process.alive() or met(), READY_WITHIN_S, f"gatehouse: {what}")
        if not self.process.alive():
            raise AssertionError(f"gatehouse ended with {self.process.exit_code}:\n{self.log()}")

    def _has_announced(self) -> bool:
        line = next((line for line in self.log().splitlines() if line.startswith('{"')), "")
        if not line:
            return False
        try:
            self.addresses = json.loads(line)
        except ValueError:  # half written
            return False
        for server in ("metrics", "healthProbe"):
            port = int(self.addresses[server].rpartition(":")[2])
            self._connections[server] = self._cluster.connections(port)
        return True

    def _make_certificate(self) -> None:
        authority = trustme.CA(organization_name="gatehouse-tests")
        authority.cert_pem.write_to_path(self.ca_file)
        serving = authority.issue_cert(*self.hosts)
        serving.private_key_pem.write_to_path(self._folder / "tls.key")
        (self._folder / "tls.crt").write_bytes(b"".join(pem.bytes() for pem in serving.cert_chain_pems))
