"""What injection adds to the time of a create, at 100 creates a second, beside pods that nobody touches."""

from __future__ import annotations

from collections.abc import Iterator

import attrs
import pytest

from tests.apiserver import injection
from tests.apiserver.creates import Create, at_a_rate, quantile_s
from tests.apiserver.injection import EVERY_POD
from tests.apiserver.lengths import many
from tests.apiserver.waiting import wait_for
from tests.apiserver.workloads import delete_pods, pods_path
from tests.cluster import Api, Cluster
from tests.cluster.kinds import apply
from tests.server.figures import Figures

WITH, WITHOUT = "creates-with", "creates-without"
RATE = 100.0
SECONDS = many(20, 10)
STALL_S = 5.0  # an order of magnitude beyond what a loaded machine adds: something waited for a timeout


@attrs.frozen
class Outcome:
    """Creates in both namespaces, taken in turns."""

    with_gatehouse: list[Create]
    without: list[Create]


@pytest.fixture(scope="module")
def outcome(quiet_cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Outcome]:
    """Every second create goes to a namespace whose pods are injected."""
    with quiet_cluster.api() as admin:
        injection.namespace(admin, WITH, EVERY_POD)
        injection.namespace(admin, WITHOUT, {})
        apply(admin, injection.config_map(WITH, "envoy-initializer", {"config": injection.ENVOY}))
        apply(admin, injection.config_map(WITH, "envoy", {"envoy.json": "{}"}))
        with injection.injecting(quiet_cluster, admin, tmp_path_factory.mktemp("creates")):
            wait_for(lambda: _injects(admin), 10.0, "an injected pod")
            try:
                creates = at_a_rate(admin, _path, _pod, RATE, int(RATE * SECONDS))
            finally:
                for namespace in (WITH, WITHOUT):
                    delete_pods(admin, namespace)
        yield Outcome(creates[::2], creates[1::2])


def _path(number: int) -> str:
    return pods_path(WITHOUT if number % 2 else WITH)


def _pod(number: int) -> dict[str, object]:
    return injection.pod(f"pod-{number}")


def _injects(admin: Api) -> bool:
    return "envoy" in injection.containers(injection.create(admin, WITH, injection.pod(), "?dryRun=All")[0])


def test_every_create_succeeds_and_every_pod_is_complete(outcome: Outcome) -> None:
    assert [create.error for create in (*outcome.with_gatehouse, *outcome.without) if create.error] == []
    assert all(create.pod and injection.containers(create.pod)[1:] == ["envoy"] for create in outcome.with_gatehouse)
    assert all(create.pod and injection.containers(create.pod)[1:] == [] for create in outcome.without)


def test_injection_does_not_hold_up_creates(outcome: Outcome, figures: Figures) -> None:
    for share in (0.5, 0.99):
        injected_s, plain_s = quantile_s(outcome.with_gatehouse, share), quantile_s(outcome.without, share)
        target_s = 1.1 * plain_s + 0.005
        text = f"{injected_s * 1000:.1f} ms, {plain_s * 1000:.1f} ms without"
        figures.add(f"create at {RATE:g}/s, p{share * 100:g}", text, f"{target_s * 1000:.1f} ms", injected_s <= target_s)

    assert max(create.took_s for create in outcome.with_gatehouse) < STALL_S
