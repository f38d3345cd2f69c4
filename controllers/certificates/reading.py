"""The Secret and our configurations as every replica follows them, and which pair this replica serves.

A new pair is taken up when whoever calls us believes it: its CA is the present pair's, or every configuration of ours trusts
it. Until then the last good pair is served, but not beyond its own end, and not for longer than PATIENCE_S: what cannot be
known (a cache that does not sync, a bundle that somebody else keeps) must not stop a renewal.

Threads: the caches' own; `AdoptedPair.read` by the server's thread that looks for new certificates; the rest by anyone.
Errors:  CertificateError, which the server logs and counts, and keeps what it has.
"""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Final

from controllers.certificates import bundles, secret
from controllers.certificates.bundles import Configuration
from controllers.certificates.plan import Held
from controllers.certificates.secret import SecretFacts
from controllers.runtime.errors import OnDeath
from controllers.runtime.informer import Informer
from controllers.runtime.resource import ListWatch
from webhook.clock import Clock, Deadline
from webhook.logs import get_log
from webhook.serving.chains import Authority
from webhook.serving.tls import CertificateError, KeyPair, content_of
from webhook.telemetry import Telemetry

log = get_log("certificates")

# Longer than the leader's grace; API servers have then seen what was written, or never will.
PATIENCE_S: Final = 120.0
# After a start, until which it is worth waiting for the caches before saying that nobody's trust is known.
SYNC_PATIENCE_S: Final = 10.0


class CertificateCaches:
    """Watches of one Secret and of the two configurations. Names that are "" are not followed."""

    def __init__(
        self,
        client: ListWatch,
        telemetry: Telemetry,
        clock: Clock,
        on_death: OnDeath,
        *,
        namespace: str,
        secret_name: str,
        trust: bool,
    ) -> None:
        """secret_name: "" = no Secret. trust: whether the configurations are ours to look at."""
        self.key = f"{namespace}/{secret_name}" if secret_name else ""
        self.secrets: Informer[SecretFacts] | None = None
        if secret_name:
            self.secrets = Informer(secret.resource(namespace, secret_name), client, telemetry, clock, on_death)
        self.configurations: dict[str, Informer[Configuration]] = {
            plural: Informer(bundles.resource(plural), client, telemetry, clock, on_death) for plural in bundles.KINDS if trust
        }

    # -- called by anyone

    def informers(self) -> list[Informer[SecretFacts] | Informer[Configuration]]:
        """Every watch."""
        return [*([self.secrets] if self.secrets else []), *self.configurations.values()]

    def held(self) -> Held | None:
        """What the Secret holds now; None when there is none, or none is known yet."""
        facts = None if self.secrets is None else self.secrets.store.get(self.key)
        return None if facts is None else facts.held()

    def registered(self) -> tuple[Configuration, ...] | None:
        """Our configurations; None when they are not known (yet)."""
        if not self.configurations or not all(one.has_synced() for one in self.configurations.values()):
            return None
        return tuple(item.facts for one in self.configurations.values() for item in one.store.items())

    # -- called by the supervisor

    def start(self) -> None:
        """Start following."""
        for informer in self.informers():
            informer.start()

    def signal_stop(self) -> None:
        """Ask every thread to end."""
        for informer in self.informers():
            informer.signal_stop()

    def stop(self, deadline: Deadline) -> None:
        """End every thread."""
        for informer in self.informers():
            informer.stop(deadline)

    def alive(self) -> bool:
        """Whether every thread runs."""
        return all(informer.alive() for informer in self.informers())


class AdoptedPair:
    """The pair that this replica serves. Implements `tls.CertificateSource`."""

    def __init__(self, first: Held, caches: CertificateCaches, clock: Clock, client_ca: Path | None = None) -> None:
        """first: what was found before the caches started. client_ca: the CAs of clients, read anew each time."""
        self._caches = caches
        self._clock = clock
        self._client_ca = client_ca
        self._lock = threading.Lock()  # guards _adopted and _offered; held while a Secret is examined, never during IO
        self._adopted = first
        self._offered: tuple[Held, float] | None = None  # what is not trusted yet, and since when (monotonic)
        self._started_s = clock.monotonic_s()
        self._believed = False

    # -- called by the server

    def read(self) -> KeyPair:
        """See `tls.CertificateSource`."""
        held = self._caches.held()
        with self._lock:
            if held is not None and held.pair is None:
                raise CertificateError("unloadable", f"Secret {self._caches.key}: {held.fault}")
            if held is not None:
                self._consider(held)
            pair = self._adopted.pair
        if pair is None:
            raise CertificateError("unreadable", "no certificate has arrived yet")
        return KeyPair(pair.certificate, pair.key, content_of(self._client_ca))

    # -- called by anyone

    def serving(self) -> Held:
        """What the served pair was taken from."""
        return self._adopted

    def why_not_trusted(self) -> str | None:
        """Why callers would not believe what is served; None once they would, and from then on.

        An emptied caBundle must not make every replica unready: that would outlast its repair.
        """
        if not self._believed:
            configurations, signer = self._caches.registered(), self._adopted.signed_by()
            if configurations is None:
                if self._caches.configurations and self._clock.monotonic_s() - self._started_s < SYNC_PATIENCE_S:
                    return "the webhook configurations are not known yet"
            elif signer is not None and not bundles.trusted_by_all(configurations, signer):
                return "the webhook configurations do not trust the served certificate's CA yet"
            self._believed = True
        return None

    # -- inside

    def _consider(self, held: Held) -> None:
        """Adopt *held*, unless whoever calls us would not believe it yet."""
        now_s = self._clock.monotonic_s()
        why = self._reason_to_adopt(held, now_s)
        if not why:
            return
        if held.pair != self._adopted.pair:
            log.info("certificate taken from the Secret", secret=self._caches.key, why=why)
        self._adopted, self._offered = held, None

    def _reason_to_adopt(self, held: Held, now_s: float) -> str:
        current, signer = self._adopted, held.signed_by()
        if current.pair is None or held.pair == current.pair:
            return "the first"
        if self._clock.wall_s() >= current.pair.leaf.not_after_s:
            return "the last one has expired"
        if not self._caches.configurations or signer is None or _is(signer, current.signed_by()):
            return "a renewal"
        configurations = self._caches.registered()
        if configurations is not None and bundles.trusted_by_all(configurations, signer):
            return "its CA is trusted"
        if self._offered is None or self._offered[0].pair != held.pair:
            self._offered = (held, now_s)
            log.info("certificate not taken up yet, its CA is not trusted everywhere", secret=self._caches.key)
        return "waited for its CA to be trusted" if now_s - self._offered[1] >= PATIENCE_S else ""


def _is(one: Authority, other: Authority | None) -> bool:
    return other is not None and one.pem == other.pem
