"""What will become of a workload's pods as far as fixed addresses go, for the person who applies it. Pure.

    WrongLevel           asked for on the workload instead of its template, of which alone pods inherit (kubeovn/kube-ovn#58)
    OptInMissing         an annotation without the label that opts in: webhooks are chosen by labels
    AddressesInvalid     a list that cannot be read
    AddressPoolMissing   a pool that is not there
    AddressesExhausted   fewer addresses than the workload needs at once
    AddressNotReserved   an address by hand, which the check will refuse to its pods

Raises MalformedObject on a field of a type that the API forbids.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import attrs

from webhook.addresses.address import AddressError
from webhook.addresses.facts import PoolFacts
from webhook.addresses.marks import read_calico
from webhook.addresses.ranges import AddressSet
from webhook.addresses.wish import Wish, wish_of
from webhook.names import ALLOCATABLE_IPS, CALICO_ADDRESSES, CALICO_ADDRESSES_WITHOUT_IPAM, IP_POOL, Reason
from webhook.objects import meta, pods
from webhook.objects.meta import Json
from webhook.objects.workloads import Workload

_PLACES: Final = (("annotations", (ALLOCATABLE_IPS,)), ("labels", (ALLOCATABLE_IPS, IP_POOL)))
_PERCENT: Final = re.compile(r"([0-9]{1,9})%")
_DEFAULT_SURGE: Final = "25%"  # apps/v1 RollingUpdateDeployment
_SCALED: Final = ("Deployment", "ReplicaSet", "StatefulSet", "ReplicationController")

FindPool = Callable[[str], PoolFacts | None]


@attrs.frozen
class Doubt:
    """One thing to say about a workload."""

    reason: Reason
    message: str  # without the subject
    field: str = ""


def forecast(
    workload: Workload, obj: Json, pod: Json, find_pool: FindPool | None, *, refuses_by_hand: bool = False
) -> Iterator[Doubt]:
    """What is to be said of *obj*, of the kind *workload*, and of *pod*, which will be made of it.

    find_pool: the AddressPool of a name; None while nobody knows which there are.
    """
    labels, annotations = meta.labels_of(pod), meta.annotations_of(pod)
    yield from _on_the_workload(workload, obj, {*labels, *annotations})
    path = workload.field("metadata.annotations")
    for key in (ALLOCATABLE_IPS, IP_POOL):
        if key in annotations and ALLOCATABLE_IPS not in labels and IP_POOL not in labels:
            hint = f"the label {key} (which may be empty)" if key == ALLOCATABLE_IPS else f"a label {key} instead"
            yield Doubt(Reason.OPT_IN_MISSING, f"annotation {key} in {path} does nothing without {hint}", path)
    try:
        wish = wish_of(pod)
    except AddressError as error:
        field = workload.field(error.field)
        yield Doubt(Reason.ADDRESSES_INVALID, f"its pods will be refused: {error.within(field)}", field)
        return
    if wish is not None:
        yield from _supply(workload, obj, wish, find_pool)
    elif refuses_by_hand and not pods.uses_host_network(pod):
        for key in (CALICO_ADDRESSES, CALICO_ADDRESSES_WITHOUT_IPAM):
            if read_calico(annotations.get(key, ""))[0]:
                message = f"its pods will be refused: annotation {key} in {path} gives an address by hand; ask with a label"
                yield Doubt(Reason.ADDRESS_NOT_RESERVED, f"{message} {ALLOCATABLE_IPS} or {IP_POOL}", path)


def spoken(workload: Workload, obj: Json) -> tuple[Any, ...]:
    """All but the template that `forecast` looks at: a change of anything else changes nothing that it says."""
    asked = [
        (path, key, values.get(key))
        for path, metadata in _above_the_template(workload, obj)
        for place, keys in _PLACES
        for values in [meta.texts(metadata, place, path)]
        for key in keys
    ]
    return (*asked, _needed(workload, obj))


def _on_the_workload(workload: Workload, obj: Json, spoken_below: set[str]) -> Iterator[Doubt]:
    for path, metadata in _above_the_template(workload, obj):
        for place, keys in _PLACES:
            values = meta.texts(metadata, place, path)
            for key in keys:
                # With its own word in the template, what stands above may be meant for a person.
                if key in values and key not in spoken_below:
                    inherited = workload.field("metadata")
                    message = f"{place[:-1]} {key} in {path} does nothing: pods inherit only {inherited}"
                    yield Doubt(Reason.WRONG_LEVEL, message, f"{path}.{place}")


def _above_the_template(workload: Workload, obj: Json) -> Iterator[tuple[str, Json]]:
    """The metadata of *obj* and of what stands between it and the template."""
    if not workload.template:
        return
    yield "metadata", meta.metadata(obj)
    if workload.kind == "CronJob":
        job = meta.mapping(meta.mapping(obj, "spec", ""), "jobTemplate", "spec")
        yield "spec.jobTemplate.metadata", meta.mapping(job, "metadata", "spec.jobTemplate")


def _supply(workload: Workload, obj: Json, wish: Wish, find_pool: FindPool | None) -> Iterator[Doubt]:
    addresses, field = wish.addresses, workload.field(wish.field)
    if wish.pool:
        if find_pool is None:
            return
        pool = find_pool(wish.pool)
        if pool is None:
            yield Doubt(
                Reason.ADDRESS_POOL_MISSING, f'its pods will be refused: AddressPool "{wish.pool}" does not exist', field
            )
            return
        addresses = pool.addresses
    replicas, surge = _needed(workload, obj)
    size = _least(addresses)
    if size is not None and size < replicas + surge:
        needed = f"{replicas} replicas and {surge} more while they are replaced (maxSurge)" if surge else f"{replicas} replicas"
        advice = ", or set maxSurge: 0 and a maxUnavailable of 1" if surge and size >= replicas else ""
        yield Doubt(
            Reason.ADDRESSES_EXHAUSTED, f"{needed} need {replicas + surge} addresses, {wish.source} has {size}{advice}", field
        )


def _least(addresses: AddressSet) -> int | None:
    """How many pods get an address of each family; None without any."""
    return min((addresses.only(version).size() for version in addresses.versions), default=None)


def _needed(workload: Workload, obj: Json) -> tuple[int, int]:
    """How many pods there are, and how many more while they are replaced."""
    if workload.kind not in _SCALED:
        return 0, 0
    spec = meta.mapping(obj, "spec", "")
    replicas = spec.get("replicas")
    count = max(0, replicas) if type(replicas) is int else 1
    return count, _surge(spec, count) if workload.kind == "Deployment" else 0


def _surge(spec: Mapping[str, Any], replicas: int) -> int:
    """Of a Deployment: a number, or a share of the replicas, rounded up (apps/v1)."""
    strategy = meta.mapping(spec, "strategy", "spec")
    if strategy.get("type") not in (None, "", "RollingUpdate"):
        return 0
    given = meta.mapping(strategy, "rollingUpdate", "spec.strategy").get("maxSurge")
    if type(given) is int:
        return max(0, given)
    found = _PERCENT.fullmatch(given if type(given) is str else _DEFAULT_SURGE)
    return -(-replicas * int(found[1]) // 100) if found else 0
