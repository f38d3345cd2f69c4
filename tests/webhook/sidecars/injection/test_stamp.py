"""The status annotation: what it says, and that nobody can hide or fake a container with it."""

from __future__ import annotations

import json
from typing import Any

import attrs
import pytest

from tests.webhook.sidecars.injection.injecting import NATIVE, entry, once, pod, run
from webhook.names import INJECTED, Reason

FULL = entry(init_containers=({"name": "setup", "image": "s:1"},), volumes=({"name": "conf", "emptyDir": {}},))


def stamped(value: Any, **spec: Any) -> dict[str, Any]:
    sent = pod(**spec)
    sent["metadata"]["annotations"] = {INJECTED: value if isinstance(value, str) else json.dumps(value)}
    return sent


def stamp_of(done: Any) -> Any:
    return json.loads(done.pod["metadata"]["annotations"][INJECTED])


def record(name: str = "envoy", **changes: Any) -> dict[str, Any]:
    return {
        "containers": ["envoy"],
        "entry": name,
        "initContainers": [],
        "revision": "r1",
        "source": "shop/sidecars",
        "volumes": [],
        **changes,
    }


def test_it_says_what_was_injected_compact_and_sorted() -> None:
    text = run(pod(), FULL).pod["metadata"]["annotations"][INJECTED]

    assert text == (
        '[{"containers":["envoy"],"entry":"envoy","initContainers":["setup"],"revision":"r1","source":"shop/sidecars",'
        '"volumes":["conf"]}]'
    )


def test_it_says_which_list_a_container_went_to() -> None:
    (said,) = stamp_of(run(pod(), FULL, scene=NATIVE))

    assert (said["containers"], said["initContainers"]) == ([], ["setup", "envoy"])


def test_a_volume_that_the_pod_had_is_not_ours() -> None:
    (said,) = stamp_of(run(pod(volumes=[{"name": "conf", "emptyDir": {}}]), FULL))

    assert said["volumes"] == []


@pytest.mark.parametrize(
    "value", ["", "injected", "{", "null", "{}", "[1]", '[{"entry":1}]', '[{"containers":[]}]', "[" * 100_000]
)
def test_one_that_cannot_be_read_counts_as_absent(value: str) -> None:
    done = run(stamped(value), entry())

    assert done.names() == ["app", "envoy"]
    assert stamp_of(done) == [record()]
    assert done.reasons == ([Reason.INVALID_VALUE] if value else [])


def test_a_forged_one_hides_no_missing_container() -> None:
    done = run(stamped([record(initContainers=["setup"])]), FULL)

    assert (done.names(), done.names("initContainers")) == (["app", "envoy"], ["setup"])


def test_a_copied_one_with_its_containers_changes_nothing() -> None:
    copied = once(pod(), FULL).pod

    assert once(copied, FULL).operations == []


def test_a_copied_one_does_not_keep_a_stub_from_being_filled_in() -> None:
    sent = stamped([record()])
    sent["spec"]["containers"].append({"name": "envoy", "image": "auto"})

    assert run(sent, entry()).container("envoy")["image"] == "envoy:1"


def test_a_record_whose_containers_are_gone_is_dropped_and_others_stay() -> None:
    there = record("other", containers=["app"])
    sent = stamped([record("gone", containers=["gone"]), there])

    assert [said["entry"] for said in stamp_of(run(sent, entry()))] == ["other", "envoy"]


def test_containers_of_an_older_revision_keep_its_name() -> None:
    newer = attrs.evolve(FULL, revision="r2")
    between = once(pod(), FULL).pod
    del between["spec"]["initContainers"]

    (said,) = stamp_of(run(between, newer))

    assert (said["revision"], said["initContainers"]) == ("r1", ["setup"])
    assert stamp_of(run(pod(), newer))[0]["revision"] == "r2"


def test_the_first_time_is_kept_with_the_record_and_a_forged_one_is_ignored() -> None:
    timed = entry(annotations={"at": "${now}"}, has_placeholders=True)

    (said,) = stamp_of(run(pod(), timed))

    assert said["now"] == "2025-11-24T16:00:00Z"
    assert stamp_of(run(stamped([record(now="yesterday")]), timed))[0]["now"] == said["now"]
