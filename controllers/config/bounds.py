"""The sections features.resourceLimits and features.creatorPolicy: what pods may ask for, and who may create what.

docs/pod-bounds.md is the reference. Pure; faults are found by `controllers.config.decoder`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Final

import attrs

from controllers.config.decoder import (
    Reader,
    Rule,
    choice,
    flag,
    section,
    sections,
    sections_by,
    setting,
    takes,
    text,
    texts,
)
from webhook.objects import quantity
from webhook.objects.creators import CONTROL_PLANE, CreatorPolicy, CreatorRule, Subjects
from webhook.objects.dns_names import is_dns_label
from webhook.objects.enforcement import Mode, Namespaces
from webhook.objects.quantity import NANOS, Quantity
from webhook.objects.resource_policies import Absent, Bounds, ResourcePolicy, Span
from webhook.objects.resource_rules import amount_fault
from webhook.sidecars.wish import SYSTEM_NAMESPACES

OPERATIONS: Final = ("CREATE", "UPDATE", "DELETE", "CONNECT")
_ANY: Final = "*"
_NAMESPACE_PATTERN: Final = re.compile(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?|([a-z0-9][a-z0-9-]*)?\*")
_RESOURCE_PATTERN: Final = re.compile(r"(\*|[a-z0-9-]+)(\.[a-z0-9.-]*[a-z0-9])?(/(\*|[a-z0-9-]+))?")
_ACCOUNT_PATTERN: Final = re.compile(r"[a-z0-9-]+/([a-z0-9.-]+\*?|\*)")
# kubernetes.io/docs, kubectl exec and its like: POST or GET to these is CONNECT.
_CONNECTED: Final = frozenset({"exec", "attach", "portforward", "proxy"})


def label_fault(value: str) -> str | None:
    """What is wrong with the name of a policy, rule or entry."""
    return None if is_dns_label(value) else "must be a DNS label: lower case letters, digits and '-', at most 63"


def mode_reader() -> Reader:
    """Off, Warn or Deny. YAML makes false of a bare Off."""
    read = choice(Mode)
    return takes("`Off`, `Warn` or `Deny`")(lambda value: Mode.OFF if value is False else read(value))


def repeats(names: tuple[str, ...]) -> bool:
    """Whether *names* has one of them twice."""
    return len(set(names)) < len(names)


# -- namespaces


def _namespace_fault(value: str) -> str | None:
    if _NAMESPACE_PATTERN.fullmatch(value) and len(value) <= 64:
        return None
    return 'must be the name of a namespace, or its beginning with "*" behind it'


def _judged_fault(value: str) -> str | None:
    if value in SYSTEM_NAMESPACES:
        return f"nothing is judged in {', '.join(sorted(SYSTEM_NAMESPACES))}: the cluster must mend itself without Gatehouse"
    return _namespace_fault(value)


@attrs.frozen
class NamespacesSection:
    """Namespaces by name, or by the beginning of their names"""

    #: names, or beginnings of names with "*"; none: every namespace
    only: tuple[str, ...] = setting((), texts(check=_judged_fault))
    #: these not, whatever `only` says
    never: tuple[str, ...] = setting((), texts(check=_namespace_fault))

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            ("only", "never"),
            lambda it, given: bool(set(it.only) & set(it.never)),
            "names what stands in never, too",
        ),
    )

    def value(self) -> Namespaces:
        """The same for `webhook`."""
        return Namespaces(self.only, self.never)


# -- what pods may ask for


@takes("quantity")
def _amount(value: Any) -> Quantity:
    found = quantity.read(value)
    if found.nanos < 0:
        raise ValueError(f"must not be negative, as {found.text} is")
    return found


@takes("quantity, at least 1")
def _ratio(value: Any) -> Quantity:
    found = quantity.read(value)
    if found.nanos < NANOS:
        raise ValueError(f"must be at least 1, not {found.text}: a limit is never below its request")
    return found


def _above(low: str, high: str) -> Callable[[Any, frozenset[str]], bool]:
    def is_broken(it: Any, given: frozenset[str]) -> bool:
        return _is_above(_of(it, low), _of(it, high))

    return is_broken


def _of(it: Any, path: str) -> Quantity | None:
    for name in path.split("."):
        it = getattr(it, name)
    found: Quantity | None = it
    return found


def _is_above(low: Quantity | None, high: Quantity | None) -> bool:
    return low is not None and high is not None and low > high


@attrs.frozen
class SpanSection:
    """From where to where an amount may be"""

    #: null: no such bound
    min: Quantity | None = setting(None, _amount)
    #: null: no such bound
    max: Quantity | None = setting(None, _amount)

    rules: ClassVar[tuple[Rule, ...]] = (Rule(("min", "max"), _above("min", "max"), "must not be above max"),)


@attrs.frozen
class BoundsSection:
    """What one resource is held to"""

    requests: SpanSection = section(SpanSection)
    limits: SpanSection = section(SpanSection)
    #: of limit to request; null: no such bound
    max_ratio: Quantity | None = setting(None, _ratio)

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            ("requests", "limits"),
            _above("requests.min", "limits.max"),
            "asks for requests above the highest limit: a request never exceeds its limit",
        ),
        Rule(
            ("max_ratio", "requests", "limits"),
            lambda it, given: _is_above(it.limits.min, _times(it.requests.max, it.max_ratio)),
            "is less than the lowest limit has to the highest request",
        ),
        Rule(
            ("requests", "limits", "max_ratio"),
            lambda it, given: it == BoundsSection(),
            "bounds nothing: write requests, limits or maxRatio",
        ),
    )

    def value(self) -> Bounds:
        """The same for `webhook`."""
        requests, limits = (Span(one.min, one.max) for one in (self.requests, self.limits))
        return Bounds(requests, limits, self.max_ratio)


def _times(amount: Quantity | None, ratio: Quantity | None) -> Quantity | None:
    return None if amount is None or ratio is None else Quantity(amount.nanos * ratio.nanos // NANOS)


def _resource_fault(resource: str) -> str | None:
    return amount_fault(resource, quantity.ZERO)


@attrs.frozen
class ResourcePolicySection:
    """One set of bounds"""

    #: messages name the policy by it
    name: str = setting("", text(at_least=1, check=label_fault))
    namespaces: NamespacesSection = section(NamespacesSection)
    #: `Deny` refuses, `Warn` lets it pass and tells who asked, `Off` keeps the policy for later
    mode: Mode = setting(Mode.DENY, mode_reader())
    #: what an amount means that nobody states: no request is 0 and no limit is boundless; nothing; or a breach
    absent: Absent = setting(Absent.COUNTS, choice(Absent))
    #: by resource: of every single container
    container: Mapping[str, BoundsSection] = setting({}, sections_by(BoundsSection, _resource_fault))
    #: by resource: of the effective pod, what the scheduler counts
    pod: Mapping[str, BoundsSection] = setting({}, sections_by(BoundsSection, _resource_fault))

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(("name",), lambda it, given: not it.name, "must be set: messages name the policy by it"),
        Rule(
            ("container", "pod"),
            lambda it, given: not it.container and not it.pod,
            "bounds nothing: write container or pod, and a resource in it",
        ),
        Rule(
            ("pod", "container"),
            lambda it, given: any(_pod_too_small(it.container[one], it.pod[one]) for one in it.container.keys() & it.pod),
            "allows the whole pod less than every single container has to ask for",
        ),
    )

    def value(self) -> ResourcePolicy:
        """The same for `webhook`."""
        container, pod = ({name: one.value() for name, one in which.items()} for which in (self.container, self.pod))
        return ResourcePolicy(self.name, self.namespaces.value(), self.mode, self.absent, container, pod)


def _pod_too_small(container: BoundsSection, pod: BoundsSection) -> bool:
    return _is_above(container.requests.min, pod.requests.max) or _is_above(container.limits.min, pod.limits.max)


@attrs.frozen
class ResourceLimitsSection:
    """features.resourceLimits: what pods may ask for"""

    #: off: no policy counts
    enabled: bool = setting(True, flag())
    #: warn of amounts that are probably mistyped, where there are policies: 400m of memory
    typo_hints: bool = setting(True, flag())
    #: each that is for a namespace counts
    policies: tuple[ResourcePolicySection, ...] = setting((), sections(ResourcePolicySection, name="name"))

    def value(self) -> tuple[ResourcePolicy, ...]:
        """The policies that count."""
        return tuple(one.value() for one in self.policies) if self.enabled else ()


# -- who may create what


def _resource_pattern_fault(value: str) -> str | None:
    if _RESOURCE_PATTERN.fullmatch(value):
        return None
    return 'must be a resource in the plural, such as "pods", "deployments.apps", "pods/exec", "*" or "*/scale"'


def _account_fault(value: str) -> str | None:
    if _ACCOUNT_PATTERN.fullmatch(value):
        return None
    return 'must be NAMESPACE/NAME or NAMESPACE/*, such as "ci/deployer"'


def _operation_fault(value: str) -> str | None:
    if value in (*OPERATIONS, _ANY):
        return None
    hint = f": did you mean {value.upper()}?" if value.upper() in OPERATIONS else ""
    return f'must be one of {", ".join(OPERATIONS)}, or "*"{hint}'


def _star_fault(value: str) -> str | None:
    return 'may have "*" only at its end' if _ANY in value[:-1] else None


@attrs.frozen
class SubjectsSection:
    """Who"""

    #: names, or beginnings of names with "*"
    users: tuple[str, ...] = setting((), texts(check=_star_fault))
    #: names, or beginnings of names with "*"
    groups: tuple[str, ...] = setting((), texts(check=_star_fault))
    #: `NAMESPACE/NAME`, `NAMESPACE/*`
    service_accounts: tuple[str, ...] = setting((), texts(check=_account_fault))

    def value(self) -> Subjects:
        """The same for `webhook`."""
        return Subjects(self.users, self.groups, self.service_accounts)


def _connects(operation: str) -> bool:
    return operation in ("CONNECT", _ANY)


def _is_never_asked(it: Any, given: frozenset[str]) -> bool:
    """Whether a resource of the rule comes with none of its operations: exec is CONNECT, and pods never are."""
    for resource in it.resources:
        subresource = resource.partition("/")[2]
        if subresource in _CONNECTED and not any(map(_connects, it.operations)):
            return True
        if not subresource and set(it.operations) == {"CONNECT"}:
            return True
    return False


@attrs.frozen
class CreatorRuleSection:
    """One rule"""

    #: messages name the rule by it
    name: str = setting("", text(at_least=1, check=label_fault))
    #: in the plural: `pods`, `deployments.apps`, `pods/exec`, `pods/*`, `*/scale`, `*`
    resources: tuple[str, ...] = setting((), texts(check=_resource_pattern_fault))
    #: `CREATE`, `UPDATE`, `DELETE`, `CONNECT`, or `*`
    operations: tuple[str, ...] = setting(("CREATE",), texts(check=_operation_fault))
    namespaces: NamespacesSection = section(NamespacesSection)
    allow: SubjectsSection = section(SubjectsSection)
    #: `Deny` refuses, `Warn` lets it pass and tells who asked, `Off` keeps the rule for later
    mode: Mode = setting(Mode.DENY, mode_reader())

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(("name",), lambda it, given: not it.name, "must be set: messages name the rule by it"),
        Rule(("resources",), lambda it, given: not it.resources, "must name a resource: the rule is about nothing"),
        Rule(("resources",), lambda it, given: repeats(it.resources), "names a resource twice"),
        Rule(("operations",), lambda it, given: not it.operations, "must name an operation: the rule is about nothing"),
        Rule(
            ("operations",),
            lambda it, given: repeats(it.operations) or (_ANY in it.operations and len(it.operations) > 1),
            'names an operation twice ("*" is each of them)',
        ),
        Rule(
            ("operations", "resources"),
            _is_never_asked,
            "never happens to one of the resources: exec, attach, portforward and proxy are CONNECT, and nothing else is",
        ),
    )

    def value(self) -> CreatorRule:
        """The same for `webhook`."""
        return CreatorRule(self.name, self.resources, self.operations, self.namespaces.value(), self.allow.value(), self.mode)


@attrs.frozen
class CreatorPolicySection:
    """features.creatorPolicy: who may create what"""

    #: off: no rule counts
    enabled: bool = setting(True, flag())
    exempt: SubjectsSection = section(SubjectsSection)  # beside the control plane
    #: each closes its resources to everyone whom it does not name
    creator_rules: tuple[CreatorRuleSection, ...] = setting((), sections(CreatorRuleSection, name="name"), key="rules")

    def value(self) -> CreatorPolicy:
        """The same for `webhook`."""
        rules = tuple(one.value() for one in self.creator_rules) if self.enabled else ()
        return CreatorPolicy(rules, CONTROL_PLANE | self.exempt.value())
