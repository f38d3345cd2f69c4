"""More reviews at once than a service may answer: the surplus is sent away at once, the others keep their latency."""

from __future__ import annotations

from pathlib import Path

import attrs
import pytest

from tests.server.figures import Figures, best_of
from tests.server.patient import Patience, call
from tests.server.replica import CONFIG, replica

LIMIT, CALLERS = 4, 40
SECONDS = 2.0
STALL_S = 1.0


@attrs.frozen
class Outcome:
    """As many callers as the limit allows, and ten times as many."""

    few: Patience
    many: Patience

    @property
    def stretch(self) -> float:
        """How much longer an admitted review takes in the crowd, at the median."""
        return self.many.admitted_at(0.5) / self.few.admitted_at(0.5)

    @property
    def added_p99_s(self) -> float:
        """The same at the 99th percentile, in seconds more."""
        return self.many.admitted_at(0.99) - self.few.admitted_at(0.99)


def overload(folder: Path, *weakened: str, limit: int = LIMIT, threads: int = 16) -> Outcome:
    config = folder / "overload.yaml"
    config.write_text(f"{CONFIG.read_text()}\nwebhook: {{limits: {{maxInFlight: {limit}, threads: {threads}}}}}\n")
    with replica(folder, weakened=weakened, config=config) as running:
        outcome = Outcome(call(running, LIMIT, SECONDS), call(running, CALLERS, SECONDS))
        refused = running.total("gatehouse_admission_rejected_total", service="node-taint", why="overloaded")
        assert refused == len(outcome.few.refused_s) + len(outcome.many.refused_s)
        assert "Traceback" not in running.served.log()
    return outcome


@pytest.mark.parametrize("kind", ["waits-long", "works-hard"])
def test_the_surplus_gets_503_at_once_and_the_others_keep_their_latency(tmp_path: Path, kind: str, figures: Figures) -> None:
    def measure() -> Outcome:
        outcome = overload(tmp_path, kind)
        assert outcome.few.faults + outcome.many.faults == []  # each refusal: 503, Retry-After: 1, Connection: close
        return outcome

    best = best_of(measure, lambda outcome: outcome.stretch, 1.25)

    few, many = best.few, best.many
    figures.add(
        f"overload, a rule that {kind.replace('-', ' ')}: latency of the admitted, median (p99)",
        f"{few.admitted_at(0.5) * 1000:.0f} ({few.admitted_at(0.99) * 1000:.0f}) -> "
        f"{many.admitted_at(0.5) * 1000:.0f} ({many.admitted_at(0.99) * 1000:.0f}) ms",
        "<= 1.25x at the median",
        best.stretch <= 1.25,
    )
    assert len(many.refused_s) > CALLERS
    assert many.refused_at(0.5) < STALL_S
    assert many.admitted_at(0.99) < STALL_S
    assert best.stretch <= 2.0


@pytest.mark.parametrize(
    ("weakened", "limits"),
    [
        (("works-hard",), {"limit": 100, "threads": 101}),
        (("works-hard", "takes-long-turns"), {}),
    ],
    ids=["no limit", "long turns"],
)
def test_without_the_limit_or_with_long_turns_the_admitted_would_be_slow(
    tmp_path: Path, weakened: tuple[str, ...], limits: dict[str, int]
) -> None:
    assert overload(tmp_path, *weakened, **limits).stretch > 2.0
