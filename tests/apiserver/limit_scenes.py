"""Pods, LimitRanges and ResourceQuotas by chance, the same ones for the same seed: far odder than any that people write."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from webhook.objects.meta import Json

AMOUNTS: dict[str, Sequence[Any]] = {
    "cpu": ("0", "100m", "250m", "500m", "1", "1.5", "2", "4", "0.5m", "10n", 3),
    "memory": ("0", "64Mi", "128Mi", "1Gi", "1.1Gi", "128M", "2Gi", "1e9", 1048576, "500m", "100Ti"),
    "ephemeral-storage": ("1Gi", "2Gi"),
    "hugepages-2Mi": ("4Mi", "8Mi"),
    "nvidia.com/gpu": ("1", "2"),
    "deviceclass.resource.kubernetes.io/x": ("1",),
    "requests.example.com/x": ("1",),
}
RATIOS = ("1", "1.5", "2", "4", "3", "0.5")
HARD = (
    "pods", "count/pods", "cpu", "memory", "requests.cpu", "limits.cpu", "requests.memory", "limits.memory",
    "ephemeral-storage", "requests.ephemeral-storage", "limits.ephemeral-storage", "hugepages-2Mi", "requests.hugepages-2Mi",
    "requests.nvidia.com/gpu", "nvidia.com/gpu", "services", "count/configmaps",
    "requests.deviceclass.resource.kubernetes.io/x", "requests.storage",
)  # fmt: skip
SCOPES = ("Terminating", "NotTerminating", "BestEffort", "NotBestEffort", "PriorityClass", "CrossNamespacePodAffinity")
AFFINITIES: Sequence[Json] = (
    {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "a", "namespaces": ["x"]}]}},
    {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "a"}]}},
    {"podAffinity": None},
    {
        "podAntiAffinity": {
            "preferredDuringSchedulingIgnoredDuringExecution": [
                {"weight": 1, "podAffinityTerm": {"topologyKey": "a", "namespaceSelector": {}}}
            ]
        }
    },
)


class Scenes:
    """Makes scenes: `{"pod": …, "ranges": […], "quotas": […]}`."""

    def __init__(self, seed: int) -> None:
        """Every scene follows from *seed*."""
        self._chance = random.Random(seed)

    def next(self) -> Json:
        ranges = [self._limit_range(f"range-{index}") for index in range(self._chance.randint(0, 2))]
        quotas = [self._quota(f"quota-{index}") for index in range(self._chance.randint(0, 3))]
        return {"pod": self._pod(), "ranges": ranges, "quotas": quotas}

    def _often(self, share: float) -> bool:
        return self._chance.random() < share

    def _some(self, names: Sequence[str], amounts: Sequence[Any] = ()) -> Json | None:
        chosen = self._chance.sample(names, min(self._chance.choice([0, 1, 1, 2, 2, 3]), len(names)))
        return {name: self._chance.choice(amounts or AMOUNTS[name]) for name in chosen} or self._chance.choice([None, {}])

    def _resources(self) -> Json:
        names = ("cpu", "memory") if self._often(0.6) else tuple(AMOUNTS)
        return {"requests": self._some(names), "limits": self._some(names)}

    def _pod(self) -> Json:
        apps = [{"name": f"app-{index}", "resources": self._resources()} for index in range(self._chance.randint(1, 3))]
        inits = [{"name": f"init-{index}", "resources": self._resources()} for index in range(self._chance.randint(0, 2))]
        spec: Json = {
            "containers": apps,
            "initContainers": [{**one, "restartPolicy": "Always"} if self._often(0.4) else one for one in inits],
        }
        if self._often(0.3):
            spec["resources"] = self._resources()
        if self._often(0.2):
            spec["overhead"] = {"cpu": "250m"}
        if self._often(0.3):
            spec["activeDeadlineSeconds"] = self._chance.choice([0, 1, 100])
        if self._often(0.5):
            spec["priorityClassName"] = self._chance.choice(["high", "low"])
        if self._often(0.3):
            spec["affinity"] = self._chance.choice(AFFINITIES)
        pod: Json = {"metadata": {"name": "web", "namespace": "shop"}, "spec": spec}
        if self._often(0.1):
            pod["status"] = {"phase": self._chance.choice(["Failed", "Succeeded", "Running"])}
        return pod

    def _limit_range(self, name: str) -> Json:
        limits: list[Json] = []
        for _ in range(self._chance.randint(1, 2)):
            item: Json = {
                "type": self._chance.choice(["Container", "Container", "Pod"]),
                "min": self._some(("cpu", "memory")),
                "max": self._some(("cpu", "memory", "ephemeral-storage")),
                "maxLimitRequestRatio": self._some(("cpu", "memory"), RATIOS),
            }
            if item["type"] == "Container":
                item |= {"default": self._some(("cpu", "memory")), "defaultRequest": self._some(("cpu", "memory"))}
            limits.append(item)
        return {"metadata": {"name": name, "namespace": "shop"}, "spec": {"limits": limits}}

    def _quota(self, name: str) -> Json:
        amounts = ("0", "1", "2", "500m", "4", "1Gi", "2Gi", "10Gi")
        hard = {resource: self._chance.choice(amounts) for resource in self._chance.sample(HARD, self._chance.randint(1, 5))}
        used = {resource: self._chance.choice(["0", "0", "1", "100m", "512Mi"]) for resource in hard}
        spec: Json = {"hard": hard}
        if self._often(0.3):
            spec["scopes"] = self._chance.sample(SCOPES, self._chance.randint(1, 2))
        if self._often(0.3):
            expression: Json = {
                "scopeName": "PriorityClass",
                "operator": self._chance.choice(["In", "NotIn", "Exists", "DoesNotExist"]),
            }
            if expression["operator"] in ("In", "NotIn"):
                expression["values"] = self._chance.choice([["high"], ["low", "high"]])
            spec["scopeSelector"] = {"matchExpressions": [expression]}
        return {"metadata": {"name": name, "namespace": "shop"}, "spec": spec, "status": {"hard": hard, "used": used}}
