"""What is kept of namespaces, of the ConfigMaps that hold sidecars, of LimitRanges and of ResourceQuotas.

Pure; any thread. Raises UndecodableObject naming the object and the field.
Source: core/v1 Namespace, ConfigMap, LimitRange and ResourceQuota (Kubernetes API reference).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from sys import intern
from typing import Any, Final, TypeVar

import attrs
import msgspec

from controllers.runtime.decoding import Projected, StructProjection
from controllers.runtime.errors import UndecodableAnswer
from controllers.runtime.resource import Item, Json, Params, Resource
from webhook.cluster import NamespaceFacts
from webhook.errors import MalformedObject
from webhook.names import ARTICLE_CONFIG_MAP, SIDECARS_LABEL
from webhook.objects import limit_ranges, resource_quotas
from webhook.objects.limit_ranges import LimitRange
from webhook.objects.resource_quotas import ResourceQuota

BY_NAMESPACE: Final = "namespace"  # index of LimitRanges and ResourceQuotas
LABELLED_CONFIG_MAPS: Final = "configmaps/labelled"  # names of two caches: never every ConfigMap of the cluster
NAMED_CONFIG_MAPS: Final = "configmaps/named"

# Up to 256 KiB a namespace, and a copy of what the other fields say.
_LEFT_OUT: Final = "kubectl.kubernetes.io/last-applied-configuration"

Texts = dict[str, str | None]
N = TypeVar("N", LimitRange, ResourceQuota)


@attrs.frozen
class ConfigMapFacts:
    """A ConfigMap that holds sidecars, as `webhook.sidecars.entries.source` reads it."""

    namespace: str
    name: str
    uid: str
    version: str  # metadata.resourceVersion, "" in files
    labels: Mapping[str, str]
    data: Mapping[str, str]

    @property
    def key(self) -> str:
        """As "namespace/name"."""
        return f"{self.namespace}/{self.name}"


class _Meta(msgspec.Struct, rename="camel"):
    name: str | None = None
    namespace: str | None = None
    uid: str | None = None
    resource_version: str | None = None


class _FullMeta(_Meta, rename="camel"):
    deletion_timestamp: str | None = None
    labels: Texts | None = None
    annotations: Texts | None = None


class _LabelledMeta(_Meta, rename="camel"):
    labels: Texts | None = None


class _Namespace(Projected):
    metadata: _FullMeta = msgspec.field(default_factory=_FullMeta)


class _ConfigMap(Projected):
    metadata: _LabelledMeta = msgspec.field(default_factory=_LabelledMeta)
    data: Texts | None = None


class _Constraint(Projected):
    """A LimitRange or a ResourceQuota: both are small, so that spec and status are read as they are."""

    metadata: _Meta = msgspec.field(default_factory=_Meta)
    spec: Any = None
    status: Any = None


class _Named(msgspec.Struct):
    metadata: _Meta


def namespaces_resource() -> Resource[NamespaceFacts]:
    """All namespaces."""
    return Resource("namespaces", "/api/v1/namespaces", _NAMESPACES)


def labelled_config_maps_resource() -> Resource[ConfigMapFacts]:
    """The ConfigMaps that say by a label that they hold sidecars."""
    return _config_maps(LABELLED_CONFIG_MAPS, {"labelSelector": f"{SIDECARS_LABEL}=true"})


def named_config_maps_resource() -> Resource[ConfigMapFacts]:
    """The ConfigMaps that have the one name which needs no label, of all namespaces."""
    return _config_maps(NAMED_CONFIG_MAPS, {"fieldSelector": f"metadata.name={ARTICLE_CONFIG_MAP}"})


def limit_ranges_resource() -> Resource[LimitRange]:
    """All LimitRanges, indexed by namespace."""
    return Resource("limitranges", "/api/v1/limitranges", _LIMIT_RANGES, indexes={BY_NAMESPACE: _namespace_of})


def resource_quotas_resource() -> Resource[ResourceQuota]:
    """All ResourceQuotas, indexed by namespace."""
    return Resource("resourcequotas", "/api/v1/resourcequotas", _QUOTAS, indexes={BY_NAMESPACE: _namespace_of})


# Of objects that were read from a file. Unknown fields are ignored; raise UndecodableObject.


def namespace_facts_from_object(obj: Json) -> NamespaceFacts:
    """The facts of a Namespace."""
    return _NAMESPACES.convert(obj).facts


def config_map_facts_from_object(obj: Json) -> ConfigMapFacts:
    """The facts of a ConfigMap."""
    return _CONFIG_MAPS.convert(obj).facts


def limit_range_from_object(obj: Json) -> LimitRange:
    """The facts of a LimitRange."""
    return _LIMIT_RANGES.convert(obj).facts


def quota_from_object(obj: Json) -> ResourceQuota:
    """The facts of a ResourceQuota."""
    return _QUOTAS.convert(obj).facts


def name_in(body: bytes) -> str:
    """The name of the one object in *body*, also of a PartialObjectMetadata. Raises UndecodableAnswer."""
    try:
        return _NAMED.decode(body).metadata.name or ""
    except (ValueError, RecursionError) as error:  # msgspec's errors are ValueErrors
        raise UndecodableAnswer(f"object: {error}") from error


def _config_maps(name: str, selectors: Params) -> Resource[ConfigMapFacts]:
    return Resource(name, "/api/v1/configmaps", _CONFIG_MAPS, params=selectors)


def _namespace_of(facts: LimitRange | ResourceQuota) -> tuple[str]:
    return (facts.namespace,)


def _namespace_item(seen: _Namespace) -> Item[NamespaceFacts]:
    meta = seen.metadata
    name = intern(_name(meta))
    # Keys and values repeat over namespaces (teams, Pod Security levels).
    labels = {intern(key): intern(value) for key, value in _texts(meta.labels).items()}
    annotations = {intern(key): value for key, value in _texts(meta.annotations).items() if key != _LEFT_OUT}
    facts = NamespaceFacts(name, meta.uid or "", labels, annotations, bool(meta.deletion_timestamp))
    return Item(name, facts.uid, meta.resource_version or "", facts)


def _config_map_item(seen: _ConfigMap) -> Item[ConfigMapFacts]:
    meta = seen.metadata
    name, namespace = _name(meta), intern(meta.namespace or "default")
    version = meta.resource_version or ""
    facts = ConfigMapFacts(namespace, name, meta.uid or "", version, _texts(meta.labels), _texts(seen.data))
    return Item(facts.key, facts.uid, version, facts)


def _constraint_item(read: Callable[[Json], N]) -> Callable[[_Constraint], Item[N]]:
    def to_item(seen: _Constraint) -> Item[N]:
        meta = seen.metadata
        namespace = intern(meta.namespace or "default")
        metadata = {"name": _name(meta), "namespace": namespace}
        try:
            facts = read({"metadata": metadata, "spec": seen.spec, "status": seen.status})
        except MalformedObject as error:
            raise ValueError(str(error)) from error
        return Item(f"{namespace}/{facts.name}", meta.uid or "", meta.resource_version or "", facts)

    return to_item


def _name(meta: _Meta) -> str:
    if not meta.name:
        raise ValueError("metadata.name is missing")
    return meta.name


def _texts(values: Texts | None) -> dict[str, str]:
    return {key: value or "" for key, value in (values or {}).items()}


_NAMESPACES: Final = StructProjection("v1", "Namespace", _Namespace, _namespace_item)
_CONFIG_MAPS: Final = StructProjection("v1", "ConfigMap", _ConfigMap, _config_map_item)
_LIMIT_RANGES: Final = StructProjection("v1", "LimitRange", _Constraint, _constraint_item(limit_ranges.from_object))
_QUOTAS: Final = StructProjection("v1", "ResourceQuota", _Constraint, _constraint_item(resource_quotas.from_object))
_NAMED: Final = msgspec.json.Decoder(_Named)
