"""The configured defaults: sets of labels, annotations, requests and limits, each for the pods that its selectors choose.

All sets that match apply in their order; of two that say something about one key the first counts. `faults` are those that
would make a second call decide differently from the first, or write what is not an operator's to default.

Pure and frozen.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

import attrs

from webhook.defaults import values
from webhook.names import APP_LABEL, DOMAIN, INJECT, PROJECT
from webhook.objects import selectors
from webhook.objects.faults import Found, Path
from webhook.objects.pods import MIRROR_ANNOTATION, Kind
from webhook.objects.quantity import Amounts, Quantity, field_of
from webhook.objects.resource_policies import ResourcePolicy
from webhook.objects.resource_rules import amount_fault
from webhook.objects.resources import Part, Resources, may_overcommit
from webhook.objects.selectors import Selector

# The API server reads a meaning into these, and refuses a pod over a wrong one; or they are the kubelet's.
_READ_BY_KUBERNETES: Final = (
    MIRROR_ANNOTATION,
    "kubernetes.io/config.source",
    "kubernetes.io/config.hash",
    "kubernetes.io/config.seen",
    "kubernetes.io/limit-ranger",
    "controller.kubernetes.io/pod-deletion-cost",
)
_PREFIXES_READ_BY_KUBERNETES: Final = (
    "container.apparmor.security.beta.kubernetes.io/",
    "seccomp.security.alpha.kubernetes.io/",
    "container.seccomp.security.alpha.kubernetes.io/",
)


@attrs.frozen
class ContainerDefaults:
    """Requests and limits of one kind of container, or of one container."""

    requests: Amounts = attrs.field(factory=dict)
    limits: Amounts = attrs.field(factory=dict)

    def of(self, part: Part) -> Amounts:
        """Its requests or its limits."""
        return self.requests if part is Part.REQUESTS else self.limits

    @property
    def resources(self) -> tuple[str, ...]:
        """What it says anything about."""
        return tuple(dict.fromkeys((*self.requests, *self.limits)))


NOTHING: Final = ContainerDefaults()


@attrs.frozen
class DefaultSet:
    """Defaults for some pods."""

    name: str  # for messages
    namespace_selector: Selector = Selector()
    pod_selector: Selector = Selector()
    labels: Mapping[str, str] = attrs.field(factory=dict)
    annotations: Mapping[str, str] = attrs.field(factory=dict)
    app: ContainerDefaults = NOTHING
    init: ContainerDefaults = NOTHING  # init containers and native sidecars
    containers: Mapping[str, ContainerDefaults] = attrs.field(factory=dict)  # by name, of either kind; goes before app and init

    def of(self, container: Resources) -> Sequence[ContainerDefaults]:
        """What it says about *container*, the more specific first."""
        kind = self.app if container.kind is Kind.APP else self.init
        named = self.containers.get(container.name)
        return (kind,) if named is None else (named, kind)

    @property
    def amounts(self) -> Iterator[ContainerDefaults]:
        """All that it says about requests and limits."""
        yield from (self.app, self.init, *self.containers.values())

    @property
    def asks_for_namespace(self) -> bool:
        """Whether it cannot be applied in a namespace that nobody knows."""
        texts = (*self.labels.values(), *self.annotations.values())
        return bool(self.namespace_selector.requirements) or any(map(values.asks_for_namespace, texts))


@attrs.frozen
class PodDefaults:
    """How the rule pod-defaults is set."""

    sets: tuple[DefaultSet, ...] = ()
    enabled: bool = True
    policies: tuple[ResourcePolicy, ...] = ()  # by which we refuse pods: no default may break one

    @property
    def asks_for_namespace(self) -> bool:
        """Whether any set needs to know the namespace."""
        return any(one.asks_for_namespace for one in self.sets)


def faults(sets: Sequence[DefaultSet]) -> Found:
    """Everything that is wrong with *sets*. Paths are those of the list in the configuration."""
    labels = frozenset(key for one in sets for key in one.labels)
    annotations = frozenset(key for one in sets for key in one.annotations)
    for index, one in enumerate(sets):
        for requirement in one.pod_selector.requirements:
            if requirement.key in labels:
                yield (
                    (index, "podSelector"),
                    f"{requirement.key} is a label that a set gives: whether the pod is chosen would change with that",
                )
        for key, text in one.labels.items():
            path: Path = (index, "labels", key)
            yield from _entry_faults(path, key, text, is_label=True)
            yield from _circles(path, text, {"pod.labels": labels, "pod.annotations": annotations})
        for key, text in one.annotations.items():
            path = (index, "annotations", key)
            yield from _entry_faults(path, key, text, is_label=False)
            yield from _circles(path, text, {"pod.annotations": annotations})
        yield from _amounts_faults(one, index)


def _circles(path: Path, text: str, given: Mapping[str, frozenset[str]]) -> Found:
    """What *text* asks for that is not there yet when it is filled in, and would be at a second call."""
    if values.fault_of(text) is None:
        for kind, key in values.keys_asked_for(text):
            if key in given.get(kind, ()):
                yield (
                    path,
                    f"asks for {kind}['{key}'], which a set gives: only an annotation may ask for such a label",
                )


def _entry_faults(path: Path, key: str, text: str, *, is_label: bool) -> Found:
    if fault := selectors.key_fault(key if is_label else key.lower()):
        yield path, fault if is_label else fault.replace("label key", "annotation key", 1)
    elif is_reserved(key, text):
        yield path, f"{key} is no default: Kubernetes or Gatehouse reads a meaning into it"
    fault = values.fault_of(text)
    if fault is None and is_label and not values.is_typed(text):
        fault = selectors.value_fault(text)
    if fault is not None:
        yield path, fault


def is_reserved(key: str, value: str) -> bool:
    """Whether this label or annotation is not an operator's to default."""
    domain = key.rpartition("/")[0]
    if key == APP_LABEL:
        return value == PROJECT  # it would take the pod out of every webhook of ours
    return (
        key == INJECT
        or domain == DOMAIN
        or domain.endswith(f".{DOMAIN}")
        or key in _READ_BY_KUBERNETES
        or key.startswith(_PREFIXES_READ_BY_KUBERNETES)
    )


def _amounts_faults(one: DefaultSet, index: int) -> Found:
    places: Iterable[tuple[Path, ContainerDefaults]] = (
        (("resources", "app"), one.app),
        (("resources", "init"), one.init),
        *((("containers", name), amounts) for name, amounts in one.containers.items()),
    )
    for place, amounts in places:
        path = (index, *place)
        for part in Part:
            for resource, amount in amounts.of(part).items():
                if fault := amount_fault(resource, amount):
                    yield (*path, part.value, resource), fault
        for resource, request in amounts.requests.items():
            limit = amounts.limits.get(resource)
            if limit is not None and (fault := _pair_fault(resource, request, limit)):
                yield (*path, Part.REQUESTS.value, resource), fault


def _pair_fault(resource: str, request: Quantity, limit: Quantity) -> str | None:
    if request > limit:
        return f"{field_of('request', resource)} {request.text} is above the limit of {limit.text}"
    if request != limit and not may_overcommit(resource):
        return f"{field_of('request', resource)} {request.text} has to be equal to the limit of {limit.text}"
    return None
