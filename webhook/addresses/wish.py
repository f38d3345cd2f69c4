"""What a pod asks for: a pool, or a list of addresses. Pure; any thread.

Reads:   labels `allocatable-ips` and `gatehouse.dev/ip-pool`, which opt in; annotation `allocatable-ips`, which wins over
         the label of that name. A pool wins over a list, which is then not read at all.
Errors:  AddressError for a text that nobody can make sense of, MalformedObject (400) for fields of a wrong type
"""

from __future__ import annotations

from typing import Final

import attrs

from webhook.addresses.address import AddressError, quoted
from webhook.addresses.grammar import parse_annotation, parse_label
from webhook.addresses.ranges import AddressSet
from webhook.names import ALLOCATABLE_IPS, IP_POOL
from webhook.objects import meta
from webhook.objects.dns_names import is_dns_subdomain
from webhook.objects.meta import Json

POOL_FIELD: Final = f"metadata.labels[{IP_POOL}]"
LABEL_FIELD: Final = f"metadata.labels[{ALLOCATABLE_IPS}]"
ANNOTATION_FIELD: Final = f"metadata.annotations[{ALLOCATABLE_IPS}]"


@attrs.frozen
class Wish:
    """Either *pool* is set or *addresses* has some."""

    field: str  # path of what says so
    text: str  # what stands there
    pool: str = ""  # name of an AddressPool
    addresses: AddressSet = AddressSet()
    list_ignored: bool = False  # there is a list beside the pool

    @property
    def source(self) -> str:
        """What the addresses come from, for messages: `pool "edge"`, `annotation "allocatable-ips"`."""
        if self.pool:
            return f'pool "{self.pool}"'
        return f'{"label" if self.field == LABEL_FIELD else "annotation"} "{ALLOCATABLE_IPS}"'


def wish_of(pod: Json) -> Wish | None:
    """What *pod* asks for; None when it does not opt in. Raises AddressError with the field, MalformedObject."""
    labels = meta.labels_of(pod)
    pool, listed = labels.get(IP_POOL), labels.get(ALLOCATABLE_IPS)
    if pool is None and listed is None:
        return None
    annotated = meta.annotations_of(pod).get(ALLOCATABLE_IPS)
    if pool is not None:
        if not is_dns_subdomain(pool):
            raise AddressError(f"{quoted(pool)} cannot be the name of an AddressPool", POOL_FIELD)
        return Wish(POOL_FIELD, pool, pool=pool, list_ignored=bool(listed) or annotated is not None)
    if annotated is not None:
        return Wish(ANNOTATION_FIELD, annotated, addresses=parse_annotation(annotated, ANNOTATION_FIELD))
    return Wish(LABEL_FIELD, listed or "", addresses=parse_label(listed or "", LABEL_FIELD))
