"""What a service is: a path, the rules behind it, and the registrations that bring reviews to it.

A `Service` is a row of the table in `registry`; binding it to settings and facts gives a `BoundService`, the typed unary
`(AdmissionRequest, Context) -> Answer` (the AdmissionResponse, and what each rule said). Pure but for what a rule's facts do.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from typing import Any, Final, Protocol

import attrs
import msgspec

from webhook.admission.draft import Draft
from webhook.admission.review import AdmissionRequest, AdmissionResponse, Denial, Operations, User
from webhook.admission.settings import Settings
from webhook.clock import Deadline
from webhook.cluster import Cluster
from webhook.errors import BadRequest
from webhook.names import Reason

NODES_CACHE = "nodes"
PODS_CACHE = "pods"
NAMESPACES_CACHE = "namespaces"
SIDECARS_CACHE = "sidecars"  # the ConfigMaps that hold entries
# Defaults and scaled requests wait for the LimitRanges: without them they might put a pod above its namespace's maximum.
# Forecasts of what would be refused wait neither for them nor for quotas.
LIMIT_RANGES_CACHE = "limitranges"
QUOTAS_CACHE = "resourcequotas"

ANY: Final = "*"  # in a registration: every group, version or resource
DEFAULT_TIMEOUT_S: Final = 5
_SAID_BEFORE: Final = (Reason.ALREADY_INJECTED, Reason.ALREADY_ALLOCATED)


class Context(msgspec.Struct, frozen=True):
    """What surrounds one request."""

    service: str
    deadline: Deadline
    now_s: float  # wall clock, seconds since the epoch, for the age of things
    user: User
    dry_run: bool


@attrs.frozen
class Verdict:
    """What one rule made of a request. What it changed stands in the draft."""

    reason: StrEnum  # a Reason, or a word of somebody else's rule: a metric label, so of a closed set
    message: str = ""  # subject and fact; "" when the reason says it all
    denial: Denial | None = None
    warnings: tuple[str, ...] = ()


class Rule(Protocol):
    """One rule: decides about a request and edits the draft. Called by many threads at once."""

    @property
    def name(self) -> str:
        """In metrics and audit annotations."""

    def __call__(self, request: AdmissionRequest, draft: Draft, context: Context) -> Verdict:
        """Decide. Raises MalformedObject (400) on a field of a type that the API forbids."""


@attrs.frozen
class Match:
    """One line of a registration's `rules`."""

    group: str
    version: str
    resource: str  # with its subresource: "pods/status"
    operations: tuple[Operations, ...]
    scope: str = "*"

    def covers(self, group: str, version: str, resource: str, operation: Operations) -> bool:
        """Whether the API server sends it for this line. *resource* is with its subresource.

        Source: apiserver pkg/admission/plugin/webhook/predicates/rules: "pods/*" means pods, too.
        """
        mine, _, my_part = self.resource.partition("/")
        asked, _, part = resource.partition("/")
        return (
            operation in self.operations
            and self.group in (ANY, group)
            and self.version in (ANY, version)
            and mine in (ANY, asked)
            and my_part in (ANY, part)
        )


@attrs.frozen
class Entry:
    """One webhook registration. Field for field admissionregistration.k8s.io/v1."""

    matches: tuple[Match, ...]
    suffix: str = ""  # of its name <service><suffix>.gatehouse.dev
    namespace_selector: Mapping[str, Any] = attrs.field(factory=dict)
    object_selector: Mapping[str, Any] = attrs.field(factory=dict)
    match_conditions: tuple[tuple[str, str], ...] = ()  # (name, CEL); cannot read the namespace
    match_policy: str = "Equivalent"
    failure_policy: str = "Fail"
    side_effects: str = "None"
    timeout_s: int = DEFAULT_TIMEOUT_S
    reinvocation_policy: str = "IfNeeded"  # mutating registrations only


@attrs.frozen
class Service:
    """A row of the registry."""

    name: str
    path: str
    entries: tuple[Entry, ...] | Callable[[Settings], tuple[Entry, ...]]  # a function where the configuration decides
    build: Callable[[Settings, Cluster], tuple[Rule, ...]]
    mutating: bool = True
    guards_availability: bool = False  # never refuses
    caches: frozenset[str] | Callable[[Settings], frozenset[str]] = frozenset()  # that must have synced before it can answer
    aliases: tuple[str, ...] = ()
    asks_who: bool = False  # its answer depends on who asks, and on nothing else: without a name there is none
    share: str = ""  # services with a word share one limit of reviews in flight, in equal parts; "" = it has its own

    @property
    def timeout_s(self) -> int:
        """The longest time that a registration gives this service."""
        return max((entry.timeout_s for entry in self.entries_with(Settings())), default=DEFAULT_TIMEOUT_S)

    def entries_with(self, settings: Settings) -> tuple[Entry, ...]:
        """The registrations; () when *settings* leave it nothing to decide: then none is made."""
        return self.entries(settings) if callable(self.entries) else self.entries

    def caches_with(self, settings: Settings) -> frozenset[str]:
        """What it waits for; nothing where no registration is made: nobody may fill the caches then."""
        if not self.entries_with(settings):
            return frozenset()
        return self.caches(settings) if callable(self.caches) else self.caches

    def bind(self, settings: Settings, cluster: Cluster) -> BoundService:
        """This service with its rules and registrations."""
        entries = self.entries_with(settings)
        takes = tuple(match for entry in entries for match in entry.matches)
        service = attrs.evolve(self, entries=entries)
        return BoundService(service, self.build(settings, cluster), takes, self.caches_with(settings))


class Answer(msgspec.Struct, frozen=True):
    """An answer and what each rule said, for metrics and logs."""

    response: AdmissionResponse
    verdicts: tuple[tuple[str, Verdict], ...]
    draft: Draft | None = None


@attrs.frozen
class BoundService:
    """A service that can answer."""

    service: Service
    rules: tuple[Rule, ...]
    takes: tuple[Match, ...]
    caches: frozenset[str]  # that must have synced before it can answer

    def answer(self, request: AdmissionRequest, context: Context) -> Answer:
        """Let every rule decide in order. Where they edit, the first denial ends it, elsewhere all are told.

        Raises BadRequest when the review lacks the object that its operation has.
        """
        if not self._is_ours(request):
            return self._wrong_resource(request)
        if request.object is None and request.operation in (Operations.CREATE, Operations.UPDATE):
            raise BadRequest(f"request.object: a {request.operation} has an object, found nothing")
        draft = Draft(request.object if request.object is not None else {})
        verdicts: list[tuple[str, Verdict]] = []
        denials: list[Denial] = []
        for rule in self.rules:
            verdict = rule(request, draft, context)
            verdicts.append((rule.name, verdict))
            if verdict.denial is not None and not self.service.guards_availability:
                denials.append(verdict.denial)
                if self.service.mutating:
                    break
        denial = _together(denials)
        response = AdmissionResponse(
            denial,
            () if denial is not None or request.object is None else tuple(draft.operations),
            tuple(f"gatehouse: {warning}" for _, verdict in verdicts for warning in verdict.warnings),
            # The second call says nothing that the first has not: the API server takes no second value for an annotation.
            {name: _audit(verdict) for name, verdict in verdicts if verdict.reason not in _SAID_BEFORE},
        )
        return Answer(response, tuple(verdicts), draft)

    def _is_ours(self, request: AdmissionRequest) -> bool:
        resource = request.resource
        name = f"{resource.resource}/{request.subresource}" if request.subresource else resource.resource
        return any(match.covers(resource.group, resource.version, name, request.operation) for match in self.takes)

    def _wrong_resource(self, request: AdmissionRequest) -> Answer:
        """A registration sends us what is not this path's business: let it pass, say so."""
        what = f"{request.operation} of {request.resource}"
        if request.subresource:
            what += f" (subresource {request.subresource})"
        message = f"{self.service.path} has nothing to say about {what}: mend the webhook configuration"
        verdict = Verdict(Reason.WRONG_RESOURCE, message, warnings=(message,))
        response = AdmissionResponse(warnings=(f"gatehouse: {message}",), audit={self.service.name: _audit(verdict)})
        return Answer(response, ((self.service.name, verdict),))


def _together(denials: Sequence[Denial]) -> Denial | None:
    """The first with what all of them say; None without any."""
    if len(denials) < 2:
        return next(iter(denials), None)
    return attrs.evolve(denials[0], message="; ".join(denial.message for denial in denials))


def _audit(verdict: Verdict) -> str:
    return f"{verdict.reason.value}: {verdict.message}" if verdict.message else verdict.reason.value
