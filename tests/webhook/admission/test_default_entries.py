"""Pods of namespaces without sidecars come only when something is configured for them, and no outage keeps them out."""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from webhook.admission.configurations import ClientConfig, configurations
from webhook.admission.defaults import default_entries
from webhook.admission.registry import SERVICES, by_name
from webhook.admission.settings import Settings
from webhook.defaults.sets import DefaultSet, PodDefaults
from webhook.defaults.tuning import Scale, Tuning
from webhook.objects.selectors import Selector
from webhook.testing import facts

PROD, BATCH = Selector.parse("env=prod"), Selector.parse("batch")


def defaults(*selectors: Selector, **options: Any) -> Settings:
    sets = tuple(DefaultSet(f"s{index}", one, labels={"a": "b"}) for index, one in enumerate(selectors or [Selector()]))
    return Settings(defaults=PodDefaults(sets), **options)


def selector(settings: Settings) -> dict[str, Any]:
    (entry,) = default_entries(settings)
    return dict(entry.namespace_selector)


def keys(settings: Settings) -> list[tuple[str, str]]:
    return [(one["key"], one["operator"]) for one in selector(settings)["matchExpressions"]]


@pytest.mark.parametrize(
    "settings",
    [
        Settings(),
        attrs.evolve(defaults(), defaults=PodDefaults(defaults().defaults.sets, enabled=False)),
        Settings(tuning=Tuning({"cpu": Scale()})),
        Settings(tuning=Tuning(enabled=True)),
    ],
)
def test_nothing_configured_is_nothing_registered(settings: Settings) -> None:
    assert default_entries(settings) == ()
    assert by_name("mutate-defaults").bind(settings, facts.cluster()).rules == ()


@pytest.mark.parametrize("settings", [defaults(), Settings(tuning=Tuning({"cpu": Scale()}, enabled=True))])
def test_no_outage_keeps_a_pod_out(settings: Settings) -> None:
    (entry,) = default_entries(settings)

    assert (entry.failure_policy, entry.timeout_s) == ("Ignore", 3)


def test_namespaces_with_sidecars_come_to_mutate_and_no_pod_to_both() -> None:
    mutating, _ = configurations(SERVICES, ClientConfig.url("https://h"), defaults())
    chosen = {
        webhook["name"]: {(one["key"], one["operator"]) for one in webhook["namespaceSelector"]["matchExpressions"]}
        for webhook in mutating["webhooks"]
        if webhook["name"].startswith("mutate")
    }

    assert {("sidecar-injector", "In")} <= chosen["mutate.gatehouse.dev"]
    assert {("pod-admission-webhook-injection", "In"), ("sidecar-injector", "NotIn")} <= chosen[
        "mutate-every-pod.gatehouse.dev"
    ]
    assert {("pod-admission-webhook-injection", "NotIn"), ("sidecar-injector", "NotIn")} <= chosen[
        "mutate-defaults.gatehouse.dev"
    ]
    for expressions in chosen.values():
        assert {("gatehouse.dev/mutate", "NotIn"), ("kubernetes.io/metadata.name", "NotIn")} <= expressions


def test_where_nothing_injects_every_namespace_comes() -> None:
    assert keys(defaults(disabled=frozenset({"mutate"}))) == [
        ("gatehouse.dev/mutate", "NotIn"),
        ("kubernetes.io/metadata.name", "NotIn"),
    ]


def test_a_selector_that_all_share_narrows_the_registration() -> None:
    assert ("env", "In") in keys(defaults(PROD, PROD))
    assert ("batch", "Exists") in keys(defaults(BATCH))
    assert "tier" not in dict(keys(defaults(Selector.parse("tier>5"))))  # a LabelSelector cannot say it
    tuning = Tuning({"cpu": Scale()}, enabled=True, namespace_selector=BATCH)
    for apart in (defaults(PROD, BATCH), attrs.evolve(defaults(PROD), tuning=tuning)):
        assert {"env", "batch"}.isdisjoint(key for key, _ in keys(apart))


def test_nobody_waits_for_caches_of_a_service_that_has_nothing_to_decide() -> None:
    service = by_name("mutate-defaults")

    assert service.bind(Settings(), facts.cluster()).caches == frozenset()
    assert service.bind(defaults(), facts.cluster()).caches == {"namespaces", "limitranges"}


@pytest.mark.parametrize("settings", [defaults(), Settings(tuning=Tuning({"cpu": Scale()}, enabled=True))])
@pytest.mark.parametrize("name", ["mutate", "mutate-defaults"])
def test_no_amount_is_set_before_the_limit_ranges_are_known(name: str, settings: Settings) -> None:
    assert "limitranges" in by_name(name).bind(settings, facts.cluster()).caches


def test_injection_alone_does_not_wait_for_limit_ranges() -> None:
    assert "limitranges" not in by_name("mutate").bind(Settings(), facts.cluster()).caches
