"""Whatever a file holds, it comes out changed, as it was, or with a clear word why not."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.controllers.cli import corpus
from tests.webhook.objects.test_documents import CALM
from webhook.objects.documents import objects, read_documents
from webhook.objects.meta import Json
from webhook.objects.nulls import without_nulls
from webhook.objects.workloads import WORKLOADS, Workload

JUNK = (
    st.none()
    | st.booleans()
    | st.integers(-9, 9)
    | st.text(max_size=3)
    | st.lists(st.none(), max_size=2)
    | st.just({"a": None})
)
NAMES = st.sampled_from(["app", "envoy", "mesh", "exporter", "log-collector", "logs", "sidecar-work", ""])
WORDS = st.sampled_from(["true", "false", "full", "metrics,full", "log-collector", "nobody", "a b", ""])


def or_junk(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Mostly well-formed, sometimes of a type that the API forbids."""
    return st.integers(0, 29).flatmap(lambda n: JUNK if n == 0 else strategy)


def record(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return or_junk(st.fixed_dictionaries({}, optional={key: or_junk(value) for key, value in fields.items()}))


def records(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.lists(record(**fields), max_size=3)


ANNOTATIONS = st.dictionaries(
    st.sampled_from(
        [
            "sidecar-injector/inject",
            "gatehouse.dev/inject",
            "exporter.sidecar.gatehouse.dev/cpu-limit",
            "gatehouse.dev/injected",
        ]
    ),
    or_junk(WORDS),
    max_size=2,
)
METADATA = record(
    name=NAMES,
    generateName=st.just("web-"),
    namespace=st.sampled_from(["shop", "legacy", "logs", "plain", "nowhere", "kube-system"]),
    annotations=ANNOTATIONS,
    labels=ANNOTATIONS,
    finalizers=st.lists(st.text(max_size=2), max_size=1),
)
CONTAINERS = records(
    name=NAMES,
    image=st.sampled_from(["auto", "app:1"]),
    env=records(name=st.sampled_from(["MESH_ADDRESS", "A"]), value=st.text(max_size=2)),
    ports=records(name=NAMES, containerPort=st.sampled_from([80, 9404, 15001, "80"])),
    volumeMounts=records(name=NAMES, mountPath=st.sampled_from(["/var/log/app", "/var/run/mesh", "/x"])),
    resources=record(limits=record(cpu=st.just("1")), requests=record(cpu=st.sampled_from(["2", 1, "x"]))),
    restartPolicy=st.just("Always"),
)
SPEC = record(
    containers=CONTAINERS,
    initContainers=CONTAINERS,
    volumes=records(name=NAMES, emptyDir=st.just({})),
    restartPolicy=st.sampled_from(["Always", "Never"]),
    hostNetwork=st.booleans(),
    imagePullSecrets=records(name=NAMES),
    hostAliases=records(ip=st.sampled_from(["192.0.2.10", "10.0.0.1"]), hostnames=st.just(["a"])),
    resources=record(limits=record(cpu=st.just("1"))),
)


def objects_of(workload: Workload) -> st.SearchStrategy[Json]:
    """Objects of one kind."""
    inner = record(metadata=METADATA, spec=SPEC)
    for key in reversed(workload.template[1:]):
        inner = record(**{key: inner})
    fields = {workload.template[0]: inner, "metadata": METADATA} if workload.template else {"metadata": METADATA, "spec": SPEC}
    header = {"apiVersion": st.just(workload.versions[0]), "kind": st.just(workload.kind)}
    return st.fixed_dictionaries(header, optional={key: or_junk(value) for key, value in fields.items()})


ANY = st.sampled_from(WORKLOADS).flatmap(objects_of)
LISTS = st.fixed_dictionaries(
    {"apiVersion": st.just("v1"), "kind": st.just("List"), "items": or_junk(st.lists(ANY | JUNK, max_size=2))}
)


@CALM
@given(st.lists(ANY | LISTS, min_size=1, max_size=3))
def test_any_file_has_an_outcome(values: list[Json]) -> None:
    source = "\n".join(map(json.dumps, values)).encode()

    outcome = corpus.injector().inject(source, "file.json")

    if outcome.failed:
        assert outcome.result == b""
        assert outcome.lines
    else:
        assert len(read_documents(outcome.result, "out")) == len(values)


@CALM
@given(ANY)
def test_injecting_twice_changes_nothing(value: Json) -> None:
    once = corpus.injector().inject(json.dumps(value).encode(), "file.json")
    if once.failed:
        return

    twice = corpus.injector().inject(once.result, "file.json")

    assert not twice.failed, twice.lines
    assert twice.result == once.result


@CALM
@given(ANY)
def test_containers_of_the_user_are_never_lost(value: Json) -> None:
    sent = json.dumps(value).encode()
    outcome = corpus.injector().inject(sent, "file.json")
    if outcome.failed or outcome.result == sent:  # what is left alone may be anything, also nothing that has a pod
        return

    (after,) = objects(read_documents(outcome.result, "out"))
    before, pod = corpus.pod_of(without_nulls(value)), corpus.pod_of(after.value)
    for kind in ("containers", "initContainers"):
        names = [container.get("name") for container in names_of(before, kind)]
        assert set(names) <= {container.get("name") for container in all_of(pod)}


def names_of(pod: Json, kind: str) -> list[Json]:
    spec = pod.get("spec")
    found = spec.get(kind) if isinstance(spec, dict) else None
    return [container for container in found if isinstance(container, dict)] if isinstance(found, list) else []


def all_of(pod: Json) -> list[Json]:
    return [*names_of(pod, "containers"), *names_of(pod, "initContainers")]
