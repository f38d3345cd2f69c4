"""Whom the registrations of fixed addresses bring, and in which order."""

from __future__ import annotations

import attrs
import pytest

from webhook.addresses.policy import AddressPolicy
from webhook.admission.call import Call
from webhook.admission.configurations import ClientConfig, configurations
from webhook.admission.gate import Gate
from webhook.admission.registry import SERVICES, by_name, paths_for
from webhook.admission.review import Operations
from webhook.admission.service import Entry
from webhook.admission.settings import Settings
from webhook.clock import SystemClock
from webhook.objects.selectors import Selector
from webhook.telemetry import Telemetry
from webhook.testing import facts

ON = Settings(addresses=AddressPolicy())
POOL, LIST = {"gatehouse.dev/ip-pool": "edge"}, {"allocatable-ips": ""}


def matching(service: str, labels: dict[str, str], namespace: dict[str, str] | None = None) -> list[str]:
    """The suffixes of the registrations whose selectors match."""
    inside = namespace if namespace is not None else {"kubernetes.io/metadata.name": "shop"}

    def matches(entry: Entry) -> bool:
        selectors = (Selector.from_object(one) for one in (entry.object_selector, entry.namespace_selector))
        return all(selector.matches(which) for selector, which in zip(selectors, (labels, inside), strict=True))

    return [entry.suffix for entry in by_name(service).entries_with(ON) if brings_pods(entry) and matches(entry)]


def brings_pods(entry: Entry) -> bool:
    """Bindings come by a registration of their own."""
    return entry.matches[0].resource == "pods"


def test_nothing_is_registered_unless_it_is_on() -> None:
    assert by_name("pod-ip").entries_with(Settings()) == ()
    assert by_name("pod-ip-check").entries_with(Settings()) == ()
    assert by_name("pod-ip").caches_with(Settings()) == frozenset()


@pytest.mark.parametrize(
    ("labels", "brought", "checked"),
    [
        ({}, [], ["-unasked"]),
        (POOL, [""], [""]),
        (LIST, ["-list"], ["-list"]),
        (POOL | LIST, [""], [""]),
        (POOL | {"app.kubernetes.io/name": "gatehouse"}, [], [""]),
        (POOL | {"app.kubernetes.io/name": "web"}, [""], [""]),
    ],
)
def test_no_pod_comes_by_two_registrations(labels: dict[str, str], brought: list[str], checked: list[str]) -> None:
    assert matching("pod-ip", labels) == brought
    assert matching("pod-ip-check", labels) == checked


def test_the_system_is_never_held_up_and_a_namespace_can_be_switched_off() -> None:
    system = {"kubernetes.io/metadata.name": "kube-system"}
    off = {"kubernetes.io/metadata.name": "shop", "gatehouse.dev/mutate": "disabled"}

    assert matching("pod-ip", POOL, system) == matching("pod-ip-check", POOL, system) == []
    assert matching("pod-ip", POOL, off) == []
    assert matching("pod-ip-check", POOL, off) == [""]


def test_it_is_the_last_that_changes_pods() -> None:
    # A change by a later webhook makes the API server call the earlier ones again: ours may write each time.
    (mutating, _) = configurations(SERVICES, ClientConfig.url("https://h"), ON)

    pods = [one["name"] for one in mutating["webhooks"] if one["rules"][0]["resources"] == ["pods"]]

    assert pods[-2:] == ["pod-ip.gatehouse.dev", "pod-ip-list.gatehouse.dev"]


def test_the_registrations_say_what_a_call_may_do() -> None:
    (mutating, validating) = configurations([by_name("pod-ip"), by_name("pod-ip-check")], ClientConfig.url("https://h"), ON)

    for one in mutating["webhooks"]:
        assert (one["failurePolicy"], one["timeoutSeconds"], one["sideEffects"]) == ("Fail", 10, "NoneOnDryRun")
        assert (one["matchPolicy"], one["reinvocationPolicy"]) == ("Equivalent", "IfNeeded")
        assert one["rules"][0]["apiGroups"] == [""]  # "core" is no group: such a rule never matches a pod
    *judged, bindings = validating["webhooks"]
    for one in validating["webhooks"]:
        assert (one["failurePolicy"], one["timeoutSeconds"], one["sideEffects"]) == ("Fail", 5, "None")
    assert [(rule["resources"], rule["operations"]) for rule in bindings["rules"]] == [
        (["pods/binding"], ["CREATE"]),
        (["bindings"], ["CREATE"]),
    ]
    for one in judged:
        assert [rule["operations"] for rule in one["rules"]] == [["CREATE", "UPDATE"], ["UPDATE"]]
        assert {name for condition in one["matchConditions"] for name in [condition["name"]]} >= {"touches-a-fixed-address"}


def test_a_call_may_take_as_long_as_its_registration_says() -> None:
    assert by_name("pod-ip").bind(ON, facts.cluster()).service.timeout_s == 10


def test_a_review_finds_the_paths_of_its_resource() -> None:
    assert paths_for("", "pods", "", Operations.CREATE, ON)[-3:] == ("/mutate", "/pod-ip", "/pod-ip-check")
    assert "/pod-ip-check" in paths_for("", "pods", "status", Operations.UPDATE, ON)


@pytest.mark.parametrize("path", ["/pod-ip", "/webhook/mutating"])
def test_each_name_of_the_path_answers_and_is_counted(path: str) -> None:
    telemetry = Telemetry()
    gate = Gate(ON, facts.cluster(), telemetry, SystemClock())

    reply = gate.answer(Call("POST", path, "", "application/json", b"", SystemClock().monotonic_s()))

    assert reply.status == 400
    assert f'controller_runtime_webhook_requests_total{{code="400",webhook="{path}"}} 1.0' in telemetry.expose().decode()


def test_two_names_of_a_path_share_one_limit_of_reviews() -> None:
    names = {path for service in SERVICES for path in (service.path, *service.aliases)}

    assert len(names) == sum(1 + len(service.aliases) for service in SERVICES)


def test_bindings_come_only_with_something_of_a_fixed_address() -> None:
    bindings = by_name("pod-ip-check").entries_with(ON)[-1]

    assert [name for name, _ in bindings.match_conditions] == ["brings-a-fixed-address"]
    assert all(
        key in bindings.match_conditions[0][1] for key in ("allocated-ip", "ipAddrs", "ipAddrsNoIpam", "reservation-key")
    )


def test_where_we_run_elsewhere_than_with_the_system_our_own_pods_are_left_out() -> None:
    elsewhere = attrs.evolve(ON, home="guards")

    for entry in by_name("pod-ip-check").entries_with(elsewhere):
        if brings_pods(entry):
            assert entry.match_conditions[0][0] == "not-our-own"
