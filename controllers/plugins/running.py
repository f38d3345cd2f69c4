"""Controllers of others in the process: their caches, and the controllers themselves.

Their caches hold nothing up: what needs a CRD that is not there waits, alone. Their API client is one of their own, so that
a burst of theirs holds back neither the caches nor our led writes. A pass that raises is a backoff, whatever it raises.
Threads: those of `Informer` and `Controller`. Errors: PluginError from `controllers` when one cannot be built.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import attrs

from controllers.plugins.using import ControllerInUse
from controllers.runtime.controller import Controller, informer_source
from controllers.runtime.errors import OnDeath
from controllers.runtime.events import Announcer
from controllers.runtime.informer import Informer
from controllers.runtime.plugin import Api, Given
from controllers.runtime.reconcile import Context, Key, Leadership, Outcome, Reconcile, Unguarded
from controllers.runtime.resource import ListWatch
from webhook.clock import Clock
from webhook.errors import PluginError
from webhook.objects.faults import dotted
from webhook.telemetry import Telemetry


class PluginControllers:
    """The controllers of others that a configuration names. Making it opens nothing."""

    def __init__(
        self,
        used: Sequence[ControllerInUse],
        client: ListWatch,
        telemetry: Telemetry,
        clock: Clock,
        on_death: OnDeath,
    ) -> None:
        self._telemetry, self._clock, self._on_death = telemetry, clock, on_death
        self._informers: list[tuple[ControllerInUse, list[Informer[Any]]]] = []
        for one in used:
            made = []
            for watch in one.watches:
                # Named after both: a cache of pods must not pass for ours in metrics and on the status page.
                resource = attrs.evolve(watch.resource, name=f"{one.origin.name}/{watch.resource.name}")
                made.append(Informer(resource, client, telemetry, clock, on_death))
            self._informers.append((one, made))

    def informers(self) -> list[Informer[Any]]:
        """Every cache, for who starts and stops them."""
        return [informer for _, informers in self._informers for informer in informers]

    def controllers(self, api: Api, announcer: Announcer, leadership: Leadership) -> Iterator[tuple[Controller, bool]]:
        """Each controller, and whether only the leader runs it. Raises PluginError."""
        for used, informers in self._informers:
            yield self._controller(used, informers, api, announcer, leadership), used.plugin.led

    def _controller(
        self,
        used: ControllerInUse,
        informers: Sequence[Informer[Any]],
        api: Api,
        announcer: Announcer,
        leadership: Leadership,
    ) -> Controller:
        plugin = used.plugin
        path = ("plugins", "controllers", used.origin.name)
        where = f"{dotted(path)}: {used.origin}"
        pairs = list(zip(used.watches, informers, strict=True))
        caches = {watch.resource.name: informer.store for watch, informer in pairs}
        given = Given(used.settings, api, caches, announcer, self._telemetry, self._clock)
        try:
            reconcile = plugin.build(given)
        except (Exception, SystemExit) as error:
            raise PluginError(f"{where}: the controller cannot be built: {type(error).__name__}: {error}", path) from error
        if not callable(reconcile):
            raise PluginError(f"{where}: build gave a {type(reconcile).__name__}, which cannot be called", path)
        return Controller(
            used.origin.name,
            contained(reconcile, str(used.origin)),
            [informer_source(informer, watch.keys) for watch, informer in pairs],
            self._telemetry,
            self._clock,
            self._on_death,
            leadership=leadership if plugin.led else Unguarded(),
            waits_for=[informer.synced_event for informer in informers],
            policy=plugin.policy,
        )


def contained(reconcile: Reconcile, origin: str) -> Reconcile:
    """*reconcile*, of which nothing but an Exception gets out: SystemExit would end the worker, and with it the process."""

    def run(key: Key, context: Context, /) -> Outcome:
        try:
            return reconcile(key, context)
        except Exception:
            raise
        except BaseException as error:
            raise RuntimeError(f"{origin}: {type(error).__name__} out of a pass") from error

    return run
