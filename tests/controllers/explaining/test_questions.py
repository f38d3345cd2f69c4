"""Which reviews there would be about an object, as a table: what is done to it, by whom, and what it would look like."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator

import pytest

from controllers.explaining.questions import (
    ANYBODY,
    Question,
    address_count,
    of_addresses,
    of_endpoints,
    of_instance,
    of_node,
    of_object,
    of_pod,
    of_workload,
)
from webhook.admission.review import GroupVersionResource, Operations, User
from webhook.errors import MalformedObject
from webhook.objects.meta import Json
from webhook.objects.workloads import workload_of

NOW = "2026-11-29T10:00:00Z"
JANE = User("jane", ("dev",))
POD: Json = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web", "namespace": "shop"}, "spec": {}}
NODE: Json = {
    "metadata": {"name": "edge-1"},
    "status": {"conditions": [{"type": "Ready", "status": "True"}, {"type": "DiskPressure", "status": "False"}]},
}
ENDPOINTS: Json = {
    "kind": "Endpoints",
    "metadata": {"name": "web"},
    "subsets": [
        {"addresses": [{"ip": "10.0.0.1"}], "notReadyAddresses": [{"ip": "10.0.0.2"}], "ports": [{"port": 80}]},
        {"addresses": None, "ports": [{"port": 81}]},
    ],
}
SLICE: Json = {
    "kind": "EndpointSlice",
    "metadata": {"name": "web-1"},
    "endpoints": [
        {"addresses": ["10.0.0.1"], "conditions": {"ready": True, "terminating": False}},
        {"addresses": ["10.0.0.2"], "conditions": {"ready": False, "serving": False}},
        {"addresses": ["10.0.0.3"], "conditions": None},  # absent: ready (discovery/v1, EndpointConditions)
    ],
}


def conditions(ready: str, containers: str) -> Json:
    return {"conditions": [{"type": "Ready", "status": ready}, {"type": "ContainersReady", "status": containers}]}


def told(question: Question) -> tuple[str, Operations, str]:
    return question.plural, question.operation, question.user.name.rpartition(":")[2]


def taints(question: Question) -> list[Json]:
    assert question.object is not None
    found: list[Json] = question.object["spec"]["taints"]
    return found


def statuses(obj: Json | None) -> dict[str, str]:
    assert obj is not None
    return {one["type"]: one["status"] for one in obj["status"]["conditions"]}


# -- nodes


def test_a_node_that_is_heard_of_is_asked_about_as_it_is_and_as_if_it_went_silent() -> None:
    now, silent = of_node(NODE, NOW)

    assert [told(one) for one in (now, silent)] == [("nodes", Operations.UPDATE, "node-controller")] * 2
    assert taints(now) == [{"key": "node.kubernetes.io/unreachable", "effect": "NoExecute", "timeAdded": NOW}]
    assert taints(silent) == taints(now)
    assert statuses(now.object)["Ready"] == "True"
    assert statuses(silent.object) == {"Ready": "Unknown", "DiskPressure": "False"}
    assert statuses(silent.old) == statuses(silent.object)  # the taint is a write of its own
    assert (now.old, (silent.old or {}).get("spec")) == (NODE, None)


def test_a_node_that_is_silent_already_is_asked_about_once() -> None:
    silent = {"metadata": {"name": "edge-1"}, "status": {"conditions": [{"type": "Ready", "status": "Unknown"}]}}

    assert len(list(of_node(silent, NOW))) == 1


def test_a_node_that_bears_the_taint_already_is_not_tainted_twice() -> None:
    taint = {"key": "node.kubernetes.io/unreachable", "effect": "NoExecute"}
    node = {"metadata": {"name": "a"}, "spec": {"taints": [taint]}, "status": {"conditions": []}}

    assert [taints(question) for question in of_node(node, NOW)] == [[taint], [taint]]


def test_other_taints_stay_before_the_new_one() -> None:
    twin = {"key": "node.kubernetes.io/unreachable", "effect": "NoSchedule"}
    node = {**NODE, "spec": {"podCIDR": "10.0.0.0/24", "taints": [twin]}}

    question = next(of_node(node, NOW))

    assert [one["effect"] for one in taints(question)] == ["NoSchedule", "NoExecute"]
    assert (question.object or {})["spec"]["podCIDR"] == "10.0.0.0/24"


# -- endpoints


@pytest.mark.parametrize(
    ("obj", "resource", "who"),
    [(ENDPOINTS, "endpoints", "endpoint-controller"), (SLICE, "endpointslices", "endpointslice-controller")],
)
def test_every_address_is_taken_out_of_service_by_its_own_controller(obj: Json, resource: str, who: str) -> None:
    (question,) = of_endpoints(obj, "shop")

    assert told(question) == (resource, Operations.UPDATE, who)
    assert (question.old, question.namespace) == (obj, "shop")


def test_addresses_of_endpoints_go_to_the_end_of_those_that_are_not_ready() -> None:
    (question,) = of_endpoints(ENDPOINTS, "shop")

    assert (question.object or {})["subsets"] == [
        {"notReadyAddresses": [{"ip": "10.0.0.2"}, {"ip": "10.0.0.1"}], "ports": [{"port": 80}]},
        {"notReadyAddresses": [], "ports": [{"port": 81}]},
    ]


def test_endpoints_of_a_slice_are_neither_ready_nor_serving_and_what_terminates_still_does() -> None:
    (question,) = of_endpoints(SLICE, "shop")

    assert [one["conditions"] for one in (question.object or {})["endpoints"]] == [
        {"ready": False, "serving": False, "terminating": False},
        {"ready": False, "serving": False},
        {"ready": False, "serving": False},
    ]


def test_each_address_of_endpoints_is_asked_about_alone() -> None:
    found = [
        (item["ip"], is_ready, (question.object or {})["subsets"]) for item, is_ready, question in of_addresses(ENDPOINTS, "")
    ]

    ports = [{"port": 80}]
    assert found == [
        ("10.0.0.1", True, [{"notReadyAddresses": [{"ip": "10.0.0.1"}], "ports": ports}]),
        ("10.0.0.2", False, [{"notReadyAddresses": [{"ip": "10.0.0.2"}], "ports": ports}]),
    ]


def test_each_endpoint_of_a_slice_is_asked_about_alone_and_is_ready_unless_it_says_no() -> None:
    found = list(of_addresses(SLICE, "shop"))

    assert [(item["addresses"], is_ready) for item, is_ready, _ in found] == [
        (["10.0.0.1"], True),
        (["10.0.0.2"], False),
        (["10.0.0.3"], True),
    ]
    assert [len((question.object or {})["endpoints"]) for *_, question in found] == [1, 1, 1]


@pytest.mark.parametrize("obj", [ENDPOINTS, SLICE, {"kind": "Endpoints"}, {"kind": "EndpointSlice", "endpoints": None}])
def test_addresses_are_counted_as_they_are_asked_about(obj: Json) -> None:
    assert address_count(obj) == len(list(of_addresses(obj, "shop")))


# -- pods, workloads, instances, anything else


@pytest.mark.parametrize(
    ("node", "status", "flips"),
    [
        ("edge-1", conditions("True", "True"), True),
        ("edge-1", conditions("False", "True"), True),  # as the node controller marks it
        ("edge-1", conditions("True", "False"), False),
        ("edge-1", conditions("False", "False"), False),
        ("edge-1", {"conditions": [{"type": "Ready", "status": "True"}]}, True),
        ("", conditions("True", "True"), False),
        ("edge-1", {}, False),
    ],
)
def test_a_pod_that_has_been_ready_is_also_asked_about_as_the_node_controller_marks_it(
    node: str, status: Json, flips: bool
) -> None:
    pod = {**POD, "spec": {"nodeName": node}, "status": status}

    asked = [told(question) for question in of_pod(pod, "shop", JANE)]

    flip = ("pods/status", Operations.UPDATE, "node-controller")
    assert asked == [("pods", Operations.CREATE, "jane"), *([flip] if flips else [])]


def test_the_node_controller_only_flips_ready_and_leaves_what_else_the_condition_says() -> None:
    state = conditions("True", "True")
    state["conditions"][0]["lastTransitionTime"] = NOW
    pod = {**POD, "spec": {"nodeName": "edge-1"}, "status": {**state, "podIP": "10.0.0.1"}}

    _, flip = of_pod(pod, "shop", ANYBODY)

    assert statuses(flip.old) == {"Ready": "True", "ContainersReady": "True"}
    assert statuses(flip.object) == {"Ready": "False", "ContainersReady": "True"}
    assert (flip.object or {})["status"]["podIP"] == "10.0.0.1"
    assert {"type": "Ready", "status": "False", "lastTransitionTime": NOW} in (flip.object or {})["status"]["conditions"]


@pytest.mark.parametrize(
    ("version", "kind", "resource"),
    [
        ("apps/v1", "Deployment", GroupVersionResource("apps", "v1", "deployments")),
        ("batch/v1", "CronJob", GroupVersionResource("batch", "v1", "cronjobs")),
        ("v1", "ReplicationController", GroupVersionResource("", "v1", "replicationcontrollers")),
        ("extensions/v1beta1", "Deployment", GroupVersionResource("apps", "v1", "deployments")),  # as a server has it today
    ],
)
def test_a_workload_is_applied_in_the_version_that_is_served(version: str, kind: str, resource: GroupVersionResource) -> None:
    obj = {"apiVersion": version, "kind": kind, "metadata": {"name": "web"}}
    workload = workload_of(obj)
    assert workload is not None

    (question,) = of_workload(workload, obj, "shop", JANE)

    assert (question.resource, question.operation, question.user, question.object) == (resource, Operations.CREATE, JANE, obj)


def test_an_instance_is_applied_and_deleted() -> None:
    instance = {"kind": "DatabaseInstance", "metadata": {"name": "db"}}

    applied, deleted = of_instance(instance, "shop", JANE)

    assert [told(one) for one in (applied, deleted)] == [
        ("databaseinstances", Operations.CREATE, "jane"),
        ("databaseinstances", Operations.DELETE, "jane"),
    ]
    assert [(one.object, one.old) for one in (applied, deleted)] == [(instance, None), (None, instance)]


def test_any_object_is_created_written_and_deleted_in_every_resource_that_its_kind_may_mean() -> None:
    resources = [GroupVersionResource("a", "v1", name) for name in ("foes", "foos")]

    asked = list(of_object({"kind": "Foo"}, resources, "shop", JANE))

    writes = (Operations.CREATE, Operations.UPDATE, Operations.DELETE)
    assert [(one.resource, one.operation) for one in asked] == [(one, write) for one in resources for write in writes]
    assert [(one.object is None, one.old is None) for one in asked] == [(False, True), (False, False), (True, False)] * 2


def test_an_object_whose_resource_nobody_knows_is_asked_about_nowhere() -> None:
    assert list(of_object({"kind": "Foo"}, [], "shop", JANE)) == []


# -- all of them


def test_the_request_is_a_dry_run_about_the_object_under_its_name() -> None:
    (_, deleted) = of_instance({"metadata": {"name": "db"}}, "shop", JANE)

    request = deleted.request(None)

    assert (request.dry_run, request.name, request.namespace, request.operation) == (True, "db", "shop", Operations.DELETE)
    assert request.old_object == deleted.old
    assert request.old_object is not deleted.old


ALL: list[tuple[Json, Callable[[Json], Iterator[Question]]]] = [
    ({**NODE, "spec": {"taints": [{"key": "a", "effect": "NoExecute"}]}}, lambda obj: of_node(obj, NOW)),
    (ENDPOINTS, lambda obj: of_endpoints(obj, "shop")),
    (SLICE, lambda obj: of_endpoints(obj, "shop")),
    (ENDPOINTS, lambda obj: (question for *_, question in of_addresses(obj, "shop"))),
    (SLICE, lambda obj: (question for *_, question in of_addresses(obj, "shop"))),
    ({**POD, "spec": {"nodeName": "a"}, "status": conditions("True", "True")}, lambda obj: of_pod(obj, "shop", JANE)),
    (POD, lambda obj: of_instance(obj, "shop", JANE)),
    (POD, lambda obj: of_object(obj, [GroupVersionResource("", "v1", "pods")], "shop", JANE)),
]


@pytest.mark.parametrize(("obj", "asked"), ALL)
def test_what_is_done_to_a_questions_objects_reaches_nobody_else(
    obj: Json, asked: Callable[[Json], Iterator[Question]]
) -> None:
    given = copy.deepcopy(obj)

    for question in asked(given):
        for own in (question.object, question.old):
            _spoil(own)

    assert given == obj


def _spoil(value: object) -> None:
    """Change everything in *value* that can be changed."""
    if isinstance(value, dict):
        for inner in value.values():
            _spoil(inner)
        value["spoiled"] = True
    elif isinstance(value, list):
        for inner in value:
            _spoil(inner)
        value.append("spoiled")


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (lambda: of_node({"spec": {"taints": {}}}, NOW), "spec.taints: expected a list, found an object"),
        (lambda: of_node({"status": {"conditions": [None]}}, NOW), r"status.conditions\[0\]: expected an object, found null"),
        (lambda: of_endpoints({"kind": "Endpoints", "subsets": [5]}, ""), r"subsets\[0\]: expected an object, found a number"),
        (lambda: of_addresses({"kind": "Endpoints", "subsets": [{"addresses": "a"}]}, ""), r"subsets\[0\].addresses: expected"),
        (lambda: of_endpoints({"kind": "EndpointSlice", "endpoints": {}}, ""), "endpoints: expected a list"),
        (
            lambda: of_addresses({"kind": "EndpointSlice", "endpoints": [{"conditions": {"ready": "yes"}}]}, ""),
            "ready: expected true or false, found a string",
        ),
        (lambda: of_pod({**POD, "spec": {"nodeName": 5}}, "shop", JANE), "spec.nodeName: expected a string"),
    ],
)
def test_a_field_of_a_type_that_the_api_forbids_is_named(asked: Callable[[], Iterator[object]], message: str) -> None:
    with pytest.raises(MalformedObject, match=message):
        list(asked())
