"""Answers as lines for a person and as JSON for a program. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

import attrs

from controllers.explaining.asking import QuestionAnswer, RuleAnswer, ServiceAnswer
from controllers.explaining.differences import ADDED, REMOVED, Change
from controllers.wording import count, one_line
from webhook.objects.meta import Json

_SIGNS: Final = {ADDED: "+", REMOVED: "-"}
_LINE: Final = 4096  # characters: names of containers and values have no limit until the API server checks them
_SHOWN: Final = 20  # changes of one service; more are counted


def answer_lines(answer: QuestionAnswer, above: str = "") -> list[str]:
    """A heading, and what each service said; [] of a question that is no service's business.

    above: what has been said already as `page` writes it, and is not said again.
    """
    if not answer.services:
        return []
    who = f" by {answer.user}" if answer.user else ""
    found = [f"{answer.title}: {answer.operation} {answer.resource}{who}"]
    for one in answer.services:
        found += _service_lines(one, above)
    return found


def _service_lines(one: ServiceAnswer, above: str) -> Iterator[str]:
    if not one.is_asked:
        yield f"  {one.service}: not asked, {one.why}"
        return
    if not one.is_decided:
        yield f"  {one.service} at {one.path}: NOT DECIDED, {one.why}"
        return
    yield f"  {one.service} at {one.path}" + (f" ({one.why})" if one.why else "")
    if not one.rules:
        yield "    has no rule for it"
    for rule in one.rules:
        yield from _rule_lines(rule, above)
    told = frozenset(above.split("\n"))
    changes = [line for change in one.changes if (line := one_line(change_line(change))) not in told]
    yield from (f"  {line}" for line in changes[:_SHOWN])
    if len(changes) > _SHOWN:
        yield "    and " + count(len(changes) - _SHOWN, "more change")


def _rule_lines(rule: RuleAnswer, above: str) -> Iterator[str]:
    verdict = f"REFUSED, {rule.reason}" if rule.is_refused else rule.reason
    is_news = rule.message and not all(part in above for part in one_line(rule.message).split("; "))
    yield f"    {rule.rule}: {verdict}" + (f": {rule.message}" if is_news else "")
    warnings = map(one_line, rule.warnings)
    yield from (f"      warning: {warning}" for warning in warnings if not above or _fact(warning) not in above)


def _fact(warning: str) -> str:
    """*warning* without its subject in front and its place behind."""
    said = warning.partition(": ")[2].removeprefix("its pods will be refused: ") or warning
    return said.rpartition(" (")[0] or said


def change_line(change: Change) -> str:
    """One change: `+ container envoy  (spec.containers[1])`."""
    details = f": {', '.join(change.details)}" if change.details else ""
    field = f"  ({change.field})" if change.field else ""
    return f"  {_SIGNS.get(change.action, '~')} {change.what} {change.name}{field}{details}"


def as_json(answer: QuestionAnswer) -> Json:
    """The same for programs; null where there is nothing."""
    return {
        "question": answer.title,
        "operation": answer.operation,
        "resource": answer.resource,
        "user": answer.user or None,
        "services": [_service_json(one) for one in answer.services],
    }


def _service_json(one: ServiceAnswer) -> Json:
    return {
        "service": one.service,
        "path": one.path,
        "asked": one.is_asked,
        "decided": one.is_decided if one.is_asked else None,
        "refused": one.is_refused,
        "why": one.why or None,
        "conditions": list(one.conditions),
        "rules": [
            {
                "rule": rule.rule,
                "reason": rule.reason,
                "message": rule.message or None,
                "refused": rule.is_refused,
                "warnings": list(rule.warnings),
            }
            for rule in one.rules
        ],
        "changes": [attrs.asdict(change) for change in one.changes],
    }


def page(lines: Iterable[str]) -> str:
    """*lines*, of which each stays one, whatever the names in it hold and however long they are; the JSON has all of it."""
    return "\n".join(one_line(line if len(line) <= _LINE else f"{line[:_LINE]}…") for line in lines)


def blocks(*found: tuple[str, Iterable[str]]) -> Iterator[str]:
    """Titles with their lines, each with an empty line before it; those without lines are left out."""
    for title, said in found:
        block = list(said)
        if block:
            yield from ("", *([title] if title else []), *block)


def texts(value: Any) -> str:
    """A JSON scalar for a person."""
    return "–" if value in (None, "") else str(value)
