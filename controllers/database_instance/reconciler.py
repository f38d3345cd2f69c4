"""One pass over one instance: read live, plan, take the steps in order, tell.

A step that fails ends the pass: those behind it rely on it. The next pass reads anew.
Threads: any worker; an instance is in one worker's hands at a time.
Errors:  ApiError, UndecodableObject, LeaseLost: the instance comes again after a backoff.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from controllers.database_instance.deletions import Deletions
from controllers.database_instance.doing import Api, Doer
from controllers.database_instance.news import News
from controllers.database_instance.plan import Defaults
from controllers.database_instance.reading import Reading
from controllers.database_instance.telling import TIMED_OUT
from controllers.database_instance.values import DropFinalizer, Instance, WriteStatus
from controllers.runtime.reconcile import Context, Done, Key, Outcome, RequeueAfter
from webhook.clock import Clock
from webhook.objects.databases import InstanceFacts


class DatabaseInstances:
    """The typed unary. A key is "namespace/name" of an instance."""

    def __init__(
        self,
        api: Api,
        instances: Callable[[str], Iterable[InstanceFacts]],
        defaults: Defaults,
        deletions: Deletions,
        news: News,
        clock: Clock,
    ) -> None:
        """instances: those of a namespace, as the cache has them."""
        self._api = api
        self._reading = Reading(api, instances, defaults)
        self._defaults = defaults
        self._deletions = deletions
        self._news = news
        self._clock = clock

    def __call__(self, key: Key, context: Context, /) -> Outcome:
        """See `reconcile.Reconcile`."""
        seen = self._reading.read(key, context)
        if seen is None:
            self._deletions.forget(key)
            return Done()
        instance = seen.instance
        made = seen.plan(self._clock.wall_s(), self._defaults)
        self._deletions.report(key, instance.facts, made)
        doer = Doer(self._api, instance, context)
        for step in made.steps:
            doer.take(step)
            if isinstance(step, WriteStatus):
                self._written(instance, step)
            elif isinstance(step, DropFinalizer):
                self._let_go(key, instance)
        return Done() if made.look_again_s is None else RequeueAfter(made.look_again_s)

    def forget(self) -> None:
        """Forget what is remembered: this replica does not lead any more."""
        self._deletions.clear()

    def _written(self, instance: Instance, step: WriteStatus) -> None:
        self._news.status_changed(instance, step.status)
        if step.status.condition(TIMED_OUT) is not None and instance.status.condition(TIMED_OUT) is None:
            self._deletions.timed_out()

    def _let_go(self, key: Key, instance: Instance) -> None:
        policy = (instance.facts.policy or self._defaults.policy).value
        self._deletions.forget(key)
        self._deletions.let_go(policy)
        self._news.let_go(instance, policy)
