"""The controller with its threads, on caches that follow the scripted API server over real watches."""

from __future__ import annotations

from controllers.edge_health.controller import edge_health
from controllers.runtime.informer import Informer
from controllers.runtime.projection import nodes_resource, pods_resource
from controllers.runtime.reconcile import Unguarded
from controllers.runtime.rest import RestClient
from controllers.testing import FakeApi
from tests.controllers.edge_health.builders import EVICTING, Json, at, condition, node, pod
from tests.controllers.edge_health.scene import Heard
from tests.controllers.runtime.builders import refuse_death
from webhook.clock import Deadline, SystemClock
from webhook.objects.votes import VotePolicy
from webhook.telemetry import Telemetry


def test_a_missed_guard_is_mended_and_a_vote_that_turns_is_followed(api: FakeApi, client: RestClient) -> None:
    def ready() -> set[str]:
        return {condition(one)["status"] for one in api.objects.all("Pod").values()}

    clock, telemetry, policy, heard = SystemClock(), Telemetry(), VotePolicy(max_guard_s=0.0), Heard()
    nodes = Informer(nodes_resource(policy), client, telemetry, clock, refuse_death)
    pods = Informer(pods_resource(), client, telemetry, clock, refuse_death)
    controller = edge_health(client, nodes, pods, policy, heard, telemetry, clock, refuse_death, leadership=Unguarded())
    for one in (_silent("true", EVICTING), pod("web-1"), pod("web-2", ready="True"), pod("web-3")):
        api.objects.put(one)

    for part in (controller, nodes, pods):
        part.start()
    try:
        api.until(lambda: not api.objects.all("Node")["edge-1"]["spec"]["taints"] and ready() == {"True"})
        api.objects.put(_silent("false"))
        api.until(lambda: ready() == {"False"} and heard.reasons[-1] == "PodsLetGo")
    finally:
        deadline = Deadline.after(5.0, clock)
        ended = [part.stop(deadline) for part in (controller, nodes, pods)]

    assert ended == [True, True, True]
    assert heard.reasons == ["GuardBegun", "TaintRemoved", "PodsRestored", "GuardEnded", "PodsLetGo"]


def _silent(vote: str, *taints: Json) -> Json:
    found = node("edge-1", *taints, vote=vote)
    condition(found)["lastTransitionTime"] = at(SystemClock().wall_s() - 90.0)
    return found
