"""The whole of admission behind one function: a call comes in, a reply goes out.

The same gate answers over TLS, under wsgiref, in `gatehouse review` and in the golden tests, so that the same review gives the
same bytes everywhere.

Threads: any may call anything of a Gate once it is made.
Errors:  none leave `Gate.answer`, a fault is a reply (`interceptors.Recover`); making a Gate raises what binding one does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from webhook.admission.call import Call, Exchange, Reply
from webhook.admission.interceptors import (
    Admit,
    Authenticate,
    CheckBody,
    Decide,
    Handler,
    Observe,
    Recover,
    Route,
    SetDeadline,
    Verify,
    decode,
)
from webhook.admission.places import SharedPlaces
from webhook.admission.refusals import Refusals
from webhook.admission.registry import services_with
from webhook.admission.service import BoundService, Service
from webhook.admission.settings import Settings
from webhook.clock import Clock
from webhook.cluster import Cluster
from webhook.telemetry import Telemetry

Interceptor = Callable[[Exchange, Handler], Reply]


class Gate:
    """Services bound to facts, behind their interceptors. Any thread may call it."""

    def __init__(
        self,
        settings: Settings,
        cluster: Cluster,
        telemetry: Telemetry,
        clock: Clock,
        *,
        synced: Callable[[str], bool] = lambda cache: True,
        services: Sequence[Service] | None = None,
    ) -> None:
        """synced: whether the cache of that name has synced; asked for every review of a service that reads it.

        services: those of the registry and of *settings* when None.
        """
        self.settings = settings
        self.services: tuple[BoundService, ...] = tuple(
            service.bind(settings, cluster)
            for service in (services_with(settings) if services is None else services)
            if service.name not in settings.disabled
        )
        paths = {path: bound for bound in self.services for path in (bound.service.path, *bound.service.aliases)}
        self.paths = {path: bound.service.name for path, bound in paths.items()}  # path -> name of the service
        self.refusals = Refusals([bound.service.name for bound in self.services], telemetry)
        sharing = [bound.service.name for bound in self.services if bound.service.share]
        self.shared = SharedPlaces(sharing, settings.max_in_flight, telemetry, clock)
        self._admit = Admit(settings.max_in_flight, synced, telemetry, self.shared)
        chain: list[Interceptor] = [
            Observe(paths, telemetry, clock, self.refusals),
            Recover(telemetry, clock, self.refusals),
            Route(paths),
            SetDeadline(clock),
            self._admit,
            CheckBody(settings.body_limit_bytes),
            decode,
        ]
        if settings.client_subjects is not None:
            chain.insert(chain.index(self._admit) + 1, Authenticate(settings.client_subjects))
        handler: Handler = Decide(clock, Verify(telemetry) if settings.verify_patches else None)
        for interceptor in reversed(chain):
            handler = partial(_step, interceptor, handler)
        self._handler = handler

    def answer(self, call: Call) -> Reply:
        """The reply to *call*. Never raises."""
        return self._handler(Exchange(call))

    def drain(self) -> None:
        """Send every further review away (503, Retry-After, close)."""
        self._admit.drain()

    def in_flight(self) -> int:
        """Reviews being decided at this moment."""
        return self._admit.in_flight()


def _step(interceptor: Interceptor, proceed: Handler, exchange: Exchange) -> Reply:
    return interceptor(exchange, proceed)
