"""What happened between two moments, from counters that only grow.

Latencies come from the histogram's buckets, so a percentile is an estimate: exact to its bucket, interpolated within it, as
Prometheus' histogram_quantile has it. Beyond the last bucket it is that bucket's bound, which is a lower limit then.
Pure.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Final

import attrs

from webhook.objects.meta import Json
from webhook.serving.ledger import HANDSHAKES, PROBES, Handshake
from webhook.telemetry import LATENCY_BUCKETS_S, Telemetry

BOUNDS_S: Final = (*LATENCY_BUCKETS_S, math.inf)
OK: Final = "200"


@attrs.frozen
class Counts:
    """What one service has done since the start."""

    answered: int = 0  # reviews, whatever the status
    undecided: int = 0  # of these, the ones with another status than 200: not decided
    refused: int = 0  # decided, and denied
    within: tuple[int, ...] = (0,) * len(BOUNDS_S)  # how many took at most BOUNDS_S[i]; never falls

    def since(self, earlier: Counts) -> Counts:
        """What came after *earlier*, a former value of the same counters."""
        within = tuple(now - before for now, before in zip(self.within, earlier.within, strict=True))
        undecided = self.undecided - earlier.undecided
        return Counts(self.answered - earlier.answered, undecided, self.refused - earlier.refused, within)


NOTHING: Final = Counts()


@attrs.frozen
class Sample:
    """Every service's counters at one moment."""

    at_s: float  # monotonic
    services: Mapping[str, Counts]
    handshakes: Mapping[str, int] = attrs.field(factory=dict)  # that failed since the start, by why


def read(telemetry: Telemetry, services: Mapping[str, str]) -> Mapping[str, Counts]:
    """The counters of each service. services: path -> name; several paths may be one service. O(paths * buckets)."""
    answered, undecided, refused = (dict.fromkeys(services.values(), 0) for _ in range(3))
    within = {name: dict.fromkeys(BOUNDS_S, 0) for name in services.values()}
    for suffix, labels, value in telemetry.samples("controller_runtime_webhook_requests"):
        name = services.get(labels["webhook"])
        if suffix == "_total" and name is not None:
            answered[name] += int(value)
            undecided[name] += 0 if labels["code"] == OK else int(value)
    for suffix, labels, value in telemetry.samples("gatehouse_admission_refused"):
        if suffix == "_total" and labels["service"] in refused:
            refused[labels["service"]] += int(value)
    for suffix, labels, value in telemetry.samples("controller_runtime_webhook_latency_seconds"):
        name = services.get(labels["webhook"])
        if suffix == "_bucket" and name is not None:
            within[name][float(labels["le"])] += int(value)
    return {name: Counts(answered[name], undecided[name], refused[name], tuple(within[name].values())) for name in answered}


def failed_handshakes(telemetry: Telemetry) -> Mapping[str, int]:
    """TLS handshakes of the admission port that failed, by why; without those who only look whether somebody listens."""
    samples = telemetry.samples(HANDSHAKES)
    found = {labels["result"]: int(value) for suffix, labels, value in samples if suffix == "_total"}
    return {why: count for why, count in found.items() if why not in (Handshake.OK, *PROBES)}


def handshakes(now: Sample, window: Sample) -> Json:
    """Handshakes that failed since *window*, an earlier sample, by why, and all since the start."""
    lately = {why: count - window.handshakes.get(why, 0) for why, count in sorted(now.handshakes.items())}
    return {
        "failed": {why: count for why, count in lately.items() if count},
        "failedTotal": sum(now.handshakes.values()),
        "windowSeconds": round(now.at_s - window.at_s, 1),
    }


def quantile_s(within: Sequence[int], share: float) -> float | None:
    """The time that *share* (0 to 1) of the requests did not exceed; None without any.

    within: requests that took at most BOUNDS_S[i], never falling.
    """
    total = within[-1]
    if total <= 0:
        return None
    rank = share * total
    index = next(position for position, count in enumerate(within) if count >= rank)
    if math.isinf(BOUNDS_S[index]):
        return BOUNDS_S[index - 1]
    lower_s, below = (BOUNDS_S[index - 1], within[index - 1]) if index else (0.0, 0)
    inside = within[index] - below
    return lower_s + (BOUNDS_S[index] - lower_s) * (rank - below) / inside if inside else BOUNDS_S[index]


def traffic(now: Sample, minute: Sample, window: Sample) -> Mapping[str, Json]:
    """Of each service the rate since *minute*, and what happened since *window*; both are earlier samples."""
    return {name: _row(counts, now.at_s, name, minute, window) for name, counts in now.services.items()}


def _row(counts: Counts, now_s: float, name: str, minute: Sample, window: Sample) -> Json:
    lately = counts.since(window.services.get(name, NOTHING))
    rate_s = now_s - minute.at_s
    asked = counts.since(minute.services.get(name, NOTHING)).answered
    p50_s, p99_s = quantile_s(lately.within, 0.5), quantile_s(lately.within, 0.99)
    return {
        "perSecond": round(asked / rate_s, 2) if rate_s > 0 else None,
        "p50Seconds": None if p50_s is None else round(p50_s, 5),
        "p99Seconds": None if p99_s is None else round(p99_s, 5),
        "answered": lately.answered,
        "refused": lately.refused,
        "undecided": lately.undecided,
        "answeredTotal": counts.answered,
        "refusedTotal": counts.refused,
        "undecidedTotal": counts.undecided,
        "windowSeconds": round(now_s - window.at_s, 1),
    }


def at_least(samples: Sequence[Sample], now_s: float, age_s: float) -> Sample:
    """Of *samples* (oldest first, at least one) the newest that is *age_s* old; the oldest when none is."""
    old = [sample for sample in samples if now_s - sample.at_s >= age_s]
    return old[-1] if old else samples[0]
