"""The reviews of the benchmark are what they say, and their answers take time linear in the addresses."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from controllers.local.cluster import LocalCluster
from tests.bench import objects, reviews
from tests.bench.reviews import CASES, Review
from webhook.admission.call import Call, Reply
from webhook.admission.gate import Gate
from webhook.admission.settings import Settings
from webhook.clock import SystemClock
from webhook.objects.votes import VotePolicy
from webhook.telemetry import Telemetry


@pytest.fixture(scope="module")
def gate() -> Gate:
    return Gate(Settings(), reviews.facts(), Telemetry(), SystemClock())


def answer(gate: Gate, review: Review) -> Reply:
    return gate.answer(Call("POST", review.path, "timeout=10s", "application/json", review.body, time.monotonic()))


def seconds(gate: Gate, review: Review, times: int) -> float:
    """Processor time of one answer, the best of *times*."""
    took = []
    for _ in range(times):
        start_s = time.process_time()
        assert answer(gate, review).status == 200
        took.append(time.process_time() - start_s)
    return min(took)


@pytest.mark.parametrize("name", CASES)
def test_a_case_gets_the_answer_that_it_expects(gate: Gate, name: str) -> None:
    review = CASES[name]()

    reply = answer(gate, review)

    response = json.loads(reply.body)["response"]
    assert (reply.status, response["allowed"], "patch" in response) == (200, True, review.patched)
    assert response["uid"] == json.loads(review.body)["request"]["uid"]


@pytest.mark.parametrize("name", CASES)
def test_every_variant_is_about_another_object_and_as_large(gate: Gate, name: str) -> None:
    found = reviews.variants(name)
    requests = [json.loads(review.body)["request"] for review in found]

    assert len({review.body for review in found}) == len(found) == reviews.BODIES
    assert len({request["uid"] for request in requests}) == len(found)
    assert len({json.dumps(request["object"]["metadata"]) for request in requests}) == len(found)
    sizes = [len(review.body) for review in found]
    assert max(sizes) <= 1.02 * min(sizes)
    for review in (found[1], found[-1]):
        response = json.loads(answer(gate, review).body)["response"]
        assert (response["allowed"], "patch" in response) == (True, review.patched)


@pytest.mark.parametrize(("name", "options"), [("inject-4k", "CreateOptions"), ("pod-11k", "UpdateOptions")])
def test_a_review_carries_the_options_of_its_operation(name: str, options: str) -> None:
    assert json.loads(CASES[name]().body)["request"]["options"]["kind"] == options


@pytest.mark.parametrize(("name", "kib"), [("small-3k", 3), ("pod-11k", 11), ("node-20k", 20)])
def test_a_review_has_the_size_that_its_name_says(name: str, kib: int) -> None:
    assert 0.95 * kib <= len(CASES[name]().body) / 1024 <= kib


@pytest.mark.parametrize("make", [reviews.endpoints, reviews.endpoint_slice])
def test_five_times_the_addresses_take_about_five_times_as_long(gate: Gate, make: object) -> None:
    assert callable(make)
    thousand, five_thousand = make(1000), make(5000)
    answer(gate, thousand)

    ratio = seconds(gate, five_thousand, 5) / seconds(gate, thousand, 15)

    assert ratio <= 5 * 2, "quadratic would be 25"


def test_the_files_hold_the_same_cluster_as_the_facts(tmp_path: Path) -> None:
    reviews.write_cluster(tmp_path, nodes=4, pods=6)
    local = LocalCluster(tmp_path, VotePolicy(), SystemClock())
    local.read()
    given = reviews.facts(nodes=4, pods=6)

    for name in map(objects.node_name, range(4)):
        found, wanted = local.cluster.nodes.get(name), given.nodes.get(name)
        assert found is not None and wanted is not None
        assert (found.ready, found.vote) == (wanted.ready, wanted.vote)
    for key in (f"{objects.NAMESPACE}/{objects.pod_name(number)}" for number in range(6)):
        pod, expected = local.cluster.pods.get(key), given.pods.get(key)
        assert pod is not None and expected is not None
        assert (pod.uid, pod.node, pod.ready, pod.containers_ready) == (
            expected.uid,
            expected.node,
            expected.ready,
            expected.containers_ready,
        )
