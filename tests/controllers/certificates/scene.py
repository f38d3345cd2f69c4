"""A Secret and two configurations as the API server and as the caches have them, and between the two the controller."""

from __future__ import annotations

from base64 import b64decode
from typing import Any

import attrs

from controllers.certificates import secret as secrets
from controllers.certificates.bundles import KINDS
from controllers.certificates.controller import certificates
from controllers.certificates.plan import Held
from controllers.certificates.reading import AdoptedPair, CertificateCaches
from controllers.certificates.reconciler import Certificate
from controllers.certificates.secret import Content
from controllers.certificates.wanted import Timing, Wanted
from controllers.runtime.events import Reference
from controllers.runtime.rest import RestClient
from controllers.testing import FakeApi, FakeClock
from tests.controllers.certificates.builders import NAME, NAMES, NAMESPACE, NOW_S, Json, configuration, content, secret
from tests.controllers.leadership import Lease
from tests.controllers.runtime.builders import refuse_death
from webhook.clock import Deadline
from webhook.telemetry import Telemetry

MUTATING, VALIDATING = KINDS.values()
SECRET = f"{NAMESPACE}/{NAME}"


class Heard:
    """What was told, in order: the object's kind and the reason."""

    def __init__(self) -> None:
        self.said: list[tuple[str, str]] = []
        self.notes: list[str] = []
        self.uids: list[str] = []

    def record(
        self, regarding: Reference, *, reason: str, action: str, note: str, warning: bool = False, topic: str = ""
    ) -> None:
        self.said.append((regarding.kind, reason))
        self.notes.append(note)
        self.uids.append(regarding.uid)


class Scene:
    """Everything at hand. `put` changes the API server, `run` lets the caches see it and the controller work."""

    def __init__(self, api: FakeApi, client: RestClient, *, timing: Timing = Timing(), ours: bool = True) -> None:
        self.api = api
        self.clock = FakeClock(wall_s=NOW_S)
        self.telemetry = Telemetry()
        self.lease = Lease()
        self.heard = Heard()
        self.troubles: list[str] = []
        wanted = Wanted(NAMESPACE, NAME, NAMES, timing)
        self.caches = CertificateCaches(
            client, self.telemetry, self.clock, refuse_death, namespace=NAMESPACE, secret_name=NAME, trust=True
        )
        self.adopted: AdoptedPair | None = None
        self.controller = certificates(
            client,
            Certificate(self.caches, self.caches.held, self._serving, wanted if ours else None, told=self.troubles.append),
            self.heard,
            self.telemetry,
            self.clock,
            refuse_death,
            leadership=self.lease,
        )

    # -- the cluster

    def settle(self, value: Content | None = None) -> Content:
        """An installation at rest: the Secret, both configurations that trust its CA, and this replica that serves it."""
        held = value or content()
        self.put(secret(held), configuration(MUTATING, held.ca, held.ca), configuration(VALIDATING, held.ca))
        self.sync()
        self.serve()
        return held

    def put(self, *objects: Json) -> None:
        for one in objects:
            self.api.objects.put(one)

    def delete_secret(self) -> None:
        self.api.objects.drop("Secret", SECRET)

    def stored(self) -> Content | None:
        """What the Secret holds."""
        found = self.api.objects.all("Secret").get(SECRET)
        return None if found is None else secrets.PROJECTION.convert(found).facts.content

    def bundles(self, kind: str = MUTATING) -> list[bytes]:
        """The caBundle of each webhook."""
        webhooks = self.api.objects.all(kind)["gatehouse"]["webhooks"]
        return [b64decode(one["clientConfig"].get("caBundle") or "") for one in webhooks]

    # -- this replica

    def serve(self) -> None:
        """Serve what the Secret holds now."""
        held = self.caches.held()
        assert held is not None
        self.adopted = AdoptedPair(held, self.caches, self.clock)

    def served(self) -> bytes:
        """The certificate that the server would show."""
        assert self.adopted is not None
        return self.adopted.read().certificate

    # -- the controller

    def sync(self) -> None:
        """The caches see everything up to now."""
        for informer in self.caches.informers():
            kind = KINDS.get(informer.resource.name, "Secret")
            projection: Any = informer.resource.projection
            objects = self.api.objects.all(kind).values()
            items = [projection.convert(one) for one in objects if one["metadata"]["name"] in (NAME, "gatehouse")]
            informer.replace(items, str(self.api.objects.version), keep=())

    def run(self) -> int:
        """Work until nothing is left to do at once: the number of passes."""
        passes = 0
        while True:
            self.sync()
            more = self.controller.run_ready()
            passes += more
            if not more:
                return passes
            assert passes < 50, "the controller never comes to rest"

    def later(self, seconds: float) -> int:
        """As `run`, *seconds* from now."""
        self.clock.advance(seconds)
        return self.run()

    def stop(self) -> None:
        assert self.controller.stop(Deadline.after(1.0, self.clock))

    def writes(self) -> list[str]:
        """What was written, by method and the last part of the path."""
        return [f"{one.method} {one.path.rpartition('/')[2]}" for one in self.api.requests if one.method not in ("GET",)]

    def _serving(self) -> Held | None:
        return None if self.adopted is None else self.adopted.serving()


def without_bundles(obj: Json) -> Json:
    """The configuration as somebody would leave it who empties every caBundle."""
    hooks = [{**hook, "clientConfig": {**hook["clientConfig"], "caBundle": ""}} for hook in obj["webhooks"]]
    return {**obj, "webhooks": hooks}


def held_of(value: Content) -> Held:
    """What *value* is worth."""
    return attrs.evolve(secrets.examine(value))
