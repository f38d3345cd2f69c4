"""What the API server hears when it calls a second time."""

from __future__ import annotations

import copy

from tests.webhook.sidecars.injection.injecting import entry, pod
from webhook.admission.registry import by_name
from webhook.admission.review import AdmissionRequest, GroupVersionResource, Operations, User
from webhook.admission.service import Answer, Context
from webhook.admission.settings import Settings
from webhook.clock import Deadline, SystemClock
from webhook.objects.meta import Json
from webhook.sidecars.entries.catalog import Reading
from webhook.testing import facts

USER = User("ann", ("system:authenticated",))
CLUSTER = facts.cluster(
    namespaces=[facts.namespace_facts("shop", labels={"sidecar-injector": "enabled"})],
    sidecars=[Reading("shop", "sidecars", "u", "1", (entry(),), ())],
)


def called(sent: Json) -> Answer:
    pods = GroupVersionResource("", "v1", "pods")
    request = AdmissionRequest(
        "admission.k8s.io/v1", "u", pods, "", "web", "shop", Operations.CREATE, USER, copy.deepcopy(sent), None, False
    )
    context = Context("mutate", Deadline.after(5.0, SystemClock()), 1_800_000_000.0, USER, False)
    return by_name("mutate").bind(Settings(), CLUSTER).answer(request, context)


def test_the_audit_annotation_of_a_second_call_says_nothing_else_than_the_first() -> None:
    sent = pod()
    sent["metadata"]["annotations"] = {"gatehouse.dev/inject": "envoy"}

    first = called(sent)
    assert first.draft is not None
    unchanged = called(first.draft.object)
    first.draft.object["spec"]["containers"].remove({"name": "envoy", "image": "envoy:1"})
    again = called(first.draft.object)

    assert first.response.audit == {"sidecar": "Injected: envoy@r1"}
    assert unchanged.response.audit == {}
    assert again.response.audit == first.response.audit
