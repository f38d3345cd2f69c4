"""Repairs of what is planned, as far as its entries allow: in their own containers, and in the pod's totals.

    mend(pod, planned, surroundings) -> Mended

    PodSecurity     fills in security settings that the container leaves open
    LimitRange      brings the container's requests and limits into the namespace's range
    PodResources    raises spec.resources by what the entries ask for

A repair is made only where something objects, and only where it ends the objection; what was repaired is told. Pure but for
what the surroundings do; raises MalformedObject (400) on a field of a type that the API forbids.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import attrs
import msgspec

from webhook.admission.draft import Draft
from webhook.names import Reason
from webhook.objects import meta, pods, resources
from webhook.objects.limit_ranges import LimitRange, clamped, with_defaults
from webhook.objects.meta import Json
from webhook.objects.pod_security import level_of, repaired
from webhook.objects.pod_totals import overdrafts
from webhook.objects.pods import Kind
from webhook.objects.quantity import ZERO, Quantity
from webhook.objects.resources import Part as Half
from webhook.sidecars.entries.entry import Entry, Repair
from webhook.sidecars.findings import Finding
from webhook.sidecars.fitting.forecast import Forecast, Objection, Surroundings
from webhook.sidecars.injection import apply
from webhook.sidecars.injection.planned import Plan, Standing


@attrs.frozen
class Mended:
    """A plan after its repairs."""

    plan: Plan
    objections: tuple[Objection, ...]  # what is left
    findings: tuple[Finding, ...] = ()  # what was repaired


def mend(pod: Json, planned: Plan, surroundings: Surroundings) -> Mended:
    """*planned* for *pod* with every repair that its entries allow and that helps. The pod is not changed."""
    # A stub, and what an entry overrides, is the entry's from now on: what speaks against it is not its author's affair.
    taken = {piece.name for piece in planned.pieces() if piece.is_coming and piece.standing is not Standing.NEW}
    before = _without(pod, taken) if taken else pod
    site = _Site(pod, before, surroundings, Forecast(before, surroundings))
    mended = Mended(planned, site.forecast.of(preview(pod, planned)))
    for repair in (_SECURITY, _RANGE):
        mended = _with_containers(site, mended, repair)
    return _with_totals(site, mended)


@attrs.frozen
class _Site:
    """Where repairs are made."""

    pod: Json  # as it was sent
    before: Json  # the same without the containers that entries take over
    surroundings: Surroundings
    forecast: Forecast


@attrs.frozen
class _Repair:
    """One kind of repair of containers."""

    kind: Repair
    reason: Reason  # of the objections that it may end
    touches: tuple[Reason, ...]  # of the objections that may come or go with it
    change: Callable[[Json, _Site], Json]  # the container, mended


def preview(pod: Json, planned: Plan) -> Json:
    """*pod* as it will be. It shares with *pod* and the plan what injection never edits in place: only to be read."""
    draft = Draft(_copied(pod))
    apply(draft, planned)
    return draft.object


def _copied(pod: Json) -> Json:
    """*pod* with copies of everything that injection edits in place, and of nothing else: environments may be long."""
    metadata, spec = meta.metadata(pod), pods.spec(pod)
    halves = meta.mapping(spec, "resources", "spec")
    own: Json = {
        kind.value: [_container(one, kind) for one in meta.objects(spec, kind.value, "spec")] for kind in Kind if spec.get(kind)
    }
    if halves:
        own["resources"] = {half: _shallow(amounts) for half, amounts in halves.items()}
    return {
        **pod,
        "metadata": {key: _shallow(value) for key, value in metadata.items()},
        "spec": {**{key: _shallow(value) for key, value in spec.items()}, **own},
    }


def _container(container: Json, kind: Kind) -> Json:
    copied = {key: _shallow(value) for key, value in container.items()}
    if copied.get("ports"):
        path = f'spec.{kind.value}["{container.get("name")}"]'
        copied["ports"] = [_shallow(port) for port in meta.objects(copied, "ports", path)]
    return copied


def _shallow(value: Any) -> Any:
    return value.copy() if type(value) in (dict, list) else value


# -- containers


def _with_containers(site: _Site, mended: Mended, repair: _Repair) -> Mended:
    """*mended* with those containers changed that something objects to, where that ends it."""
    concerned = {objection.container for objection in mended.objections if objection.reason is repair.reason}
    changes = dict(_changes(site, mended.plan, repair, concerned))
    if not changes:
        return mended
    plan = mended.plan
    for name, (_, _, container) in changes.items():
        plan = plan.with_container(name, container)
    after, objections = _objections(site, mended, plan, repair.touches)
    in_vain = changes.keys() & {one.container for one in objections if one.reason is repair.reason}
    if in_vain:
        for name in in_vain:
            plan = plan.with_container(name, changes.pop(name)[1])
        after, objections = _objections(site, mended, plan, repair.touches)
    return Mended(plan, objections, (*mended.findings, *_repairs(repair.reason, changes, after)))


def _objections(site: _Site, mended: Mended, plan: Plan, touched: tuple[Reason, ...]) -> tuple[Json, tuple[Objection, ...]]:
    """The pod under *plan*, and what speaks against it: only the reasons that are *touched* are looked at anew."""
    after = preview(site.pod, plan)
    kept = [objection for objection in mended.objections if objection.reason not in touched]
    return after, (*site.forecast.of(after, *touched), *kept)


_Changed = tuple[Entry, Json, Json]  # whose container, as it was planned, as it becomes


def _changes(site: _Site, plan: Plan, repair: _Repair, concerned: set[str]) -> Iterator[tuple[str, _Changed]]:
    for part in plan.parts:
        if repair.kind not in part.entry.repair:
            continue
        for piece in part.pieces:
            if piece.is_coming and piece.name in concerned:
                container = repair.change(piece.json, site)
                if container != piece.json:
                    yield piece.name, (part.entry, piece.json, container)


def _secured(container: Json, site: _Site) -> Json:
    return repaired(container, site.pod, level_of(site.surroundings.namespace_labels))


def _clamped(container: Json, site: _Site) -> Json:
    stated = container.get("resources") or {}
    allowed = clamped(stated, site.surroundings.limit_ranges)
    return container if allowed == stated else {**container, "resources": allowed}


_OF_AMOUNTS = (Reason.LIMIT_RANGE, Reason.POD_RESOURCES, Reason.QUOTA)
_SECURITY = _Repair(Repair.POD_SECURITY, Reason.POD_SECURITY, (Reason.POD_SECURITY,), _secured)
_RANGE = _Repair(Repair.LIMIT_RANGE, Reason.LIMIT_RANGE, _OF_AMOUNTS, _clamped)


def _repairs(reason: Reason, changes: Mapping[str, _Changed], after: Json) -> Iterator[Finding]:
    paths = {container.name: container.path for container in pods.containers(after)}
    for name, (entry, was, now) in changes.items():
        subject = f'{entry.subject}: container "{name}"'
        if reason is Reason.POD_SECURITY:
            settings = ", ".join(_differing(was.get("securityContext") or {}, now["securityContext"]))
            message = f"{subject} gets {settings} for the namespace's Pod Security level"
            yield Finding(Reason.REPAIRED, message, f"{paths[name]}.securityContext")
        else:
            message = f"{subject} is brought into the namespace's LimitRange: {', '.join(_moves(was, now))}"
            yield Finding(Reason.REPAIRED, message, f"{paths[name]}.resources")


def _differing(was: Json, now: Json) -> Iterator[str]:
    return (key for key, value in now.items() if was.get(key) != value)


def _moves(was: Json, now: Json) -> Iterator[str]:
    """Each amount that has changed: "limits.cpu from 500m to 200m"."""
    for half, amounts in (now.get("resources") or {}).items():
        before = (was.get("resources") or {}).get(half) or {}
        for resource, amount in (amounts or {}).items():
            old = before.get(resource)
            if old != amount:
                yield f"{half}.{resource} from {old} to {amount}" if old is not None else f"{half}.{resource} is {amount}"


# -- totals


def _with_totals(site: _Site, mended: Mended) -> Mended:
    """*mended* with spec.resources raised where the entries outgrow it, by what those ask for that let it be raised."""
    if not any(objection.reason is Reason.POD_RESOURCES for objection in mended.objections):
        return mended
    parts = [part for part in mended.plan.parts if Repair.POD_RESOURCES in part.entry.repair]
    names = {piece.name for part in parts for piece in part.pieces if piece.is_coming}
    if not names:
        return mended
    after = preview(site.pod, mended.plan)
    ranges = site.surroundings.limit_ranges
    known = {(overdraft.path, overdraft.container) for overdraft in overdrafts(site.before, ranges)}
    short = {one.resource for one in overdrafts(after, ranges) if (one.path, one.container) not in known}
    raised = list(_raised(after, names, sorted(short), ranges))
    if not raised:
        return mended
    totals: dict[str, dict[str, str]] = {}
    for half, resource, _, amount in raised:
        totals.setdefault(half.value, {})[resource] = str(amount)
    plan = msgspec.structs.replace(mended.plan, pod_resources=totals)
    who = ", ".join(f'"{part.entry.name}" ({part.entry.source})' for part in parts)
    findings = [
        Finding(
            Reason.REPAIRED,
            f"entry {who}: spec.resources.{half.value}.{resource} is raised from {old.text} to {new}",
            f"spec.resources.{half.value}.{resource}",
        )
        for half, resource, old, new in raised
    ]
    _, objections = _objections(site, mended, plan, _OF_AMOUNTS)
    return Mended(plan, objections, (*mended.findings, *findings))


def _raised(
    after: Json, names: set[str], short: Sequence[str], ranges: Sequence[LimitRange]
) -> Iterator[tuple[Half, str, Quantity, Quantity]]:
    """Which half, which resource, from how much, to how much: for each resource of *short* that spec.resources states."""
    total = resources.read(after).pod
    whole = with_defaults(resources.read(after), ranges)
    rest = with_defaults(resources.read(_without(after, names)), ranges)
    for resource in short:
        added = {half: whole.aggregate(half).get(resource, ZERO) - rest.aggregate(half).get(resource, ZERO) for half in Half}
        # A container without a limit has no share in the limits' sum, but needs what it requests.
        added[Half.LIMITS] = max(added.values())
        for half in Half:
            stated = total.of(half).get(resource)
            if stated is not None and added[half]:
                yield half, resource, stated, stated + added[half]


def _without(pod: Json, names: set[str]) -> Json:
    """*pod* without its containers *names*."""
    kept: Json = {kind.value: [] for kind in Kind}
    for container in pods.containers(pod):
        if container.name not in names:
            kept[container.kind.value].append(container.json)
    return {**pod, "spec": {**pods.spec(pod), **kept}}
