"""Who gets the default entry has written no name: where one is missing, the message says its setting and what to create."""

from __future__ import annotations

import pytest

from webhook.cluster import NamespaceFacts
from webhook.names import INJECT, INJECT_ENTRIES, INJECTED_NAMESPACE_LABEL, OPT_IN_NAMESPACE_LABEL, Reason
from webhook.sidecars.entries.catalog import Catalog
from webhook.sidecars.selection import Missing, Policy, Source, asked, select
from webhook.sidecars.wish import wish_of
from webhook.testing.facts import namespace_facts

EVERY_POD: NamespaceFacts = namespace_facts("shop", labels={"pod-admission-webhook-injection": "enabled"})
WHERE = "is in no ConfigMap of namespace shop or kube-system"


@pytest.mark.parametrize(
    ("default", "annotations", "expected"),
    [
        (
            "envoy-initializer",
            {},
            f'sidecar entry "envoy-initializer", the default (features.sidecar.default), {WHERE}: '
            "create ConfigMap envoy-initializer with the key config, or change the setting (there: none)",
        ),
        (
            "proxy",
            {INJECT: "true"},
            f'sidecar entry "proxy", the default (features.sidecar.default), {WHERE}: '
            "create a ConfigMap with the label gatehouse.dev/sidecars=true and the key proxy, or change the setting "
            "(there: none)",
        ),
        (
            "proxy",
            {INJECT_ENTRIES: "true"},
            f'sidecar entry "proxy", the default (features.sidecar.default), {WHERE}: '
            "create a ConfigMap with the label gatehouse.dev/sidecars=true and the key proxy, or change the setting "
            "(there: none)",
        ),
        ("proxy", {INJECT_ENTRIES: "logs"}, f'sidecar entry "logs" {WHERE} (there: none)'),
        ("proxy", {INJECT_ENTRIES: "proxy"}, f'sidecar entry "proxy" {WHERE} (there: none)'),
    ],
    ids=["of the namespace", "of the pod", "of the pod, by the other key", "named", "named as the default is"],
)
def test_a_missing_default_names_its_setting_and_what_to_create(
    default: str, annotations: dict[str, str], expected: str
) -> None:
    pod = {"metadata": {"name": "web", "annotations": annotations}, "spec": {"containers": []}}

    found = select(pod, "shop", EVERY_POD, Catalog(), Policy(default=(default,)))

    assert found.message == expected


@pytest.mark.parametrize(
    ("labels", "of_namespace", "of_pod", "source"),
    [
        ({INJECTED_NAMESPACE_LABEL: "enabled"}, {}, {}, Source.DEFAULT),
        ({OPT_IN_NAMESPACE_LABEL: "enabled"}, {}, {INJECT: "true"}, Source.DEFAULT),
        ({OPT_IN_NAMESPACE_LABEL: "enabled"}, {}, {INJECT_ENTRIES: " True "}, Source.DEFAULT),
        ({OPT_IN_NAMESPACE_LABEL: "enabled"}, {}, {INJECT_ENTRIES: "proxy"}, Source.POD),
        ({OPT_IN_NAMESPACE_LABEL: "enabled"}, {}, {INJECT: "true", INJECT_ENTRIES: "proxy"}, Source.POD),
        ({OPT_IN_NAMESPACE_LABEL: "enabled"}, {INJECT_ENTRIES: "proxy"}, {}, Source.NAMESPACE),
        ({OPT_IN_NAMESPACE_LABEL: "enabled"}, {INJECT_ENTRIES: "true"}, {}, Source.DEFAULT),
        ({OPT_IN_NAMESPACE_LABEL: "enabled"}, {}, {INJECT: "false"}, None),
        ({OPT_IN_NAMESPACE_LABEL: "enabled"}, {}, {}, None),
    ],
    ids=range(9),
)
def test_who_chose_the_names_is_known_where_they_are_the_defaults_too(
    labels: dict[str, str], of_namespace: dict[str, str], of_pod: dict[str, str], source: Source | None
) -> None:
    space = namespace_facts("shop", labels=labels, annotations=of_namespace)

    found = asked(wish_of(of_pod, {}), space, Policy(default=("proxy",)))

    assert found.source is source


def test_a_pod_that_writes_the_name_of_a_missing_default_is_refused_as_for_any_name_of_its_own() -> None:
    pod = {"metadata": {"name": "web", "annotations": {INJECT_ENTRIES: "proxy"}}, "spec": {"containers": []}}

    found = select(pod, "shop", EVERY_POD, Catalog(), Policy(default=("proxy",), on_missing=Missing.DENY_NAMED))

    assert found.refusal is not None
    assert found.refusal.reason is Reason.ENTRY_MISSING
