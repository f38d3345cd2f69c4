"""The led side of the process: the election, the controllers that only the leader runs, and the Events they write.

Without `leaderElection.enabled` the controllers run at once and unguarded, which is right for a single replica only, and is
said in the log. The election, the led writes, those of addresses, the Events and the caches have an API client each: a burst
of one never holds back the others. Main thread, except what is read for the status page and the probes.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from controllers.config.document import Configuration
from controllers.process.facts import ADDRESS_LIMITS, WatchedFacts
from controllers.process.led import Surroundings, led_controllers
from controllers.process.probes import Check
from controllers.process.supervisor import Part
from controllers.runtime.controller import Controller
from controllers.runtime.election import Candidate, Timing
from controllers.runtime.elector import Elector, make_identity
from controllers.runtime.errors import OnDeath
from controllers.runtime.events import EventRecorder
from controllers.runtime.reconcile import Leadership, Unguarded
from controllers.runtime.rest import Limits, RestClient
from webhook.clock import Clock, Deadline
from webhook.logs import get_log
from webhook.names import APP_LABEL, PROJECT
from webhook.objects.meta import Json
from webhook.sidecars.selection import Policy
from webhook.telemetry import Telemetry

if TYPE_CHECKING:
    from controllers.coverage.tally import Tally
    from controllers.database_instance.deletions import Deletions

log = get_log("leading")


NAMESPACE_FILE = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
DEFAULT_NAMESPACE = "kube-system"
# A storm of Events must not slow the writes that it reports.
EVENT_LIMITS = Limits(per_second=10.0, burst=20)
# The elector asks a few times in a renewal period; a rate limit must never be what loses a lease.
ELECTION_LIMITS = Limits(per_second=20.0, burst=20)
ELECTOR_LEAVES_WITHIN_S = 8.0  # led work ends within 5 s; releasing is one request
RECORDER_LEAVES_WITHIN_S = 2.0  # Events are best effort; leaving is not held up for them


class Leading:
    """Elector, recorder and led controllers, wired. Building it opens nothing."""

    def __init__(
        self,
        config: Configuration,
        policy: Policy,
        facts: WatchedFacts,
        telemetry: Telemetry,
        clock: Clock,
        on_death: OnDeath,
        identity: str = "",
    ) -> None:
        """policy: of sidecars, as admission has it. identity: of this replica; one is made where none is given."""
        connection, election = config.client_connection, config.leader_election
        limits = Limits(per_second=connection.qps, burst=connection.burst)
        self._writes = RestClient.auto(connection.kubeconfig, telemetry, clock, limits)
        self._reports = RestClient.auto(connection.kubeconfig, telemetry, clock, EVENT_LIMITS)
        self._leases = RestClient.auto(connection.kubeconfig, telemetry, clock, ELECTION_LIMITS)
        identity = identity or make_identity()
        self._recorder = EventRecorder(PROJECT, identity, self._reports, telemetry, clock, on_death)
        self._elector: Elector | None = None
        if election.enabled:
            timing = Timing(election.lease_duration_s, election.renew_deadline_s, election.retry_period_s)
            namespace = election.namespace or own_namespace()
            candidate = Candidate(identity, namespace, election.name, timing, {APP_LABEL: PROJECT})
            self._elector = Elector(candidate, self._leases, telemetry, clock, on_death, announcer=self._recorder)
        leadership: Leadership = self._elector.guard if self._elector else Unguarded()
        elector = self._elector
        announcer = self._recorder.only_while(elector.is_leading) if elector else self._recorder
        self.tally = _tally(config, telemetry)
        self._addresses = self._writes
        if facts.addresses is not None:
            self._addresses = RestClient.auto(connection.kubeconfig, telemetry, clock, ADDRESS_LIMITS)
        writes = (self._writes, self._addresses)
        self.deletions = _deletions(telemetry, clock) if facts.databases is not None else None
        given = Surroundings(
            config, policy, facts, *writes, announcer, self.tally, telemetry, clock, on_death, leadership, self.deletions
        )
        self._others = None if facts.plugins is None else RestClient.auto(connection.kubeconfig, telemetry, clock, limits)
        of_others: list[tuple[Controller, bool]] = []
        if facts.plugins is not None and self._others is not None:
            of_others += facts.plugins.controllers(self._others, announcer, leadership)
        led = (*led_controllers(given), *(controller for controller, is_led in of_others if is_led))
        self._everywhere = tuple(controller for controller, is_led in of_others if not is_led)  # on each replica
        self._controllers = (*led, *self._everywhere)
        if self._elector is not None:
            self._elector.lead(*led)

    def parts(self) -> list[Part]:
        """In the order in which they start; led work ends, and the lease is released, before anything else stops."""
        recorder = Part("events", self._recorder.start, self._stop_recorder, self._recorder.is_alive)
        if self._elector is None:
            return [recorder, Part("controllers", self._start_unguarded, self._stop_unguarded, self._controllers_alive)]
        parts = [recorder, Part("elector", self._elector.start, self._stop_elector, self._elector.is_alive)]
        if self._everywhere:
            parts.insert(1, Part("controllers", self._start_everywhere, self._stop_everywhere, self._everywhere_alive))
        return parts

    def live_checks(self) -> Mapping[str, Check]:
        """Checks of /healthz: a leader that no longer renews, a controller that has stopped working."""
        checks: dict[str, Check] = {f"controller-{controller.name}": controller.check for controller in self._controllers}
        if self._elector is not None:
            checks["leader-election"] = self._elector.check
        return checks

    def status(self) -> Json:
        """For the status page."""
        controllers = {
            controller.name: {"running": controller.running, "queued": len(controller)} for controller in self._controllers
        }
        if self._elector is None:
            return {"enabled": False, "controllers": controllers}
        elector = self._elector
        return {"enabled": True, "identity": elector.identity, **elector.status(), "controllers": controllers}

    # -- inside

    def _start_unguarded(self) -> None:
        if len(self._controllers) > len(self._everywhere):
            log.warning("led controllers run unguarded: set leaderElection.enabled for more than one replica")
        for controller in self._controllers:
            controller.start()

    def _stop_unguarded(self, deadline: Deadline) -> None:
        _stop(self._controllers, deadline)

    def _controllers_alive(self) -> bool:
        return all(controller.is_alive() for controller in self._controllers)

    def _start_everywhere(self) -> None:
        for controller in self._everywhere:
            controller.start()

    def _stop_everywhere(self, deadline: Deadline) -> None:
        _stop(self._everywhere, deadline)

    def _everywhere_alive(self) -> bool:
        return all(controller.is_alive() for controller in self._everywhere)

    def _stop_elector(self, deadline: Deadline) -> None:
        assert self._elector is not None
        # A lease that cannot be released expires by itself. What the API server does to that request must not cost the time in
        # which this replica says that it is unready, and drains.
        limit_s = min(ELECTOR_LEAVES_WITHIN_S, deadline.remaining_s())
        if not self._elector.stop(Deadline.after(limit_s, deadline.clock)):
            log.warning("the election did not end in time")
        self._leases.close()

    def _stop_recorder(self, deadline: Deadline) -> None:
        self._recorder.stop(Deadline.after(min(RECORDER_LEAVES_WITHIN_S, deadline.remaining_s()), deadline.clock))
        self._reports.close()
        self._writes.close()
        self._addresses.close()
        if self._others is not None:
            self._others.close()


def _stop(controllers: Sequence[Controller], deadline: Deadline) -> None:
    for controller in controllers:
        controller.signal_stop()
    for controller in controllers:
        if not controller.stop(deadline):
            log.warning("a controller did not end in time", controller=controller.name)


def _tally(config: Configuration, telemetry: Telemetry) -> Tally | None:
    """What coverage counts in; None = nobody asks for it."""
    if not (config.features.sidecar.enabled and config.controllers.coverage.enabled):
        return None
    from controllers.coverage.tally import Tally

    return Tally(telemetry)


def _deletions(telemetry: Telemetry, clock: Clock) -> Deletions:
    """What is remembered of databases that are being deleted."""
    from controllers.database_instance.deletions import Deletions

    return Deletions(telemetry, clock)


def own_namespace() -> str:
    """The namespace that this process runs in: $POD_NAMESPACE, the pod's service account, else kube-system."""
    if namespace := os.environ.get("POD_NAMESPACE"):
        return namespace
    try:
        return NAMESPACE_FILE.read_text().strip() or DEFAULT_NAMESPACE
    except OSError:
        return DEFAULT_NAMESPACE
