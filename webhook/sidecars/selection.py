"""Which pod gets which entries, and why not.

Three levels speak, the most specific one that says anything counts: the pod's annotations, its labels, its namespace.

    sidecar-injector/inject          "true": the default entries; "false": nothing
    gatehouse.dev/inject             names of entries, separated by commas; also "true" and "false"
    namespace label pod-admission-webhook-injection=enabled     "true" for each of its pods
    namespace label sidecar-injector=enabled                    its pods may ask
    namespace annotation gatehouse.dev/inject                   as on a pod, for each of its pods

A value that is neither is told and then passed over, so that a typing error never turns a sidecar off that a wider level asks
for. Within a level "false" wins, and names say more than "true". Pure. docs/sidecars.md has the table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, Final

import attrs
import msgspec

from webhook.cluster import NamespaceFacts
from webhook.names import (
    ARTICLE_CONFIG_MAP,
    ARTICLE_KEY,
    DISABLED,
    ENABLED,
    INJECT,
    INJECT_ENTRIES,
    INJECTED_NAMESPACE_LABEL,
    MUTATE_LABEL,
    OPT_IN_NAMESPACE_LABEL,
    SIDECARS_LABEL,
    Reason,
)
from webhook.objects import meta
from webhook.objects.dns_names import is_dns_label
from webhook.sidecars.entries.catalog import Catalog
from webhook.sidecars.entries.entry import Entry
from webhook.sidecars.findings import Finding
from webhook.sidecars.fitting.sizes import MAX_ENTRIES
from webhook.sidecars.wish import Wish, obstacle, wish_of

TRUE, FALSE = "true", "false"


class Missing(StrEnum):
    """What becomes of a pod when an entry that it should get does not exist, or was never good."""

    DENY_NAMED = "DenyNamed"  # refused when the pod itself names the entry, admitted with a warning otherwise
    DENY = "Deny"
    WARN = "Warn"


@attrs.frozen
class Policy:
    """What an operator may decide about injection."""

    default: tuple[str, ...] = (ARTICLE_CONFIG_MAP,)  # what "true" stands for
    home: str = "kube-system"  # the namespace whose ConfigMaps reach every pod
    on_missing: Missing = Missing.DENY_NAMED


class Source(StrEnum):
    """Who chose the names of the entries that a pod asks for."""

    POD = "pod"  # it names them itself
    NAMESPACE = "namespace"  # its namespace names them
    DEFAULT = "default"  # nobody: "true", of the pod or the namespace, stands for `Policy.default`


class Asked(msgspec.Struct, frozen=True):
    """What the levels say."""

    names: tuple[str, ...]  # of entries; () when nobody asks, or somebody says no
    source: Source | None = None  # who chose the names; None without any
    reason: Reason = Reason.INJECTED  # why names is empty; INJECTED when it is not
    level: str = ""  # who decided: "pod annotation sidecar-injector/inject"
    findings: tuple[Finding, ...] = ()  # values that could not be read


class Selection(msgspec.Struct, frozen=True):
    """What a pod gets."""

    asked: Asked
    entries: tuple[Entry, ...] = ()
    reason: Reason = Reason.INJECTED  # why entries is empty; INJECTED when it is not
    message: str = ""
    findings: tuple[Finding, ...] = ()
    refusal: Finding | None = None


def asked(wish: Wish, facts: NamespaceFacts | None, policy: Policy) -> Asked:
    """Which entries a pod with this wish should get in the namespace *facts* (None: nobody knows it)."""
    if facts is None:
        return Asked((), reason=Reason.NAMESPACE_UNKNOWN)
    if facts.labels.get(MUTATE_LABEL) == DISABLED:
        return Asked((), reason=Reason.MUTATE_DISABLED, level=f"namespace label {MUTATE_LABEL}")
    if not is_enabled(facts):
        return Asked((), reason=Reason.NAMESPACE_NOT_ENABLED, level="namespace labels")
    findings: list[Finding] = []
    for level, pod_says, statements in _levels(wish, facts):
        voice = _heard(level, statements, policy, findings)
        if voice is not None:
            key, names, is_default = voice
            reason = Reason.INJECTED if names else Reason.OPTED_OUT
            source = Source.DEFAULT if is_default else Source.POD if pod_says else Source.NAMESPACE
            return Asked(names, source if names else None, reason, f"{level} {key}", tuple(findings))
    return Asked((), reason=Reason.NOT_ASKED, findings=tuple(findings))


def is_enabled(facts: NamespaceFacts) -> bool:
    """Whether the namespace takes part: one of its labels brings its pods to us."""
    labels = facts.labels
    return ENABLED in (labels.get(OPT_IN_NAMESPACE_LABEL), labels.get(INJECTED_NAMESPACE_LABEL))


def select(pod: Mapping[str, Any], namespace: str, facts: NamespaceFacts | None, catalog: Catalog, policy: Policy) -> Selection:
    """What *pod*, which is created in *namespace*, gets. The object's own namespace does not count: it may be empty."""
    wanted = asked(wish_of(meta.annotations_of(pod), meta.labels_of(pod)), facts, policy)
    if not wanted.names:
        return Selection(wanted, reason=wanted.reason, message=_why_not(wanted, namespace), findings=wanted.findings)
    forbidden = obstacle(pod, namespace)
    if forbidden is not None and forbidden is not Reason.HOST_NETWORK:
        return Selection(wanted, reason=forbidden, message=_OBSTACLES[forbidden], findings=wanted.findings)
    return _found(wanted, namespace, catalog, policy, on_host=forbidden is Reason.HOST_NETWORK)


DEFAULT_SETTING: Final = "features.sidecar.default"  # of the configuration: `Policy.default`
SHOWN_NAMES: Final = 20  # of the entries that there are; an answer is no place for thousands
_OBSTACLES: Final = {
    Reason.SYSTEM_NAMESPACE: "pods of the control plane's namespaces are left alone",
    Reason.OWN_OBJECT: "Gatehouse's own pods are left alone",
    Reason.MIRROR_POD: "it mirrors a static pod, which only its kubelet can change",
    Reason.WINDOWS_POD: "it is for Windows nodes",
    Reason.HOST_NETWORK: "it uses its node's network, which the sidecar would share",
}


def _found(wanted: Asked, namespace: str, catalog: Catalog, policy: Policy, *, on_host: bool) -> Selection:
    if len(wanted.names) > MAX_ENTRIES:
        why = f"{wanted.level} names {len(wanted.names)} sidecar entries, more than {MAX_ENTRIES}"
        refusal = Finding(Reason.INVALID_VALUE, why)
        return Selection(wanted, reason=refusal.reason, message=why, findings=wanted.findings, refusal=refusal)
    entries: list[Entry] = []
    findings = list(wanted.findings)
    lost: list[Finding] = []
    for name in wanted.names:
        state = catalog.find(name, namespace, policy.home)
        if state is None or state.entry is None:
            lost.append(_lost(name, namespace, catalog, policy, wanted.source, is_broken=state is not None))
        elif on_host and not state.entry.allow_host_network:
            findings.append(Finding(Reason.HOST_NETWORK, f'entry "{name}" is left out: {_OBSTACLES[Reason.HOST_NETWORK]}'))
        else:
            entries.append(state.entry)
    is_named = wanted.source is Source.POD
    refuses = policy.on_missing is Missing.DENY or (policy.on_missing is Missing.DENY_NAMED and is_named)
    if lost and refuses:
        message = "; ".join(finding.message for finding in lost)
        return Selection(wanted, reason=lost[0].reason, message=message, findings=tuple(findings), refusal=lost[0])
    findings += lost
    reason = Reason.INJECTED if entries else findings[-1].reason
    message = "" if entries else findings[-1].message
    return Selection(wanted, tuple(entries), reason, message, tuple(findings))


def _lost(name: str, namespace: str, catalog: Catalog, policy: Policy, source: Source | None, *, is_broken: bool) -> Finding:
    if is_broken:
        return Finding(
            Reason.ENTRY_BROKEN,
            f'sidecar entry "{name}" has faults, and no version of it was good since this process started: '
            "`gatehouse check` lists them",
        )
    names = catalog.names(namespace, policy.home)
    known = ", ".join([*names[:SHOWN_NAMES], *(["…"] if len(names) > SHOWN_NAMES else [])]) or "none"
    where = f"namespace {namespace} or {policy.home}" if namespace != policy.home else f"namespace {namespace}"
    entry, step = f'sidecar entry "{name}"', ""
    # Who asked for the default wrote no name: where this one comes from, and what to do about it, comes before the list.
    if source is Source.DEFAULT:
        entry += f", the default ({DEFAULT_SETTING}),"
        step = f": create {_config_map_of(name)}, or change the setting"
    return Finding(Reason.ENTRY_MISSING, f"{entry} is in no ConfigMap of {where}{step} (there: {known})")


def _config_map_of(name: str) -> str:
    """What gives the entry *name*, in words."""
    if name == ARTICLE_CONFIG_MAP:
        return f"ConfigMap {ARTICLE_CONFIG_MAP} with the key {ARTICLE_KEY}"
    return f"a ConfigMap with the label {SIDECARS_LABEL}=true and the key {name}"


def _why_not(wanted: Asked, namespace: str) -> str:
    match wanted.reason:
        case Reason.NAMESPACE_UNKNOWN:
            return f"nobody knows namespace {namespace}"
        case Reason.NAMESPACE_NOT_ENABLED:
            labels = f"{OPT_IN_NAMESPACE_LABEL}={ENABLED} nor {INJECTED_NAMESPACE_LABEL}={ENABLED}"
            return f"namespace {namespace} bears neither {labels}"
        case Reason.MUTATE_DISABLED:
            return f"namespace {namespace} bears {MUTATE_LABEL}={DISABLED}"
        case Reason.OPTED_OUT:
            return f"{wanted.level} says no"
        case _:
            return "nobody asks for a sidecar"


# -- what one level says

_Statement = tuple[str, str | None]  # key, value


def _levels(wish: Wish, facts: NamespaceFacts) -> Sequence[tuple[str, bool, Sequence[_Statement]]]:
    """Each level with whether the pod itself speaks there, and what stands there."""
    by_label = TRUE if facts.labels.get(INJECTED_NAMESPACE_LABEL) == ENABLED else None
    return (
        ("pod annotation", True, ((INJECT, wish.annotation), (INJECT_ENTRIES, wish.annotated_entries))),
        ("pod label", True, ((INJECT, wish.label), (INJECT_ENTRIES, wish.labelled_entries))),
        ("namespace annotation", False, ((INJECT_ENTRIES, facts.annotations.get(INJECT_ENTRIES)),)),
        ("namespace label", False, ((INJECTED_NAMESPACE_LABEL, by_label),)),
    )


def _heard(
    level: str, statements: Sequence[_Statement], policy: Policy, findings: list[Finding]
) -> tuple[str, tuple[str, ...], bool] | None:
    """The key that decides at this level, the names that it stands for, and whether those are the default's for a "true".

    None when nothing readable stands there.
    """
    said: list[tuple[str, tuple[str, ...], bool]] = []
    for key, value in statements:
        if value is None:
            continue
        names = _names(key, value, policy)
        if names is None:
            findings.append(_unreadable(level, key, value))
        else:
            said.append((key, names, value.strip().lower() == TRUE))
    for one in said:
        if not one[1]:
            return one
    return said[-1] if said else None


def _names(key: str, value: str, policy: Policy) -> tuple[str, ...] | None:
    """The names that *value* stands for, () for a no; None when it cannot be read."""
    word = value.strip().lower()
    if word in (TRUE, FALSE):
        return policy.default if word == TRUE else ()
    if key != INJECT_ENTRIES:
        return None
    names = tuple(dict.fromkeys(part.strip() for part in value.split(",") if part.strip()))
    return names if names and all(is_dns_label(name) for name in names) else None


def _unreadable(level: str, key: str, value: str) -> Finding:
    wanted = 'names of entries separated by commas, "true" or "false"' if key == INJECT_ENTRIES else '"true" or "false"'
    return Finding(Reason.INVALID_VALUE, f"{level} {key}: expected {wanted}, found {value[:60]!r}; it is passed over")
