"""The process under test as a cluster runs it, or on the example's files, and the load program aimed at it.

    with replica(folder) as running:
        result = run(running.load(callers=64, duration_s=2.0))

With `weakened=("NAME", ...)` the process runs with these protections switched off: see tests/server/weakened.py.
"""

from __future__ import annotations

import base64
import json
import re
import ssl
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import attrs

from controllers.testing.api import FakeApi
from tests.controllers.served import EXAMPLE, Served, command, serve
from tests.load.program import Load
from webhook.objects.documents import read_documents

PATH = "/node-taint"
CONFIG = EXAMPLE / "gatehouse.yaml"


def example_review() -> bytes:
    """A review whose answer carries a patch."""
    (document,) = read_documents((EXAMPLE / "reviews" / "1-node-taint.yaml").read_bytes(), "review")
    return json.dumps(document.value).encode()


@attrs.frozen
class Replica:
    """A running process."""

    served: Served
    ca_file: Path
    body: Path

    @property
    def address(self) -> tuple[str, int]:
        """Where reviews are answered."""
        host, _, port = self.served.addresses["webhook"].rpartition(":")
        return host, int(port)

    def trusting(self) -> ssl.SSLContext:
        """What a client needs to believe it."""
        return ssl.create_default_context(cafile=str(self.ca_file))

    def load(self, *, port: int = 0, **options: Any) -> Load:
        """Calls on this process (on *port* when given: of what stands before it); each must be answered with its patch."""
        host, own = self.address
        given = {"timeout_s": 10.0, "limit_s": 40.0, "fresh_uid": True, "check": "patch", **options}
        return Load(f"https://{host}:{port or own}{PATH}", self.ca_file, (self.body,), **given)

    def total(self, metric: str, **labels: str) -> float:
        """The sum of all samples of *metric* that bear *labels*; 0 when there are none."""
        _, page = self.served.get("metrics", "/metrics")
        wanted = {f'{key}="{value}"' for key, value in labels.items()}
        samples = re.findall(rf"^{metric}(?:\{{(.*)\}})? (\S+)$", page, re.MULTILINE)
        return sum(float(value) for found, value in samples if wanted <= set(found.split(",")))

    def threads(self) -> int:
        """How many threads the process has."""
        return len(list(Path(f"/proc/{self.served.process.pid}/task").iterdir()))

    def is_ready(self) -> bool:
        """Whether /readyz says so."""
        return self.served.get("healthProbe", "/readyz")[0] == 200


@contextmanager
def replica(
    folder: Path, *flags: str, weakened: Sequence[str] = (), config: Path = CONFIG, arguments: Sequence[str] | None = None
) -> Iterator[Replica]:
    """A process on the example's files. Ends it."""
    line = [*(arguments or command()), "--config", str(config), *flags]
    if weakened:
        line[1:3] = ["-m", "tests.server.weakened", ",".join(weakened)]
    assert line[0] == sys.executable
    with serve(folder, arguments=line) as served:
        ca_file, body = folder / "ca.pem", folder / "review.json"
        ca_file.write_bytes(base64.b64decode(served.addresses.get("caBundle", "")))
        body.write_bytes(example_review())
        yield Replica(served, ca_file, body)


@contextmanager
def replica_of_cluster(folder: Path, settings: str, *, weakened: Sequence[str] = ()) -> Iterator[Replica]:
    """A process that follows an API server which has the example's objects, as it runs in a cluster. Ends it.

    settings: the section `webhook` of its configuration, YAML.
    """
    config = folder / "gatehouse.yaml"
    config.write_text(f"{CONFIG.read_text()}\nwebhook: {settings}\n")
    with FakeApi() as api:
        for document in read_documents((EXAMPLE / "cluster.yaml").read_bytes(), "cluster"):
            for item in document.value.get("items", [document.value]):
                api.objects.put(item)
        line = command()
        at = line.index("--local")
        line[at : at + 2] = ["--kubeconfig", api.kubeconfig(folder)]
        with replica(folder, weakened=weakened, config=config, arguments=line) as running:
            api.until(running.is_ready, 15.0)
            yield running
