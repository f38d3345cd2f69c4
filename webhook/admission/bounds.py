"""The registrations of the services that hold pods, and those who create things, to bounds: computed from the policies.

    pod_entries(settings)        of `validate`: pods of the namespaces that some policy is for, where something can be decided
    creator_entries(settings)    of `validate-creators`: what the rules are about, by those whom one of them may object to

Whoever cannot be refused never waits for us: conditions in CEL leave out other namespaces, the control plane, users whom every
rule allows, kubelets that show static pods, updates of pods that change nothing that is judged. No condition leaves out what a
rule objects to; the rules decide. Where nothing can be refused, an outage refuses nothing either (failurePolicy Ignore). Pure.
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
from webhook.admission.spared import NOT_OURS, outside
from webhook.objects.compliance import CompliancePolicy
from webhook.objects.creators import HOUSEKEEPING, SERVICE_ACCOUNT, CreatorPolicy, CreatorRule, Subjects, parts
from webhook.objects.enforcement import Mode, Namespaces
from webhook.objects.resource_policies import ResourcePolicy
from webhook.sidecars.wish import SYSTEM_NAMESPACES

CREATE, UPDATE, CONNECT = Operations.CREATE, Operations.UPDATE, Operations.CONNECT

_NAMESPACE: Final = "(has(request.namespace) ? request.namespace : '')"
_USER: Final = "(has(request.userInfo.username) ? request.userInfo.username : '')"
_GROUPS: Final = "(has(request.userInfo.groups) ? request.userInfo.groups : [])"
_RESOURCE: Final = "request.resource.resource + '.' + request.resource.group"
_LABELS_OF: Final = "(has({0}.metadata.labels) ? {0}.metadata.labels : {{}})"

# A mirror pod runs already; only its kubelet can show it (NodeRestriction), and it must not wait.
_NOT_A_MIRROR_POD: Final = (
    "not-a-mirror-pod",
    f"!('system:nodes' in {_GROUPS} && has(object.metadata.annotations) && "
    "'kubernetes.io/config.mirror' in object.metadata.annotations)",
)
# Finalizers, owners and annotations change without us: the job controller takes its finalizer off pods all day.
_CHANGES_WHAT_IS_JUDGED: Final = (
    "changes-what-is-judged",
    "request.operation != 'UPDATE' || has(request.subResource) || object.spec != oldObject.spec || "
    f"{_LABELS_OF.format('object')} != {_LABELS_OF.format('oldObject')}",
)


# -- pods


def pod_entries(settings: Settings) -> tuple[Entry, ...]:
    """Those of `validate`; () when nothing is configured."""
    limits, compliance = resource_policies(settings), compliance_policies(settings)
    if not limits and not compliance:
        return ()
    created: tuple[Operations, ...] = (CREATE,)
    if any(_can_change(policy) for policy in compliance):
        created = (CREATE, UPDATE)
    matches = [Match("", "v1", "pods", created, "Namespaced")]
    if any(_judges_containers(policy) for policy in compliance):
        matches.append(Match("", "v1", "pods/ephemeralcontainers", (UPDATE,), "Namespaced"))
    if limits:
        matches.append(Match("", "v1", "pods/resize", (UPDATE,), "Namespaced"))
    conditions = [_NOT_A_MIRROR_POD]
    namespaces = _within_any([_own(one.namespaces) for one in limits] + [_own(one.namespaces) for one in compliance])
    if namespaces:
        conditions.append(("in-a-namespace-of-a-policy", namespaces))
    if UPDATE in created:
        conditions.append(_CHANGES_WHAT_IS_JUDGED)
    refuses = any(policy.mode is Mode.DENY for policy in limits) or any(Mode.DENY in _modes(policy) for policy in compliance)
    return (
        Entry(
            tuple(matches),
            namespace_selector={"matchExpressions": [outside(SYSTEM_NAMESPACES)]},
            object_selector=NOT_OURS,
            match_conditions=tuple(conditions),
            failure_policy="Fail" if refuses else "Ignore",
        ),
    )


def resource_policies(settings: Settings) -> tuple[ResourcePolicy, ...]:
    """Those that bound anything; none is about the system's namespaces."""
    found = (policy for policy in settings.resource_policies if policy.mode is not Mode.OFF)
    return tuple(attrs.evolve(one, namespaces=one.namespaces.without(SYSTEM_NAMESPACES)) for one in found)


def compliance_policies(settings: Settings) -> tuple[CompliancePolicy, ...]:
    """Those that ask for anything; none is about the system's namespaces."""
    found = (policy for policy in settings.compliance if set(_modes(policy)) != {Mode.OFF})
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


def _can_change(policy: CompliancePolicy) -> bool:
    """Whether it judges anything that the API lets change in a pod: images and labels."""
    return {policy.registries.mode, policy.tags.mode, policy.labels.mode} != {Mode.OFF}


# -- who creates what


def creator_policy(settings: Settings) -> CreatorPolicy:
    """The rules that are on. None is about the system's namespaces, and none about ours: there we are mended."""
    spared = {*SYSTEM_NAMESPACES, settings.home}
    found = (rule for rule in settings.creators.rules if rule.mode is not Mode.OFF)
    rules = tuple(attrs.evolve(one, namespaces=one.namespaces.without(spared)) for one in found)
    return attrs.evolve(settings.creators, rules=rules)


def creator_entries(settings: Settings) -> tuple[Entry, ...]:
    """Those of `validate-creators`; () when no rule is on. CONNECT has its own: its objects bear no labels to select by."""
    policy = creator_policy(settings)
    found = []
    for suffix, connects in (("", False), ("-connect", True)):
        rules = [rule for rule in policy.rules if any((one is CONNECT) is connects for one in _operations(rule))]
        matches = tuple(_matches(rules, connects))
        if matches:
            entry = _creator_entry(suffix, matches, rules, policy.exempt, settings.home)
            found.append(entry if connects else attrs.evolve(entry, object_selector=NOT_OURS))
    return tuple(found)


def _creator_entry(suffix: str, matches: tuple[Match, ...], rules: Sequence[CreatorRule], exempt: Subjects, home: str) -> Entry:
    conditions = []
    if exempt != Subjects():
        conditions.append(("not-exempt", f"!({_is_one_of(exempt)})"))
    conditions.append(("somebody-may-object", " || ".join(dict.fromkeys(map(_may_object, rules)))))
    left_out = _left_out(rules)
    if left_out:
        conditions.append(("not-housekeeping", f"!(({_RESOURCE}) in {_list(left_out)})"))
    return Entry(
        matches,
        suffix,
        namespace_selector={"matchExpressions": [outside({*SYSTEM_NAMESPACES, home})]},
        match_conditions=tuple(conditions),
        failure_policy="Fail" if any(rule.mode is Mode.DENY for rule in rules) else "Ignore",
    )


def _operations(rule: CreatorRule) -> tuple[Operations, ...]:
    return tuple(operation for operation in Operations if operation.value in rule.operations or ANY in rule.operations)


def _matches(rules: Iterable[CreatorRule], connects: bool) -> Iterable[Match]:
    """A line for each pattern, with the operations of all rules that have it."""
    wanted: dict[str, set[Operations]] = {}
    for rule in rules:
        for pattern in rule.resources:
            chosen = {one for one in _operations(rule) if (one is CONNECT) is connects}
            wanted.setdefault(pattern, set()).update(chosen)
    for pattern, operations in wanted.items():
        name, group, subresource = parts(pattern)
        resource = f"{name}/{subresource}" if subresource else name
        yield Match(group or ANY, ANY, resource, tuple(one for one in Operations if one in operations))


def _may_object(rule: CreatorRule) -> str:
    """Whether the rule is for the request's namespace and does not allow its user."""
    terms = [_within(_own(rule.namespaces))]
    if rule.allow != Subjects():
        terms.append(f"!({_is_one_of(rule.allow)})")
    return f"({' && '.join(term for term in terms if term) or 'true'})"


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


def _within(namespaces: Namespaces) -> str:
    terms = []
    if namespaces.only:
        terms.append(f"({' || '.join(_named(_NAMESPACE, namespaces.only))})")
    if namespaces.never:
        terms.append(f"!({' || '.join(_named(_NAMESPACE, namespaces.never))})")
    return " && ".join(terms)


def _list(names: Iterable[str]) -> str:
    return f"[{', '.join(map(_text, names))}]"


def _text(value: str) -> str:
    # CEL reads every escape of a JSON string.
    return json.dumps(value, ensure_ascii=False)


def _own(namespaces: Namespaces) -> Namespaces:
    """Without those that the selector leaves out already."""
    return attrs.evolve(namespaces, never=tuple(name for name in namespaces.never if name not in SYSTEM_NAMESPACES))
