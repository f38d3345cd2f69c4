"""FakeApi behaves as the real one where controllers can tell, and as told otherwise."""

from __future__ import annotations

import http.client
import json
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from controllers.testing import FakeApi, Objects
from controllers.testing.answers import cut, status
from controllers.testing.objects import Refusal
from controllers.testing.patches import PatchRefused, json_patch, merge_patch, strategic_patch
from webhook.objects.meta import Json

MERGE = "application/merge-patch+json"


def widget(name: str = "a", **metadata: Any) -> Json:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "shop", **metadata}}


@pytest.fixture
def objects() -> Objects:
    return Objects()


@pytest.fixture
def api() -> Iterator[FakeApi]:
    with FakeApi() as server:
        yield server


def at(objects: Objects, name: str = "a") -> Any:
    return objects.target(f"/api/v1/namespaces/shop/configmaps/{name}")


def ask(api: FakeApi, path: str) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection(api.url.removeprefix("http://"), timeout=5)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


# -- content


def test_each_write_has_a_new_version_and_the_uid_stays(objects: Objects) -> None:
    first = objects.put(widget())
    second = objects.put(widget(labels={"x": "1"}))

    assert int(second["metadata"]["resourceVersion"]) == int(first["metadata"]["resourceVersion"]) + 1
    assert second["metadata"]["uid"] == first["metadata"]["uid"]


def test_a_write_that_changes_nothing_keeps_the_version(objects: Objects) -> None:
    first = objects.put(widget())

    assert objects.put(widget()) == first


def test_a_recreated_object_has_another_uid(objects: Objects) -> None:
    first = objects.put(widget())
    objects.drop("ConfigMap", "shop/a")

    assert objects.put(widget())["metadata"]["uid"] != first["metadata"]["uid"]


def test_a_stale_version_conflicts_also_in_a_patch(objects: Objects) -> None:
    objects.put(widget())

    with pytest.raises(Refusal, match="modified"):
        objects.update(at(objects), widget(resourceVersion="1"))
    with pytest.raises(Refusal, match="modified"):
        objects.patch(at(objects), MERGE, {"metadata": {"resourceVersion": "1"}})


def test_finalizers_hold_a_deleted_object(objects: Objects) -> None:
    objects.put(widget(finalizers=["example.com/f"]))

    held = objects.delete(at(objects), {})
    assert held["metadata"]["deletionTimestamp"]
    assert "shop/a" in objects.all("ConfigMap")

    objects.patch(at(objects), MERGE, {"metadata": {"finalizers": None}})
    assert objects.all("ConfigMap") == {}


def test_lists_are_limited_to_their_namespace(api: FakeApi) -> None:
    api.objects.put(widget())
    api.objects.put(widget("b", namespace="other"))

    names = [
        [item["metadata"]["name"] for item in json.loads(ask(api, path)[1])["items"]]
        for path in ("/api/v1/configmaps", "/api/v1/namespaces/shop/configmaps")
    ]

    assert sorted(names[0]) == ["a", "b"]
    assert names[1] == ["a"]


def test_pages_are_of_one_moment(api: FakeApi) -> None:
    for name in "abc":
        api.objects.put(widget(name))
    first = json.loads(ask(api, "/api/v1/configmaps?limit=2")[1])
    api.objects.put(widget("d"))

    second = json.loads(ask(api, f"/api/v1/configmaps?limit=2&continue={first['metadata']['continue']}")[1])

    assert [item["metadata"]["name"] for item in second["items"]] == ["c"]
    assert second["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]


def test_compaction_expires_page_tokens(api: FakeApi) -> None:
    for name in "abc":
        api.objects.put(widget(name))
    token = json.loads(ask(api, "/api/v1/configmaps?limit=2")[1])["metadata"]["continue"]

    api.objects.compact()

    assert ask(api, f"/api/v1/configmaps?limit=2&continue={token}")[0] == 410


def test_other_kinds_can_be_registered(api: FakeApi) -> None:
    assert ask(api, "/apis/example.com/v1/widgets")[0] == 404

    api.objects.register("/apis/example.com/v1", "widgets", "example.com/v1", "Widget")

    assert json.loads(ask(api, "/apis/example.com/v1/widgets")[1])["kind"] == "WidgetList"


# -- patches


def test_a_merge_patch_merges_and_removes() -> None:
    assert merge_patch({"a": 1, "b": {"c": 2, "d": 3}}, {"a": None, "b": {"c": 4}}) == {"b": {"c": 4, "d": 3}}


def test_a_strategic_patch_merges_conditions_by_their_type() -> None:
    stored = {"a": 1, "conditions": [{"type": "A", "status": "False", "reason": "kept"}, {"type": "B", "status": "True"}]}
    patch = {"conditions": [{"type": "A", "status": "True"}, {"type": "C", "status": "True"}]}

    assert strategic_patch(stored, patch) == {
        "a": 1,
        "conditions": [
            {"type": "A", "status": "True", "reason": "kept"},
            {"type": "B", "status": "True"},
            {"type": "C", "status": "True"},
        ],
    }


def test_a_json_patch_applies_in_order() -> None:
    operations: list[Json] = [
        {"op": "test", "path": "/a/0", "value": 1},
        {"op": "remove", "path": "/a/0"},
        {"op": "add", "path": "/a/-", "value": 3},
        {"op": "replace", "path": "/b~1c", "value": 9},
    ]

    assert json_patch({"a": [1, 2], "b/c": 0}, operations) == {"a": [2, 3], "b/c": 9}


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "test", "path": "/a", "value": 2},
        {"op": "replace", "path": "/x", "value": 2},
        {"op": "remove", "path": "/x"},
        {"op": "add", "path": "/x/y", "value": 2},
        {"op": "move", "path": "/x", "from": "/a"},
    ],
)
def test_a_json_patch_that_does_not_apply_is_refused(operation: Json) -> None:
    with pytest.raises(PatchRefused):
        json_patch({"a": 1}, [operation])


# -- behaviour


def test_scripted_answers_come_first_then_the_lasting_one_then_ordinary_ones(api: FakeApi) -> None:
    api.next("get", status(429))
    api.always("any", status(500))

    path = "/api/v1/nodes/a"
    codes = [ask(api, path)[0] for _ in range(2)]
    api.behave()

    assert [*codes, ask(api, path)[0]] == [429, 500, 404]


def test_requests_are_recorded(api: FakeApi) -> None:
    ask(api, "/api/v1/nodes?limit=5")

    assert [(one.verb, one.path, one.params) for one in api.requests] == [("list", "/api/v1/nodes", {"limit": "5"})]
    assert (api.count("list"), api.count("any"), api.count("list", "/api/v1/pods")) == (1, 1, 0)


def test_a_cut_connection_has_no_answer(api: FakeApi) -> None:
    api.next("any", cut)

    with pytest.raises((http.client.RemoteDisconnected, ConnectionResetError)):
        ask(api, "/api/v1/nodes")


def test_a_paused_server_answers_when_it_goes_on(api: FakeApi) -> None:
    api.pause()
    answers: list[int] = []
    caller = threading.Thread(target=lambda: answers.append(ask(api, "/api/v1/nodes")[0]))
    caller.start()
    api.until(lambda: api.count("list") == 1)
    assert answers == []

    api.resume()
    caller.join(5.0)

    assert answers == [200]


def test_stopping_leaves_no_thread() -> None:
    before = threading.active_count()
    api = FakeApi().start()
    connection = http.client.HTTPConnection(api.url.removeprefix("http://"), timeout=5)
    connection.request("GET", "/api/v1/nodes?watch=true")
    connection.getresponse()

    api.stop()

    assert threading.active_count() == before
    connection.close()
