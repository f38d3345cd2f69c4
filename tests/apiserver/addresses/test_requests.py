"""One create at a time: what is written, what a dry run writes, names that come again, other webhooks in between."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.apiserver import injection
from tests.apiserver.addresses import objects
from tests.apiserver.addresses.objects import address, create, from_list, from_pool, pod
from tests.apiserver.addresses.stage import Stage
from tests.apiserver.audit import AuditLog
from tests.apiserver.registration import service_account_token
from tests.apiserver.waiting import wait_for
from tests.cluster import Api, ApiError, Json
from tests.cluster.components import APISERVER_PORT
from tests.cluster.kinds import apply
from tests.cluster.network import ADDRESS

INJECTED = "addr-injected"
POOL = "requests"
CONFIGURATIONS = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"


@pytest.fixture(scope="module", autouse=True)
def _pools(api: Api) -> None:
    objects.make_pool(api, POOL, "10.102.0.0/24")
    objects.make_pool(api, "both-families", "10.102.1.0/28", "fd64::/64")


@pytest.fixture
def since(stage: Stage) -> AuditLog:
    return AuditLog(stage.cluster.audit_log).from_now()


@contextmanager
def injected_late(api: Api, since: AuditLog) -> Iterator[None]:
    """Inside the block sidecars are injected by a configuration whose turn is after ours, so that pod-ip is asked again."""
    printed = api.get(f"{CONFIGURATIONS}/gatehouse")
    head = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingWebhookConfiguration"}

    def configuration(name: str, *, injects: bool) -> Json:
        hooks = [one for one in printed["webhooks"] if one["name"].startswith("mutate") is injects]
        return head | {"metadata": {"name": name}, "webhooks": hooks}

    try:
        apply(api, configuration("later", injects=True))
        apply(api, configuration("gatehouse", injects=False))

        def in_turn() -> bool:
            create(api, INJECTED, pod("probe-", {}), "?dryRun=All")
            notes = [event.get("annotations", {}) for event in since.events("admin")]
            return any('"later"' in text and '"mutated":true' in text for note in notes for text in note.values())

        wait_for(in_turn, 15.0, "the other order")
        yield
    finally:
        apply(api, head | {"metadata": {"name": "gatehouse"}, "webhooks": printed["webhooks"]})
        api.delete(f"{CONFIGURATIONS}/later")


def test_a_pod_bears_an_address_of_its_list_and_the_key_of_its_reservation(api: Api, namespace: str) -> None:
    made = create(api, namespace, pod("listed-", from_list("10.102.2.7")))

    kept = objects.reservation(api, address(made)) or {}
    assert address(made) == "10.102.2.7"
    assert kept["spec"]["reservationKey"] == objects.key(made)
    assert kept["spec"]["namespace"] == namespace


def test_the_annotation_takes_ranges_and_exclusions_that_no_label_can_hold(api: Api, namespace: str) -> None:
    asked = {objects.LIST_LABEL: "10.102.3.0/30, !10.102.3.0, !10.102.3.1-10.102.3.2"}

    made = create(api, namespace, pod("annotated-", from_list(""), asked))

    assert address(made) == "10.102.3.3"


def test_a_pod_gets_an_address_of_each_family(api: Api, namespace: str) -> None:
    made = create(api, namespace, pod("dual-", from_pool("both-families")))

    first, second = objects.addresses(made)
    assert first.startswith("10.102.1.")
    assert second.startswith("fd64::")
    assert made["metadata"]["labels"][objects.ALLOCATED] == first
    assert len([one for one in objects.reservations(api, namespace) if one["spec"]["reservationKey"] == objects.key(made)]) == 2


def test_a_dry_run_shows_an_address_and_writes_nothing(stage: Stage, api: Api, namespace: str, since: AuditLog) -> None:
    shown = create(api, namespace, pod("shown-", from_pool(POOL)), "?dryRun=All")

    assert address(shown).startswith("10.102.0.")
    assert objects.reservation(api, address(shown)) is None
    assert not [one for one in stage.requests(since) if one[0] in ("create", "delete")]


def test_a_list_that_cannot_be_read_is_quoted(api: Api, namespace: str) -> None:
    said = objects.refusal(api, namespace, pod("odd-", from_list("10.102.0.300")))

    assert "10.102.0.300" in said


def test_a_name_that_exists_already_costs_no_second_address(api: Api, namespace: str) -> None:
    made = create(api, namespace, pod("twice", from_pool(POOL)))

    for _ in range(5):
        with pytest.raises(ApiError, match="already exists"):
            create(api, namespace, pod("twice", from_pool(POOL)))

    assert [one["spec"]["ip"] for one in objects.reservations(api, namespace) if one["spec"].get("podName") == "twice"] == [
        address(made)
    ]


def test_a_pod_that_another_webhook_changes_afterwards_is_reserved_for_once(
    stage: Stage, api: Api, namespace: str, since: AuditLog
) -> None:
    injection.namespace(api, INJECTED, injection.EVERY_POD)
    apply(api, injection.config_map(INJECTED, "envoy-initializer", {"config": injection.ENVOY}))

    with injected_late(api, since):
        since = since.from_now()
        made = create(api, INJECTED, pod("injected-", from_pool(POOL)))

    again = [note for event in since.events("admin") for note in event.get("annotations", {}).items() if "/round_1_" in note[0]]
    assert any("pod-ip.gatehouse.dev" in text for _, text in again)
    assert injection.containers(made)[-1] == "envoy"
    assert [one["spec"]["ip"] for one in objects.reservations(api, INJECTED)] == [address(made)]
    assert stage.posts(since) == 1


def test_our_requests_have_a_flow_of_their_own(stage: Stage, api: Api, namespace: str) -> None:
    schemas = api.get("/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas")["items"]
    ours = {one["metadata"]["uid"]: one["metadata"]["name"] for one in schemas}
    trusting = ssl.create_default_context(cafile=str(stage.cluster.credentials.ca_file))
    headers = {"Authorization": f"Bearer {service_account_token(api)}"}

    with stage.cluster.connections(APISERVER_PORT, trusting, ADDRESS) as connections:
        reply = connections.call("GET", objects.RESERVATIONS, headers=headers)

    assert reply.status == 200
    assert ours[reply.headers["x-kubernetes-pf-flowschema-uid"]].startswith("gatehouse")
