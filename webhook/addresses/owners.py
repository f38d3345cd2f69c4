"""Who made a pod: its controlling owner, as reservations name it. Pure; raises MalformedObject."""

from __future__ import annotations

from webhook.addresses.facts import PodOwner
from webhook.objects import meta
from webhook.objects.meta import Json


def owner_of(pod: Json) -> PodOwner:
    """The controlling owner of *pod*; every part "" for a bare pod."""
    path = "metadata.ownerReferences"
    for index, reference in enumerate(meta.objects(meta.metadata(pod), "ownerReferences", "metadata")):
        if reference.get("controller") is True:
            kind, name, uid = (meta.text(reference, key, f"{path}[{index}]") for key in ("kind", "name", "uid"))
            return PodOwner(kind, name, uid)
    return PodOwner()
