"""What a workqueue counts, under the names that dashboards of client-go's queues know.

The two figures of work in progress are computed when they are read, so that no thread samples them.
Source: client-go util/workqueue/metrics.go; controller-runtime pkg/internal/metrics/workqueue.go (labels). The buckets are
ours: theirs begin at 10 ns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from webhook.telemetry import Telemetry

_LABELS = ("name", "controller")
_BUCKETS_S = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 1000.0)


class QueueMetrics:
    """The metrics of the queue *name*. Any thread."""

    def __init__(self, name: str, telemetry: Telemetry, running_times: Callable[[], Sequence[float]]) -> None:
        """running_times: the seconds for which each worker has had its key."""
        self._name = name
        self._depth = telemetry.gauge("workqueue_depth", "Keys in line.", (*_LABELS, "priority"))
        self.adds = telemetry.counter("workqueue_adds", "Keys that became ready.", _LABELS).labels(name, name)
        self.retries = telemetry.counter("workqueue_retries", "Delayed adds.", _LABELS).labels(name, name)
        self.queue_duration = telemetry.histogram(
            "workqueue_queue_duration_seconds", "Time in line.", _LABELS, buckets=_BUCKETS_S
        ).labels(name, name)
        self.work_duration = telemetry.histogram(
            "workqueue_work_duration_seconds", "Time in a worker's hands.", _LABELS, buckets=_BUCKETS_S
        ).labels(name, name)
        telemetry.gauge(
            "workqueue_unfinished_work_seconds",
            "Time so far of all keys in workers' hands; growth means stuck workers.",
            _LABELS,
        ).labels(name, name).set_function(lambda: sum(running_times()))
        telemetry.gauge(
            "workqueue_longest_running_processor_seconds", "Time so far of the longest-running worker.", _LABELS
        ).labels(name, name).set_function(lambda: max(running_times(), default=0.0))

    def depth(self, priority: int, by: int) -> None:
        """*by* more keys of *priority* in line."""
        self._depth.labels(self._name, self._name, str(priority)).inc(by)
