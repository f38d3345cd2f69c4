"""What is written on a pod that has fixed addresses, and how it is read back. Pure; any thread.

label `allocated-ip`: the IPv4 address, else the IPv6 one in full with "-"; annotation `cni.projectcalico.org/ipAddrs`: a JSON
list of at most one address of each family; annotation `gatehouse.dev/reservation-key`; a scheduling gate while none is free.
Source: projectcalico/calico cni-plugin/pkg/k8s (ipAddrs); core/v1 PodSchedulingGate.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

import attrs

from webhook.addresses.address import Address, AddressError, mapped, quoted
from webhook.addresses.facts import PodOwner
from webhook.names import (
    ALLOCATABLE_IPS,
    ALLOCATED_IP,
    CALICO_ADDRESSES,
    CALICO_ADDRESSES_WITHOUT_IPAM,
    IP_GATE,
    IP_POOL,
    RESERVATION_KEY,
)
from webhook.objects import meta
from webhook.objects.meta import Json

# What is said of a pod for which `past_ipam` finds something.
BESIDE_PAST_IPAM: Final = (
    f"it is to have a fixed address and bears {CALICO_ADDRESSES_WITHOUT_IPAM}: Calico refuses the two together"
)

_LABELS: Final = frozenset((ALLOCATABLE_IPS, IP_POOL, ALLOCATED_IP))
_ANNOTATIONS: Final = frozenset((CALICO_ADDRESSES, RESERVATION_KEY))


@attrs.frozen
class Marks:
    """What a pod says of its addresses."""

    key: str = ""  # annotation gatehouse.dev/reservation-key
    addresses: tuple[Address, ...] = ()  # of the Calico annotation, as it stands there
    label: str = ""  # allocated-ip, as it stands there
    gated: bool = False  # our scheduling gate is there
    asks: bool = False  # one of the opt-in labels is there
    # Why Calico would not take its annotation, "" when it would or there is none. *addresses* has what could be read even so.
    fault: str = ""

    @property
    def are_written(self) -> bool:
        """Whether anything is there that only we write, be it copied or forged."""
        return bool(self.key or self.addresses or self.label or self.fault)

    @property
    def label_fits(self) -> bool:
        """Whether the label says what we would write beside these addresses."""
        return self.label == label_of(self.addresses)


@attrs.frozen
class Carrier:
    """A pod as the controller and the allocator know it: `PodFacts` narrowed to this. *marks* is never empty."""

    namespace: str
    name: str
    uid: str
    marks: Marks
    node: str
    phase: str  # status.phase
    deleting: bool
    owner: PodOwner
    created_s: float


def marks_of(metadata: Json, spec: Json) -> Marks | None:
    """What a raw pod says of its addresses; None when it says nothing. Raises MalformedObject.

    Nearly every pod says nothing, and every pod of the cluster comes by here: that costs less than a microsecond.
    """
    gated = spec.get("schedulingGates") is not None
    if not gated and _has_none(metadata.get("labels"), _LABELS) and _has_none(metadata.get("annotations"), _ANNOTATIONS):
        return None
    labels, annotations = meta.texts(metadata, "labels", "metadata"), meta.texts(metadata, "annotations", "metadata")
    gates = enumerate(meta.objects(spec, "schedulingGates", "spec"))
    return marks_from(labels, annotations, [meta.text(gate, "name", f"spec.schedulingGates[{index}]") for index, gate in gates])


def _has_none(texts: Any, ours: frozenset[str]) -> bool:
    return texts is None or (type(texts) is dict and texts.keys().isdisjoint(ours))


def marks_from(labels: Mapping[str, str], annotations: Mapping[str, str], gates: Collection[str]) -> Marks | None:
    """The same of a pod's labels, annotations and the names of its scheduling gates. Never raises."""
    asks = ALLOCATABLE_IPS in labels or IP_POOL in labels
    gated = IP_GATE in gates
    addresses, fault = read_calico(annotations.get(CALICO_ADDRESSES, ""))
    found = Marks(annotations.get(RESERVATION_KEY, ""), addresses, labels.get(ALLOCATED_IP, ""), gated, asks, fault)
    return found if asks or gated or found.are_written else None


def written(key: str, addresses: Sequence[Address]) -> tuple[dict[str, str], dict[str, str]]:
    """The labels and annotations of a pod that has *addresses*, IPv4 first; with none, it only has a key."""
    annotations = {RESERVATION_KEY: key}
    if not addresses:
        return {}, annotations
    annotations[CALICO_ADDRESSES] = write_calico(addresses)
    return {ALLOCATED_IP: label_of(addresses)}, annotations


def past_ipam(annotations: Mapping[str, str]) -> str:
    """The text of ipAddrsNoIpam, by which Calico gives addresses past its own book; "" is as good as none to it."""
    return annotations.get(CALICO_ADDRESSES_WITHOUT_IPAM, "")


def label_of(addresses: Sequence[Address]) -> str:
    """What the label says beside *addresses*: the IPv4 one, else the IPv6 one; "" when there is none."""
    return min(addresses).name if addresses else ""


def write_calico(addresses: Sequence[Address]) -> str:
    """The Calico annotation for *addresses*, IPv4 first."""
    return json.dumps([address.text for address in sorted(addresses)], separators=(",", ":"))


def read_calico(text: str) -> tuple[tuple[Address, ...], str]:
    """The addresses of a Calico annotation, and why Calico would refuse it ("" when it would not). "" is no annotation.

    An IPv4 address that is written as IPv6 is IPv4 to Calico (Go's net.ParseIP), and so it is here: nobody gets past a
    rule by spelling. It is a fault nevertheless, since we never write it.
    """
    if not text:
        return (), ""
    try:
        items = json.loads(text)
    except (ValueError, RecursionError):  # a number of more than 4300 digits is a ValueError, too
        items = None
    if type(items) is not list or not all(type(item) is str for item in items):
        return (), f"{CALICO_ADDRESSES} is {quoted(text)}: expected a JSON list of addresses as strings"
    if not items:
        return (), f"{CALICO_ADDRESSES} is an empty list: expected one address of a family"
    addresses: list[Address] = []
    faults: list[str] = []
    for item in items:
        try:
            addresses.append(Address.parse(item))
        except AddressError as error:
            faults.append(error.message)
            addresses += filter(None, [mapped(item)])
    versions = [address.version for address in addresses]
    faults += [f"has more than one IPv{version} address" for version in sorted(set(versions)) if versions.count(version) > 1]
    return tuple(dict.fromkeys(addresses)), f"{CALICO_ADDRESSES}: {faults[0]}" if faults else ""
