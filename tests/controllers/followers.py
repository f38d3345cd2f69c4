"""Real `gatehouse serve` processes that follow a scripted API server, for tests that need no cluster."""

from __future__ import annotations

import json
import re
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import MappingProxyType

import attrs

from controllers.testing import FakeApi
from controllers.testing.answers import status
from tests.bench import objects, reviews
from tests.controllers.served import Served, serve
from tests.server.client import wait_until

NODES = 10
READY_WITHIN_S = 60.0
ONLY_ADMISSION = {
    "apiVersion": "gatehouse.dev/v1alpha1",
    "kind": "GatehouseConfiguration",
    "controllers": {"edgeHealth": {"enabled": False}, "coverage": {"enabled": False}},
}
_REVIEW = reviews.endpoints(2 * NODES, nodes=NODES, silent=lambda node: True)
_BEGUN = re.compile(r'^gatehouse_reflector_(?:lists|watches)_total\{.*resource="([^"]+)".*\} (\S+)$', re.MULTILINE)


@attrs.frozen
class Follower:
    """One process and the API server that it follows."""

    served: Served
    api: FakeApi

    def begun(self) -> Mapping[str, int]:
        """The lists and watches that each reflector has begun so far, answered or not, by resource."""
        found: Counter[str] = Counter()
        for resource, count in _BEGUN.findall(self.served.get("metrics", "/metrics")[1]):
            found[resource] += int(float(count))
        return found

    def counted(self) -> tuple[Mapping[str, int], int]:
        """What it has begun, and what the API server has seen, in a moment in which nothing is on its way."""
        while True:
            found = self.begun(), len(self.api.requests)
            if found == (self.begun(), len(self.api.requests)):
                return found

    def admits(self) -> bool:
        """Whether a review whose answer depends on every node of the cache is answered as it should be."""
        with self.served.connect() as client:
            reply = client.post(_REVIEW.body, f"{_REVIEW.path}?timeout=10s", ["Content-Type: application/json"])
        return reply.status == 200 and "patch" in json.loads(reply.body)["response"]


def arguments(kubeconfig: str, *flags: str) -> list[str]:
    """`gatehouse serve` for the cluster of *kubeconfig*, on free ports of loopback."""
    ports = [f"--{server}-bind-address=127.0.0.1:0" for server in ("webhook", "metrics", "health-probe")]
    return [sys.executable, "-m", "controllers", "serve", f"--kubeconfig={kubeconfig}", *ports, *flags]


def fill(api: FakeApi, nodes: int = NODES) -> None:
    """Nodes that fell silent a minute ago, and whose peers vouch for them."""
    since = reviews.moment(60.0)
    for number in range(nodes):
        api.objects.put(objects.node(number, since, ready="Unknown"))


@contextmanager
def follower(folder: Path) -> Iterator[Follower]:
    """One that is ready, and admission is all that it does."""
    folder.mkdir()
    config = folder / "config.json"
    config.write_text(json.dumps(ONLY_ADMISSION))
    with FakeApi() as api:
        fill(api)
        with serve(folder, arguments=arguments(api.kubeconfig(folder), f"--config={config}")) as served:
            wait_until(lambda: served.get("healthProbe", "/readyz")[0] == 200, READY_WITHIN_S)
            yield Follower(served, api)


@attrs.frozen
class Outage:
    """What one process did while its API server was away."""

    requests: Mapping[str, int]  # by resource
    seen: int  # of these by the API server
    reviews: int
    admitted: int  # of the reviews


def _refuses(api: FakeApi) -> None:
    api.stop()  # nobody listens any more


def _fails(api: FakeApi) -> None:
    api.always("any", status(500))
    api.cut_watches()


OUTAGES = MappingProxyType({"answers 500": _fails, "refuses connections": _refuses})


def outages(folder: Path, seconds: float) -> Mapping[str, Outage]:
    """All kinds of outage at the same time, one process each, with reviews all the while."""
    with ExitStack() as stack:
        followers = {name: stack.enter_context(follower(folder / name.replace(" ", "-"))) for name in OUTAGES}
        before = {name: one.counted() for name, one in followers.items()}
        for name, one in followers.items():
            OUTAGES[name](one.api)
        answers: dict[str, list[bool]] = {name: [] for name in followers}
        end_s = time.monotonic() + seconds
        while time.monotonic() < end_s:
            for name, one in followers.items():
                answers[name].append(one.admits())
            time.sleep(0.2)
        after = {name: one.counted() for name, one in followers.items()}
        return {
            name: Outage(
                {resource: count - before[name][0][resource] for resource, count in after[name][0].items()},
                after[name][1] - before[name][1],
                len(answers[name]),
                sum(answers[name]),
            )
            for name in followers
        }
