"""What manifests/ says of fixed addresses is what a real API server makes of it: kinds, registrations, seats of our own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from tests.apiserver import injection
from tests.apiserver.databases import serve
from tests.apiserver.registration import ROOT
from tests.apiserver.waiting import wait_for
from tests.cluster import Api, ApiError, Cluster, Json
from tests.cluster.kinds import apply
from webhook.addresses.policy import AddressPolicy
from webhook.admission.configurations import ClientConfig, configurations
from webhook.admission.registry import by_name
from webhook.admission.service import Entry
from webhook.admission.settings import Settings

ON = Settings(addresses=AddressPolicy(), home="gatehouse-home")
NAMESPACE = "fixed-kinds"
GROUP = "/apis/gatehouse.dev/v1alpha1"
POLICIES = "/apis/admissionregistration.k8s.io/v1"
DRY = "?dryRun=All"


def manifests(name: str) -> list[Json]:
    return list(yaml.safe_load_all((ROOT / "manifests" / "base" / name).read_text()))


@pytest.fixture(scope="module")
def admin(quiet_cluster: Cluster) -> Iterator[Api]:
    """An administrator of a cluster that has the kinds."""
    with quiet_cluster.api() as api:
        for crd in manifests("10-crd-addresses.yaml"):
            serve(api, crd)
        for name in (NAMESPACE, ON.home):
            injection.namespace(api, name, {})
        yield api


def refused(admin: Api, plural: str, body: Json) -> str:
    """What the API server has against *body*, "" when it takes it."""
    try:
        admin.create(f"{GROUP}/{plural}{DRY}", {"apiVersion": "gatehouse.dev/v1alpha1", **body})
    except ApiError as error:
        return str(error)
    return ""


def pool(name: str = "edge", **spec: Any) -> Json:
    return {"kind": "AddressPool", "metadata": {"name": name}, "spec": {"addresses": ["10.0.0.0/26"], **spec}}


def reservation(name: str, ip: str) -> Json:
    spec = {"ip": ip, "reservationKey": "k", "namespace": "shop"}
    return {"kind": "AddressReservation", "metadata": {"name": name}, "spec": spec}


# -- the kinds


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (pool(), ""),
        (
            pool(addresses=["10.0.0.7", "10.0.0.10-10.0.0.19", "10.0.0.30-39", "fd00::1", "fd00::10-fd00::1f", "fd00:1::/112"]),
            "",
        ),
        (pool(exclude=["10.0.0.1"], onExhausted="gate", cooldown="15m", expiry="1h30m"), ""),
        (pool(namespaceSelector={"matchLabels": {"team": "a"}}), ""),
        (pool(namespaceSelector={}), ""),
        (pool(addresses=[]), "at least 1 items"),
        (pool(addresses=["10.0.0.300"]), "must be an IP address, a range"),
        (pool(addresses=["10.0.0.1/26"]), "a CIDR without host bits"),
        (pool(addresses=["10.0.0.1-fd00::1"]), "within one family"),
        (pool(addresses=["fd00::1-19"]), "within one family"),
        (pool(addresses=["10.0.0.1-"]), "must be an IP address, a range"),
        (pool(addresses=["10.0.0.1-010"]), "must be an IP address, a range"),
        (pool(exclude=["10.0.0.0/33"]), "spec.exclude[0]"),
        (pool(onExhausted="Deny"), 'supported values: "deny", "gate"'),
        (pool(expiry="59s"), "must be a duration from 60s to 168h"),
        (pool(expiry="-2m"), "must be a duration from 60s to 168h"),
        (pool(cooldown="soon"), "must be a duration of at most 168h"),
        (pool(namespaceSelector={"matchLabels": {"a b": "c"}}), "must have the keys of labels"),
        (pool(namespaceSelector={"matchExpressions": [{"key": "a", "operator": "In"}]}), "need values"),
        (pool("a" * 64), "at most 63 characters"),
    ],
    ids=lambda value: str(value.get("spec", value))[:60] if isinstance(value, dict) else value,
)
def test_a_pool_is_taken_or_refused_with_a_reason(admin: Api, body: Json, why: str) -> None:
    found = refused(admin, "addresspools", body)

    assert why in found and bool(why) == bool(found), found


@pytest.mark.parametrize(
    ("name", "ip", "taken"),
    [
        ("10.0.0.1", "10.0.0.1", True),
        ("10.0.0.2", "10.0.0.1", False),
        ("fd00-0000-0000-0000-0000-0000-0000-0001", "fd00::1", True),
        ("fd00-0000-0000-0000-0000-0000-0000-0002", "fd00::1", False),
        ("fd00--1", "fd00::1", False),
        ("10.0.0.1", "10.0.0.01", False),
        ("fd00-0000-0000-0000-0000-0000-0000-0001", "fd00:0::1", False),
        ("10.0.0.1", "::ffff:10.0.0.1", False),
    ],
)
def test_a_reservation_is_named_by_its_address_in_one_way_only(admin: Api, name: str, ip: str, taken: bool) -> None:
    found = refused(admin, "addressreservations", reservation(name, ip))

    assert bool(found) is not taken, found
    assert taken or "must be" in found


def test_a_reservation_never_changes_hands_and_is_reserved_until_somebody_says_more(admin: Api) -> None:
    body = {"apiVersion": "gatehouse.dev/v1alpha1", **reservation("10.9.9.9", "10.9.9.9")}
    admin.create(f"{GROUP}/addressreservations", body)
    path = f"{GROUP}/addressreservations/10.9.9.9"
    try:
        with pytest.raises(ApiError, match="an address is given to somebody else by deleting its reservation"):
            admin.patch(path, {"spec": {"namespace": "other"}})
        with pytest.raises(ApiError) as twice:
            admin.create(f"{GROUP}/addressreservations", body)

        assert twice.value.reason == "AlreadyExists"
        assert admin.get(path)["status"] == {"phase": "Reserved"}
    finally:
        admin.delete(path)


def test_a_pool_says_what_it_does_by_default(admin: Api) -> None:
    made = admin.create(f"{GROUP}/addresspools{DRY}", {"apiVersion": "gatehouse.dev/v1alpha1", **pool()})

    assert made["spec"] == {"addresses": ["10.0.0.0/26"], "onExhausted": "deny", "cooldown": "0s", "expiry": "120s"}


# -- seats of our own


def test_our_requests_have_a_level_of_their_own(admin: Api) -> None:
    level, schema = manifests("60-flowschema.yaml")

    apply(admin, level)
    apply(admin, schema)

    def is_bound() -> bool:
        found = admin.get("/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas/gatehouse")
        conditions = (found.get("status") or {}).get("conditions") or []
        return any(one["type"] == "Dangling" and one["status"] == "False" for one in conditions)

    wait_for(is_bound, 20.0, "the FlowSchema finds its level")


# -- whom the registrations bring


def test_the_registrations_are_taken(admin: Api) -> None:
    services = [by_name("pod-ip"), by_name("pod-ip-check")]

    for body in configurations(services, ClientConfig.url("https://127.0.0.1:9443"), ON):
        body["metadata"]["name"] = "fixed-kinds"
        plural = body["kind"].lower() + "s"
        assert len(admin.create(f"{POLICIES}/{plural}{DRY}", body)["webhooks"]) in (2, 4)


def policy(name: str, entry: Entry) -> list[Json]:
    """A ValidatingAdmissionPolicy that refuses, by *name*, whatever the registration would bring to us."""
    rules = [
        {
            "apiGroups": [one.group],
            "apiVersions": [one.version],
            "resources": [one.resource],
            "operations": list(one.operations),
        }
        for one in entry.matches
    ]
    spec = {
        "failurePolicy": "Fail",
        "matchConstraints": {
            "resourceRules": rules,
            "objectSelector": dict(entry.object_selector),
            "namespaceSelector": dict(entry.namespace_selector),
        },
        "matchConditions": [{"name": one, "expression": cel} for one, cel in entry.match_conditions],
        "validations": [{"expression": "false", "message": f"brought by {name}!"}],
    }
    binding = {"policyName": name, "validationActions": ["Deny"]}
    head = {"apiVersion": "admissionregistration.k8s.io/v1", "metadata": {"name": name}}
    return [
        {**head, "kind": "ValidatingAdmissionPolicy", "spec": spec},
        {**head, "kind": "ValidatingAdmissionPolicyBinding", "spec": binding},
    ]


@pytest.fixture(scope="module")
def brought(admin: Api) -> Iterator[Api]:
    """An API server that refuses whatever the registrations of pod-ip-check would bring."""
    names = []
    gates = [{"name": "gatehouse.dev/pod-ip"}, {"name": "example.com/other"}]
    injection.create(admin, NAMESPACE, injection.pod("gated", schedulingGates=gates))  # nobody creates one like that later
    injection.create(admin, NAMESPACE, injection.pod("unbound"))
    for entry in by_name("pod-ip-check").entries_with(ON):
        name = f"check{entry.suffix}"
        for body in policy(name, entry):
            path = f"{POLICIES}/{body['kind'][:-1]}ies" if body["kind"].endswith("y") else f"{POLICIES}/{body['kind']}s"
            admin.create(path.lower(), body)
            names.append(f"{path.lower()}/{name}")
    wait_for(lambda: bringer(admin, labels={"gatehouse.dev/ip-pool": "a"}) == "check", 20.0, "the policies count")
    wait_for(lambda: bringer(admin, annotations=ADDRESSES) == "check-unasked", 20.0, "all of them")
    wait_for(lambda: bringer(admin, labels={"allocatable-ips": ""}) == "check-list", 20.0, "all of them")
    wait_for(lambda: binder(admin, "bindings", {"annotations": ADDRESSES}) == "check-binding", 20.0, "all of them")
    yield admin
    for one in reversed(names):
        admin.delete(one)


def named(namespace: str = NAMESPACE, **metadata: Any) -> Json:
    return injection.pod() | {"metadata": {"name": "web", "namespace": namespace, **metadata}}


def bringer(admin: Api, namespace: str = NAMESPACE, **metadata: Any) -> str:
    """The registration that brings the creation of such a pod; "" when none does."""
    return _bringer(lambda: injection.create(admin, namespace, named(namespace, **metadata), DRY))


def binder(admin: Api, path: str, metadata: Json) -> str:
    """The registration that brings a Binding with such metadata; "" when none does."""
    body = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "unbound", "namespace": NAMESPACE} | metadata}
    body["target"] = {"apiVersion": "v1", "kind": "Node", "name": "rack-1"}
    return _bringer(lambda: admin.create(f"/api/v1/namespaces/{NAMESPACE}/{path}?dryRun=All", body))


def _bringer(ask: Any) -> str:
    try:
        ask()
    except ApiError as error:
        text = str(error)
        assert text.count("brought by") == 1, text
        return text.partition("brought by ")[2].partition("!")[0]
    return ""


ADDRESSES = {"cni.projectcalico.org/ipAddrs": '["10.0.0.1"]'}
OURS = {"app.kubernetes.io/name": "gatehouse"}
POOL = {"gatehouse.dev/ip-pool": "edge"}


@pytest.mark.parametrize(
    ("created", "by"),
    [
        ({}, ""),
        ({"labels": {"app": "web"}, "annotations": {"a": "b"}}, ""),
        ({"labels": POOL}, "check"),
        ({"labels": POOL | {"allocatable-ips": ""}}, "check"),
        ({"labels": {"allocatable-ips": "10.0.0.1"}}, "check-list"),
        ({"labels": {"allocated-ip": "10.0.0.1"}}, "check-unasked"),
        ({"annotations": {"cni.projectcalico.org/ipAddrsNoIpam": '["10.0.0.1"]'}}, "check-unasked"),
        ({"annotations": {"gatehouse.dev/reservation-key": "k"}}, "check-unasked"),
        ({"annotations": {"allocatable-ips": "10.0.0.1"}}, ""),
        ({"labels": POOL | OURS}, "check"),
        ({"labels": POOL | OURS, "namespace": "gatehouse-home"}, ""),
        ({"labels": POOL, "namespace": "gatehouse-home"}, "check"),
        ({"labels": POOL, "namespace": "kube-system"}, ""),
    ],
)
def test_only_pods_with_fixed_addresses_are_brought_to_the_check(brought: Api, created: Json, by: str) -> None:
    assert bringer(brought, **created) == by


@pytest.mark.parametrize(("gate", "by"), [("gatehouse.dev/pod-ip", "check-unasked"), ("example.com/other", "")])
def test_our_gate_is_brought_to_the_check(brought: Api, gate: str, by: str) -> None:
    body = named()
    body["spec"] = body["spec"] | {"schedulingGates": [{"name": gate}]}

    assert _bringer(lambda: injection.create(brought, NAMESPACE, body, DRY)) == by


@pytest.mark.parametrize(
    ("bound", "by"),
    [
        ({}, ""),
        ({"annotations": {"scheduler": "mine"}, "labels": {"a": "b"}}, ""),
        ({"annotations": ADDRESSES}, "check-binding"),
        ({"annotations": {"gatehouse.dev/reservation-key": ""}}, "check-binding"),
        ({"labels": {"allocated-ip": "10.0.0.1"}}, "check-binding"),
    ],
)
@pytest.mark.parametrize("path", ["pods/unbound/binding", "bindings"])
def test_bindings_are_brought_to_the_check_with_something_of_an_address(brought: Api, bound: Json, by: str, path: str) -> None:
    assert binder(brought, path, bound) == by


@pytest.mark.parametrize("subresource", ["", "/status"])
@pytest.mark.parametrize(
    ("patch", "by"),
    [
        ({"labels": {"app": "web"}, "annotations": {"a": "b"}, "finalizers": ["example.com/a"]}, ""),
        ({"labels": {"allocated-ip": "10.0.0.1"}}, "check-unasked"),
        ({"annotations": ADDRESSES}, "check-unasked"),
        ({"labels": POOL}, "check"),
    ],
)
def test_of_updates_only_those_that_touch_an_address_are_brought(brought: Api, patch: Json, by: str, subresource: str) -> None:
    path = f"/api/v1/namespaces/{NAMESPACE}/pods"
    if brought.find(f"{path}/plain") is None:
        injection.create(brought, NAMESPACE, injection.pod("plain"))

    asked = _bringer(lambda: brought.patch(f"{path}/plain{subresource}{DRY}", {"metadata": patch}))

    assert asked == by


def test_a_gate_that_is_taken_off_is_brought_to_the_check(brought: Api) -> None:
    path = f"/api/v1/namespaces/{NAMESPACE}/pods"

    ours = _bringer(lambda: brought.patch(f"{path}/gated{DRY}", without_gate([1]), "application/json-patch+json"))
    other = _bringer(lambda: brought.patch(f"{path}/gated{DRY}", without_gate([0]), "application/json-patch+json"))

    assert (ours, other) == ("", "check-unasked")


def without_gate(indexes: list[int]) -> list[Json]:
    return [{"op": "remove", "path": f"/spec/schedulingGates/{index}"} for index in indexes]
