"""What an operator has applied, and two replicas that answer in turn behind a balancer.

Each replica has an account of its own, so that the audit log tells them apart, and all have the same certificate, as replicas
have it from one Secret, so that a new process can take the place of a killed one.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import socket
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import attrs
import yaml

from tests.apiserver.addresses import objects
from tests.apiserver.audit import AuditLog
from tests.apiserver.databases import serve
from tests.apiserver.registration import NAMESPACE, ROOT, Registration
from tests.apiserver.replicas import Replica, Seat, Timing
from tests.apiserver.waiting import wait_for
from tests.apiserver.workloads import create_namespace
from tests.cluster import Api, ApiError, Cluster, Json
from tests.cluster.kinds import apply
from tests.server.balancer import Balancer

BASE = ROOT / "manifests" / "base"
CRD_FILE = BASE / "10-crd-addresses.yaml"
FLOW_FILE = BASE / "60-flowschema.yaml"
PROBE = "addresses-probe"
# Label of namespaces where pods name addresses by hand, as they did before there was a Gatehouse.
FROM_BEFORE = "from-before"
CONFIG: Json = {
    "features": {"podIP": {"enabled": True, "expiry": f"{objects.LEAST_EXPIRY_S}s"}},
    "controllers": {"edgeHealth": {"enabled": False}, "coverage": {"enabled": False}},
    "clientConnection": {"qps": 200, "burst": 200},
    "webhook": {"shutdownDelay": "0s"},
}


class _Twin(Replica):
    """With the certificate that the first process made."""

    def _make_certificate(self) -> None:
        store = self._folder.parent / "certificate"
        if not store.exists():
            super()._make_certificate()
            store.mkdir()
            for path in (self.ca_file, self._folder / "tls.crt", self._folder / "tls.key"):
                shutil.copy(path, store)
        for path in store.iterdir():
            shutil.copy(path, self._folder)


@attrs.frozen
class Stage:
    """Inside `set_up`."""

    cluster: Cluster
    api: Api
    seats: tuple[Seat, Seat]

    def leader(self) -> Seat:
        """The one that leads; waits for one."""
        found: list[Seat] = []

        def met() -> bool:
            found[:] = [seat for seat in self.seats if seat.leads()]
            return bool(found)

        wait_for(met, 30.0, "a leader")
        return found[0]

    def other(self) -> Seat:
        """The one that does not."""
        leader = self.leader()
        return next(seat for seat in self.seats if seat is not leader)

    def total(self, metric: str, **labels: str) -> float:
        """Of the replicas that run."""
        return sum(seat.replica.total(metric, **labels) for seat in self.seats if not seat.away.is_set())

    def log(self) -> str:
        """Of every process so far."""
        return "\n".join(life.log() for seat in self.seats for life in seat.lives)

    def requests(self, since: AuditLog) -> Counter[tuple[str, str, int]]:
        """(verb, resource or resource/subresource, status) of what the replicas asked of reservations and pods."""
        found: Counter[tuple[str, str, int]] = Counter()
        for seat in self.seats:
            for event in since.requests(seat.user):
                about = event.get("objectRef", {})
                if about.get("resource") in ("addressreservations", "pods") and event["verb"] != "watch":
                    what = "/".join(filter(None, (about["resource"], about.get("subresource"))))
                    found[event["verb"], what, event.get("responseStatus", {}).get("code", 0)] += 1
        return found

    def posts(self, since: AuditLog) -> int:
        """How many reservations the replicas tried to make, in vain or not."""
        return sum(
            count
            for (verb, what, _), count in self.requests(since).items()
            if (verb, what) == ("create", "addressreservations")
        )


def serve_addresses(api: Api) -> None:
    """The custom resources of manifests/base."""
    for document in yaml.safe_load_all(CRD_FILE.read_text()):
        serve(api, document)


def apply_flow_schema(api: Api, *accounts: str) -> None:
    """Our FlowSchema and its priority level, for *accounts* too."""
    for document in yaml.safe_load_all(FLOW_FILE.read_text()):
        if document["kind"] == "FlowSchema":
            for account in accounts:
                subject = {"kind": "ServiceAccount", "serviceAccount": {"name": account, "namespace": NAMESPACE}}
                document["spec"]["rules"][0]["subjects"].append(subject)
        apply(api, document)


@contextmanager
def set_up(cluster: Cluster, folder: Path, name: str, config: Json = CONFIG) -> Iterator[Stage]:
    """Everything applied, two replicas that the API server calls, one of which leads."""
    with ExitStack() as stack:
        api = stack.enter_context(cluster.api())
        serve_addresses(api)
        accounts = [f"{name}-{letter}" for letter in "ab"]
        apply_flow_schema(api, *accounts)
        seats = [Seat(cluster, folder, account, 0, Timing(), more=config, kind=_Twin) for account in accounts]
        for seat in seats:
            stack.enter_context(seat)
            seat.start()
        backends = [_dialler(cluster, seat) for seat in seats]
        balancer = stack.enter_context(Balancer(backends, listener=cluster.namespace.listen()))
        stack.enter_context(_registered(api, folder, balancer.port, config))
        stage = Stage(cluster, api, (seats[0], seats[1]))
        stage.leader()
        _wait_until_called(stage)
        yield stage


@contextmanager
def _registered(api: Api, folder: Path, port: int, config: Json) -> Iterator[None]:
    file = folder / "registered.json"
    file.write_text(json.dumps({"apiVersion": "gatehouse.dev/v1alpha1", "kind": "GatehouseConfiguration"} | config))
    printed = Registration.printed(f"https://127.0.0.1:{port}", folder / "certificate" / "webhook-ca.pem", file)
    missing = {"pod-ip.gatehouse.dev", "pod-ip-check.gatehouse.dev"} - set(printed.webhooks())
    assert not missing, printed.webhooks()
    with _sparing(printed).applied(api):
        yield


def _sparing(printed: Registration) -> Registration:
    """*printed*, but nobody checks pods without an opt-in label in namespaces with the label FROM_BEFORE."""
    spared = 0
    for webhook in (one for item in printed.configurations for one in item["webhooks"]):
        if webhook["name"] == "pod-ip-check-unasked.gatehouse.dev":
            webhook["namespaceSelector"]["matchExpressions"].append({"key": FROM_BEFORE, "operator": "DoesNotExist"})
            spared += 1
    assert spared == 1
    return printed


def _dialler(cluster: Cluster, seat: Seat) -> Callable[[], socket.socket]:
    """Connects to the seat's present process. Raises OSError while there is none."""

    def dial() -> socket.socket:
        if seat.away.is_set():
            raise ConnectionRefusedError(seat.name)
        host, _, port = seat.replica.addresses["webhook"].rpartition(":")
        return cluster.namespace.connect(host, int(port), 5.0)

    return dial


def _wait_until_called(stage: Stage) -> None:
    """Until the API server has noticed the registration: a pod that asks for nonsense is refused."""
    create_namespace(stage.api, PROBE)
    nonsense = objects.pod("nonsense", objects.from_list("no-address"))

    def refused() -> bool:
        with contextlib.suppress(ApiError):
            objects.create(stage.api, PROBE, nonsense, "?dryRun=All")
            return False
        return True

    wait_for(refused, 20.0, "a refusal by pod-ip")
