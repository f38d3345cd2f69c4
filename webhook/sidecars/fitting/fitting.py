"""Make what is planned fit the pod's namespace: repair what an entry lets be repaired, then warn, leave out or refuse.

    fit(pod, planned, surroundings, replan) -> Fitted

Whatever still speaks against an entry after its repairs (`mending`) is told with the entry's name, or ends it as the entry's
`ifRefused` says. What speaks against the pod as a whole (a quota) speaks against every entry that brings a container; of those
that may be left out the last goes first. Pure but for what the surroundings do; raises MalformedObject (400) on a field of a
type that the API forbids.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import msgspec

from webhook.names import Reason
from webhook.objects import meta
from webhook.objects.config_maps import needs_of
from webhook.objects.meta import Json
from webhook.objects.pod_rules import breaches
from webhook.objects.pod_security import Profile, level_of
from webhook.objects.pods import spec
from webhook.sidecars.entries.entry import Entry, Repair, Unfit
from webhook.sidecars.findings import Finding
from webhook.sidecars.fitting.forecast import Objection, Surroundings
from webhook.sidecars.fitting.mending import Mended, mend
from webhook.sidecars.injection.planned import LeftOut, Part, Plan


class Fitted(msgspec.Struct, frozen=True):
    """A plan that fits, or as nearly as its entries allow."""

    plan: Plan
    findings: tuple[Finding, ...] = ()  # what was repaired, what was left out, what will be refused
    refusal: Finding | None = None  # then the pod is not to be edited


def fit(pod: Json, planned: Plan, surroundings: Surroundings, replan: Callable[[Sequence[LeftOut]], Plan]) -> Fitted:
    """*planned* for *pod*, brought into line with the *surroundings*. The pod is not changed.

    replan: plans the same pod again without these entries, whose findings need not be told again. O(size of the pod) for each
    entry that is left out.
    """
    gone: list[LeftOut] = []
    known = msgspec.structs.replace(surroundings, config_map_exists=_once(surroundings.config_map_exists))
    while planned.refusal is None and _may_be_refused(pod, planned, known):
        mended = mend(pod, planned, known)
        blamed = _blamed(mended)
        leaving = _first_to_go(blamed)
        if leaving is None:
            return _told(mended, blamed, gone)
        part, objections = leaving
        gone.append(LeftOut(part.entry, _finding(part.entry, objections, "is left out:")))
        planned = replan(gone)
    return Fitted(planned, tuple(one.finding for one in gone))


def _once(exists: Callable[[str], bool | None]) -> Callable[[str], bool | None]:
    """*exists*, which is asked for each name once."""
    answers: dict[str, bool | None] = {}

    def ask(name: str) -> bool | None:
        if name not in answers:
            answers[name] = exists(name)
        return answers[name]

    return ask


def _may_be_refused(pod: Json, planned: Plan, known: Surroundings) -> bool:
    """Whether it is worth looking at the pod as it will be: most namespaces have no rules, and spare us that."""
    brought = _brought(planned)
    if any(breaches(_among(pod, planned, brought))):
        return True
    if not any(brought["spec"].values()):
        return False
    if known.limit_ranges or known.quotas or spec(pod).get("resources") is not None:
        return True
    if level_of(known.namespace_labels).profile is not Profile.PRIVILEGED:
        return True
    return any(known.config_map_exists(need.name) is False for need in needs_of(brought))


def _among(pod: Json, planned: Plan, brought: Json) -> Json:
    """What is *brought* in the pod that it comes into, but without the containers there."""
    annotations = {**meta.annotations_of(pod), **planned.annotations}
    inside = {**spec(pod), "initContainers": [], "ephemeralContainers": [], "containers": brought["spec"]["containers"]}
    return {"metadata": {"annotations": annotations}, "spec": inside}


def _brought(planned: Plan) -> Json:
    """A pod of all that *planned* brings, and of nothing else."""
    containers = [piece.json for piece in planned.pieces() if piece.is_coming]
    for edit in planned.lists:
        if edit.path[-1] in ("env", "envFrom"):
            items = [*edit.ahead, *edit.added, *(item for _, item in edit.replaced)]
            containers.append({"name": "", str(edit.path[-1]): items})
    return {"spec": {"containers": containers, "volumes": [volume for part in planned.parts for volume in part.volumes]}}


# -- whose fault it is

_Blamed = Sequence[tuple[Part, Sequence[Objection]]]


def _blamed(mended: Mended) -> _Blamed:
    """Every part that something speaks against, with what does."""
    against: dict[str, list[Objection]] = {part.entry.name: [] for part in mended.plan.parts}
    for objection in mended.objections:
        for part in _causes(mended.plan, objection):
            against[part.entry.name].append(objection)
    return [(part, against[part.entry.name]) for part in mended.plan.parts if against[part.entry.name]]


def _causes(plan: Plan, objection: Objection) -> Sequence[Part]:
    """The parts that *objection* is about; where nobody can be named, all."""
    owners = [part for part in plan.parts if _owns(part, objection)]
    if not owners and objection.container:
        owners = [part for part in plan.parts if _wires_config_maps(part.entry)]
    if not owners:
        owners = [part for part in plan.parts if any(piece.is_coming for piece in part.pieces)]
    if objection.reason is Reason.POD_RESOURCES and not objection.container:
        # What they bring has been added to spec.resources for those that ask for it.
        owners = [part for part in owners if Repair.POD_RESOURCES not in part.entry.repair] or owners
    return owners or plan.parts


def _owns(part: Part, objection: Objection) -> bool:
    """Whether the container or the volume is the part's."""
    if objection.container:
        return any(piece.is_coming and piece.name == objection.container for piece in part.pieces)
    return bool(objection.volume) and any(volume.get("name") == objection.volume for volume in part.volumes)


def _wires_config_maps(entry: Entry) -> bool:
    """Whether the pod's own containers get variables from ConfigMaps."""
    keys = any("configMapKeyRef" in (variable.get("valueFrom") or ()) for variable in entry.app.env)
    return keys or any("configMapRef" in source for source in entry.app.env_from)


def _first_to_go(blamed: _Blamed) -> tuple[Part, Sequence[Objection]] | None:
    """Of the entries that may be left out the last; before it the last of those that have a fault of their own."""
    may_go = [(part, objections) for part, objections in blamed if part.entry.if_refused is Unfit.SKIP]
    own_fault = [(part, objections) for part, objections in may_go if any(_owns(part, one) for one in objections)]
    return own_fault[-1] if own_fault else may_go[-1] if may_go else None


# -- what is told


def _told(mended: Mended, blamed: _Blamed, gone: Sequence[LeftOut]) -> Fitted:
    warnings: list[Finding] = []
    refusals: list[Finding] = []
    for part, objections in blamed:
        told = refusals if part.entry.if_refused is Unfit.REFUSE else warnings
        told += [_finding(part.entry, same) for same in _by_objector(objections).values()]
    refusal = None
    if refusals:
        message = "; ".join(finding.message for finding in refusals)
        refusal = Finding(refusals[0].reason, message, refusals[0].field)
    left_out = (one.finding for one in gone)
    return Fitted(mended.plan, (*left_out, *mended.findings, *warnings), refusal)


def _by_objector(objections: Sequence[Objection]) -> Mapping[tuple[Reason, str], Sequence[Objection]]:
    grouped: dict[tuple[Reason, str], list[Objection]] = {}
    for objection in objections:
        grouped.setdefault((objection.reason, objection.who), []).append(objection)
    return grouped


def _finding(entry: Entry, objections: Sequence[Objection], fate: str = "") -> Finding:
    """What speaks against *entry*, in one sentence; *fate*: what becomes of it."""
    subject = entry.subject
    parts = []
    for (_, who), same in _by_objector(objections).items():
        messages = "; ".join(dict.fromkeys(one.message for one in same))
        parts.append(f"{who} {'it' if fate else subject}: {messages}")
    reasons = "; ".join(parts)
    return Finding(objections[0].reason, f"{subject} {fate} {reasons}" if fate else reasons, objections[0].field)
