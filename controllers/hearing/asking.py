"""Puts a question to every service, in the API server's order, and keeps what each rule said.

    ask(question, panel) -> Answered

Mutating services come first, each asked about what the former made of the object; a refusal by one of them ends it. Then every
validating one is asked. What a service raises is its answer: not decided. Pure but for what the facts behind the rules do; a
live read is bounded by the panel's deadline.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

import attrs

from controllers.differences import ADDED, CHANGED, REMOVED, Change, changes
from controllers.hearing.questions import ANYBODY, PODS, Question
from controllers.hearing.sending import Sent, sent
from webhook.admission.draft import Operation
from webhook.admission.service import Answer, BoundService, Context, Rule, Verdict
from webhook.clock import Deadline
from webhook.cluster import Cluster
from webhook.errors import AdmissionError, RuleFailed
from webhook.objects.meta import Json

_ACTIONS: Final = {"add": ADDED, "remove": REMOVED, "replace": CHANGED}


@attrs.frozen
class Panel:
    """Who answers, and with what."""

    services: Sequence[BoundService]
    cluster: Cluster
    now_s: float  # seconds since the epoch
    deadline: Deadline  # of everything together
    synced: Callable[[str], bool] = lambda cache: True  # whether the cache of that name has its first list


@attrs.frozen
class Told:
    """What one rule said."""

    rule: str
    reason: str  # of `webhook.names.Reason`, or a word of a rule's own
    message: str
    is_refused: bool
    warnings: tuple[str, ...]
    advice: str = ""  # the rule's own, where it brings one


@attrs.frozen
class Hearing:
    """What one service said."""

    service: str
    path: str
    is_asked: bool
    why: str  # why it is not asked, why it did not decide, or what could not be told
    conditions: tuple[str, ...] = ()  # in CEL, which the API server evaluates before it asks
    rules: tuple[Told, ...] = ()
    changes: tuple[Change, ...] = ()
    is_decided: bool = True

    @property
    def is_refused(self) -> bool:
        """Whether the request would be refused."""
        return any(told.is_refused for told in self.rules)


@attrs.frozen
class Answered:
    """A question, and what every service that has to do with it said."""

    title: str
    operation: str
    resource: str  # "pods/status"
    user: str
    hearings: tuple[Hearing, ...]

    @property
    def refusal(self) -> tuple[str, Told] | None:
        """The first service that refuses, and what its rule said."""
        return next(((one.service, told) for one in self.hearings for told in one.rules if told.is_refused), None)

    @property
    def undecided(self) -> Hearing | None:
        """The first service that could not decide."""
        return next((one for one in self.hearings if not one.is_decided), None)


def ask(question: Question, panel: Panel) -> Answered:
    """What every service of *panel* says to *question*; those that no registration brings it to are left out."""
    return Answered(
        question.title,
        question.operation.value,
        question.plural,
        question.user.name,
        tuple(_hearings(question, panel)),
    )


def _hearings(question: Question, panel: Panel) -> Iterator[Hearing]:
    current, ended = question.object, ""
    for bound in sorted(panel.services, key=lambda one: not one.service.mutating):
        service = bound.service
        # A bound service has its registrations as they are, whatever decided about them.
        found = sent(service.entries if isinstance(service.entries, tuple) else (), question, panel.cluster.namespaces)
        if found is None:
            continue
        why = found.why if not found.is_sent else ended or _unasked(bound, question)
        if why:
            yield Hearing(service.name, service.path, False, why)
            continue
        hearing, current = _heard(bound, question, current, panel, found)
        if service.mutating and hearing.is_refused:
            ended = f"{service.name} has refused it before"
        yield hearing


def _unasked(bound: BoundService, question: Question) -> str:
    if bound.service.asks_who and question.user == ANYBODY:
        return "its answer depends on who asks: --as USER, --as-group GROUP"
    return ""


def _heard(
    bound: BoundService, question: Question, current: Json | None, panel: Panel, found: Sent
) -> tuple[Hearing, Json | None]:
    """What *bound* says of *current*, and what it makes of it."""
    service = bound.service
    plain = Hearing(service.name, service.path, True, found.why, found.conditions)
    missing = sorted(cache for cache in bound.caches if not panel.synced(cache))
    if missing:
        return attrs.evolve(plain, why=f"the {missing[0]} cache has not synced yet", is_decided=False), current
    budget_s = min(float(service.timeout_s), panel.deadline.remaining_s())
    context = Context(service.name, Deadline.after(budget_s, panel.deadline.clock), panel.now_s, question.user, True)
    try:
        answer = bound.answer(question.request(copy.deepcopy(current)), context)
    except AdmissionError as error:
        return attrs.evolve(plain, why=str(error), is_decided=False), current
    except RuleFailed as error:
        return attrs.evolve(plain, why=f"{error}: {error.__cause__}", is_decided=False), current
    except Exception as error:  # a rule's fault, which the server answers with 500
        return attrs.evolve(plain, why=f"the rule failed: {type(error).__name__}: {error}", is_decided=False), current
    rules = {rule.name: rule for rule in bound.rules}
    told = tuple(_told(name, verdict, rules.get(name), bound) for name, verdict in answer.verdicts)
    after = _after(answer, current)
    return attrs.evolve(plain, rules=told, changes=tuple(_changes(question, current, after, answer))), after


def _told(name: str, verdict: Verdict, rule: Rule | None, bound: BoundService) -> Told:
    refused = verdict.denial is not None and not bound.service.guards_availability
    message = verdict.denial.message if verdict.denial is not None and not verdict.message else verdict.message
    own: Mapping[str, str] = getattr(rule, "advice", {})
    return Told(name, str(verdict.reason), message, refused, verdict.warnings, own.get(verdict.reason, ""))


def _after(answer: Answer, current: Json | None) -> Json | None:
    if answer.draft is None or not answer.response.operations:
        return current
    return answer.draft.object


def _changes(question: Question, before: Json | None, after: Json | None, answer: Answer) -> Iterator[Change]:
    """In the words of a pod where it is one, else the fields of the patch."""
    if before is None or after is None or not answer.response.operations:
        return
    if question.resource == PODS and not question.subresource:
        yield from changes(before, after)
    else:
        yield from map(_change, answer.response.operations)


def _change(operation: Operation) -> Change:
    return Change(_ACTIONS[operation.op], "field", _field(operation.path), "")


def _field(pointer: str) -> str:
    """A JSON pointer as the API server writes fields: spec.taints[1]."""
    parts = [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]]
    return "".join(f"[{part}]" if part.isdecimal() else f".{part}" for part in parts).removeprefix(".")
