"""A replica whose caches stand still: what it does not know costs it a request, and nobody an address.

Its watches are held back by a relay. The reviews come from here, so that no pod is made of the answers.
"""

from __future__ import annotations

import base64
import json
import ssl
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
    """A process that has no connections but its watches: the relay would hold back others as well."""
    with (
        Relay(quiet_cluster) as relay,
        Gatehouse(quiet_cluster, tmp_path, config=ANSWERS_ONLY, server=relay.url) as gatehouse,
        quiet_cluster.connections(
            int(gatehouse.addresses["webhook"].rpartition(":")[2]),
            ssl.create_default_context(cafile=str(gatehouse.ca_file)),
        ) as reviews,
    ):
        yield Lagging(relay, reviews)


@pytest.fixture
def since(quiet_cluster: Cluster) -> AuditLog:
    return AuditLog(quiet_cluster.audit_log).from_now()


def reserve(api: Api, namespace: str, address: str) -> None:
    """As another replica does."""
    spec: Mapping[str, str] = {"ip": address, "namespace": namespace, "reservationKey": str(uuid.uuid4()), "holder": "another"}
    body = {"apiVersion": API_VERSION, "kind": "AddressReservation", "metadata": {"name": address}, "spec": spec}
    api.create(RESERVATIONS, body)


def make_known(lagging: Lagging, api: Api, name: str, *addresses: str) -> None:
    """A pool that no namespace may use yet, until the replica says so; then every namespace may."""
    objects.make_pool(api, name, *addresses, namespaceSelector={"matchLabels": {"nobody": "has-it"}})
    wait_for(lambda: "is not for namespace" in lagging.ask("default", pod("x-", from_pool(name)))[1], 10.0, f"{name} known")
    objects.make_pool(api, name, *addresses, namespaceSelector={})
    wait_for(lambda: not lagging.ask("default", pod("x", from_pool(name)), dry_run=True)[1], 10.0, f"{name} open")


def test_what_others_have_reserved_meanwhile_is_not_given_again(
    lagging: Lagging, api: Api, namespace: str, since: AuditLog
) -> None:
    make_known(lagging, api, "behind", "10.111.0.1-10.111.0.3")

    with lagging.relay.holding():
        for address in ("10.111.0.1", "10.111.0.3"):
            reserve(api, namespace, address)
        first = lagging.ask(namespace, pod("behind-", from_pool("behind")))
        none, said = lagging.ask(namespace, pod("behind-", from_pool("behind")))

    assert first == ("10.111.0.2", "")
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
