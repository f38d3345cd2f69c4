"""An object, what is known of it, and what every rule would answer: a value to show. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import attrs

from controllers.columns import aligned
from controllers.explaining.asking import QuestionAnswer
from controllers.explaining.rendering import answer_lines, as_json, blocks, page
from webhook.objects.meta import Json

_LISTED: Final = 100  # rows in the text; the JSON has all


@attrs.frozen
class Rows:
    """A table about the object's parts: the addresses of an endpoint."""

    title: str
    columns: tuple[str, ...]  # camelCase: the keys in JSON, the heading in the text
    rows: tuple[tuple[str, ...], ...]


@attrs.frozen
class Report:
    """One explanation."""

    kind: str  # "node", "endpoint", …
    subject: str  # "Node edge-1"
    where: str  # "file:line", "" for what was read from a cluster
    verdict: str
    facts: tuple[tuple[str, str], ...] = ()  # a word and what is known about it, in the order of reading
    details: Mapping[str, Any] = attrs.field(factory=dict)  # the same for programs
    parts: Rows | None = None
    answers: tuple[QuestionAnswer, ...] = ()
    advice: tuple[tuple[str, str], ...] = ()
    has_conflict: bool = False  # something is wrong that no rule refuses: two pods with one address

    @property
    def is_refused(self) -> bool:
        """Whether a rule would refuse one of the requests."""
        return any(one.refusal is not None for one in self.answers)

    @property
    def is_decided(self) -> bool:
        """Whether every service that was asked could decide."""
        return all(one.undecided is None for one in self.answers)

    @property
    def is_fine(self) -> bool:
        """Whether the exit code is 0."""
        return not self.is_refused and self.is_decided and not self.has_conflict

    def to_text(self) -> str:
        """For a person; no line break at the end."""
        heading = f"{self.where}: {self.subject}" if self.where else self.subject
        said = [heading, self.verdict]
        width = max((len(word) for word, _ in self.facts), default=0)
        said += blocks(("what is known", (f"  {word.ljust(width)}  {text}" for word, text in self.facts)))
        if self.parts is not None and self.parts.rows:
            said += blocks((self.parts.title, _row_lines(self.parts)))
        for one in self.answers:
            found = answer_lines(one)
            said += blocks((found[0], found[1:])) if found else ()
        if not any(one.services for one in self.answers) and self.answers:
            said += ["", "no rule that is switched on looks at it"]
        said += blocks(("what would change it", (f"  {reason}: {text}" for reason, text in self.advice)))
        return page(said)

    def to_json(self) -> Json:
        """As JSON; null where there is nothing."""
        return {
            "kind": self.kind,
            "subject": self.subject,
            "where": self.where or None,
            "verdict": self.verdict,
            "refused": self.is_refused,
            "decided": self.is_decided,
            "facts": dict(self.details),
            **({} if self.parts is None else {"parts": _row_json(self.parts)}),
            "rules": [as_json(one) for one in self.answers if one.services],
            "advice": [{"reason": reason, "text": text} for reason, text in self.advice],
        }


def _row_lines(parts: Rows) -> Iterator[str]:
    heading = tuple(column.upper() for column in parts.columns)
    yield from (f"  {line}" for line in aligned([heading, *parts.rows[:_LISTED]]))
    if len(parts.rows) > _LISTED:
        yield f"  and {len(parts.rows) - _LISTED} more: -o json has them"


def _row_json(parts: Rows) -> Sequence[Json]:
    return [dict(zip(parts.columns, row, strict=True)) for row in parts.rows]
