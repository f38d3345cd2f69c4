"""What comes of a plan in a namespace, and builders of namespaces and of pods with amounts."""

from __future__ import annotations

import copy
from typing import Any

from tests.webhook.sidecars.injection.injecting import SCENE, entry, pod
from webhook.admission.draft import Draft
from webhook.objects import limit_ranges, resource_quotas
from webhook.objects.meta import Json
from webhook.sidecars.entries.entry import Entry, Repair
from webhook.sidecars.fitting import Fitted, Surroundings, fit
from webhook.sidecars.injection import Scene, apply, plan

RESTRICTED = {"pod-security.kubernetes.io/enforce": "restricted"}
BASELINE = {"pod-security.kubernetes.io/enforce": "baseline"}
AT_REST = Surroundings()


def fitted(sent: Json, *entries: Entry, surroundings: Surroundings = AT_REST, scene: Scene = SCENE) -> tuple[Fitted, Json]:
    """What comes of the plan, and the pod after it. What was sent, and the entries, stay as they were."""
    kept, shared = copy.deepcopy(sent), copy.deepcopy(entries)
    outcome = fit(sent, plan(sent, entries, scene), surroundings, lambda gone: plan(sent, entries, scene, gone))
    assert (sent, entries) == (kept, shared)
    draft = Draft(copy.deepcopy(sent))
    if outcome.refusal is None:
        apply(draft, outcome.plan)
    return outcome, draft.object


def names(outcome: Fitted) -> list[str]:
    return [part.entry.name for part in outcome.plan.parts]


def labelled(labels: dict[str, str]) -> Surroundings:
    return Surroundings(namespace_labels=labels)


def having(*names: str, answer: bool | None = False) -> Surroundings:
    """A namespace with the ConfigMaps *names*; of others *answer* is said."""
    return Surroundings(config_map_exists=lambda name: True if name in names else answer)


def amounts(cpu_request: str, cpu_limit: str) -> Json:
    return {"requests": {"cpu": cpu_request}, "limits": {"cpu": cpu_limit}}


def asking(name: str = "envoy", request: str = "100m", limit: str = "500m", **options: Any) -> Entry:
    return entry(name, containers=({"name": name, "image": "e:1", "resources": amounts(request, limit)},), **options)


def totalled(request: str, limit: str) -> Json:
    return pod({"name": "app", "image": "a:1", "resources": amounts("50m", "100m")}, resources=amounts(request, limit))


RAISE = frozenset({Repair.POD_RESOURCES})


def ranged(**bounds: Any) -> Surroundings:
    """A namespace with one LimitRange for containers."""
    item = {"type": "Container", **bounds}
    written = {"metadata": {"namespace": "shop", "name": "small"}, "spec": {"limits": [item]}}
    return Surroundings(limit_ranges=(limit_ranges.from_object(written),))


def rationed(**hard: str) -> Surroundings:
    """A namespace with one ResourceQuota of which nothing is used."""
    amounts = {resource.replace("_", "."): amount for resource, amount in hard.items()}
    written = {"metadata": {"namespace": "shop", "name": "ration"}, "spec": {"hard": amounts}}
    return Surroundings(quotas=(resource_quotas.from_object(written),))
