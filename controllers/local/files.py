"""What one file of --local holds: its objects as facts, each with its place.

IO: reads files; nothing is kept. Errors: LocalError, the operator's fault.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, TypeVar

import attrs

from controllers import inputs
from controllers.database_instance.resources import claim_of, instance_facts_from_object, stateful_set_of
from controllers.database_instance.values import Workload
from controllers.pod_ip.paths import API_VERSION as ADDRESSES_VERSION
from controllers.pod_ip.plan import StatefulSetFacts
from controllers.pod_ip.resources import pool_from_object, reservation_from_object, stateful_set_from_object
from controllers.runtime.errors import UndecodableObject
from controllers.runtime.projection import node_facts_from_object, pod_facts_from_object
from controllers.runtime.projection_cluster import (
    config_map_facts_from_object,
    limit_range_from_object,
    namespace_facts_from_object,
    quota_from_object,
)
from controllers.sidecars.copies import read as read_entries
from webhook.addresses.facts import POOL_KIND, RESERVATION_KIND, PoolFacts, ReservationFacts
from webhook.cluster import NamespaceFacts, NodeFacts, PodFacts
from webhook.names import NAMESPACE_NAME
from webhook.objects import databases
from webhook.objects.databases import ClaimFacts, InstanceFacts
from webhook.objects.documents import DocumentError, objects, read_documents
from webhook.objects.limit_ranges import LimitRange
from webhook.objects.meta import Json
from webhook.objects.resource_quotas import ResourceQuota
from webhook.objects.votes import VotePolicy
from webhook.sidecars.entries.catalog import Reading

SUFFIXES: Final = (".yaml", ".yml", ".json")

T = TypeVar("T")
Stamp = tuple[int, int, int]  # mtime in ns, size, inode: what changes when a file is written


class LocalError(OSError):
    """The folder cannot be read, or files in it are broken: the operator's fault. Its text has a line for each."""


@attrs.frozen
class Placed:
    """Facts and where they stand."""

    where: str  # "file:line", for messages
    facts: Any


@attrs.frozen
class File:
    """What one file held when it was last good."""

    stamp: Stamp  # when it was looked at last, good or not
    objects: tuple[Placed, ...] = ()

    def of(self, kind: type[T]) -> Iterator[tuple[str, T]]:
        """Those of one kind, with their places."""
        return ((one.where, one.facts) for one in self.objects if isinstance(one.facts, kind))


def read_file(path: Path, stamp: Stamp, policy: VotePolicy) -> File:
    """The objects in *path* that a rule reads; other kinds are passed over. Raises LocalError."""
    if not path.is_file():
        raise LocalError(f"{path}: not a regular file")  # reading a pipe would wait for ever
    try:
        documents = read_documents(inputs.read_file(path), str(path), positions=True)
    except OSError as error:
        raise LocalError(f"{path}: cannot be read: {error.strerror}") from error
    except DocumentError as error:
        raise LocalError(str(error)) from error
    found: list[Placed] = []
    for document in objects(documents):
        where = f"{path}:{document.line}"
        try:
            found += (Placed(where, facts) for facts in facts_of(document.value, policy))
        except UndecodableObject as error:
            raise LocalError(f"{where}: {error}") from error
    return File(stamp, tuple(found))


def facts_of(value: Any, policy: VotePolicy) -> list[Facts]:
    """What rules know of an object, once for each cache that would have it; [] of a kind that no rule reads.

    Raises UndecodableObject.
    """
    facts = _facts(value, policy)
    found: list[Facts] = [] if facts is None else [facts]
    if isinstance(facts, Workload):
        found.append(stateful_set_from_object(value))
    return found


Facts = (
    NodeFacts
    | PodFacts
    | NamespaceFacts
    | Reading
    | LimitRange
    | ResourceQuota
    | InstanceFacts
    | ClaimFacts
    | Workload  # StatefulSets, as databases know them
    | StatefulSetFacts  # and as fixed addresses do
    | PoolFacts
    | ReservationFacts
)


def _facts(value: Any, policy: VotePolicy) -> Facts | None:
    if not isinstance(value, dict):
        return None
    obj: Json = value
    match obj.get("apiVersion"), obj.get("kind"):
        case "v1", "Node":
            return node_facts_from_object(obj, policy)
        case "v1", "Pod":
            return pod_facts_from_object(obj)
        case "v1", "Namespace":
            return namespace_of(obj)
        case "v1", "ConfigMap":
            return read_entries(config_map_facts_from_object(obj))
        case "v1", "LimitRange":
            return limit_range_from_object(obj)
        case "v1", "ResourceQuota":
            return quota_from_object(obj)
        case "v1", "PersistentVolumeClaim":
            return claim_of(obj)
        case "apps/v1", "StatefulSet":
            return stateful_set_of(obj)
        case databases.API_VERSION, databases.KIND:
            return instance_facts_from_object(obj)
        case version, kind if version == ADDRESSES_VERSION and kind == POOL_KIND:
            return pool_from_object(obj)
        case version, kind if version == ADDRESSES_VERSION and kind == RESERVATION_KIND:
            return reservation_from_object(obj)
    return None


def namespace_of(obj: Json) -> NamespaceFacts:
    """A Namespace of a file with the label that the API server gives each. Raises UndecodableObject."""
    facts = namespace_facts_from_object(obj)
    return attrs.evolve(facts, labels={**facts.labels, NAMESPACE_NAME: facts.name})


def stamps(folder: Path) -> Iterator[tuple[Path, Stamp]]:
    """The files below *folder* that may hold objects, each with what changes when it is written. Raises OSError."""
    for place, folders, files in os.walk(folder, onerror=_refuse):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(files):
            if name.startswith(".") or not name.lower().endswith(SUFFIXES):
                continue
            path = Path(place, name)
            try:
                status = path.stat()
            except FileNotFoundError:
                continue  # removed while we looked, or a link to nowhere
            except OSError:
                yield path, (0, 0, 0)  # a link to itself; reading it says so
            else:
                yield path, (status.st_mtime_ns, status.st_size, status.st_ino)


def _refuse(error: OSError) -> None:
    raise error
