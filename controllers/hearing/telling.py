"""Answers as lines for a person and as JSON for a program. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

import attrs

from controllers.differences import ADDED, REMOVED, Change
from controllers.hearing.asking import Answered, Hearing, Told
from webhook.objects.meta import Json

_SIGNS: Final = {ADDED: "+", REMOVED: "-"}
_SHOWN: Final = 20  # changes of one service; more are counted


def answer_lines(answered: Answered, above: str = "") -> list[str]:
    """A heading, and what each service said; [] of a question that is no service's business.

    above: what has been said already, and is not said again.
    """
    if not answered.hearings:
        return []
    who = f" by {answered.user}" if answered.user else ""
    found = [f"{answered.title}: {answered.operation} {answered.resource}{who}"]
    for one in answered.hearings:
        found += _hearing_lines(one, above)
    return found


def _hearing_lines(one: Hearing, above: str) -> Iterator[str]:
    if not one.is_asked:
        yield f"  {one.service}: not asked, {one.why}"
        return
    if not one.is_decided:
        yield f"  {one.service} at {one.path}: NOT DECIDED, {one.why}"
        return
    yield f"  {one.service} at {one.path}" + (f" ({one.why})" if one.why else "")
    if not one.rules:
        yield "    has no rule for it"
    for told in one.rules:
        yield from _told_lines(told, above)
    changes = [line for change in one.changes if (line := change_line(change)) not in above.split("\n")]
    yield from (f"  {line}" for line in changes[:_SHOWN])
    if len(changes) > _SHOWN:
        yield f"    and {len(changes) - _SHOWN} more changes"


def _told_lines(told: Told, above: str) -> Iterator[str]:
    verdict = f"REFUSED, {told.reason}" if told.is_refused else told.reason
    is_news = told.message and not all(part in above for part in told.message.split("; "))
    yield f"    {told.rule}: {verdict}" + (f": {told.message}" if is_news else "")
    yield from (f"      warning: {warning}" for warning in told.warnings if not above or _fact(warning) not in above)


def _fact(warning: str) -> str:
    """*warning* without its subject in front and its place behind."""
    said = warning.partition(": ")[2].removeprefix("its pods will be refused: ") or warning
    return said.rpartition(" (")[0] or said


def change_line(change: Change) -> str:
    """One change: `+ container envoy  (spec.containers[1])`."""
    details = f": {', '.join(change.details)}" if change.details else ""
    field = f"  ({change.field})" if change.field else ""
    return f"  {_SIGNS.get(change.action, '~')} {change.what} {change.name}{field}{details}"


def as_json(answered: Answered) -> Json:
    """The same for programs; null where there is nothing."""
    return {
        "question": answered.title,
        "operation": answered.operation,
        "resource": answered.resource,
        "user": answered.user or None,
        "services": [_hearing_json(one) for one in answered.hearings],
    }


def _hearing_json(one: Hearing) -> Json:
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
                "rule": told.rule,
                "reason": told.reason,
                "message": told.message or None,
                "refused": told.is_refused,
                "warnings": list(told.warnings),
            }
            for told in one.rules
        ],
        "changes": [attrs.asdict(change) for change in one.changes],
    }


def table(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """*rows* with their columns in line."""
    widths = [max((len(row[column]) for row in rows), default=0) for column in range(max(map(len, rows), default=0))]
    for row in rows:
        yield "  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def blocks(*found: tuple[str, Iterable[str]]) -> Iterator[str]:
    """Titles with their lines, each with an empty line before it; those without lines are left out."""
    for title, said in found:
        block = list(said)
        if block:
            yield from ("", *([title] if title else []), *block)


def texts(value: Any) -> str:
    """A JSON scalar for a person."""
    return "–" if value in (None, "") else str(value)
