"""The certificate of this process where it is followed in the cluster: found at start, served, kept up by the leader.

    followed = FollowedCertificate(wanted, client, ...)
    followed.ensure(stopping)                    # before anything listens; OSError when there is none in time
    AdmissionServer(certificates=followed.source(client_ca), ...)
    certificates(api, followed.looked_after(), ...)   # the led controller

Threads: `ensure` and `source` by the main thread, the rest by anyone.
"""

from __future__ import annotations

import threading
from collections.abc import Collection
from pathlib import Path
from typing import Protocol

from controllers.certificates import ensured
from controllers.certificates.called_names import uncovered
from controllers.certificates.plan import Held
from controllers.certificates.reading import AdoptedPair, CertificateCaches
from controllers.certificates.reconciler import Certificate
from controllers.certificates.secret import Content, examine
from controllers.certificates.wanted import Files, Followed
from controllers.runtime.errors import OnDeath
from controllers.runtime.resource import Json, ListWatch
from webhook.clock import Clock
from webhook.serving.tls import CertificateError, CertificateSource, content_of
from webhook.telemetry import Telemetry


class Client(ListWatch, ensured.Api, Protocol):
    """What is needed of `rest.RestClient`."""


class FollowedCertificate:
    """Caches, the pair that is served, and what the leader looks after."""

    def __init__(self, what: Followed, client: Client, telemetry: Telemetry, clock: Clock, on_death: OnDeath) -> None:
        self._what = what
        self._client = client
        self._clock = clock
        self._first: Held | None = None
        self._adopted: AdoptedPair | None = None
        self._trouble = ""  # replaced by the leader's worker
        wanted = what.wanted
        self.caches = CertificateCaches(
            client,
            telemetry,
            clock,
            on_death,
            namespace=wanted.namespace if wanted else "",
            secret_name=wanted.name if wanted else "",
            trust=what.keeps_bundle,
        )

    # -- called by the main thread

    def ensure(self, stopping: threading.Event) -> None:
        """Return when there is a pair to serve, or *stopping* is set. Raises OSError when there is none in time."""
        if self._what.wanted is not None:
            self._first = ensured.ensure(self._client, self._what.wanted, self._clock, stopping)

    def source(self, client_ca: Path | None) -> CertificateSource | None:
        """What the server serves; None where the pair comes from files."""
        if self._first is None:
            return None
        self._adopted = AdoptedPair(self._first, self.caches, self._clock, client_ca)
        return self._adopted

    # -- called by anyone

    def looked_after(self) -> Certificate | None:
        """What the leader has to do; None when that is nothing."""
        if not self._what.keeps_bundle:
            return None
        wanted, files = self._what.wanted, self._what.files
        held = self.caches.held if files is None else lambda: _read(files)
        ours = wanted if wanted is not None and wanted.ours else None
        return Certificate(self.caches, held, self.serving, ours, polled=files is not None, told=self._note_trouble)

    def serving(self) -> Held | None:
        """What this replica serves; None before it does."""
        return self._first if self._adopted is None else self._adopted.serving()

    def bundle(self) -> bytes:
        """What callers are to trust (PEM); b"" where that is not known."""
        serving = self.serving()
        return b"" if serving is None else serving.bundle()

    def ca_expiry_s(self) -> float | None:
        """When the newest CA expires, seconds since the epoch."""
        held = self.caches.held() or self.serving()
        return held.authorities[0].not_after_s if held is not None and held.authorities else None

    def why_not_ready(self) -> str | None:
        """Why callers would not believe what is served."""
        return None if self._adopted is None else self._adopted.why_not_trusted()

    def status(self, names: Collection[str] | None) -> Json:
        """For the status page. names: that the served certificate is valid for; None before it is served."""
        held, wanted = self.caches.held(), self._what.wanted
        configurations = self.caches.registered()
        return {
            "secret": wanted.key if wanted else None,
            "authorities": len(held.authorities) if held else None,
            "trouble": self._trouble or None,
            "uncovered": None
            if names is None or configurations is None
            else uncovered((webhook.called for known in configurations for webhook in known.webhooks), names),
            "trusted": None
            if held is None or not held.authorities or configurations is None
            else {known.kind: known.trusts(held.authorities[0]) for known in configurations},
        }

    def _note_trouble(self, why: str) -> None:
        self._trouble = why


def _read(files: Files) -> Held | None:
    """What *files* hold now; None when one cannot be read."""
    try:
        return examine(Content(*(content_of(Path(file)) for file in (files.certificate, files.key, files.ca))))
    except CertificateError:
        return None
