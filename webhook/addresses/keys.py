"""The key that ties a pod to its reservations: the same for every call about the same pod. Pure; any thread.

A pod with a name has the key of the name; one that the API server is still to name (generateName) has the key of the admission
request that made the reservation, and carries it in an annotation from then on.
Source: RFC 9562 (UUID version 5); StatefulSet pods are named by their ordinal (kubernetes.io/docs: pod identity).
"""

from __future__ import annotations

import json
import re
from typing import Final
from uuid import UUID, uuid5

from webhook.addresses.facts import PodOwner

# Of our own, drawn once: a key of ours equals no UUID that somebody else derives from the same words.
_SPACE: Final = UUID("9f1f5cf4-6a4e-4c0b-a9a0-0c5f6d2c7a11")
_ORDINAL: Final = re.compile(r"(.+)-(0|[1-9][0-9]{0,9})", re.ASCII | re.DOTALL)
_MAX_ORDINAL: Final = 2**31 - 1  # int32, as the controller reads it
STATEFUL_SET: Final = "StatefulSet"


def key_of(namespace: str, owner_uid: str, name: str) -> str:
    """The key of the pod that bears *name*; *owner_uid* is "" for a bare pod. A set made anew has other keys."""
    return _key("pod", namespace, owner_uid, name)


def key_of_request(uid: str) -> str:
    """The key of a pod without a name whose create is admission request *uid*: a retried call finds the same."""
    return _key("request", uid)


def ordinal_of(owner: PodOwner, pod_name: str) -> int | None:
    """The ordinal of a StatefulSet's pod; None for any other pod, and for a name that its controller would not write.

    Whoever may create pods may name any set as the owner of one.
    """
    found = _ORDINAL.fullmatch(pod_name) if owner.kind == STATEFUL_SET else None
    if found is None or found[1] != owner.name:
        return None
    ordinal = int(found[2])
    return ordinal if ordinal <= _MAX_ORDINAL else None


def _key(*words: str) -> str:
    # As JSON no two lists of words give one text, and all of it is ASCII whatever stands in an unchecked pod.
    return str(uuid5(_SPACE, json.dumps(words)))
