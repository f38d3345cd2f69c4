"""Puts a question to every service, in the API server's order, and keeps what each rule said.

    ask(question, panel) -> QuestionAnswer

Mutating services come first, each asked about what the former made of the object; a refusal by one of them ends it. Then every
validating one is asked. What a service raises is its answer: not decided. Pure but for what the facts behind the rules do; a
live read is bounded by the panel's deadline.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Final

import attrs

from controllers.explaining.differences import ADDED, CHANGED, REMOVED, Change, changes
from controllers.explaining.questions import ANYBODY, PODS, Question
from controllers.explaining.sending import Sent, sent
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
    inside: Callable[[str], AbstractContextManager[None]] = lambda name: nullcontext()  # while a plug-in's rule is asked


@attrs.frozen
class RuleAnswer:
    """What one rule said."""

    rule: str
    reason: str  # of `webhook.names.Reason`, or a word of a rule's own
    message: str
    is_refused: bool
    warnings: tuple[str, ...]
    advice: str = ""  # the rule's own, where it brings one


@attrs.frozen
class ServiceAnswer:
    """What one service said."""

    service: str
    path: str
    is_asked: bool
    why: str  # why it is not asked, why it did not decide, or what could not be told
    conditions: tuple[str, ...] = ()  # in CEL, which the API server evaluates before it asks
    rules: tuple[RuleAnswer, ...] = ()
    changes: tuple[Change, ...] = ()
    is_decided: bool = True
    is_mutating: bool = False

    @property
    def is_refused(self) -> bool:
        """Whether the request would be refused."""
        return any(rule.is_refused for rule in self.rules)


@attrs.frozen
class QuestionAnswer:
    """A question, and what every service that has to do with it said."""

    title: str
    operation: str
    resource: str  # "pods/status"
    user: str
    services: tuple[ServiceAnswer, ...]

    @property
    def refusal(self) -> tuple[str, RuleAnswer] | None:
        """The first service that refuses, and what its rule said.

        None behind a mutating service that could not decide: the object was not yet what the others would be asked about.
        """
        for one in self.services:
            if one.is_mutating and not one.is_decided:
                return None
            for rule in one.rules:
                if rule.is_refused:
                    return one.service, rule
        return None

    @property
    def undecided(self) -> ServiceAnswer | None:
        """The first service that could not decide."""
        return next((one for one in self.services if not one.is_decided), None)


def ask(question: Question, panel: Panel) -> QuestionAnswer:
    """What every service of *panel* says to *question*; those that no registration brings it to are left out."""
    return QuestionAnswer(
        question.title,
        question.operation.value,
        question.plural,
        question.user.name,
        tuple(_service_answers(question, panel)),
    )


def _service_answers(question: Question, panel: Panel) -> Iterator[ServiceAnswer]:
    current, ended, missing = question.object, "", ""
    for bound in sorted(panel.services, key=lambda one: not one.service.mutating):
        service = bound.service
        # A bound service has its registrations as they are, whatever decided about them.
        found = sent(service.entries if isinstance(service.entries, tuple) else (), question, panel.cluster.namespaces)
        if found is None:
            continue
        why = found.why if not found.is_sent else ended or _unasked(bound, question)
        if why:
            yield ServiceAnswer(service.name, service.path, False, why)
            continue
        answer, current = _asked(bound, question, current, panel, found)
        if service.mutating and answer.is_refused:
            ended = f"{service.name} has refused it before"
        if service.mutating and not answer.is_decided:
            missing = missing or service.name
        elif missing:
            said = f"without what {missing} could not decide"
            answer = attrs.evolve(answer, why=f"{answer.why}; {said}" if answer.why else said)
        yield answer


def _unasked(bound: BoundService, question: Question) -> str:
    if bound.service.asks_who and question.user == ANYBODY:
        return "its answer depends on who asks: --as USER, --as-group GROUP"
    return ""


def _asked(
    bound: BoundService, question: Question, current: Json | None, panel: Panel, found: Sent
) -> tuple[ServiceAnswer, Json | None]:
    """What *bound* says of *current*, and what it makes of it."""
    service = bound.service
    plain = ServiceAnswer(service.name, service.path, True, found.why, found.conditions, is_mutating=service.mutating)
    missing = sorted(cache for cache in bound.caches if not panel.synced(cache))
    if missing:
        return attrs.evolve(plain, why=f"the {missing[0]} cache has not synced yet", is_decided=False), current
    budget_s = min(float(service.timeout_s), panel.deadline.remaining_s())
    context = Context(service.name, Deadline.after(budget_s, panel.deadline.clock), panel.now_s, question.user, True)
    try:
        with panel.inside(service.name) if service.share else nullcontext():
            answer = bound.answer(question.request(copy.deepcopy(current)), context)
    except AdmissionError as error:
        return attrs.evolve(plain, why=str(error), is_decided=False), current
    except RuleFailed as error:
        return attrs.evolve(plain, why=f"{error}: {error.__cause__}", is_decided=False), current
    except Exception as error:  # a rule's fault, which the server answers with 500
        return attrs.evolve(plain, why=f"the rule failed: {type(error).__name__}: {error}", is_decided=False), current
    rules = {rule.name: rule for rule in bound.rules}
    said = tuple(_rule_answer(name, verdict, rules.get(name), bound) for name, verdict in answer.verdicts)
    after = _after(answer, current)
    return attrs.evolve(plain, rules=said, changes=tuple(_changes(question, current, after, answer))), after


def _rule_answer(name: str, verdict: Verdict, rule: Rule | None, bound: BoundService) -> RuleAnswer:
    refused = verdict.denial is not None and not bound.service.guards_availability
    message = verdict.denial.message if verdict.denial is not None and not verdict.message else verdict.message
    own: Mapping[str, str] = getattr(rule, "advice", {})
    return RuleAnswer(name, str(verdict.reason), message, refused, verdict.warnings, own.get(verdict.reason, ""))


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
