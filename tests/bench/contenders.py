"""The servers that are compared: what starts each, and one that runs.

A contender is a command that listens on a free port of 127.0.0.1 with the certificate it is given, and then prints one JSON
line that has its address under "webhook". Another peer is another row of CONTENDERS.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

import attrs
import trustme

from tests.bench import peers, reviews, versions
from tests.cluster.processes import Process, Processes

ROOT = Path(__file__).parents[2]
START_WITHIN_S = 60.0


class StartError(Exception):
    """A contender ended or did not listen in time; the message holds the end of its log."""


@attrs.frozen
class Place:
    """What contenders get."""

    folder: Path

    @property
    def cluster(self) -> Path:
        """Folder with the cluster's objects."""
        return self.folder / "cluster"

    @property
    def ca_file(self) -> Path:
        """Who signed the certificate."""
        return self.folder / "ca.pem"

    @property
    def certificate(self) -> Path:
        """The serving certificate for 127.0.0.1 (ECDSA P-256)."""
        return self.folder / "tls.crt"

    @property
    def key(self) -> Path:
        """Its key."""
        return self.folder / "tls.key"

    @property
    def configuration(self) -> Path:
        """Gatehouse's configuration."""
        return self.folder / "gatehouse.yaml"

    @property
    def rules(self) -> Path:
        """The same rules for the peers."""
        return self.folder / "rules.json"

    def make(self, *, nodes: int = reviews.NODES, pods: int = reviews.PODS) -> None:
        """Write all of it."""
        self.cluster.mkdir()
        reviews.write_cluster(self.cluster, nodes=nodes, pods=pods)
        self.configuration.write_text(peers.CONFIGURATION)
        self.rules.write_text(json.dumps(peers.peer_rules()))
        authority = trustme.CA(organization_name="gatehouse-bench")
        serving = authority.issue_cert("127.0.0.1")
        authority.cert_pem.write_to_path(str(self.ca_file))
        serving.private_key_pem.write_to_path(str(self.key))
        serving.cert_chain_pems[0].write_to_path(str(self.certificate))


@attrs.frozen
class Contender:
    """A row of the table."""

    name: str
    what: str  # for the reader of the figures
    command: Callable[[Place], list[str]]
    decides: bool = True  # whether its answers are looked at: right uid, a patch where one is due
    cases: frozenset[str] = frozenset(reviews.CASES)  # that it can answer, or for which it is interesting
    crowds: bool = False  # whether it is asked by other numbers of callers, too


# Cases whose answer is a patch, where a peer may write its operations by hand.
_PATCHED = frozenset(
    {"inject-4k", "inject-11k", "inject-60k", "inject-worst", "node-20k", "endpoints-20", "slice-100", "endpoints-1000"}
)


def _peer(place: Place, patches: str) -> list[str]:
    files = [f"-local={place.cluster}", f"-rules={place.rules}", f"-cert-dir={place.folder}"]
    return [str(peers.peer_program()), *files, f"-patches={patches}"]


def _python(module: str, place: Place) -> list[str]:
    return [sys.executable, "-m", module, str(place.certificate), str(place.key), str(place.rules)]


GATEHOUSE = Contender(
    "gatehouse",
    "this project, its own rules, serving from files",
    lambda place: [
        *(sys.executable, "-m", "controllers", "serve", f"--local={place.cluster}", f"--config={place.configuration}"),
        *(f"--{port}-bind-address=127.0.0.1:0" for port in ("webhook", "metrics", "health-probe")),
        *(f"--tls-cert-file={place.certificate}", f"--tls-private-key-file={place.key}"),
    ],
    crowds=True,
)
BARE = Contender(
    "bare",
    f"cheroot{versions.of('cheroot')} as it comes, reads the body, constant answer",
    lambda place: [sys.executable, "-m", "tests.bench.bare", str(place.certificate), str(place.key)],
    decides=False,
    cases=frozenset({"small-3k", "inject-11k", "endpoints-1000"}),
)
PEER = Contender(
    "controller-runtime",
    f"controller-runtime{versions.of('sigs.k8s.io/controller-runtime')} with the same rules, "
    "as its documentation has it (tests/bench/peer)",
    lambda place: _peer(place, "compared"),
    crowds=True,
)
BY_HAND = Contender(
    "controller-runtime, own patches",
    "the same, but it writes the operations of its patches by hand (admission.Patched)",
    lambda place: _peer(place, "own"),
    cases=_PATCHED,
)
PEERS = (
    PEER,
    BY_HAND,
    Contender(
        "controller-runtime, own patches, GOGC=400",
        "the same, and Go collects a quarter as often (GOGC=400 GOMEMLIMIT=200MiB); the rows above have Go's defaults",
        lambda place: ["env", "GOGC=400", "GOMEMLIMIT=200MiB", *_peer(place, "own")],
        cases=frozenset({"inject-11k", "node-20k", "endpoints-20"}),
    ),
)
# On other servers in Python: what a sidecar costs there, and what HTTP does.
PYTHON_PEERS = (
    Contender(
        "flask, gunicorn",
        f"Flask{versions.of('flask')} on gunicorn{versions.of('gunicorn')}'s threads, jsonpatch",
        lambda place: _python("tests.bench.flask_peer", place),
        cases=frozenset({"small-3k", "inject-11k"}),
    ),
    Contender(
        "kopf",
        f"kopf{versions.of('kopf')}'s admission server",
        lambda place: _python("tests.bench.kopf_peer", place),
        cases=frozenset({"small-3k", "inject-11k"}),
    ),
)
CONTENDERS = (GATEHOUSE, *PEERS, BARE, *PYTHON_PEERS)
# What the others are put in relation to.
REFERENCE = PEER.name


@attrs.frozen
class Server:
    """A contender that runs."""

    contender: Contender
    process: Process
    base: str  # https://ADDRESS:PORT


def start(contender: Contender, place: Place, processes: Processes) -> Server:
    """Start it and wait until it listens. Raises StartError."""
    process = processes.start(contender.name, contender.command(place), folder=ROOT)
    end_s = time.monotonic() + START_WITHIN_S
    while time.monotonic() < end_s and process.alive():
        address = _address(processes.log_tail(contender.name, lines=200))
        if address:
            return Server(contender, process, f"https://{address}")
        time.sleep(0.05)
    raise StartError(f"{contender.name} does not listen:\n{processes.log_tail(contender.name)}")


def _address(log: str) -> str:
    for line in log.splitlines():
        if line.startswith('{"'):
            try:
                return str(json.loads(line).get("webhook", ""))
            except ValueError:  # it is being written
                return ""
    return ""
