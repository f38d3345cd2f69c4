"""The whole process, all of its parts, started and stopped five times in one interpreter: nothing stays behind."""

from __future__ import annotations

import base64
import gc
import json
import os
import ssl
import threading
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from controllers.config.document import parse
from controllers.process.assembly import LEAVE_WITHIN_S, Options, Process
from controllers.testing import FakeApi
from controllers.testing.answers import status
from tests.bench import reviews
from tests.controllers.followers import NODES, ONLY_ADMISSION, fill
from tests.controllers.served import EXAMPLE
from tests.server.client import Client, wait_until
from webhook.clock import SystemClock

TIMES = 5
WITHIN_S = 20.0
ANYWHERE = {"bindAddress": "127.0.0.1:0"}
RELEASED = {
    "apiVersion": "coordination.k8s.io/v1",
    "kind": "Lease",
    "metadata": {"namespace": "kube-system", "name": "gatehouse"},
    "spec": {"holderIdentity": "", "leaseDurationSeconds": 1, "leaseTransitions": 1},
}
REVIEW = reviews.endpoints(2 * NODES, nodes=NODES, silent=lambda node: True)


@pytest.fixture
def api() -> Iterator[FakeApi]:
    with FakeApi() as api:
        fill(api)
        api.objects.put(RELEASED)  # taken at once; a new one only after its duration, since an older one may have been deleted
        yield api


def threads_and_descriptors() -> Counter[str]:
    """The names of all threads, and what this process has open: `socket:[123]`, `anon_inode:[eventpoll]`, paths of files."""
    found = [thread.name for thread in threading.enumerate()]
    for entry in os.scandir("/proc/self/fd"):
        try:
            found.append(os.readlink(entry.path))
        except FileNotFoundError:
            continue  # the folder itself, as it was listed
    return Counter(found)


def _without_garbage() -> Counter[str]:
    """The same, once what nobody holds any more is gone: beside ten thousand tests the collector seldom comes by itself."""
    gc.collect()
    return threads_and_descriptors()


def options(kubeconfig: str = "", local_dir: Path | None = None) -> Options:
    sections = {
        "controllers": {"edgeHealth": {"enabled": True}},
        "leaderElection": {"enabled": local_dir is None, "namespace": "kube-system"},
        "webhook": {"bindAddress": "127.0.0.1:0", "shutdownDelay": "0s"},
        "metrics": ANYWHERE,
        "probes": ANYWHERE,
        "clientConnection": {"kubeconfig": kubeconfig},
    }
    return Options(parse(json.dumps(ONLY_ADMISSION | sections), "config.json"), local_dir)


class Run:
    """One process from its start to its end, used in between by a thread as the cluster would."""

    def __init__(self, wanted: Options) -> None:
        self.process = Process(wanted, SystemClock())
        self.used = False
        self.faults: list[BaseException] = []

    def live(self) -> int:
        """The exit code. This thread is the process's main thread."""
        user = threading.Thread(target=self._use, name="test/user")
        code = self.process.supervisor.run(user.start)
        user.join(WITHIN_S)
        return code

    def _use(self) -> None:
        try:
            wait_until(lambda: self._page("healthProbe", "/readyz") == b"ok", WITHIN_S)
            election = json.loads(self._page("metrics", "/statusz"))["leaderElection"]
            if election["enabled"]:
                wait_until(self._leads, WITHIN_S)
            address = self.process.addresses()
            host, _, port = address["webhook"].rpartition(":")
            context = ssl.create_default_context(cadata=base64.b64decode(address["caBundle"]).decode())
            with Client((host, int(port)), context) as client:
                assert client.post(REVIEW.body, REVIEW.path, ["Content-Type: application/json"]).status == 200
            self.used = True
        except BaseException as fault:
            self.faults.append(fault)
        finally:
            self.process.supervisor.request_stop()

    def _leads(self) -> bool:
        election = json.loads(self._page("metrics", "/statusz"))["leaderElection"]
        return bool(election["leading"]) and all(one["running"] for one in election["controllers"].values())

    def _page(self, server: str, path: str) -> bytes:
        try:
            with urllib.request.urlopen(f"http://{self.process.addresses()[server]}{path}", timeout=WITHIN_S) as answer:
                return bytes(answer.read())
        except urllib.error.HTTPError as error:
            with error:
                return b""


def live_five_times(wanted: Options) -> None:
    """Nothing may be left of it after a moment: the other ends of its connections need one to see that it has gone."""
    before = threads_and_descriptors()
    for _ in range(TIMES):
        run = Run(wanted)
        assert run.live() == 0
        assert run.faults == []
        assert run.used
    with suppress(TimeoutError):
        wait_until(lambda: _without_garbage() == before, WITHIN_S)
    assert threads_and_descriptors() - before == Counter()


def test_a_leader_leaves_no_thread_and_no_socket(api: FakeApi, tmp_path: Path) -> None:
    live_five_times(options(api.kubeconfig(tmp_path)))

    assert api.count("watch", "/api/v1/nodes") >= TIMES
    assert api.count("update", "/apis/coordination.k8s.io/v1") >= 2 * TIMES, "the lease was taken and released each time"


def test_a_process_on_files_leaves_no_thread_and_no_socket() -> None:
    live_five_times(options(local_dir=EXAMPLE))


def test_a_lease_that_cannot_be_released_does_not_cost_the_drain_its_time(api: FakeApi, tmp_path: Path) -> None:
    class Refused(Run):
        def _leads(self) -> bool:
            leads = super()._leads()
            if leads:
                api.always("update", status(403))
            return leads

    run = Refused(options(api.kubeconfig(tmp_path)))

    began_s = time.monotonic()
    assert run.live() == 0

    assert run.faults == []
    assert time.monotonic() - began_s < LEAVE_WITHIN_S, "the deadline of the whole process was used up"
