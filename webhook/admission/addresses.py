"""The registrations of pod-ip and pod-ip-check: none unless features.podIP is on.

    pod-ip         created pods with an opt-in label, and nobody else: a broken Gatehouse keeps no other pod from starting
    pod-ip-check   the same pods, and those that bear marks of a fixed address without asking for one; of their updates, also
                   through pods/status, only those that touch what a fixed address consists of; and Bindings that bear any of
                   it, which none of a scheduler's does

An objectSelector can only say "and", so that the two opt-in labels make two registrations each; no pod comes by both.
Annotations are out of its reach: who bears only these is found by conditions in CEL. Pure.
Source: kubernetes.io/docs, "Matching requests": objectSelector looks at the old object, too; absent fields need has().
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from webhook.admission.bounds import not_our_own
from webhook.admission.review import Operations
from webhook.admission.service import Entry, Match
from webhook.admission.settings import Settings
from webhook.admission.spared import NOT_OF_THE_SYSTEM, NOT_OURS, NOT_SWITCHED_OFF
from webhook.names import (
    ALLOCATABLE_IPS,
    ALLOCATED_IP,
    CALICO_ADDRESSES,
    CALICO_ADDRESSES_WITHOUT_IPAM,
    IP_GATE,
    IP_POOL,
    RESERVATION_KEY,
)

CREATE, UPDATE = Operations.CREATE, Operations.UPDATE

# A POST to the API server, at times a few: each has 3 s at most.
TIMEOUT_S: Final = 10

_ASKS_FOR_A_POOL: Final = {"key": IP_POOL, "operator": "Exists"}
_ASKS_FOR_NO_POOL: Final = {"key": IP_POOL, "operator": "DoesNotExist"}
_BRINGS_A_LIST: Final = {"key": ALLOCATABLE_IPS, "operator": "Exists"}
_BRINGS_NO_LIST: Final = {"key": ALLOCATABLE_IPS, "operator": "DoesNotExist"}
_BY_POOL: Final = (_ASKS_FOR_A_POOL,)
_BY_LIST: Final = (_BRINGS_A_LIST, _ASKS_FOR_NO_POOL)
_UNASKED: Final = (_BRINGS_NO_LIST, _ASKS_FOR_NO_POOL)

_MARKS: Final = (
    ("labels", ALLOCATED_IP),
    ("annotations", CALICO_ADDRESSES),
    ("annotations", CALICO_ADDRESSES_WITHOUT_IPAM),
    ("annotations", RESERVATION_KEY),
)


def _value(obj: str, place: str, key: str) -> str:
    """CEL: the value of a label or annotation of *obj*, '' where it has none."""
    found = f"{obj}.metadata.{place}"
    return f"(has({found}) && '{key}' in {found} ? {found}['{key}'] : '')"


def _asks(obj: str) -> str:
    found = f"{obj}.metadata.labels"
    return f"(has({found}) && ('{IP_POOL}' in {found} || '{ALLOCATABLE_IPS}' in {found}))"


def _gated(obj: str) -> str:
    found = f"{obj}.spec.schedulingGates"
    return f"(has({found}) && {found}.exists(g, g.name == '{IP_GATE}'))"


# Labels, finalizers and tolerations change without us, and kubelets write the status all day.
_CHANGES: Final = " || ".join(
    [
        *(f"{_value('object', place, key)} != {_value('oldObject', place, key)}" for place, key in _MARKS),
        f"{_gated('object')} != {_gated('oldObject')}",
        *(f"{_value('object', 'labels', key)} != {_value('oldObject', 'labels', key)}" for key in (IP_POOL, ALLOCATABLE_IPS)),
    ]
)
TOUCHES_MARKS: Final = ("touches-a-fixed-address", f"request.operation == 'CREATE' || {_CHANGES}")
_BORNE: Final = " || ".join(f"{_value('object', place, key)} != ''" for place, key in _MARKS)
# The selector looks at both objects of an update: one that brings or takes the label comes by the others already.
BEARS_MARKS: Final = (
    "bears-a-fixed-address",
    f"request.operation == 'CREATE' ? {_BORNE} || {_gated('object')} : !{_asks('object')} && !{_asks('oldObject')}",
)


# Also an empty text, which would take the pod's own away.
BRINGS_MARKS: Final = (
    "brings-a-fixed-address",
    " || ".join(f"(has(object.metadata.{place}) && '{key}' in object.metadata.{place})" for place, key in _MARKS),
)


def pod_ip_entries(settings: Settings) -> tuple[Entry, ...]:
    """Those of pod-ip. Without an answer the pod is refused: it would start with some other address, and nobody would know."""
    if settings.addresses is None:
        return ()
    return tuple(
        Entry(
            (Match("", "v1", "pods", (CREATE,), "Namespaced"),),
            suffix,
            namespace_selector={"matchExpressions": [NOT_SWITCHED_OFF, NOT_OF_THE_SYSTEM]},
            object_selector=_selector((*asking, *NOT_OURS["matchExpressions"])),
            side_effects="NoneOnDryRun",
            timeout_s=TIMEOUT_S,
        )
        for suffix, asking in (("", _BY_POOL), ("-list", _BY_LIST))
    )


def pod_ip_check_entries(settings: Settings) -> tuple[Entry, ...]:
    """Those of pod-ip-check. Our own label keeps nobody away, since whoever bears it would evade the check."""
    if settings.addresses is None:
        return ()
    ours = not_our_own(settings.home)
    bindings = Entry(
        (
            Match("", "v1", "pods/binding", (CREATE,), "Namespaced"),
            Match("", "v1", "bindings", (CREATE,), "Namespaced"),
        ),
        "-binding",
        namespace_selector={"matchExpressions": [NOT_OF_THE_SYSTEM]},
        match_conditions=(BRINGS_MARKS,),
    )
    judged = tuple(
        Entry(
            (
                Match("", "v1", "pods", (CREATE, UPDATE), "Namespaced"),
                Match("", "v1", "pods/status", (UPDATE,), "Namespaced"),
            ),
            suffix,
            namespace_selector={"matchExpressions": [NOT_OF_THE_SYSTEM]},
            object_selector=_selector(asking),
            match_conditions=(*ours, TOUCHES_MARKS, *more),
        )
        for suffix, asking, more in (("", _BY_POOL, ()), ("-list", _BY_LIST, ()), ("-unasked", _UNASKED, (BEARS_MARKS,)))
    )
    return (*judged, bindings)


def _selector(expressions: Iterable[dict[str, Any]]) -> dict[str, Any]:
    return {"matchExpressions": list(expressions)}
