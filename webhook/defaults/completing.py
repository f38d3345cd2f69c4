"""What follows the sidecars when a pod is created: defaults, then tuning, as the services of `mutate` have them.

For whoever foresees what becomes of a pod without being one of these services: `gatehouse explain`, workload warnings.
Pure but for what the facts do.
"""

from __future__ import annotations

import attrs

from webhook.admission.draft import Draft
from webhook.clock import Deadline
from webhook.cluster import Cluster
from webhook.defaults.defaulting import Outcome, set_defaults
from webhook.defaults.sets import PodDefaults
from webhook.defaults.tuning import Tuning, tune
from webhook.names import DISABLED, MUTATE_LABEL


@attrs.frozen
class Completion:
    """Both, as they are configured. Any thread."""

    defaults: PodDefaults
    tuning: Tuning
    cluster: Cluster

    def complete(self, draft: Draft, namespace: str, now_s: float, deadline: Deadline) -> tuple[Outcome, ...]:
        """Complete *draft*, a pod that is created in *namespace*, which the cache has; else nothing is done.

        Raises MalformedObject on a field of a type that the API forbids.
        """
        facts = self.cluster.namespaces.get(namespace)
        if facts is None or facts.labels.get(MUTATE_LABEL) == DISABLED:
            return ()
        return (
            set_defaults(draft, namespace, self.cluster, self.defaults, now_s, deadline),
            tune(draft, namespace, self.cluster, self.tuning, deadline),
        )
