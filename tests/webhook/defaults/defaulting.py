"""Pods, configured defaults, and what one call of the rules makes of them."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import attrs
import msgspec

from webhook.admission.draft import Draft
from webhook.admission.review import AdmissionRequest, GroupVersionResource, Operations, User
from webhook.admission.service import Context, Rule, Verdict
from webhook.admission.verify import apply as apply_patch
from webhook.clock import Deadline, SystemClock
from webhook.cluster import CapacityFacts, Cluster
from webhook.defaults.sets import ContainerDefaults, DefaultSet, PodDefaults
from webhook.features.pod_defaults import SetPodDefaults
from webhook.objects.limit_ranges import LimitRange, from_object
from webhook.objects.meta import Json
from webhook.objects.quantity import parse
from webhook.testing import facts

ANN = User("ann", ("dev",))
NOW_S = 1_764_000_000.0  # 2025-11-24T16:00:00Z


def amounts(requests: dict[str, str] | None = None, limits: dict[str, str] | None = None) -> ContainerDefaults:
    """Configured requests and limits."""
    return ContainerDefaults(
        {name: parse(text) for name, text in (requests or {}).items()},
        {name: parse(text) for name, text in (limits or {}).items()},
    )


def default_set(name: str = "base", **changes: Any) -> DefaultSet:
    """A set that chooses every pod and gives nothing, unless told otherwise."""
    return DefaultSet(name, **changes)


def container(name: str = "app", requests: Json | None = None, limits: Json | None = None, **more: Any) -> Json:
    """A container; without amounts it has no `resources` at all."""
    resources = {part: values for part, values in (("requests", requests), ("limits", limits)) if values is not None}
    return {
        "name": name,
        "image": "registry.example.com:5000/shop/web:1.4",
        **({"resources": resources} if resources else {}),
        **more,
    }


def pod(*containers: Json, metadata: Json | None = None, **spec: Any) -> Json:
    """A pod with one bare container, unless told otherwise."""
    return {
        "metadata": {"name": "web-1", **(metadata or {})},
        "spec": {"containers": list(containers) or [container()], **spec},
    }


def limit_range(type: str = "Container", name: str = "small", **item: Any) -> LimitRange:
    """One LimitRange of namespace "shop" with one item."""
    return from_object({"metadata": {"name": name, "namespace": "shop"}, "spec": {"limits": [{"type": type, **item}]}})


def capacity(cpu_percent: int = 0, memory_percent: int = 0, cores: int = 40, nodes: int = 10) -> CapacityFacts:
    """How full *cores* cores and four GiB for each of them are."""
    memory = cores * 4 * 2**30
    return CapacityFacts(cores * 1000, memory, cores * 10 * cpu_percent, memory * (memory_percent or cpu_percent) // 100, nodes)


@attrs.frozen
class Done:
    """What one call did."""

    pod: Json
    patch: list[Json]
    verdict: Verdict

    def resources(self, index: int = 0, kind: str = "containers") -> Json | None:
        """Of one container."""
        found: Json | None = self.pod["spec"][kind][index].get("resources")
        return found


def call(rule: Rule, before: Json, namespace: str = "shop", operation: Operations = Operations.CREATE) -> Done:
    """Let *rule* decide about a pod; what it edits is the patch, applied to what was sent."""
    sent = copy.deepcopy(before)
    draft = Draft(copy.deepcopy(before))
    request = AdmissionRequest(
        "admission.k8s.io/v1",
        "u-1",
        GroupVersionResource("", "v1", "pods"),
        "",
        "web",
        namespace,
        operation,
        ANN,
        draft.object,
        None,
        False,
    )
    context = Context("mutate", Deadline.after(5.0, SystemClock()), NOW_S, ANN, False)
    verdict = rule(request, draft, context)
    patch: list[Json] = msgspec.json.decode(msgspec.json.encode(draft.operations))
    assert apply_patch(sent, draft.operations) == draft.object
    return Done(draft.object, patch, verdict)


def rule(*sets: DefaultSet, ranges: Sequence[LimitRange] = (), cluster: Cluster | None = None) -> SetPodDefaults:
    """The rule pod-defaults, in a cluster with the namespace "shop" unless told otherwise."""
    known = cluster or facts.cluster(namespaces=[facts.namespace_facts(labels={"team": "core"})], limit_ranges=ranges)
    return SetPodDefaults(PodDefaults(sets), known)
