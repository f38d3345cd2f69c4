"""Metrics: what the process counts about itself.

The only module that imports prometheus_client. Every component gets a `Telemetry` and asks it for its own metrics, so
that two servers in one process (tests) do not share counts. Any thread may use everything here.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

__all__ = ["CONTENT_TYPE", "LATENCY_BUCKETS_S", "Counter", "Gauge", "Histogram", "Telemetry"]

# 1 ms to 10 s: an admission call ends after at most 30 s, and controller-runtime's buckets from 10 ns are useless for alerts.
LATENCY_BUCKETS_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

Metric = TypeVar("Metric", bound=Counter | Gauge | Histogram)


class Telemetry:
    """One set of metrics. Asking twice for the same name returns the same metric."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._lock = threading.Lock()  # guards _metrics
        self._metrics: dict[str, Counter | Gauge | Histogram] = {}

    def counter(self, name: str, documentation: str, labels: Sequence[str] = ()) -> Counter:
        """The counter *name* (exposed with the suffix `_total`)."""
        return self._get(Counter, name, lambda: Counter(name, documentation, labels, registry=self._registry))

    def gauge(self, name: str, documentation: str, labels: Sequence[str] = ()) -> Gauge:
        """The gauge *name*."""
        return self._get(Gauge, name, lambda: Gauge(name, documentation, labels, registry=self._registry))

    def histogram(
        self, name: str, documentation: str, labels: Sequence[str] = (), buckets: Iterable[float] = LATENCY_BUCKETS_S
    ) -> Histogram:
        """The histogram *name*; buckets are upper bounds in the metric's unit."""
        bounds = tuple(buckets)
        return self._get(
            Histogram, name, lambda: Histogram(name, documentation, labels, buckets=bounds, registry=self._registry)
        )

    def samples(self, name: str) -> list[tuple[str, Mapping[str, str], float]]:
        """What the metric *name* (without suffix) counts now: (suffix, labels, value) each; [] while nobody has asked for it.

        Suffixes are those of the text format: `_total`; `_bucket` (label `le`, cumulative), `_count`, `_sum`. O(children).
        """
        with self._lock:
            metric = self._metrics.get(name)
        if metric is None:
            return []
        return [
            (sample.name.removeprefix(family.name), sample.labels, sample.value)
            for family in metric.collect()
            for sample in family.samples
        ]

    def expose(self) -> bytes:
        """All metrics in the Prometheus text format (content type `CONTENT_TYPE`)."""
        return generate_latest(self._registry)

    def _get(self, kind: type[Metric], name: str, make: Callable[[], Metric]) -> Metric:
        with self._lock:
            metric = self._metrics.get(name)
            if metric is None:
                metric = self._metrics[name] = make()
            if not isinstance(metric, kind):
                raise TypeError(f"{name} is already a {type(metric).__name__}")
            return metric
