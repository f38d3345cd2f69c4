"""Every pod has an owner: a label of its own, else that of its namespace. A pod without either is refused."""

from __future__ import annotations

from enum import StrEnum

import attrs

from webhook.admission import (
    FORBIDDEN,
    NAMESPACES_CACHE,
    AdmissionRequest,
    Context,
    Denial,
    Draft,
    Entry,
    Facts,
    Match,
    Operations,
    RulePlugin,
    Unavailable,
    Verdict,
    meta,
)


class Why(StrEnum):
    """The word in metrics, logs and audit annotations."""

    HAS_ONE = "HasOwner"
    INHERITED = "OwnerInherited"
    MISSING = "OwnerMissing"


@attrs.frozen
class Settings:
    """`plugins.rules.inherit-owner` of the configuration."""

    label: str = attrs.field(default="owner", validator=attrs.validators.min_len(1))
    exempt: tuple[str, ...] = ()  # namespaces


@attrs.frozen
class InheritOwner:
    """The rule. Called by many threads at once: it keeps nothing between two calls."""

    settings: Settings
    facts: Facts

    def __call__(self, request: AdmissionRequest, draft: Draft, context: Context) -> Verdict:
        """Decides, and edits the draft."""
        label = self.settings.label
        if meta.labels_of(draft.object).get(label):
            return Verdict(Why.HAS_ONE)
        namespaces = self.facts.namespaces
        namespace = namespaces.get(request.namespace) or namespaces.confirm(request.namespace, context.deadline)
        if namespace is None:
            raise Unavailable(f"namespace {request.namespace} is not known yet")  # the API server asks again, another replica
        owner = namespace.labels.get(label)
        if owner:
            draft.set(("metadata", "labels", label), owner)
            return Verdict(Why.INHERITED, f"{label}={owner} of namespace {namespace.name}")
        message = f'{request.subject}: has no label "{label}", nor has its namespace'
        return Verdict(Why.MISSING, message, Denial(FORBIDDEN, Why.MISSING, message))


# Evaluated by the API server, in CEL: what a kubelet shows of its static pods cannot be changed any more.
NOT_A_MIRROR = ("not-a-mirror", "!('kubernetes.io/config.mirror' in object.metadata.?annotations.orValue({}))")


def entries(settings: Settings) -> tuple[Entry, ...]:
    """What the API server sends: new pods. Those of the system's namespaces and Gatehouse's own are always left out."""
    exempt = {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": list(settings.exempt)}
    return (
        Entry(
            (Match("", "v1", "pods", (Operations.CREATE,), "Namespaced"),),
            namespace_selector={"matchExpressions": [exempt]} if settings.exempt else {},
            match_conditions=(NOT_A_MIRROR,),
            failure_policy="Fail",  # with Ignore, pods would go through while no replica answers
            timeout_s=5,
        ),
    )


plugin = RulePlugin(
    settings=Settings,
    build=InheritOwner,
    entries=entries,
    mutating=True,
    caches=frozenset({NAMESPACES_CACHE}),
    advice={Why.MISSING: "label the pod or its namespace: kubectl label namespace NAME owner=TEAM"},
)
