"""Takes the evictions that `evictions` chooses, within the limits of all owners together.

A disruption budget that says no (429) is asked again later; a refusal that only somebody can mend (403, 422) rarely.
Threads: any worker; an owner is in one worker's hands at a time.
Errors:  ApiError, LeaseLost: the owner comes again after a backoff.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Final, Protocol
from urllib.parse import quote

from controllers.coverage.evictions import Evict, Evicted, Hopeless, InVain, Limits, Wait, choose, hopeless, is_over, taken
from controllers.coverage.memory import Memory
from controllers.coverage.news import News
from controllers.coverage.plan import Survey
from controllers.runtime.api import Creates
from controllers.runtime.errors import ApiError, Cancelled, Conflict, NotFound, Throttled
from controllers.runtime.events import Reference
from controllers.runtime.rate import RateLimit
from controllers.runtime.reconcile import Context, Key
from webhook.clock import Clock
from webhook.cluster import PodFacts
from webhook.logs import get_log
from webhook.telemetry import Telemetry

log = get_log("coverage")

BUDGET_RETRY_S: Final = 30.0  # after a disruption budget said no and gave no time
REFUSED_RETRY_S: Final = 600.0  # RBAC, or a webhook: somebody has to act
CROWDED_RETRY_S: Final = 10.0
GONE_RETRY_S: Final = 1.0  # the cache is about to say so


class KnownPods(Protocol):
    """The pods as the cache has them."""

    def get(self, key: str, /) -> PodFacts | None: ...


class Evictor:
    """The evictions of one process."""

    def __init__(
        self,
        api: Creates,
        limits: Limits,
        pods: KnownPods,
        owner: Callable[[Survey, Context], Reference],
        news: News,
        telemetry: Telemetry,
        clock: Clock,
    ) -> None:
        self._api = api
        self._limits = limits
        self._pods = pods
        self._owner = owner
        self._news = news
        self._clock = clock
        self._rate = RateLimit(limits.per_minute / 60.0, 1, clock)
        self._last: Memory[Evicted] = Memory()
        self._given_up: Memory[Hopeless] = Memory()
        self._lock = threading.Lock()  # guards _leaving
        self._leaving: dict[str, str] = {}  # key of an evicted pod -> its uid
        self._results = telemetry.counter(
            "gatehouse_coverage_evictions", "Evictions of bare pods: evicted, held (disruption budget), refused.", ("result",)
        )

    def rest(self, key: Key, pods: Sequence[PodFacts], found: Survey) -> None:
        """Forget the owner's last eviction when it has helped. For an owner without bare pods."""
        last = self._last.get(key)
        if last is not None and is_over(pods, found, last):
            self._last.drop(key)

    def make(self, key: Key, pods: Sequence[PodFacts], found: Survey, context: Context) -> float | None:
        """Evict the one that may go, if any: the seconds until another may."""
        last = self._last.get(key)
        match choose(pods, found, last, self._clock.monotonic_s(), self._given_up.get(key)):
            case Wait(seconds):
                return seconds
            case InVain(pod):
                owner = self._owner(found, context)
                self._given_up.put(key, hopeless(found))
                self._news.eviction_in_vain(owner, pod, found.missing)
                return None
            case Evict(pod):
                return self._evict_in_turn(key, pod, pods, found, context)

    def _evict_in_turn(
        self, key: Key, pod: PodFacts, pods: Sequence[PodFacts], found: Survey, context: Context
    ) -> float | None:
        if self._crowded():
            return CROWDED_RETRY_S
        owner = self._owner(found, context)
        if self._rate.reserve(0.0) is None:
            return 60.0 / self._limits.per_minute
        wait_s = self._evict(pod, context)
        if wait_s is not None:
            return wait_s
        with self._lock:
            self._leaving[f"{pod.namespace}/{pod.name}"] = pod.uid
        self._last.put(key, taken(pods, found, self._clock.monotonic_s()))
        self._news.pod_evicted(owner, pod, found.missing)
        return CROWDED_RETRY_S

    def _evict(self, pod: PodFacts, context: Context) -> float | None:
        """None when *pod* was evicted; else the seconds until it may be tried again."""
        path = f"/api/v1/namespaces/{quote(pod.namespace, safe='')}/pods/{quote(pod.name, safe='')}/eviction"
        body = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"namespace": pod.namespace, "name": pod.name},
            "deleteOptions": {"preconditions": {"uid": pod.uid}},
        }
        try:
            self._api.create(path, body, timeout_s=context.request_timeout_s())
        except Cancelled:
            raise
        except Throttled as error:
            self._results.labels("held").inc()
            log.info("eviction held back", pod=f"{pod.namespace}/{pod.name}", error=error)
            return error.retry_after_s or BUDGET_RETRY_S
        except (NotFound, Conflict):  # it is gone, or another one by now
            return GONE_RETRY_S
        except ApiError as error:
            if error.retriable:
                raise
            self._results.labels("refused").inc()
            log.warning("eviction refused", pod=f"{pod.namespace}/{pod.name}", error=error)
            return REFUSED_RETRY_S
        self._results.labels("evicted").inc()
        return None

    def _crowded(self) -> bool:
        with self._lock:
            for key, uid in list(self._leaving.items()):
                pod = self._pods.get(key)
                if pod is None or pod.uid != uid:
                    del self._leaving[key]
            return len(self._leaving) >= self._limits.at_once
