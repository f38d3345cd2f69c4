"""Where a pod is created: what injection must know beside the pod and the entries. Pure and frozen."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from webhook.cluster import NamespaceFacts
from webhook.names import Reason
from webhook.objects import meta, pods
from webhook.objects.meta import Json
from webhook.sidecars.entries.entry import NativeSidecar


class Support(StrEnum):
    """Whether the nodes that take pods run native sidecars: init containers with restartPolicy Always.

    Alpha in 1.28, on by default since 1.29 (kubernetes.io/docs: Sidecar Containers). A 1.28 kubelet without the gate rejects
    such a pod; an older one knows nothing of the field, and waits for ever for the init container to end.
    """

    EVERYWHERE = "Everywhere"
    GATED = "Gated"  # the oldest kubelet is a 1.28
    MISSING = "Missing"  # the oldest kubelet is older
    UNKNOWN = "Unknown"  # no node is known


class Scene(msgspec.Struct, frozen=True):
    """A creation."""

    namespace: str  # of the request; the pod's own field may be empty
    namespace_facts: NamespaceFacts | None = None
    now_s: float = 0.0  # seconds since the epoch, for ${now}
    native: Support = Support.UNKNOWN


class Manner(msgspec.Struct, frozen=True):
    """How an entry's `containers` run, and what is to be told if they are injected so."""

    is_native: bool
    reason: Reason | None = None
    why: str = ""  # the rest of a sentence that begins with the entry


def native_support(oldest_kubelet: tuple[int, int] | None) -> Support:
    """What the oldest kubelet of the nodes that take pods allows. None = no such node is known."""
    if oldest_kubelet is None:
        return Support.UNKNOWN
    if oldest_kubelet >= (1, 29):
        return Support.EVERYWHERE
    return Support.GATED if oldest_kubelet == (1, 28) else Support.MISSING


def manner(wanted: NativeSidecar, support: Support, *, ends: bool) -> Manner:
    """Native or plain, for a pod that *ends* or runs for ever.

    A plain sidecar keeps a pod that is meant to end alive for ever (kubernetes/kubernetes#25908), so that there native is the
    better guess even when nothing is known of the nodes.
    """
    match wanted:
        case NativeSidecar.ALWAYS:
            native = True
        case NativeSidecar.NEVER:
            native = False
        case _:
            native = support is not Support.MISSING if ends else support is Support.EVERYWHERE
    if native and support is Support.GATED:
        return Manner(
            True, Reason.NATIVE_SIDECAR_UNSUPPORTED, "runs as a native sidecar, which 1.28 kubelets reject without a gate"
        )
    if native and support is Support.MISSING:
        return Manner(
            True, Reason.NATIVE_SIDECAR_UNSUPPORTED, "runs as a native sidecar, which kubelets before 1.28 wait for without end"
        )
    if not native and ends:
        why = "a node's kubelet is older than 1.28" if wanted is NativeSidecar.AUTO else "the entry says nativeSidecar: Never"
        return Manner(False, Reason.JOB_NEVER_ENDS, f"runs as a plain container and keeps this pod from completing: {why}")
    return Manner(native)


def is_meant_to_end(pod: Json) -> bool:
    """Whether the pod belongs to a Job, or its restartPolicy lets it complete."""
    if pods.runs_to_completion(pod):
        return True
    owners = meta.objects(meta.metadata(pod), "ownerReferences", "metadata")
    return any(owner.get("kind") == "Job" for owner in owners)
