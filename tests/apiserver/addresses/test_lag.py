"""A replica whose caches stand still: what it does not know costs it a request, and nobody an address.

Its watches are held back by a relay. The reviews come from here, so that no pod is made of the answers.
"""

from __future__ import annotations

import base64
import json
import ssl
import time
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path

import attrs
import jsonpatch
import pytest

from tests.apiserver.addresses import objects
from tests.apiserver.addresses.objects import API_VERSION, CALICO, RESERVATIONS, from_pool, pod
from tests.apiserver.addresses.stage import CONFIG, Stage
from tests.apiserver.audit import AuditLog
from tests.apiserver.gatehouse import Gatehouse
from tests.apiserver.registration import USER
from tests.apiserver.relay import Relay
from tests.apiserver.waiting import wait_for
from tests.cluster import Api, Cluster, Json
from tests.cluster.api import Connections

ANSWERS_ONLY = CONFIG | {"controllers": CONFIG["controllers"] | {"podIP": {"enabled": False}}}


@attrs.frozen
class Lagging:
    """The replica, and what holds it back."""

    gatehouse: Gatehouse
    relay: Relay
    reviews: Connections

    def ask(self, namespace: str, body: Json, *, dry_run: bool = False) -> tuple[str, str]:
        """The address that the pod is given, and what is said if it is given none."""
        made = {**body, "metadata": {**body["metadata"], "namespace": namespace}}
        request = {
            "uid": str(uuid.uuid4()),
            "kind": {"group": "", "version": "v1", "kind": "Pod"},
            "resource": {"group": "", "version": "v1", "resource": "pods"},
            "name": body["metadata"].get("name", ""),
            "namespace": namespace,
            "operation": "CREATE",
            "userInfo": {"username": "somebody"},
            "object": made,
            "dryRun": dry_run,
        }
        review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}
        headers = {"Content-Type": "application/json"}
        reply = self.reviews.call("POST", "/pod-ip?timeout=10s", json.dumps(review).encode(), headers)
        if reply.status != 200:
            return "", reply.body.decode()
        response = json.loads(reply.body)["response"]
        if not response["allowed"]:
            return "", response["status"]["message"]
        given = jsonpatch.apply_patch(made, json.loads(base64.b64decode(response["patch"])))
        (address,) = json.loads(given["metadata"]["annotations"][CALICO])
        return address, ""


@pytest.fixture
def lagging(quiet_cluster: Cluster, stage: Stage, tmp_path: Path) -> Iterator[Lagging]:
    """A process whose allocations have made no connection yet."""
    with (
        Relay(quiet_cluster) as relay,
        Gatehouse(quiet_cluster, tmp_path, config=ANSWERS_ONLY, server=relay.url) as gatehouse,
        quiet_cluster.connections(
            int(gatehouse.addresses["webhook"].rpartition(":")[2]),
            ssl.create_default_context(cafile=str(gatehouse.ca_file)),
        ) as reviews,
    ):
        yield Lagging(gatehouse, relay, reviews)


@pytest.fixture
def since(quiet_cluster: Cluster) -> AuditLog:
    return AuditLog(quiet_cluster.audit_log).from_now()


def reserve(api: Api, namespace: str, address: str) -> None:
    """As another replica does."""
    spec: Mapping[str, str] = {"ip": address, "namespace": namespace, "reservationKey": str(uuid.uuid4()), "holder": "another"}
    body = {"apiVersion": API_VERSION, "kind": "AddressReservation", "metadata": {"name": address}, "spec": spec}
    api.create(RESERVATIONS, body)


def make_known(lagging: Lagging, api: Api, name: str, *addresses: str) -> None:
    """A pool, once the replica's cache has it. Nobody is asked for an address: that may cost requests, and keep connections."""
    objects.make_pool(api, name, *addresses)

    def known() -> bool:
        page = lagging.gatehouse.status()["addresses"]
        return not page["waitingFor"] and any(pool["name"] == name for pool in page["pools"])

    wait_for(known, 10.0, f"{name} known, and all that it depends on")


def test_what_others_have_reserved_meanwhile_is_not_given_again(
    lagging: Lagging, api: Api, namespace: str, since: AuditLog
) -> None:
    make_known(lagging, api, "behind", "10.111.0.1-10.111.0.3")

    with lagging.relay.holding():
        for address in ("10.111.0.1", "10.111.0.3"):
            reserve(api, namespace, address)
        first = lagging.ask(namespace, pod("behind-", from_pool("behind")))
        none, said = lagging.ask(namespace, pod("behind-", from_pool("behind")))

    assert first == ("10.111.0.2", ""), first
    assert none == ""
    assert "none of the 3" in said
    tried = [event for event in since.requests(USER) if event["verb"] == "create"]
    assert len(tried) <= 3


def test_what_was_given_back_meanwhile_is_found(lagging: Lagging, api: Api, namespace: str) -> None:
    make_known(lagging, api, "ahead", "10.111.1.1")
    reserve(api, namespace, "10.111.1.1")
    reserve(api, namespace, "10.111.3.1")  # after the other: who knows of this one knows of both
    either = pod("either-", objects.from_list("10.111.3.1-2"))
    wait_for(lambda: {lagging.ask(namespace, either, dry_run=True)[0] for _ in range(8)} == {"10.111.3.2"}, 10.0, "both known")

    with lagging.relay.holding():
        api.delete(f"{RESERVATIONS}/10.111.1.1")
        given, said = lagging.ask(namespace, pod("ahead-", from_pool("ahead")))

    assert given == "10.111.1.1", said


def test_a_named_pod_that_another_replica_gave_an_address_is_told_so_or_gets_another(
    lagging: Lagging, api: Api, namespace: str
) -> None:
    make_known(lagging, api, "named", "10.111.2.1-10.111.2.2")

    with lagging.relay.holding():
        reserve(api, namespace, "10.111.2.1")
        first, _ = lagging.ask(namespace, pod("named", from_pool("named")))
        again, _ = lagging.ask(namespace, pod("named", from_pool("named")))

    assert first == again == "10.111.2.2"


def test_a_kept_connection_that_went_dark_costs_a_pod_time_and_no_refusal(
    lagging: Lagging, api: Api, namespace: str, since: AuditLog
) -> None:
    make_known(lagging, api, "dark", "10.111.4.1-10.111.4.3")
    assert "does not exist" in lagging.ask(namespace, pod("x", from_pool("absent")))[1]  # asked live: a connection is kept

    start_s = time.monotonic()
    with lagging.relay.darkened():
        given, said = lagging.ask(namespace, pod("dark", from_pool("dark")))
    took_s = time.monotonic() - start_s

    assert given, said
    reserved = [one["spec"]["ip"] for one in objects.reservations(api, namespace) if one["spec"].get("podName") == "dark"]
    assert reserved == [given]
    assert took_s < 9.0, "within the time of one review"
    # The first request got through; only its answer did not.
    wait_for(lambda: asked_of_reservations(since) == [("create", 201), ("create", 409), ("get", 200)], 5.0, "three requests")
    assert (posts(lagging, "failed"), posts(lagging, "created"), posts(lagging, "taken")) == (1.0, 0.0, 1.0)


def asked_of_reservations(since: AuditLog) -> list[tuple[str, int]]:
    """Verb and status of each request of the replica about single reservations."""
    return [
        (event["verb"], event["responseStatus"]["code"])
        for event in since.requests(USER)
        if event.get("objectRef", {}).get("resource") == "addressreservations" and event["verb"] in ("create", "get")
    ]


def posts(lagging: Lagging, result: str) -> float:
    """Reservations that the replica tried to make, with that result."""
    return lagging.gatehouse.total("gatehouse_address_reservation_posts_total", result=result)
