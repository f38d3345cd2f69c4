"""Requests are scaled to how full the cluster is (opt-in).

    Created pods                     requests go down, or up, by a step; a warning names old, new and the utilisation
    Everything else                  passes
    Mirror pods, our own pods, the system's namespaces, Guaranteed and critical pods   stay as they are

Never refuses, and never waits for figures: where the utilisation is not known, nothing is scaled. `webhook.defaults.tuning` has
what is decided, and how. Pure but for what the facts do.
"""

from __future__ import annotations

from typing import ClassVar

from webhook.admission.draft import Draft
from webhook.admission.review import AdmissionRequest, Operations
from webhook.admission.service import Context, Verdict
from webhook.cluster import Cluster
from webhook.defaults.tuning import Tuning, tune
from webhook.names import Reason
from webhook.objects.meta import display_name


class TuneResources:
    """The rule resource-tuning. Any thread."""

    name: ClassVar[str] = "resource-tuning"

    def __init__(self, settings: Tuning, cluster: Cluster) -> None:
        self._settings = settings
        self._cluster = cluster

    def __call__(self, request: AdmissionRequest, draft: Draft, context: Context) -> Verdict:
        """See `webhook.admission.service.Rule`."""
        if request.operation is not Operations.CREATE:
            return Verdict(Reason.NOT_APPLICABLE)
        outcome = tune(draft, request.namespace, self._cluster, self._settings, context.deadline)
        pod = f"pod {request.namespace}/{display_name(draft.object)}"
        return Verdict(outcome.reason, outcome.message, warnings=tuple(f"{pod}: {one.message}" for one in outcome.findings))
