"""The gate of a process, with a client of its own: what strangers cause must not use up what caches and writes may ask.

Imported only where `metrics.authorization` asks for it. Raises ClientConfigError.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from controllers.authorization.authorizer import Authorizer, Bounds
from controllers.authorization.gate import protected
from controllers.config.election import ClientConnectionSection
from controllers.config.webhook import MetricsSection
from controllers.runtime.rest import Limits, RestClient
from webhook.clock import Clock
from webhook.telemetry import Telemetry

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIApplication

LIMITS: Final = Limits(connect_timeout_s=1.0, timeout_s=Bounds().call_s, per_second=20.0, burst=40, body_bytes=2**20)


def behind_the_cluster(
    pages: WSGIApplication, section: MetricsSection, connection: ClientConnectionSection, telemetry: Telemetry, clock: Clock
) -> WSGIApplication:
    """*pages*, for whom the API server lets read them."""
    client = RestClient.auto(connection.kubeconfig, telemetry, clock, LIMITS)
    return protected(pages, Authorizer(client, telemetry, clock), trust_loopback=section.trust_loopback)
