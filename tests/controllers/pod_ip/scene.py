"""A cluster as the API server and as the caches have it, and between the two the controller, on a clock that stands still."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import attrs

from controllers.pod_ip.controller import Sources, pod_ip
from controllers.pod_ip.resources import pools_resource, reservations_resource, stateful_sets_resource
from controllers.runtime.events import Reference
from controllers.runtime.informer import Informer
from controllers.runtime.projection import pods_resource
from controllers.runtime.resource import Params
from controllers.runtime.rest import RestClient
from controllers.testing import FakeApi, FakeClock
from tests.controllers.leadership import Lease
from tests.controllers.pod_ip.objects import ONE, Json, bound
from tests.controllers.runtime.builders import refuse_death
from webhook.addresses.network import Network
from webhook.addresses.policy import AddressPolicy
from webhook.admission.draft import Draft
from webhook.admission.review import AdmissionRequest
from webhook.admission.service import Context, Rule, Verdict
from webhook.clock import Deadline
from webhook.names import Reason
from webhook.telemetry import Telemetry


@attrs.frozen
class Said:
    """Something that was told."""

    about: str  # "Pod/web-1"
    reason: str
    note: str
    warning: bool


class Heard:
    """What was told, in order."""

    def __init__(self) -> None:
        self.said: list[Said] = []

    def record(
        self, regarding: Reference, *, reason: str, action: str, note: str, warning: bool = False, topic: str = ""
    ) -> None:
        self.said.append(Said(f"{regarding.kind}/{regarding.name}", reason, note, warning))

    def about(self, reason: str) -> list[str]:
        """The objects that were told of *reason*."""
        return [one.about for one in self.said if one.reason == reason]


class NothingFree:
    """A rule that never has an address."""

    name: ClassVar[str] = "pod-ip"

    def __call__(self, request: AdmissionRequest, draft: Draft, context: Context) -> Verdict:
        return Verdict(Reason.ADDRESS_AWAITED, "nothing is free")


class Interposed:
    """The client, and what somebody else does to the cluster just before one of our requests arrives."""

    def __init__(self, client: RestClient) -> None:
        self._client = client
        self.before: dict[str, list[Callable[[], object]]] = {}

    def get(self, path: str, params: Params | None = None, *, timeout_s: float | None = None) -> Json:
        self._happen("get")
        return self._client.get(path, params, timeout_s=timeout_s)

    def create(self, path: str, body: Json, *, timeout_s: float | None = None) -> Json:
        self._happen("create")
        return self._client.create(path, body, timeout_s=timeout_s)

    def patch_merge(self, path: str, patch: Json, *, timeout_s: float | None = None) -> Json:
        self._happen("patch")
        return self._client.patch_merge(path, patch, timeout_s=timeout_s)

    def patch_json(self, path: str, operations: list[Json], *, timeout_s: float | None = None) -> Json:
        self._happen("patch")
        return self._client.patch_json(path, operations, timeout_s=timeout_s)

    def delete(
        self, path: str, *, uid: str = "", version: str = "", propagation: str = "", timeout_s: float | None = None
    ) -> Json:
        self._happen("delete")
        return self._client.delete(path, uid=uid, version=version, propagation=propagation, timeout_s=timeout_s)

    def _happen(self, verb: str) -> None:
        waiting = self.before.get(verb)
        if waiting:
            waiting.pop(0)()


class Scene:
    """Everything at hand. `put` changes the API server, `sync` lets the caches see it, `run` lets the controller work."""

    def __init__(
        self,
        api: FakeApi,
        client: RestClient,
        *,
        policy: AddressPolicy = AddressPolicy(),
        make_rule: Callable[[Scene], Rule] = lambda scene: NothingFree(),
    ) -> None:
        """make_rule: the rule that gives addresses to those who wait."""
        self.api = api
        self.clock = FakeClock()
        self.telemetry = Telemetry()
        self.lease = Lease()
        self.heard = Heard()
        self.client = client
        self.interposed = Interposed(client)
        self.policy = policy
        self.network = Network()
        self.sources = Sources(
            self._informer(pods_resource(addressed=True)),
            self._informer(reservations_resource()),
            self._informer(pools_resource()),
            self._informer(stateful_sets_resource()),
        )
        self.controller = pod_ip(
            self.interposed,
            self.sources,
            make_rule(self),
            policy,
            "replica-a",
            self.heard,
            self.telemetry,
            self.clock,
            refuse_death,
            leadership=self.lease,
            network=lambda: self.network,
        )
        self.sync()

    # -- the cluster

    def put(self, *objects: Json) -> list[Json]:
        """The API server has these; the caches see them at the next `sync`. As stored."""
        return [self.api.objects.put(one) for one in objects]

    def bind(self, obj: Json, *addresses: str) -> Json:
        """This pod and its reservations exist, and the controller is at rest. The pod as stored."""
        (stored,) = self.put(obj)
        for address in addresses or (ONE,):
            self.put(bound(stored, address))
        self.run()
        return stored

    def drop(self, kind: str, name: str) -> None:
        """An object is gone at once."""
        self.api.objects.drop(kind, name)

    def change(self, kind: str, key: str, **parts: Any) -> None:
        """Somebody changes fields of an object: spec, status or metadata, merged at the first level."""
        found = self.api.objects.all(kind)[key]
        self.put(found | {part: found.get(part, {}) | values for part, values in parts.items()})

    def reservations(self) -> dict[str, str]:
        """The phase of each reservation that there is, by address."""
        return {
            name: (one.get("status") or {}).get("phase") or "Reserved"
            for name, one in self.api.objects.all("AddressReservation").items()
        }

    def status(self, address: str) -> Json:
        """The status of a reservation."""
        return dict(self.api.objects.all("AddressReservation")[address].get("status") or {})

    # -- the controller

    def sync(self, *but: str) -> None:
        """The caches see everything up to now; those of *but* ("pods") stay behind."""
        caches: dict[str, tuple[str, Informer[Any]]] = {
            "statefulsets": ("StatefulSet", self.sources.stateful_sets),
            "pools": ("AddressPool", self.sources.pools),
            "reservations": ("AddressReservation", self.sources.reservations),
            "pods": ("Pod", self.sources.pods),
        }
        for name, (kind, informer) in caches.items():
            if name not in but:
                items = [informer.resource.projection.convert(one) for one in self.api.objects.all(kind).values()]
                informer.replace(items, str(self.api.objects.version), keep=())

    def run(self) -> int:
        """See everything and reconcile, until nothing is in line: the number of passes."""
        passes = 0
        for _ in range(50):
            self.sync()
            found = self.controller.run_ready()
            passes += found
            if not found:
                return passes
        raise AssertionError("the controller does not come to rest")

    def run_blind(self) -> int:
        """Reconcile what is in line with the caches as they are."""
        return self.controller.run_ready()

    def later(self, seconds: float) -> int:
        """As `run`, *seconds* from now, seen often enough that no time is missed."""
        passes = 0
        step_s = max(seconds / 20, 1.0)
        while seconds > 0:
            self.clock.advance(min(step_s, seconds))
            seconds -= step_s
            passes += self.run()
        return passes

    def stand_by(self) -> None:
        """Lose the lease."""
        assert self.controller.stop(Deadline.after(1.0, self.clock))

    def calls(self, *verbs: str) -> list[str]:
        """What was asked of the API server so far, as "delete /apis/…"; only of *verbs*, if there are any."""
        return [f"{one.verb} {one.path}" for one in self.api.requests if not verbs or one.verb in verbs]

    def series(self, name: str) -> dict[str, float]:
        """The values of a metric by the value of its one label, "" of one without."""
        lines = self.telemetry.expose().decode().splitlines()
        pairs = (line.rpartition(" ") for line in lines if line.startswith((f"{name}{{", f"{name} ")))
        return {key.partition('="')[2].rstrip('"}'): float(value) for key, _, value in pairs}

    def _informer(self, resource: Any) -> Informer[Any]:
        return Informer(resource, self.client, self.telemetry, self.clock, refuse_death)
