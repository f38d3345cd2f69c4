"""Pods get the labels, annotations, requests and limits that nobody gave them.

    Created pods                     keys that are missing are added, as far as the API server takes the pod with them
    Everything else                  passes
    Mirror pods, our own pods, the system's namespaces   stay as they are

Never refuses, but cannot answer (Unavailable) where a set asks for a namespace that nobody knows. What cannot be set is left
out, and a warning says why. `webhook.defaults` has what is decided, and how. Pure but for what the facts do.
"""

from __future__ import annotations

from typing import ClassVar

from webhook.admission.draft import Draft
from webhook.admission.review import AdmissionRequest, Operations
from webhook.admission.service import Context, Verdict
from webhook.cluster import Cluster
from webhook.defaults.defaulting import set_defaults
from webhook.defaults.sets import PodDefaults
from webhook.errors import Unavailable
from webhook.names import Reason
from webhook.objects.meta import display_name


class SetPodDefaults:
    """The rule pod-defaults. Any thread."""

    name: ClassVar[str] = "pod-defaults"

    def __init__(self, settings: PodDefaults, cluster: Cluster) -> None:
        self._settings = settings
        self._cluster = cluster

    def __call__(self, request: AdmissionRequest, draft: Draft, context: Context) -> Verdict:
        """See `webhook.admission.service.Rule`. Raises Unavailable when nobody knows the namespace: another replica may."""
        if request.operation is not Operations.CREATE:
            return Verdict(Reason.NOT_APPLICABLE)
        outcome = set_defaults(draft, request.namespace, self._cluster, self._settings, context.now_s, context.deadline)
        pod = f"pod {request.namespace}/{display_name(draft.object)}"
        if outcome.reason is Reason.NAMESPACE_UNKNOWN:
            raise Unavailable(f"{pod}: {outcome.message}")
        return Verdict(outcome.reason, outcome.message, warnings=tuple(f"{pod}: {one.message}" for one in outcome.findings))
