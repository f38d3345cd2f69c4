"""Doubts in the rules of who may create what: they are legal, and never mean what they seem to.

A resource in the singular or mistyped matches nothing, one that belongs to no namespace is in none that a rule names, and there
are objects about which the API server never asks a webhook. Of custom resources nothing is known, and little is said.

Pure; any thread; raises nothing.
Source: kubernetes.io/docs, "Kubernetes API"; apiserver pkg/admission/plugin/webhook/predicates/rules (configuration resources).
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from typing import Final

from controllers.config.bounds import CreatorPolicySection, CreatorRuleSection
from webhook.objects.creators import parts
from webhook.objects.enforcement import Mode
from webhook.objects.faults import Path

_RULES_PATH: Final[Path] = ("features", "creatorPolicy", "rules")
_NEVER_ASKED: Final = frozenset(
    {"validatingwebhookconfigurations", "mutatingwebhookconfigurations"}
    | {"validatingadmissionpolicies", "validatingadmissionpolicybindings"}
    | {"mutatingadmissionpolicies", "mutatingadmissionpolicybindings"}
)
# A Namespace is not among them: it is judged by its own name.
_OF_NO_NAMESPACE: Final = _NEVER_ASKED | {
    "apiservices",
    "certificatesigningrequests",
    "clusterrolebindings",
    "clusterroles",
    "csidrivers",
    "csinodes",
    "customresourcedefinitions",
    "deviceclasses",
    "flowschemas",
    "ingressclasses",
    "ipaddresses",
    "nodes",
    "persistentvolumes",
    "priorityclasses",
    "prioritylevelconfigurations",
    "resourceslices",
    "runtimeclasses",
    "servicecidrs",
    "storageclasses",
    "volumeattachments",
    "volumeattributesclasses",
}
_KNOWN: Final = _OF_NO_NAMESPACE | {
    "bindings",
    "configmaps",
    "controllerrevisions",
    "cronjobs",
    "csistoragecapacities",
    "daemonsets",
    "deployments",
    "endpoints",
    "endpointslices",
    "events",
    "horizontalpodautoscalers",
    "ingresses",
    "jobs",
    "leases",
    "limitranges",
    "localsubjectaccessreviews",
    "namespaces",
    "networkpolicies",
    "persistentvolumeclaims",
    "poddisruptionbudgets",
    "pods",
    "podtemplates",
    "replicasets",
    "replicationcontrollers",
    "resourceclaims",
    "resourceclaimtemplates",
    "resourcequotas",
    "rolebindings",
    "roles",
    "secrets",
    "selfsubjectaccessreviews",
    "selfsubjectreviews",
    "selfsubjectrulesreviews",
    "serviceaccounts",
    "services",
    "statefulsets",
    "subjectaccessreviews",
    "tokenreviews",
}
_OWN_GROUPS: Final = ("", "apps", "batch", "autoscaling", "policy")  # and all that end in .k8s.io


def doubts(policy: CreatorPolicySection) -> Iterator[tuple[Path, str]]:
    """Where, and a sentence; nothing about rules that are off."""
    if not policy.enabled:
        return
    rules = [rule for rule in policy.creator_rules if rule.mode is not Mode.OFF]
    for index, rule in enumerate(policy.creator_rules):
        for place, pattern in enumerate(() if rule.mode is Mode.OFF else rule.resources):
            path: Path = (*_RULES_PATH, index, "resources", place)
            said = _doubt_of_name(pattern) or _doubt_of_reach(pattern, rule) or _doubt_of_eviction(pattern, rule, rules)
            if said:
                yield path, said


def _doubt_of_name(pattern: str) -> str:
    name, group, _ = parts(pattern)
    if name in _KNOWN or name == "*":
        return ""
    is_kubernetes = group in _OWN_GROUPS or group.endswith(".k8s.io")
    near = difflib.get_close_matches(name, _KNOWN, 1, 0.85) if is_kubernetes else []
    if near:
        return f'Kubernetes has no resource "{name}": did you mean {near[0]}?'
    return (
        "" if name.endswith("s") else f'"{name}" is in the singular: a resource is written in the plural, and this matches none'
    )


def _doubt_of_reach(pattern: str, rule: CreatorRuleSection) -> str:
    name, _, _ = parts(pattern)
    if name in _NEVER_ASKED:
        return f"the API server never asks a webhook about {name}: the rule has no say"
    if name in _OF_NO_NAMESPACE and rule.namespaces.only:
        return f"{name} belong to no namespace, and the rule is only for some: it never covers them"
    return ""


def _doubt_of_eviction(pattern: str, rule: CreatorRuleSection, rules: Sequence[CreatorRuleSection]) -> str:
    if parts(pattern) not in (("pods", "", ""), ("*", "", "")) or not {"DELETE", "*"} & set(rule.operations):
        return ""
    if any(_closes_evictions(one) for one in rules):
        return ""
    return "a pod also goes by its eviction, which no rule covers: name pods/eviction with CREATE"


def _closes_evictions(rule: CreatorRuleSection) -> bool:
    named = {"pods/eviction", "pods/*", "*/eviction", "*/*"}
    return bool(named & set(rule.resources)) and bool({"CREATE", "*"} & set(rule.operations))
