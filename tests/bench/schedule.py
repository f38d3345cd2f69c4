"""What is measured, in which order, and how long: the whole of it in less than ten minutes, the short form in one. Pure."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from tests.bench import reviews
from tests.bench.contenders import BY_HAND, CONTENDERS, GATEHOUSE, PEER, Contender

CALLERS = 4  # where nothing else is said: kube-apiserver has seldom more calls of one webhook in flight
# Cases that other numbers of callers bring, too: of the contenders that are asked by crowds.
_CROWDS = (
    *(("small-3k", callers) for callers in (1, 8, 16, 64)),
    *(("inject-11k", callers) for callers in (1, 16, 64)),
    ("node-20k", 64),
    ("validate-11k", 64),
    ("endpoints-20", 64),
    ("endpoints-1000", 16),
)
_SHORT = ("small-3k", "inject-11k", "validate-11k", "node-20k", "endpoints-20", "endpoints-1000")
_SHORT_CROWDS = (("small-3k", 64),)


@attrs.frozen
class Step:
    """One case, and who is asked in turn."""

    case: str
    callers: int
    contenders: tuple[Contender, ...]


@attrs.frozen
class Schedule:
    """All of a benchmark."""

    steps: tuple[Step, ...]
    rounds: int
    seconds: float  # of one run

    @property
    def contenders(self) -> tuple[Contender, ...]:
        """Everybody who takes part, in the order of the table."""
        return tuple(one for one in CONTENDERS if any(one in step.contenders for step in self.steps))

    def only(self, names: Sequence[str]) -> Schedule:
        """Without the contenders that have other names, and the steps that nobody is left for."""
        steps = [
            attrs.evolve(step, contenders=tuple(one for one in step.contenders if one.name in names)) for step in self.steps
        ]
        return attrs.evolve(self, steps=tuple(step for step in steps if step.contenders))


def whole(cases: Sequence[str] = (), *, rounds: int = 7, seconds: float = 0.6) -> Schedule:
    """Every case (or only *cases*), every contender, then crowds."""
    wanted = [case for case in reviews.CASES if not cases or case in cases]
    steps = [Step(case, CALLERS, tuple(one for one in CONTENDERS if case in one.cases)) for case in wanted]
    crowd = tuple(one for one in CONTENDERS if one.crowds)
    by_hand = {("inject-11k", 64): (BY_HAND,)}
    steps += [Step(case, callers, crowd + by_hand.get((case, callers), ())) for case, callers in _CROWDS if case in wanted]
    return Schedule(tuple(steps), rounds, seconds)


def short(cases: Sequence[str] = (), *, rounds: int = 3, seconds: float = 0.4) -> Schedule:
    """Ourselves and the peer, on what the targets name: enough to see that something became twice as slow."""
    wanted = cases or _SHORT
    pair = (GATEHOUSE, PEER)
    crowds = ((case, callers) for case, callers in _SHORT_CROWDS if case in wanted)
    return Schedule(
        tuple(Step(case, callers, pair) for case, callers in (*((case, CALLERS) for case in wanted), *crowds)), rounds, seconds
    )
