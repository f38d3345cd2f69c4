"""The registrations of the services that hold pods, and those who create things, to bounds: computed from the policies.

    pod_entries(settings, mode)        of `validate` and `validate-warn`: pods of the namespaces that some policy is for
    creator_entries(settings, mode)    of `validate-creators` and its like: what the rules are about, by those whom one of them
                                       may object to

Whoever cannot be refused never waits for us: conditions in CEL leave out other namespaces, the control plane, users whom every
rule allows, kubelets that show static pods, updates of pods that change nothing that is judged. No condition leaves out what a
rule objects to; the rules decide. What refuses and what only warns are registered apart, the latter with failurePolicy Ignore:
an outage refuses nothing that a rule could not. Pure.
Source: kubernetes.io/docs, "Matching requests: matchConditions": absent fields have to be asked for with has().
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Final

import attrs

from webhook.admission.review import Operations
from webhook.admission.service import ANY, Entry, Match
from webhook.admission.settings import Settings
from webhook.admission.spared import outside
from webhook.names import APP_LABEL, NODES_GROUP, PROJECT
from webhook.objects.compliance import CompliancePolicy
from webhook.objects.creators import (
    CONTROL_PLANE,
    HOUSEKEEPING,
    SERVICE_ACCOUNT,
    UNNAMED,
    CreatorPolicy,
    CreatorRule,
    Subjects,
    parts,
)
from webhook.objects.enforcement import Mode, Namespaces
from webhook.objects.pods import MIRROR_ANNOTATION
from webhook.objects.resource_policies import ResourcePolicy
from webhook.sidecars.wish import SYSTEM_NAMESPACES

CREATE, UPDATE = Operations.CREATE, Operations.UPDATE

_FAILURE_POLICY: Final = {Mode.DENY: "Fail", Mode.WARN: "Ignore"}
LONGEST_CONDITION: Final = 50_000  # characters: CEL parses at most 100,000 (cel-go parser, expressionSizeCodePointLimit)

_NAMESPACE: Final = "(has(request.namespace) ? request.namespace : '')"
# Of a Namespace that is created the API server tells us the name, unless it makes one up: then we ask for its beginning.
_NAMESPACE_OR_NEW_ONE: Final = (
    f"({_NAMESPACE} != '' || request.operation != 'CREATE' || request.resource.resource != 'namespaces' || "
    f"request.resource.group != '' || !has(object.metadata.generateName) ? {_NAMESPACE} : "
    f"object.metadata.generateName + '{UNNAMED}')"
)
_SUBRESOURCE: Final = "(has(request.subResource) ? request.subResource : '')"
_USER: Final = "(has(request.userInfo.username) ? request.userInfo.username : '')"
_GROUPS: Final = "(has(request.userInfo.groups) ? request.userInfo.groups : [])"
_RESOURCE: Final = "request.resource.resource + '.' + request.resource.group"
_LABELS_OF: Final = "(has({0}.metadata.labels) ? {0}.metadata.labels : {{}})"

# A broken Gatehouse must not stand in the way of its own recovery. No objectSelector says so: whoever bears our label would
# evade every rule (kubernetes.io/docs: to be used "only if the webhook is opt-in"). In our own namespace it means us.
_IS_LABELLED_OURS: Final = (
    f"'{APP_LABEL}' in {_LABELS_OF.format('object')} && object.metadata.labels['{APP_LABEL}'] == '{PROJECT}'"
)

# A mirror pod runs already; only its kubelet can show it (NodeRestriction), and it must not wait.
_NOT_A_MIRROR_POD: Final = (
    "not-a-mirror-pod",
    f"!('{NODES_GROUP}' in {_GROUPS} && has(object.metadata.annotations) && "
    f"'{MIRROR_ANNOTATION}' in object.metadata.annotations)",
)
# Finalizers, owners and annotations change without us: the job controller takes its finalizer off pods all day. Of a spec an
# update changes images, and the rest of what it may change (tolerations, gates, deadlines) is not judged.
_IMAGES_OF: Final = " + ".join(
    f"(has({{0}}.spec.{kind}) ? {{0}}.spec.{kind}.map(c, has(c.image) ? c.image : '') : [])"
    for kind in ("containers", "initContainers", "ephemeralContainers")
)
_CHANGES_IMAGES: Final = f"{_IMAGES_OF.format('object')} != {_IMAGES_OF.format('oldObject')}"


# -- pods


def pod_entries(settings: Settings, mode: Mode = Mode.DENY) -> tuple[Entry, ...]:
    """Those of `validate` (mode DENY) or `validate-warn` (WARN); () when no rule has that mode.

    A rule that only warns never makes anybody wait for it when we are down: that is why the two are apart.
    """
    limits, compliance = resource_policies(settings, mode), compliance_policies(settings, mode)
    if not limits and not compliance:
        return ()
    changing = [policy for policy in compliance if _can_change(policy)]
    matches = [Match("", "v1", "pods", (CREATE, UPDATE) if changing else (CREATE,), "Namespaced")]
    if any(_judges_containers(policy) for policy in compliance):
        matches.append(Match("", "v1", "pods/ephemeralcontainers", (UPDATE,), "Namespaced"))
    if limits:
        matches.append(Match("", "v1", "pods/resize", (UPDATE,), "Namespaced"))
    conditions = [_NOT_A_MIRROR_POD, *not_our_own(settings.home)]
    namespaces = _within_any([_own(one.namespaces) for one in limits] + [_own(one.namespaces) for one in compliance])
    if namespaces:
        conditions.append(("in-a-namespace-of-a-policy", namespaces))
    if changing:
        changes = " || ".join(f"({term})" for term in dict.fromkeys(map(_may_break, changing)))
        changes = f"request.operation != 'UPDATE' || !({_SUBRESOURCE} in ['', 'status']) || {changes}"
        conditions.append(("changes-what-is-judged", changes))
        # Kubelets write it all day. It may take labels away; nothing else that is judged is in its reach.
        if any(_judges_labels(policy) for policy in changing) and len(changes) <= LONGEST_CONDITION:
            matches.append(Match("", "v1", "pods/status", (UPDATE,), "Namespaced"))
    return (
        Entry(
            tuple(matches),
            namespace_selector={"matchExpressions": [outside(SYSTEM_NAMESPACES)]},
            match_conditions=_short(conditions),
            failure_policy=_FAILURE_POLICY[mode],
        ),
    )


def not_our_own(home: str) -> tuple[tuple[str, str], ...]:
    """The condition that leaves out our own objects, which stand in *home*; () where a selector leaves out all of it."""
    if home in SYSTEM_NAMESPACES:
        return ()
    return (("not-our-own", f"!({_NAMESPACE} == {_text(home)} && {_IS_LABELLED_OURS})"),)


def _may_break(policy: CompliancePolicy) -> str:
    """Whether an update changes what *policy* judges, in a namespace that it is for."""
    terms = []
    if policy.judges_images:
        terms.append(_CHANGES_IMAGES)
    if _judges_labels(policy):
        changed = f"(k in {_LABELS_OF.format('object')}) != (k in {_LABELS_OF.format('oldObject')}) || "
        changed += f"(k in {_LABELS_OF.format('object')} && object.metadata.labels[k] != oldObject.metadata.labels[k])"
        terms.append(f"{_list(policy.labels.required)}.exists(k, {changed})")
    within = _within(_own(policy.namespaces))
    return " && ".join([*([within] if within else []), f"({' || '.join(terms)})"])


def resource_policies(settings: Settings, mode: Mode | None = None) -> tuple[ResourcePolicy, ...]:
    """Those that bound anything, or the ones of *mode*; none is about the system's namespaces."""
    found = (policy for policy in settings.resource_policies if policy.mode is not Mode.OFF and mode in (None, policy.mode))
    return tuple(attrs.evolve(one, namespaces=one.namespaces.without(SYSTEM_NAMESPACES)) for one in found)


def compliance_policies(settings: Settings, mode: Mode | None = None) -> tuple[CompliancePolicy, ...]:
    """Those that ask for anything, or what they ask for in *mode*; none is about the system's namespaces."""
    wanted = (policy if mode is None else policy.only(mode) for policy in settings.compliance)
    found = (policy for policy in wanted if set(_modes(policy)) != {Mode.OFF})
    return tuple(attrs.evolve(one, namespaces=one.namespaces.without(SYSTEM_NAMESPACES)) for one in found)


def _modes(policy: CompliancePolicy) -> tuple[Mode, ...]:
    return (
        *_modes_of_containers(policy),
        policy.host_namespaces,
        policy.host_ports,
        policy.host_paths.mode,
        policy.labels.mode,
    )


def _modes_of_containers(policy: CompliancePolicy) -> tuple[Mode, ...]:
    """Of what an ephemeral container may break: it has neither ports nor volumes of its own."""
    return (
        *(policy.privilege, policy.privilege_escalation, policy.run_as_non_root),
        *(policy.capabilities.mode, policy.registries.mode, policy.tags.mode),
    )


def _judges_containers(policy: CompliancePolicy) -> bool:
    return set(_modes_of_containers(policy)) != {Mode.OFF}


def _judges_labels(policy: CompliancePolicy) -> bool:
    return policy.labels.mode is not Mode.OFF and bool(policy.labels.required)


def _can_change(policy: CompliancePolicy) -> bool:
    """Whether it judges anything that the API lets change in a pod: images and labels."""
    return _judges_labels(policy) or policy.judges_images


# -- who creates what


def creator_policy(settings: Settings, mode: Mode | None = None) -> CreatorPolicy:
    """The rules that are on, or the ones of *mode*, and whom none concerns: the control plane and our account, always.

    None is about the system's namespaces, or where we run: there things are mended.
    """
    spared = {*SYSTEM_NAMESPACES, settings.home}
    found = (rule for rule in settings.creators.rules if rule.mode is not Mode.OFF and mode in (None, rule.mode))
    rules = tuple(attrs.evolve(one, namespaces=one.namespaces.without(spared)) for one in found)
    return CreatorPolicy(rules, settings.creators.exempt | CONTROL_PLANE | Subjects(service_accounts=(f"{settings.home}/*",)))


def creator_entries(settings: Settings, mode: Mode = Mode.DENY) -> tuple[Entry, ...]:
    """Those of `validate-creators` (mode DENY) or `validate-creators-warn` (WARN); () when no rule has that mode."""
    policy = creator_policy(settings, mode)
    if not policy.rules:
        return ()
    conditions = [
        ("not-exempt", f"!({_is_one_of(policy.exempt)})"),
        ("somebody-may-object", " || ".join(dict.fromkeys(map(_may_object, policy.rules)))),
    ]
    left_out = _left_out(policy.rules)
    if left_out:
        conditions.append(("not-housekeeping", f"!(({_RESOURCE}) in {_list(left_out)})"))
    return (
        Entry(
            tuple(_matches(policy.rules)),
            namespace_selector={"matchExpressions": [outside({*SYSTEM_NAMESPACES, settings.home})]},
            match_conditions=_short(conditions),
            failure_policy=_FAILURE_POLICY[mode],
        ),
    )


def _operations(rule: CreatorRule) -> tuple[Operations, ...]:
    return tuple(operation for operation in Operations if operation.value in rule.operations or ANY in rule.operations)


def _matches(rules: Iterable[CreatorRule]) -> Iterable[Match]:
    """A line for each pattern, with the operations of all rules that have it."""
    wanted: dict[str, set[Operations]] = {}
    for rule in rules:
        for pattern in rule.resources:
            wanted.setdefault(pattern, set()).update(_operations(rule))
    for pattern, operations in wanted.items():
        name, group, subresource = parts(pattern)
        resource = f"{name}/{subresource}" if subresource else name
        yield Match(group or ANY, ANY, resource, tuple(one for one in Operations if one in operations))


def _may_object(rule: CreatorRule) -> str:
    """Whether the rule covers the request and does not allow its user."""
    makes_namespaces = any(name in (ANY, "namespaces") and not group for name, group, _ in map(parts, rule.resources))
    where = _within(_own(rule.namespaces), _NAMESPACE_OR_NEW_ONE if makes_namespaces else _NAMESPACE)
    terms = [f"({' || '.join(map(_is_meant, rule.resources))})", where]
    if ANY not in rule.operations:
        terms.append(f"request.operation in {_list(rule.operations)}")
    if rule.allow != Subjects():
        terms.append(f"!({_is_one_of(rule.allow)})")
    return f"({' && '.join(term for term in terms if term)})"


def _is_meant(pattern: str) -> str:
    name, group, subresource = parts(pattern)
    terms = [] if name == ANY else [f"request.resource.resource == {_text(name)}"]
    if group:
        terms.append(f"request.resource.group == {_text(group)}")
    if subresource != ANY:
        terms.append(f"{_SUBRESOURCE} == {_text(subresource)}")
    elif name != ANY:
        terms.append(f"{_SUBRESOURCE} != ''")
    return f"({' && '.join(terms)})" if terms else "true"


def _left_out(rules: Iterable[CreatorRule]) -> tuple[str, ...]:
    """Housekeeping that a wildcard would bring and that no rule names."""
    patterns = [parts(pattern) for rule in rules for pattern in rule.resources]
    if not any(name == ANY and not group for name, group, _ in patterns):
        return ()
    named = {(name, group) for name, group, _ in patterns if name != ANY or group}

    def is_named(resource: str) -> bool:
        name, _, group = resource.partition(".")
        return any(one in (ANY, name) and of in ("", group) for one, of in named)

    return tuple(resource for resource in HOUSEKEEPING if not is_named(resource))


# -- CEL


def _short(conditions: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """Those that the API server takes. Without one, more requests wait for us, and none is decided otherwise."""
    return tuple(one for one in conditions if len(one[1]) <= LONGEST_CONDITION)


def _is_one_of(subjects: Subjects) -> str:
    """Whether the user is one of *subjects*."""
    accounts = [SERVICE_ACCOUNT + name.replace("/", ":", 1) for name in subjects.service_accounts]
    terms = _named(_USER, (*subjects.users, *accounts))
    if subjects.groups:
        terms.append(f"{_GROUPS}.exists(g, {' || '.join(_named('g', subjects.groups))})")
    return " || ".join(terms)


def _named(subject: str, patterns: Iterable[str]) -> list[str]:
    """One term for all plain names, one for each that ends in "*"."""
    patterns = tuple(patterns)
    plain = [pattern for pattern in patterns if not pattern.endswith("*")]
    terms = [f"{subject} in {_list(plain)}"] if plain else []
    return terms + [f"{subject}.startsWith({_text(pattern[:-1])})" for pattern in patterns if pattern.endswith("*")]


def _within_any(found: Sequence[Namespaces]) -> str:
    """Whether the request's namespace is in one of them; "" when that is always so."""
    terms = [_within(one) for one in dict.fromkeys(found)]
    return "" if "" in terms else " || ".join(f"({term})" for term in terms)


def _within(namespaces: Namespaces, subject: str = _NAMESPACE) -> str:
    terms = []
    if namespaces.only:
        terms.append(f"({' || '.join(_named(subject, namespaces.only))})")
    if namespaces.never:
        terms.append(f"!({' || '.join(_named(subject, namespaces.never))})")
    return " && ".join(terms)


def _list(names: Iterable[str]) -> str:
    return f"[{', '.join(map(_text, names))}]"


def _text(value: str) -> str:
    # CEL reads every escape of a JSON string.
    return json.dumps(value, ensure_ascii=False)


def _own(namespaces: Namespaces) -> Namespaces:
    """Without those that the selector leaves out already."""
    return attrs.evolve(namespaces, never=tuple(name for name in namespaces.never if name not in SYSTEM_NAMESPACES))
