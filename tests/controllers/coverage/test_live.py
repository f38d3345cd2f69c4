"""The controller with its threads, on caches that follow the scripted API server over real watches."""

from __future__ import annotations

from controllers.coverage.controller import coverage
from controllers.coverage.tally import Tally
from controllers.runtime.events import EventRecorder
from controllers.runtime.informer import Informer
from controllers.runtime.projection import pods_resource
from controllers.runtime.projection_cluster import namespaces_resource
from controllers.runtime.reconcile import Unguarded
from controllers.runtime.rest import RestClient
from controllers.testing import FakeApi
from tests.controllers.coverage.builders import POLICY, Json, at, catalog, namespace, pod, replica_set
from tests.controllers.coverage.scene import Entries
from tests.controllers.runtime.builders import refuse_death
from webhook.clock import Deadline, SystemClock
from webhook.telemetry import Telemetry


def test_bare_pods_are_told_and_what_happens_to_them_is_followed(api: FakeApi, client: RestClient) -> None:
    def counted() -> dict[str, int]:
        return {state.value: count for state, count in tally.counts().items() if count}

    clock, telemetry, entries = SystemClock(), Telemetry(), Entries()
    tally = Tally(telemetry)
    recorder = EventRecorder("gatehouse", "a", client, telemetry, clock, refuse_death)
    pods = Informer(pods_resource(), client, telemetry, clock, refuse_death)
    namespaces = Informer(namespaces_resource(), client, telemetry, clock, refuse_death)
    controller = coverage(
        client,
        pods,
        namespaces,
        entries,
        POLICY,
        recorder,
        telemetry,
        clock,
        refuse_death,
        leadership=Unguarded(),
        tally=tally,
    )
    for one in (namespace(), replica_set(), *(_old(f"web-{number}") for number in range(20))):
        api.objects.put(one)

    for part in (recorder, controller, pods, namespaces):
        part.start()
    try:
        api.until(lambda: len(api.objects.all("Event")) == 1 and counted() == {"bare": 20})
        api.objects.drop("Pod", "shop/web-0")
        api.until(lambda: counted() == {"bare": 19})
        entries.set(catalog())
        api.until(lambda: counted() == {"entry_missing": 19})
        api.objects.put(namespace(labels={}))
        api.until(lambda: counted() == {})
    finally:
        deadline = Deadline.after(5.0, clock)
        ended = [part.stop(deadline) for part in (controller, pods, namespaces, recorder)]

    assert ended == [True, True, True, True]
    (event,) = api.objects.all("Event").values()
    assert (event["regarding"]["name"], event["note"][:7]) == ("web", "20 pods")


def _old(name: str) -> Json:
    found = pod(name)
    found["metadata"]["creationTimestamp"] = at(SystemClock().wall_s() - 60.0)
    return found
