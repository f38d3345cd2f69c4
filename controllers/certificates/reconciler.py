"""One pass of the leader: what the Secret needs next is written into it, then what our configurations lack.

Each write is guarded by the version of what the pass has looked at; who has lost a race comes again with newer facts. That
every configuration trusts the newest CA, and since when, is memory: a new leader waits for the whole grace once more.
Threads: one worker.
Errors:  ApiError, LeaseLost, UndecodableObject: the pass comes again after a backoff.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Final, Protocol

import attrs

from controllers.certificates import bundles, secret
from controllers.certificates.bundles import Configuration
from controllers.certificates.issuing import carry_out
from controllers.certificates.news import News
from controllers.certificates.plan import LOOK_AGAIN_S, Held, Seen, decide
from controllers.certificates.reading import CertificateCaches
from controllers.certificates.wanted import Wanted
from controllers.runtime.api import Creates, PatchesJson, PatchesMerge
from controllers.runtime.damper import Damper
from controllers.runtime.errors import AlreadyExists, ApiError, Conflict, Invalid, NotFound
from controllers.runtime.freshness import OwnWrites
from controllers.runtime.reconcile import Context, Key, Outcome, RequeueAfter
from webhook.clock import Clock
from webhook.serving.chains import Authority
from webhook.telemetry import Telemetry

# Somebody who keeps changing a caBundle breaks every call until the next repair: it must not be far.
REPAIR_WAITS_AT_MOST_S: Final = 30.0
FILES_POLL_S: Final = 60.0  # of a CA in a file, which nobody announces
UNKNOWN_POLL_S: Final = 5.0  # while the configurations are not known


class Api(Creates, PatchesJson, PatchesMerge, Protocol):
    """What is needed of `rest.RestClient`."""


@attrs.frozen
class Certificate:
    """The certificate that is looked after."""

    caches: CertificateCaches
    held: Callable[[], Held | None]  # what there is of it now
    serving: Callable[[], Held | None]  # what this replica serves
    ours: Wanted | None  # the Secret that we write; None: somebody else makes the certificate
    polled: bool = False  # whether nobody announces a change of it
    told: Callable[[str], None] = lambda why: None  # why it cannot be renewed, each time that this changes; "" = it can


class Certificates:
    """A pass over the Secret and what our configurations trust. There is one key."""

    def __init__(
        self, api: Api, certificate: Certificate, own_writes: OwnWrites, news: News, telemetry: Telemetry, clock: Clock
    ) -> None:
        self._api = api
        self._certificate = certificate
        self._own_writes = own_writes
        self._news = news
        self._clock = clock
        self._damper = Damper(telemetry, clock, "gatehouse_ca_bundle_repairs_damped")
        self._said = ""  # why the Secret cannot be written
        self._trusted: tuple[Authority, float] | None = None  # the newest CA, and since when all trust it (monotonic)

    def __call__(self, key: Key, context: Context, /) -> Outcome:
        """See `reconcile.Reconcile`."""
        held, configurations = self._certificate.held(), self._certificate.caches.registered()
        wait_s, failure = LOOK_AGAIN_S, None
        if (ours := self._certificate.ours) is not None:
            try:
                held, wait_s = self._keep(key, ours, held, configurations, context)
                self._tell("")
            except ApiError as error:
                failure = error  # of the Secret; the configurations may be mended all the same
                if not isinstance(error, Conflict | AlreadyExists):  # a lost race says nothing of the next try
                    self._tell(_why(error, held))
                    if not error.retriable:
                        self._news.not_kept(ours.namespace, ours.name, "" if held is None else held.uid, self._said)
        if configurations is None:
            wait_s = min(wait_s, UNKNOWN_POLL_S)
        elif held is not None:
            for configuration in configurations:
                wait_s = min(wait_s, self._let_trust(key, configuration, held, context))
        if failure is not None:
            raise failure
        return RequeueAfter(min(wait_s, FILES_POLL_S) if self._certificate.polled else wait_s)

    def forget(self) -> None:
        """Forget what was seen and done: this replica does not lead any more."""
        self._trusted = None
        self._damper.clear()
        self._said = ""
        self._certificate.told("")

    # -- inside

    def _tell(self, why: str) -> None:
        """Let the status say *why* nothing can be renewed."""
        if why != self._said:
            self._said = why
            self._certificate.told(why)

    def _keep(
        self, key: Key, ours: Wanted, held: Held | None, configurations: tuple[Configuration, ...] | None, context: Context
    ) -> tuple[Held | None, float]:
        """What the Secret holds after the next step, and in how many seconds there may be another one."""
        trusted = tuple(dict.fromkeys(one for known in configurations or () for one in known.trusted()))
        seen = Seen(held, self._certificate.serving(), trusted, self._trusted_for_s(held, configurations))
        decision = decide(seen, ours.names, ours.timing, self._clock.wall_s())
        if decision.step is None:
            return held, decision.wait_s
        content = carry_out(decision.step, held, ours.names, ours.timing, self._clock.wall_s())
        timeout_s = context.request_timeout_s()
        if held is None:
            body = secret.new_body(ours.namespace, ours.name, content)
            written = self._api.create(secret.path(ours.namespace), body, timeout_s=timeout_s)
        else:
            path = secret.path(ours.namespace, ours.name)
            written = self._api.patch_merge(path, secret.change(held.version, content), timeout_s=timeout_s)
        facts = secret.PROJECTION.convert(written).facts
        self._own_writes.note(key, "secrets", facts.version)
        self._news.secret_written(ours.namespace, ours.name, facts.uid, decision.step, anew=held is None)
        return facts.held(), decision.wait_s

    def _trusted_for_s(self, held: Held | None, configurations: tuple[Configuration, ...] | None) -> float | None:
        newest = held.authorities[0] if held is not None and held.authorities else None
        if newest is None or configurations is None or not bundles.trusted_by_all(configurations, newest):
            self._trusted = None
            return None
        now_s = self._clock.monotonic_s()
        if self._trusted is None or self._trusted[0] != newest:
            self._trusted = (newest, now_s)
        return now_s - self._trusted[1]

    def _let_trust(self, key: Key, configuration: Configuration, held: Held, context: Context) -> float:
        """Seconds after which *configuration* is to be looked at again, after it was mended if it had to be."""
        if not held.authorities:
            return LOOK_AGAIN_S  # whoever made the certificate says nothing of its CA
        if held.signer is None:
            # Writing it would break what may work now: a CA that has not signed what is served.
            self._news.bundle_left_alone(held.fault or "the CA that was given has not signed the certificate")
            return LOOK_AGAIN_S
        self._news.bundle_left_alone("")
        operations = bundles.repair(configuration, held.bundle())
        if not operations:
            return LOOK_AGAIN_S
        deed = hashlib.sha256(held.bundle()).hexdigest()
        wait_s = self._damper.wait_s(configuration.uid, deed)
        if wait_s > 0:
            return wait_s
        try:
            written = self._api.patch_json(configuration.path, operations, timeout_s=context.request_timeout_s())
        except NotFound:
            return LOOK_AGAIN_S
        version = (written.get("metadata") or {}).get("resourceVersion") or ""
        self._own_writes.note(key, configuration.plural, version)
        next_wait_s = self._damper.did(configuration.uid, deed, REPAIR_WAITS_AT_MOST_S, label=configuration.plural)
        count = sum(operation["op"] == "add" for operation in operations)
        self._news.bundle_written(configuration, count, next_wait_s)
        return LOOK_AGAIN_S


def _why(error: ApiError, held: Held | None) -> str:
    if isinstance(error, Invalid) and held is not None:
        return f"{error}; a Secret that is immutable cannot be changed: delete it, and it is made anew"
    return str(error)
