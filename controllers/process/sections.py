"""What /statusz tells of this process: its sections, in their order, and the parts that each is read from.

Each section is made when somebody asks, by itself: what one raises costs only its own lines (`gather`).

Thread rule: any thread.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING

import attrs

from controllers.certificates.overview import overview as certificate_overview
from controllers.config.document import Configuration
from controllers.plugins import news as plugins
from controllers.process.facts import ClusterFacts, WatchedFacts
from controllers.process.leading import Leading
from controllers.process.probes import Probes
from controllers.status.gathering import Section, gather, services, sidecar_entries, silent_nodes
from controllers.status.traffic.sampler import Traffic
from controllers.version import version
from webhook.admission.gate import Gate
from webhook.admission.service import BoundService
from webhook.clock import Clock
from webhook.objects.meta import Json

if TYPE_CHECKING:
    from webhook.serving.chains import Leaf


@attrs.frozen(eq=False)
class Sections:
    """What the status is read from."""

    config: Configuration
    clock: Clock
    facts: ClusterFacts
    leading: Leading | None  # None where nobody can lead
    gate: Gate
    traffic: Traffic
    probes: Probes
    leaf: Callable[[], Leaf | None]  # of the served certificate; None while nothing is served
    waits_for: Callable[[BoundService], list[str]]  # why a service is not ready
    started_s: float  # by the clock's monotonic time
    local: bool  # facts from files

    def status(self) -> Json:
        """What /statusz says."""
        sections: dict[str, Section] = {
            "process": self._process,
            "services": lambda: services(self.gate.services, self.waits_for, self.traffic.rows(), self.gate.refusals),
            "caches": self.facts.caches,
            "kubernetes": self.facts.kubernetes,
            "certificate": self._certificate,
            "leaderElection": lambda: self.leading.status() if self.leading else {"enabled": False},
            "sidecars": lambda: sidecar_entries(self.facts.cluster.sidecars.catalog()),
            "coverage": lambda: self.leading.tally.status() if self.leading and self.leading.tally else None,
            "databases": self._databases,
            "addresses": self._addresses,
            "plugins": lambda: plugins.status(self.config.plugins, local=self.local),
            "silentNodes": lambda: silent_nodes(self.facts.nodes(), self.config.votes.policy(), self.clock.wall_s()),
        }
        return gather(sections)

    def _process(self) -> Json:
        failing = self.probes.failing()
        return {
            "version": version(),
            "host": os.uname().nodename,  # of a pod: its name
            "pid": os.getpid(),
            "uptimeSeconds": round(self.clock.monotonic_s() - self.started_s, 1),
            "ready": not failing,
            "failing": failing,
            "checks": self.probes.checks(),
            "local": self.local,
        }

    def _certificate(self) -> Json:
        followed = self.facts.certificate if isinstance(self.facts, WatchedFacts) else None
        section, now_s = self.config.webhook.certificate, self.clock.wall_s()
        told = certificate_overview(section, self.leaf(), followed, now_s, local=self.local)
        return {**told, "handshakes": self.traffic.handshakes()}

    def _databases(self) -> Json | None:
        if not self.config.controllers.database_instance.enabled:
            return None
        # Only now: most processes have nothing to do with databases.
        from controllers.database_instance.overview import overview

        deletions = self.leading.deletions if self.leading else None
        errors, waits = (deletions.errors(), deletions.waits()) if deletions else ({}, {})
        return overview(self.facts.databases_known(), errors, waits, self.clock.wall_s())

    def _addresses(self) -> Json | None:
        caches = self.facts.addresses if isinstance(self.facts, WatchedFacts) else None
        return None if caches is None else caches.status()
