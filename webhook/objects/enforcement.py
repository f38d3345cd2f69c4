"""How a rule is held up, where, and what is said when it is broken. Pure; nothing here raises."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import Final

import attrs

from webhook.names import Reason

# A client shows the message as one line. A pod may have a hundred containers, and an image's name no end.
MESSAGE_LIMIT: Final = 2000
ONE_LIMIT: Final = 400


class Mode(StrEnum):
    """What becomes of a request that breaks a rule."""

    OFF = "Off"  # the rule is not looked at
    WARN = "Warn"  # it goes on, and whoever asked is told
    DENY = "Deny"  # it is refused


@attrs.frozen
class Namespaces:
    """Namespaces by name; a name may end in "*", which stands for anything."""

    only: tuple[str, ...] = ()  # () = all, also what belongs to no namespace
    never: tuple[str, ...] = ()  # these not, whatever *only* says

    def __contains__(self, namespace: str) -> bool:
        return not matches(namespace, self.never) and (not self.only or matches(namespace, self.only))

    def without(self, names: Iterable[str]) -> Namespaces:
        """These but for *names*."""
        return Namespaces(self.only, (*self.never, *sorted(names)))


@attrs.frozen
class Complaint:
    """What a policy has against a pod: the one value for denials, warnings, forecasts and `gatehouse explain`."""

    reason: Reason
    mode: Mode  # WARN or DENY
    message: str  # subject, fact and limit
    field: str  # path in the pod: "spec.containers[1].resources.limits.cpu"
    policy: str = ""  # its name; "" for a doubt that belongs to none

    def told(self, field: str = "") -> str:
        """As a sentence with its place. *field*: the same place in what the pod comes from."""
        place = field or self.field
        return f"{self.message} ({place}, policy {self.policy})" if self.policy else f"{self.message} ({place})"


def joined(texts: Sequence[str], limit: int = MESSAGE_LIMIT) -> str:
    """All of *texts* in one line of at most about *limit* characters; what has no room is counted."""
    kept: list[str] = []
    room = limit
    for text in texts:
        cut = text if len(text) <= ONE_LIMIT else f"{text[: ONE_LIMIT - 1]}…"
        room -= len(cut) + 2
        if kept and room < 0:
            break
        kept.append(cut)
    left_out = len(texts) - len(kept)
    return "; ".join([*kept, f"and {left_out} more"] if left_out else kept)


def matches(name: str, patterns: Iterable[str]) -> bool:
    """Whether *name* is one of *patterns*; a pattern may end in "*", which stands for anything, also nothing."""
    return any(name.startswith(pattern[:-1]) if pattern.endswith("*") else name == pattern for pattern in patterns)
