"""What would refuse an injected pod, or keep it from starting: seen from the caches, before anybody else says so.

    Forecast(before, surroundings).of(after)    what the injection makes worse; what was wrong before is its author's affair

Looked at: rules between a container and the rest of its pod, the namespace's Pod Security level, its LimitRanges and
ResourceQuotas, the pod's own spec.resources, and whether the ConfigMaps that must be there are. Pure but for what
`config_map_exists` does; raises MalformedObject (400) on a field of a type that the API forbids.
Source: istio/istio#57393, kumahq/kuma#17278 (quotas and pod-level resources outgrown by a sidecar), hashicorp/consul-k8s#4441
(Pod Security).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

import attrs
import msgspec

from webhook.names import Reason
from webhook.objects import limit_ranges, pods, resource_quotas
from webhook.objects.config_maps import needs_of
from webhook.objects.limit_ranges import LimitRange
from webhook.objects.meta import Json
from webhook.objects.pod_rules import breaches
from webhook.objects.pod_security import level_of, violations
from webhook.objects.pod_totals import overdrafts
from webhook.objects.resource_quotas import ResourceQuota

T = TypeVar("T")


class Surroundings(msgspec.Struct, frozen=True):
    """What is known of the pod's namespace."""

    namespace_labels: Mapping[str, str] = msgspec.field(default_factory=dict)
    limit_ranges: Sequence[LimitRange] = ()
    quotas: Sequence[ResourceQuota] = ()
    # Whether the namespace has a ConfigMap of this name; None = nobody can tell. The one thing here that may cost time, and it
    # is asked again for a name that comes again: `fitting` keeps the answers.
    config_map_exists: Callable[[str], bool | None] = lambda name: None


@attrs.frozen
class Objection:
    """One thing that speaks against the injected pod."""

    reason: Reason
    who: str  # objects, with a verb that wants an object: "Pod Security restricted:latest will refuse"
    message: str  # subject, fact and limit
    field: str  # in the injected pod
    container: str = ""  # that causes it; "" when it is the pod as a whole
    volume: str = ""


_API_SERVER = "the API server will refuse"


class Forecast:
    """What speaks against one pod, injected in one way or another. Remembers what did before; one thread at a time."""

    def __init__(self, before: Json, surroundings: Surroundings) -> None:
        self._before = before
        self._surroundings = surroundings
        self._known: dict[str, frozenset[Hashable]] = {}  # by what was looked for: what was found in the pod as it was

    def of(self, after: Json, *reasons: Reason) -> tuple[Objection, ...]:
        """Everything that speaks against *after* and did not before; of *reasons* only, where some are given."""
        return tuple(
            objection
            for reason, look in (
                (Reason.INVALID_POD, self._breaches),
                (Reason.POD_SECURITY, self._pod_security),
                (Reason.LIMIT_RANGE, self._limit_ranges),
                (Reason.POD_RESOURCES, self._pod_resources),
                (Reason.QUOTA, self._quotas),
                (Reason.CONFIG_MAP_MISSING, self._config_maps),
            )
            if not reasons or reason in reasons
            for objection in look(after)
        )

    def _breaches(self, after: Json) -> Iterator[Objection]:
        for found in self._worse("breaches", breaches, lambda one: (one.rule, one.container), after):
            yield Objection(Reason.INVALID_POD, _API_SERVER, found.message, found.field, found.container)

    def _pod_security(self, after: Json) -> Iterator[Objection]:
        level = level_of(self._surroundings.namespace_labels)
        who = f"Pod Security {level} will refuse"
        for found in self._worse("violations", lambda pod: violations(pod, level), lambda one: (one.check, one.message), after):
            yield Objection(Reason.POD_SECURITY, who, found.message, found.path, found.container, found.volume)

    def _limit_ranges(self, after: Json) -> Iterator[Objection]:
        ranges = self._surroundings.limit_ranges
        for found in self._worse("bounds", lambda pod: limit_ranges.violations(pod, ranges), _bound, after):
            yield Objection(Reason.LIMIT_RANGE, _API_SERVER, found.message, found.field, found.container)
        outgrown = self._worse("outgrown", lambda pod: limit_ranges.outgrown(pod, ranges), lambda one: one[:2], after)
        for container, _, field, message in outgrown:
            yield Objection(Reason.LIMIT_RANGE, _API_SERVER, message, field, container)

    def _pod_resources(self, after: Json) -> Iterator[Objection]:
        ranges = self._surroundings.limit_ranges
        for found in self._worse("totals", lambda pod: overdrafts(pod, ranges), lambda one: (one.path, one.container), after):
            yield Objection(Reason.POD_RESOURCES, _API_SERVER, found.message, found.path, found.container)

    def _quotas(self, after: Json) -> Iterator[Objection]:
        quotas, ranges = self._surroundings.quotas, self._surroundings.limit_ranges
        for shortage in self._worse(
            "shortages",
            lambda pod: resource_quotas.shortages(pod, quotas, ranges),
            lambda one: (one.quota, one.resource),
            after,
        ):
            yield Objection(Reason.QUOTA, _API_SERVER, shortage.message, "spec")
        for path, missing in self._worse("missing", lambda pod: _missing(pod, quotas, ranges), lambda one: one[1], after):
            (name,) = missing.containers
            yield Objection(Reason.QUOTA, _API_SERVER, missing.message, f"{path}.resources", name)

    def _config_maps(self, after: Json) -> Iterator[Objection]:
        for need in self._worse("config maps", needs_of, lambda need: (need.name, need.container, need.volume), after):
            if self._surroundings.config_map_exists(need.name) is False:
                owner = f'volume "{need.volume}"' if need.volume else f'container "{need.container}"'
                message = f"{owner} needs ConfigMap {need.name}, which does not exist in the pod's namespace"
                who = "no kubelet can start"
                yield Objection(Reason.CONFIG_MAP_MISSING, who, message, need.path, need.container, need.volume)

    def _worse(self, what: str, find: Callable[[Json], Iterable[T]], key: Callable[[T], Hashable], after: Json) -> Sequence[T]:
        """What *find* finds in *after* and, told apart by *key*, not in the pod as it was."""
        found = list(find(after))
        if not found:
            return found
        known = self._known.get(what)
        if known is None:
            known = self._known[what] = frozenset(map(key, find(self._before)))
        return [one for one in found if key(one) not in known]


def _bound(found: limit_ranges.Violation) -> Hashable:
    return found.range, found.container, found.resource, found.kind, found.part


def _missing(
    pod: Json, quotas: Sequence[ResourceQuota], ranges: Sequence[LimitRange]
) -> Iterator[tuple[str, resource_quotas.Missing]]:
    """What a quota wants stated, container by container, each with the container's path."""
    found = resource_quotas.missing(pod, quotas, ranges)
    paths = {container.name: container.path for container in pods.containers(pod)} if found else {}
    for missing in found:
        for name in missing.containers:
            yield paths[name], attrs.evolve(missing, containers=(name,))
