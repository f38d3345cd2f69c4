"""A controller of one's own against a scripted API server, without threads and without waiting.

    with FakeApi() as api, Rehearsal(plugin, api) as rehearsal:
        api.objects.register("/apis/example.com/v1", "buckets", "example.com/v1", "Bucket")
        api.objects.put(bucket)
        rehearsal.run()                     # caches read anew, then every key that is in line is reconciled
        assert not rehearsal.errors

Requests go over real HTTP on 127.0.0.1, so that what the API server would see can be read from `api.requests`.
One thread. Raises PluginError for a plug-in that cannot be used, Faults for settings that it does not take.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import attrs

from controllers.plugins.finding import Origin
from controllers.plugins.running import PluginControllers
from controllers.plugins.using import ControllerInUse, watches_of
from controllers.runtime.errors import LeaseLost
from controllers.runtime.event_series import Reference
from controllers.runtime.plugin import ControllerPlugin
from controllers.runtime.reconcile import Context, Key, Outcome
from controllers.runtime.rest import RestClient
from controllers.testing.api import FakeApi
from controllers.testing.clock import FakeClock
from webhook.admission import sections
from webhook.clock import SystemClock
from webhook.telemetry import Telemetry

PASSES_APART_S = 60.0  # longer than any backoff: what failed comes again with the next `run`


@attrs.frozen
class Told:
    """An Event that was left."""

    regarding: Reference
    reason: str
    action: str
    note: str
    warning: bool


class Rehearsal:
    """One controller. `errors`: what passes raised, in order. `events`: what it told, in order."""

    def __init__(
        self, plugin: ControllerPlugin[Any], api: FakeApi, settings: Mapping[str, Any] | None = None, name: str = "rehearsed"
    ) -> None:
        """settings: as under `plugins.controllers.<name>` of the configuration."""
        self.clock = FakeClock()
        self.errors: list[BaseException] = []
        self.events: list[Told] = []
        self._requests_left: int | None = None
        self._api = api
        self._folder = tempfile.TemporaryDirectory(prefix="rehearsal-")
        telemetry = Telemetry()
        kubeconfig = api.kubeconfig(Path(self._folder.name))
        self._client = RestClient.from_kubeconfig(kubeconfig, telemetry, SystemClock())
        try:
            values = sections.read(plugin.settings, dict(settings or {}))
            watched = attrs.evolve(plugin, build=lambda given: self._noting(plugin.build(given)))
            origin = Origin(name, "rehearsal", "0", "given")
            used = ControllerInUse(origin, watched, values, watches_of(plugin, values, str(origin)))
            made = PluginControllers([used], self._client, telemetry, self.clock, self._died)
            self._informers = made.informers()
            ((self._controller, self.led),) = made.controllers(self._client, self, self)
        except BaseException:
            self.__exit__()
            raise

    def run(self) -> int:
        """Let the caches see what the server has, then reconcile all that is in line: the number of passes."""
        for informer in self._informers:
            resource, objects = informer.resource, self._api.objects
            page = resource.projection.page(objects.list_page(objects.target(resource.path), resource.params))
            informer.replace(page.items, page.version, keep=())
        self.clock.advance(PASSES_APART_S)
        return self._controller.run_ready()

    def lose_lease(self, after: int = 0) -> None:
        """Let the lease be lost after so many requests more."""
        self._requests_left = after

    def lead(self) -> None:
        """Lead again."""
        self._requests_left = None

    # -- what the controller is given: `Leadership`, `Announcer`

    def check(self) -> float:
        """See `controllers.runtime.reconcile.Leadership`."""
        if self._requests_left is not None:
            self._requests_left -= 1
            if self._requests_left < 0:
                raise LeaseLost("the lease may not be ours any more")
        return 10.0

    def record(
        self, regarding: Reference, *, reason: str, action: str, note: str, warning: bool = False, topic: str = ""
    ) -> None:
        """See `controllers.runtime.Announcer`."""
        self.events.append(Told(regarding, reason, action, note, warning))

    # -- inside

    def _noting(self, reconcile: Any) -> Any:
        if not callable(reconcile):
            return reconcile

        def run(key: Key, context: Context, /) -> Outcome:
            try:
                found: Outcome = reconcile(key, context)
                return found
            except BaseException as error:
                self.errors.append(error)
                raise

        return run

    def _died(self, name: str, error: BaseException) -> None:
        raise AssertionError(f"{name} has ended") from error

    def __enter__(self) -> Rehearsal:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()
        self._folder.cleanup()
