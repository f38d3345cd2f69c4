"""One pass over one instance: read live, plan, carry out the steps in order, tell.

What fails is told in the status of the instance, as far as that can be written, and the instance comes again after a backoff.
The next pass reads anew.
Threads: any worker; an instance is in one worker's hands at a time.
Errors:  ApiError, UndecodableObject, LeaseLost: the instance comes again after a backoff.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext, suppress
from typing import Final

import attrs

from controllers.database_instance.deletions import Deletions
from controllers.database_instance.live import Live, Watched
from controllers.database_instance.memory import Memory
from controllers.database_instance.news import News
from controllers.database_instance.plan import Defaults, plan
from controllers.database_instance.status import TIMED_OUT, failing_status
from controllers.database_instance.steps import Failure, carry_out
from controllers.database_instance.values import DropFinalizer, Instance, Plan, Situation, Status, Step, WriteStatus
from controllers.database_instance.writes import Api, Writes
from controllers.runtime.errors import ApiError, Cancelled, TimedOut, UndecodableObject
from controllers.runtime.reconcile import Context, Done, Key, Outcome, RequeueAfter
from webhook.clock import Clock, Deadline
from webhook.objects.databases import FINALIZER, InstanceFacts

# A deletion that the watch has not told of may have been to orphan dependents, which is seen there only. A watch that is
# behind by more than this is not waited for.
WATCH_LAG_S: Final = 10.0
SOON_S: Final = 0.2
TELLING_S: Final = 5.0  # of a pass are kept for saying what is wrong, when everything else has taken too long


class DatabaseInstances:
    """A pass over one instance, its pods and its claims. A key is "namespace/name" of an instance."""

    def __init__(
        self,
        api: Api,
        watched: Watched,
        defaults: Defaults,
        deletions: Deletions,
        news: News,
        clock: Clock,
        memory: Memory,
    ) -> None:
        """watched: what the watches have told. memory: is told which volumes each instance has."""
        self._api = api
        self._watched = watched
        self._live = Live(api, watched, defaults, memory)
        self._defaults = defaults
        self._deletions = deletions
        self._news = news
        self._clock = clock
        self._memory = memory

    def __call__(self, key: Key, context: Context, /) -> Outcome:
        """See `reconcile.Reconcile`."""
        instance = self._live.instance(key, context)
        if instance is None:
            self._deletions.forget(key)
            self._memory.follow(key, ())
            return Done()
        if self._is_ahead(instance):
            return RequeueAfter(SOON_S)
        working = _without_the_last(TELLING_S, context)
        writes = Writes(self._api, instance, working)
        try:
            made = self._planned(instance, working)
        except Cancelled:
            raise
        except (ApiError, UndecodableObject) as error:
            writes.go_on_within(context)
            self._tell(writes, instance, [Failure("what surrounds it cannot be read", error)], working)
            raise
        self._deletions.report(key, instance.facts, made)
        try:
            failures = carry_out(writes, made.steps, lambda step: self._done(instance, writes.status, step))
        except TimedOut as error:
            writes.go_on_within(context)
            if working.deadline.expired():
                self._tell(writes, instance, [Failure("what has to be done", error)], working, _planned_status(made))
            raise
        writes.go_on_within(context)
        if failures or DropFinalizer() not in made.steps:
            self._tell(writes, instance, failures, working)
        if failures:
            raise failures[0].error
        return Done() if made.look_again_s is None else RequeueAfter(made.look_again_s)

    def forget(self) -> None:
        """Forget what is remembered: this replica does not lead any more."""
        self._deletions.clear()
        self._memory.clear()

    def cached(self, key: Key) -> InstanceFacts | None:
        """The instance as the cache has it; None when it has none."""
        return next((one for one in self._watched.instances_in(key.partition("/")[0]) if one.key == key), None)

    # -- inside

    def _planned(self, instance: Instance, context: Context) -> Plan:
        facts = instance.facts
        if facts.deleting_s is None and FINALIZER not in facts.finalizers:
            # However slow the rest is to read: until the finalizer is there, a deletion takes what it likes.
            return plan(Situation(instance), self._clock.wall_s(), self._defaults)
        situation = self._live.situation(instance, context)
        made = plan(situation, self._clock.wall_s(), self._defaults)
        if made.deletes:
            made = plan(self._live.confirmed(situation, context), self._clock.wall_s(), self._defaults)
        return made

    def _done(self, instance: Instance, status: Status, step: Step) -> None:
        """*step* was carried out; *status*: as it was written last."""
        if isinstance(step, WriteStatus):
            self._written(instance, step.status)
        elif isinstance(step, DropFinalizer):
            policy = instance.facts.policy or self._defaults.policy
            self._deletions.forget(instance.facts.key)
            self._deletions.let_go(policy.value)
            self._news.let_go(instance, status, policy)

    def _tell(
        self, writes: Writes, instance: Instance, failures: Sequence[Failure], context: Context, said: Status | None = None
    ) -> None:
        """Make the status say what *failures* there are, or that there are none any more.

        context: of the pass that failed. said: what the status says beside that; None = what it says now.
        """
        out_of_time = context.deadline.expired()  # then there may be no better pass
        told = [failure.words for failure in failures if out_of_time or failure.is_told(context.failures)]
        if failures and not told:
            return
        status = failing_status(instance, said or writes.status, told, self._clock.wall_s())
        if status == writes.status:
            return
        before = attrs.evolve(instance, status=writes.status)
        with suppress(ApiError) if failures else nullcontext():  # what has failed is said elsewhere, too
            writes.perform(WriteStatus(status))
            self._written(before, status)

    def _is_ahead(self, instance: Instance) -> bool:
        """Whether the deletion of *instance* is newer than what the watch has told."""
        facts = instance.facts
        if facts.deleting_s is None or instance.status.waiting is not None:
            return False
        cached = self.cached(facts.key)
        behind = cached is not None and cached.uid == facts.uid and cached.deleting_s is None
        return behind and self._clock.wall_s() - facts.deleting_s < WATCH_LAG_S

    def _written(self, instance: Instance, status: Status) -> None:
        """*status* was written in place of that of *instance*."""
        self._news.status_changed(instance, status)
        if status.condition(TIMED_OUT) is not None and instance.status.condition(TIMED_OUT) is None:
            self._deletions.timed_out()


def _without_the_last(seconds: float, context: Context) -> Context:
    """*context*, which ends *seconds* earlier."""
    deadline = context.deadline
    return attrs.evolve(context, deadline=Deadline(deadline.at_s - seconds, deadline.clock))


def _planned_status(made: Plan) -> Status | None:
    """The status of *made*: it says what was seen, and so is true whichever of its steps were carried out."""
    return next((step.status for step in made.steps if isinstance(step, WriteStatus)), None)
