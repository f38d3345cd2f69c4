"""Who gets the default entry has written no name: where one is missing, the message says its setting and what to create."""

from __future__ import annotations

import pytest

from webhook.cluster import NamespaceFacts
from webhook.names import INJECT, INJECT_ENTRIES
from webhook.sidecars.entries.catalog import Catalog
from webhook.sidecars.selection import Policy, select
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
        ("proxy", {INJECT_ENTRIES: "logs"}, f'sidecar entry "logs" {WHERE} (there: none)'),
    ],
    ids=["of the namespace", "of the pod", "named"],
)
def test_a_missing_default_names_its_setting_and_what_to_create(
    default: str, annotations: dict[str, str], expected: str
) -> None:
    pod = {"metadata": {"name": "web", "annotations": annotations}, "spec": {"containers": []}}

    found = select(pod, "shop", EVERY_POD, Catalog(), Policy(default=(default,)))

    assert found.message == expected
