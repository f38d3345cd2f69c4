"""The led controller `certificates`: the Secret and the configurations -> one key -> `reconciler.Certificates`.

Whatever changes, one pass looks at everything: there are three objects. Threads: `Controller`'s one worker.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from controllers.certificates.news import News
from controllers.certificates.reconciler import Api, Certificate, Certificates
from controllers.runtime.controller import AddKey, Controller, Detach, Policy, Source, informer_source, memory_source
from controllers.runtime.errors import OnDeath
from controllers.runtime.events import Announcer
from controllers.runtime.freshness import OwnWrites
from controllers.runtime.informer import Informer
from controllers.runtime.limiters import ExponentialPerKey
from controllers.runtime.reconcile import Key, Leadership
from controllers.runtime.resource import F
from controllers.runtime.workqueue import LIVE
from webhook.clock import Clock
from webhook.telemetry import Telemetry

NAME: Final = "certificates"
KEY: Final = "certificate"
POLICY: Final = Policy(workers=1, timeout_s=30.0)
LONGEST_BACKOFF_S: Final = 10.0  # what is to be done may be what every call waits for


def certificates(
    api: Api,
    certificate: Certificate,
    announcer: Announcer,
    telemetry: Telemetry,
    clock: Clock,
    on_death: OnDeath,
    *,
    leadership: Leadership,
) -> Controller:
    """The controller, not started. To be started while *leadership* is ours, and stopped before it is given up."""
    caches = certificate.caches
    versions: dict[str, Callable[[], str]] = {
        informer.resource.name: _version_of(informer) for informer in caches.configurations.values()
    }
    sources: list[Source] = [_always]
    if caches.secrets is not None:
        versions[caches.secrets.resource.name] = _version_of(caches.secrets)
        sources.append(informer_source(caches.secrets, lambda change: (KEY,)))
    sources += [informer_source(informer, lambda change: (KEY,)) for informer in caches.configurations.values()]
    own_writes = OwnWrites(versions, clock, telemetry)
    reconcile = Certificates(api, certificate, own_writes, News(announcer, telemetry), telemetry, clock)
    return Controller(
        NAME,
        reconcile,
        [memory_source(reconcile.forget), *sources],
        telemetry,
        clock,
        on_death,
        leadership=leadership,
        # Not for the configurations: without the right to read them, a leaf must be renewed all the same.
        waits_for=() if caches.secrets is None else (caches.secrets.synced_event,),
        own_writes=own_writes,
        policy=POLICY,
        limiter=lambda: ExponentialPerKey[Key](most_s=LONGEST_BACKOFF_S),
    )


def _version_of(informer: Informer[F]) -> Callable[[], str]:
    return lambda: informer.store.version


def _always(add: AddKey) -> Detach:
    """The key itself, once: a Secret that is not there announces nothing."""
    add(KEY, LIVE)
    return lambda: None
