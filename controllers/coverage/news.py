"""What the controller tells of an owner's pods: a log line and an Event each, one for all of them.

Threads: any; nothing blocks.
"""

from __future__ import annotations

from typing import Final

from controllers.coverage.plan import Survey
from controllers.runtime.events import Announcer, Reference
from webhook.cluster import PodFacts
from webhook.logs import get_log
from webhook.names import Reason

log = get_log("coverage")

_RESTARTABLE: Final = ("Deployment", "StatefulSet", "DaemonSet")  # kubectl rollout restart


class News:
    """The voice of the controller."""

    def __init__(self, announcer: Announcer) -> None:
        self._announcer = announcer

    def sidecar_missing(self, owner: Reference, found: Survey) -> None:
        """Pods of *owner* are bare."""
        count, example = len(found.bare), found.bare[0].name
        log.warning("pods without their sidecar", owner=_name(owner), pods=count, entries=", ".join(found.missing), pod=example)
        note = (
            f"{_pods(count)} without sidecar {_quoted(found.missing)}, for example {example}: created while no webhook"
            f" answered, before it was asked for, or it does not fit (gatehouse explain pod tells); {_remedy(owner, count)}"
        )
        self._tell(owner, Reason.SIDECAR_MISSING, "CountPods", note)

    def pod_evicted(self, owner: Reference, pod: PodFacts, missing: tuple[str, ...]) -> None:
        """*pod* of *owner* is on its way out."""
        log.info("bare pod evicted", owner=_name(owner), pod=f"{pod.namespace}/{pod.name}")
        note = f"pod {pod.name} was evicted: it ran without sidecar {_quoted(missing)}, its replacement comes through admission"
        self._tell(owner, Reason.POD_EVICTED, "EvictPod", note)

    def eviction_in_vain(self, owner: Reference, pod: PodFacts, missing: tuple[str, ...]) -> None:
        """*pod* of *owner* came after an eviction, and is bare."""
        log.warning("evicting is in vain", owner=_name(owner), pod=f"{pod.namespace}/{pod.name}")
        note = f"pod {pod.name} was created after an eviction and lacks sidecar {_quoted(missing)} again: no more are evicted"
        self._tell(owner, Reason.EVICTION_IN_VAIN, "StopEvicting", note)

    def _tell(self, owner: Reference, reason: Reason, action: str, note: str) -> None:
        self._announcer.record(owner, reason=reason.value, action=action, note=note, warning=True)


def _name(owner: Reference) -> str:
    return f"{owner.namespace}/{owner.kind}/{owner.name}"


def _pods(count: int) -> str:
    return "1 pod runs" if count == 1 else f"{count} pods run"


def _quoted(names: tuple[str, ...]) -> str:
    return ", ".join(f'"{name}"' for name in names)


def _remedy(owner: Reference, count: int) -> str:
    if owner.kind in _RESTARTABLE:
        return f"kubectl rollout restart {owner.kind.lower()}/{owner.name} replaces {'it' if count == 1 else 'them'}"
    return "replace it" if count == 1 else "replace them"
