"""What comes first in an explanation: what refuses it, who could not decide, what changes it, or that nothing does.

One value, `Conclusion`: the first line, the exit code and the JSON all read it, so that no two of them say different things.

Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from typing import Final

import attrs

from controllers.explaining.asking import QuestionAnswer, RuleAnswer, ServiceAnswer
from webhook.admission.review import Operations
from webhook.names import Reason
from webhook.objects.faults import listed

NOTHING: Final = "nothing changes, no rule refuses it"

# Where several rules share a service, these are the words of those that have changed something.
_CHANGING: Final = frozenset({Reason.INJECTED, Reason.DEFAULTED, Reason.TUNED})
_NAMED: Final = 3  # changes that no rule claims; more are counted


class Kind(StrEnum):
    """What becomes of it; the first that holds counts."""

    REFUSED = "refused"
    UNDECIDED = "not decided"
    CHANGED = "changed"
    UNCHANGED = "unchanged"


@attrs.frozen
class Told:
    """A reason code with its message, which may be ""."""

    reason: str
    message: str = ""

    def __str__(self) -> str:
        return f"{self.reason}: {self.message}" if self.message else self.reason


@attrs.frozen
class Conclusion:
    """What becomes of it, and who says so."""

    kind: Kind
    told: tuple[Told, ...] = ()  # why; () of UNCHANGED
    tells_sidecars: bool = False  # whether what was decided about sidecars is among them

    @property
    def is_refused(self) -> bool:
        """Whether the request would be refused."""
        return self.kind is Kind.REFUSED

    @property
    def is_decided(self) -> bool:
        """Whether the server would decide: else it answers 503, and is asked again. A refusal decides, whoever else cannot."""
        return self.kind is not Kind.UNDECIDED

    def __str__(self) -> str:
        """In one line."""
        said = "; ".join(map(str, self.told))
        match self.kind:
            case Kind.CHANGED:
                return said
            case Kind.UNCHANGED:
                return NOTHING
        return f"{self.kind}, {said}"


@attrs.frozen
class Grounds:
    """What a conclusion about a pod rests on."""

    sidecars: Told  # what was decided about sidecars
    is_refused: bool = False  # by that
    is_changed: bool = False  # by that, or by what fills in defaults
    breach: Told | None = None  # the first bound that refuses it
    answers: Sequence[QuestionAnswer] = ()


def conclude(grounds: Grounds) -> Conclusion:
    """A refusal goes before what is not decided, that before what changes."""
    kind, told = _concluded(grounds)
    return Conclusion(kind, told, grounds.sidecars in told)


def settled(answers: Iterable[QuestionAnswer]) -> Conclusion | None:
    """The first refusal among *answers*, else the first service that could not decide; None where all let it pass.

    A refusal that a mutating service's missing decision may have caused is none (`QuestionAnswer.refusal`).
    """
    found = tuple(answers)
    refusal = next((one.refusal[1] for one in found if one.refusal is not None), None)
    if refusal is not None:
        return Conclusion(Kind.REFUSED, (_said(refusal),))
    missing = next((one.undecided for one in found if one.undecided is not None), None)
    return None if missing is None else Conclusion(Kind.UNDECIDED, (Told(missing.service, missing.why),))


# -- inside


def _concluded(grounds: Grounds) -> tuple[Kind, tuple[Told, ...]]:
    if grounds.is_refused:
        return Kind.REFUSED, (grounds.sidecars,)
    if grounds.breach is not None:
        return Kind.REFUSED, (grounds.breach,)
    others = settled(grounds.answers)
    if others is not None and others.is_refused:
        return others.kind, others.told
    if grounds.sidecars.reason == Reason.NAMESPACE_UNKNOWN:
        return Kind.UNDECIDED, (grounds.sidecars,)
    if others is not None:
        return others.kind, others.told
    changed = tuple(dict.fromkeys(_changed(grounds)))
    return Kind.CHANGED if changed else Kind.UNCHANGED, changed


def _changed(grounds: Grounds) -> Iterator[Told]:
    """What those say that change it, as it is created; the sidecars first."""
    is_injected = grounds.sidecars.reason == Reason.INJECTED
    if is_injected:
        yield grounds.sidecars
    created = [one for one in grounds.answers if one.operation == Operations.CREATE]
    others = [told for one in created for service in one.services if service.changes for told in _changing(service)]
    yield from (one for one in others if not is_injected or one.reason != Reason.INJECTED)
    if grounds.is_changed and not is_injected and not others:
        yield grounds.sidecars  # shown though it is switched off: no service says it


def _changing(service: ServiceAnswer) -> Sequence[Told]:
    """What the rules of *service* say that have changed something; where that cannot be known, what it changes."""
    known = [_said(rule) for rule in service.rules if len(service.rules) == 1 or rule.reason in _CHANGING]
    what = listed([f"{change.what} {change.name}" for change in service.changes], _NAMED)
    return known or [Told(service.service, f"changes {what}")]


def _said(rule: RuleAnswer) -> Told:
    return Told(rule.reason, rule.message)
