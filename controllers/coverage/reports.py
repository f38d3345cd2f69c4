"""What owners hear of their bare pods, and what they have heard already.

What was told is remembered beyond a change of leader, so that who leads again does not repeat itself; a new leader asks once
for the Events that its predecessor has left.
Threads: any worker; an owner is in one worker's hands at a time.
Errors:  ApiError, LeaseLost. A refusal (403, 404, 422) is told in the log, and the report is made with what is known.
"""

from __future__ import annotations

from urllib.parse import quote

from controllers.coverage.memory import Memory
from controllers.coverage.news import News
from controllers.coverage.owners import Workloads, is_worth_a_retry
from controllers.coverage.plan import Survey, Told, tell_in_s, told_by
from controllers.runtime.api import Reads
from controllers.runtime.errors import ApiError
from controllers.runtime.event_series import COLLECTION
from controllers.runtime.events import Reference
from controllers.runtime.reconcile import Context, Key
from controllers.runtime.resource import Json
from webhook.clock import Clock
from webhook.logs import get_log
from webhook.names import Reason
from webhook.telemetry import Telemetry

log = get_log("coverage")


class Reports:
    """The reports of one process."""

    def __init__(self, api: Reads, news: News, telemetry: Telemetry, clock: Clock) -> None:
        self._api = api
        self._workloads = Workloads(api)
        self._news = news
        self._clock = clock
        self._told: Memory[Told] = Memory()
        self._made = telemetry.counter("gatehouse_coverage_reports", "Events that told an owner of its bare pods.")

    def owner(self, found: Survey, context: Context) -> Reference:
        """The workload of the bare pods: of several owners of one name, the newest."""
        return self._workloads.of(max(found.bare, key=lambda pod: pod.created_s), context)

    def make(self, key: Key, found: Survey, context: Context) -> float | None:
        """Tell what is due: the seconds until more may be."""
        if wait_s := self._wait_s(key, found):
            return wait_s
        owner = self.owner(found, context)
        if self._told.get(key) is None and (told := self._told_before(owner, found, context)) is not None:
            self._told.put(key, told)
            if wait_s := self._wait_s(key, found):
                return wait_s
        self._news.sidecar_missing(owner, found)
        self._made.inc()
        uids = frozenset(pod.uid for pod in found.bare)
        self._told.put(key, Told(uids, frozenset(found.missing), self._clock.monotonic_s()))
        return self._wait_s(key, found)

    def _wait_s(self, key: Key, found: Survey) -> float | None:
        return tell_in_s(found, self._told.get(key), self._clock.wall_s(), self._clock.monotonic_s())

    def _told_before(self, owner: Reference, found: Survey, context: Context) -> Told | None:
        """What another leader has told *owner*."""
        if not owner.uid:
            return None
        selector = f"regarding.uid={owner.uid},reason={Reason.SIDECAR_MISSING.value}"
        try:
            answer = self._api.get(
                COLLECTION.format(namespace=quote(owner.namespace, safe="")),
                {"fieldSelector": selector},
                timeout_s=context.request_timeout_s(),
            )
        except ApiError as error:
            if is_worth_a_retry(error, context):
                raise
            log.info("earlier events not read", owner=f"{owner.kind}/{owner.name}", error=error)
            return None
        events = [one for one in answer.get("items") or () if _is_about(one, owner)]
        return told_by(events, found, self._clock.wall_s(), self._clock.monotonic_s())


def _is_about(event: Json, owner: Reference) -> bool:
    return (event.get("regarding") or {}).get("uid") == owner.uid and event.get("reason") == Reason.SIDECAR_MISSING.value
