"""The ConfigMaps that a pod cannot start without, each with the path of its reference."""

from __future__ import annotations

import pytest

from webhook.errors import MalformedObject
from webhook.objects.config_maps import Need, needs_of
from webhook.objects.meta import Json


def needed(spec: Json) -> list[Need]:
    return list(needs_of({"spec": spec}))


def test_volumes_need_config_maps_plain_and_projected() -> None:
    volumes = [
        {"name": "tmp", "emptyDir": {}},
        {"name": "conf", "configMap": {"name": "envoy"}},
        {"name": "all", "projected": {"sources": [{"secret": {"name": "s"}}, {"configMap": {"name": "ca"}}]}},
    ]

    assert needed({"volumes": volumes}) == [
        Need("envoy", "spec.volumes[1].configMap.name", volume="conf"),
        Need("ca", "spec.volumes[2].projected.sources[1].configMap.name", volume="all"),
    ]


@pytest.mark.parametrize("kind", ["initContainers", "containers", "ephemeralContainers"])
def test_variables_of_containers_of_every_kind_need_config_maps(kind: str) -> None:
    container = {
        "name": "app",
        "env": [{"name": "A", "value": "a"}, {"name": "B", "valueFrom": {"configMapKeyRef": {"name": "one", "key": "k"}}}],
        "envFrom": [{"secretRef": {"name": "s"}}, {"configMapRef": {"name": "two"}}],
    }

    assert needed({kind: [container]}) == [
        Need("one", f"spec.{kind}[0].env[1].valueFrom.configMapKeyRef.name", container="app"),
        Need("two", f"spec.{kind}[0].envFrom[1].configMapRef.name", container="app"),
    ]


def test_an_optional_config_map_may_be_missing() -> None:
    optional = {"name": "x", "optional": True}
    container = {
        "name": "app",
        "env": [{"name": "B", "valueFrom": {"configMapKeyRef": {**optional, "key": "k"}}}],
        "envFrom": [{"configMapRef": optional}],
    }
    volumes = [{"name": "a", "configMap": optional}, {"name": "b", "projected": {"sources": [{"configMap": optional}]}}]

    assert needed({"containers": [container], "volumes": volumes}) == []


def test_null_and_nameless_references_need_nothing() -> None:
    assert needed({"volumes": [{"name": "a", "configMap": None}, {"name": "b", "configMap": {}}], "containers": None}) == []


def test_a_reference_of_a_forbidden_type_is_a_bad_request() -> None:
    with pytest.raises(MalformedObject, match=r"spec.volumes\[0\].configMap.name"):
        needed({"volumes": [{"name": "a", "configMap": {"name": 7}}]})
