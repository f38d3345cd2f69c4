"""What a pod says about injection by itself: what it asks for, and what stands in the way.

    wish_of(annotations, labels)    its annotations and labels, unread: pods are many, and most say nothing
    obstacle(pod, namespace)        the first thing that forbids injection whoever asks for it

Pure; raises MalformedObject on a field of a type that the API forbids.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from webhook.names import APP_LABEL, INJECT, INJECT_ENTRIES, PROJECT, Reason
from webhook.objects import meta, pods

# Pods of the control plane must start when nothing else runs, also Gatehouse.
SYSTEM_NAMESPACES: Final = frozenset({"kube-system", "kube-public", "kube-node-lease"})


class Wish(msgspec.Struct, frozen=True):
    """What a pod's annotations and labels say, as written; None = the key is absent."""

    annotation: str | None = None  # sidecar-injector/inject
    annotated_entries: str | None = None  # gatehouse.dev/inject
    label: str | None = None
    labelled_entries: str | None = None


NO_WISH: Final = Wish()


def wish_of(annotations: Mapping[str, str], labels: Mapping[str, str]) -> Wish:
    """What these say; of all pods that say nothing, the same value."""
    wish = Wish(annotations.get(INJECT), annotations.get(INJECT_ENTRIES), labels.get(INJECT), labels.get(INJECT_ENTRIES))
    return NO_WISH if wish == NO_WISH else wish


def obstacle(pod: Mapping[str, Any], namespace: str) -> Reason | None:
    """Why *pod* is left alone whoever asks; None when nothing forbids it.

    HOST_NETWORK is only in the way of entries that do not allow it.
    """
    if namespace in SYSTEM_NAMESPACES:
        return Reason.SYSTEM_NAMESPACE
    if meta.labels_of(pod).get(APP_LABEL) == PROJECT:
        return Reason.OWN_OBJECT
    if pods.is_mirror(pod):
        return Reason.MIRROR_POD
    if pods.is_windows(pod):
        return Reason.WINDOWS_POD
    return Reason.HOST_NETWORK if pods.uses_host_network(pod) else None
