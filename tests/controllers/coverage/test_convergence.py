"""Whatever happens to pods, namespaces and entries, and in whatever order it is seen: the counts are those of a fresh count."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from controllers.runtime.rest import RestClient
from controllers.testing import FakeApi
from tests.controllers.coverage.builders import WALL_S, at, catalog, entry, namespace, pod, skippable
from tests.controllers.coverage.scene import Scene
from webhook.clock import SystemClock
from webhook.telemetry import Telemetry

NAMES = st.sampled_from(["a", "b", "c"])
PLACES = st.sampled_from(["shop", "other", "kube-system"])
OWNERS = st.sampled_from(["", "ReplicaSet/web", "ReplicaSet/new", "Job/nightly"])

Act = Callable[[Scene], None]


def _put(name: str, place: str, **fields: object) -> Act:
    def act(scene: Scene) -> None:
        age_s = WALL_S - scene.clock.wall_s() + 60.0
        scene.put(pod(name, namespace=place, age_s=age_s, **fields))  # type: ignore[arg-type]

    return act


def _replace(name: str, place: str, uid: int) -> Act:
    return lambda scene: scene.put(pod(name, namespace=place, uid=f"uid-again-{uid}"))


def _drop(name: str, place: str) -> Act:
    def act(scene: Scene) -> None:
        if f"{place}/{name}" in scene.api.objects.all("Pod"):
            scene.drop(name, place)

    return act


def _place(name: str, labels: dict[str, str], said: str | None) -> Act:
    annotations = {} if said is None else {"gatehouse.dev/inject": said}
    return lambda scene: scene.put(namespace(name, labels=labels, annotations=annotations))


def _no_place(name: str) -> Act:
    def act(scene: Scene) -> None:
        if name in scene.api.objects.all("Namespace"):
            scene.api.objects.drop("Namespace", name)

    return act


LABELS = st.sampled_from(
    [
        {},
        {"sidecar-injector": "enabled"},
        {"pod-admission-webhook-injection": "enabled"},
        {"sidecar-injector": "enabled", "gatehouse.dev/mutate": "disabled"},
    ]
)
CATALOGS = st.sampled_from(
    [
        catalog(),
        catalog(entry()),
        catalog(entry(revision="r2")),
        catalog(entry(), entry("logs", namespace="other")),
        catalog(skippable(), broken=["logs"]),
        catalog(entry(allow_host_network=True), entry("logs")),
    ]
)
ACTS = st.one_of(
    st.builds(
        _put,
        NAMES,
        PLACES,
        owner=OWNERS,
        inject=st.sampled_from([None, "true", "false", "envoy,logs"]),
        injected=st.sampled_from([None, {"envoy": "r1"}, {"envoy": "r2", "logs": "r1"}]),
        phase=st.sampled_from(["Pending", "Running", "Running", "Succeeded"]),
        labels=st.sampled_from([{}, {"app.kubernetes.io/name": "gatehouse"}, {"sidecar-injector/inject": "true"}]),
    ),
    st.builds(_put, NAMES, PLACES, deletionTimestamp=st.just(at(WALL_S)), finalizers=st.just(["x/y"])),
    st.builds(_replace, NAMES, PLACES, st.integers(1, 3)),
    st.builds(_drop, NAMES, PLACES),
    st.builds(_place, PLACES, LABELS, st.sampled_from([None, "logs", "false"])),
    st.builds(_no_place, PLACES),
    st.builds(lambda value: lambda scene: scene.entries.set(value), CATALOGS),
    st.just(lambda scene: scene.sync()),
    st.just(lambda scene: scene.run()),
    st.just(lambda scene: scene.lead_again()),
    st.builds(lambda seconds: lambda scene: scene.clock.advance(seconds), st.sampled_from([1.0, 10.0, 400.0])),
)


@settings(max_examples=60, deadline=None)
@given(st.lists(ACTS, max_size=25))
def test_the_counts_are_those_of_a_fresh_count(acts: list[Act]) -> None:
    with FakeApi() as api, tempfile.TemporaryDirectory() as folder:
        client = RestClient.from_kubeconfig(api.kubeconfig(Path(folder)), Telemetry(), SystemClock())
        try:
            scene = Scene(api, client)
            for act in acts:
                act(scene)
            scene.run()
            scene.run()
            counted, bare = scene.counted(), scene.series("gatehouse_coverage_bare_pods")

            assert counted == scene.fresh_count()
            assert sum(bare.values()) == counted.get("bare", 0)
        finally:
            client.close()
