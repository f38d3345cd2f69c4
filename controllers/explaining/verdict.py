"""What comes first in the explanation of a pod: what refuses it, who could not decide, what changes it, or that nothing does.

Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import attrs

from controllers.explaining.asking import QuestionAnswer, RuleAnswer, ServiceAnswer
from webhook.admission.review import Operations
from webhook.names import Reason

NOTHING: Final = "nothing changes, no rule refuses it"

# Where several rules share a service, these are the words of those that have changed something.
_CHANGING: Final = frozenset({Reason.INJECTED, Reason.DEFAULTED, Reason.TUNED})


@attrs.frozen
class Told:
    """A reason code with its message, which may be ""."""

    reason: str
    message: str = ""

    def __str__(self) -> str:
        return f"{self.reason}: {self.message}" if self.message else self.reason


@attrs.frozen
class Grounds:
    """What a verdict rests on."""

    sidecars: Told  # what was decided about sidecars
    is_refused: bool = False  # by that
    is_changed: bool = False  # by that, or by what fills in defaults
    breach: Told | None = None  # the first bound that refuses it
    answers: Sequence[QuestionAnswer] = ()


def verdict(grounds: Grounds) -> str:
    """One line: a refusal goes before what is not decided, that before what changes."""
    if grounds.is_refused:
        return f"refused, {grounds.sidecars}"
    refusing = next((one.refusal[1] for one in grounds.answers if one.refusal is not None), None)
    refused = grounds.breach or (_told(refusing) if refusing is not None else None)
    if refused is not None:
        return f"refused, {refused}"
    if grounds.sidecars.reason == Reason.NAMESPACE_UNKNOWN:
        return f"not decided, {grounds.sidecars}"
    missing = next((one.undecided for one in grounds.answers if one.undecided is not None), None)
    if missing is not None:
        return f"not decided, {Told(missing.service, missing.why)}"
    changed = list(_changed(grounds))
    return "; ".join(map(str, dict.fromkeys(changed))) if changed else NOTHING


def _changed(grounds: Grounds) -> Iterator[Told]:
    """What those say that change it, as it is created; the sidecars first."""
    is_injected = grounds.sidecars.reason == Reason.INJECTED
    if is_injected:
        yield grounds.sidecars
    created = [one for one in grounds.answers if one.operation == Operations.CREATE]
    others = [_told(rule) for rule in _changing(service for one in created for service in one.services)]
    yield from (one for one in others if not is_injected or one.reason != Reason.INJECTED)
    if grounds.is_changed and not is_injected and not others:
        yield grounds.sidecars  # shown though it is switched off: no service says it


def _changing(services: Iterable[ServiceAnswer]) -> Iterator[RuleAnswer]:
    for service in services:
        if service.changes:
            yield from (rule for rule in service.rules if len(service.rules) == 1 or rule.reason in _CHANGING)


def _told(rule: RuleAnswer) -> Told:
    return Told(rule.reason, rule.message)
