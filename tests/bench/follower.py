"""Gatehouse's own cache of one kind and nothing else: `python -m tests.bench.follower KUBECONFIG nodes|pods EACH`.

It says on standard output, a JSON line each, when it has everything ({"synced": seconds, "processor": seconds}, both since its
first request), and then at once of each further EACH changes that it has heard of ({"heard": n, "at": time of day, seconds}).
Serves until killed.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from typing import Any

from controllers.runtime.informer import Informer
from controllers.runtime.projection import nodes_resource, pods_resource
from controllers.runtime.rest import RestClient
from controllers.runtime.store import Addition, Change
from webhook.clock import SystemClock
from webhook.objects.votes import VotePolicy
from webhook.telemetry import Telemetry


class _Ear:
    def __init__(self, each: int) -> None:
        self._each, self._heard = each, 0

    def hear(self, change: Change[Any]) -> None:
        """Count, and tell; the informer's thread."""
        if not isinstance(change, Addition):
            self._heard += 1
            if self._heard % self._each == 0:
                _say(heard=self._heard, at=time.time())


def main(kubeconfig: str, kind: str, each: str) -> None:
    """Follow until killed."""
    clock, telemetry, over = SystemClock(), Telemetry(), threading.Event()
    client = RestClient.from_kubeconfig(kubeconfig, telemetry, clock)
    resource: Any = nodes_resource(VotePolicy()) if kind == "nodes" else pods_resource()
    died: list[str] = []

    def die(name: str, error: BaseException) -> None:
        died.append(f"{name}: {error!r}")
        over.set()

    informer = Informer(resource, client, telemetry, clock, die)
    informer.add_handler(_Ear(int(each)).hear)
    begin_s, begin_processor_s = time.monotonic(), time.process_time()
    informer.start()
    informer.synced_event.wait()
    _say(synced=time.monotonic() - begin_s, processor=time.process_time() - begin_processor_s)
    over.wait()
    sys.exit("; ".join(died))


def _say(**values: float) -> None:
    print(json.dumps(values), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
