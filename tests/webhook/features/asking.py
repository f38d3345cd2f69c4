"""Reviews for rules that are called by themselves."""

from __future__ import annotations

import attrs

from webhook.admission.draft import Draft
from webhook.admission.review import AdmissionRequest, GroupVersionResource, Operations, User
from webhook.admission.service import Context, Rule, Verdict
from webhook.clock import Deadline, SystemClock
from webhook.objects.meta import Json


@attrs.frozen
class Asked:
    """A review: who wants what."""

    user: User = User("ann", ("dev", "system:authenticated"))
    operation: Operations = Operations.CREATE
    group: str = ""
    resource: str = "pods"
    subresource: str = ""
    namespace: str = "shop"
    object: Json | None = None
    old_object: Json | None = None

    def of(self, rule: Rule) -> Verdict:
        """What *rule* makes of it; it may not change anything."""
        request = AdmissionRequest(
            "admission.k8s.io/v1",
            "u-1",
            GroupVersionResource(self.group, "v1", self.resource),
            self.subresource,
            "web",
            self.namespace,
            self.operation,
            self.user,
            self.object,
            self.old_object,
            False,
        )
        draft = Draft(self.object or {})
        context = Context("validate", Deadline.after(5.0, SystemClock()), 1_800_000_000.0, self.user, False)
        verdict = rule(request, draft, context)
        assert not draft.operations
        return verdict
