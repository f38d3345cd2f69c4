"""`gatehouse inject` gives files what the server gives pods, and says so by its exit code."""

from __future__ import annotations

import base64
import io
import json
from pathlib import Path
from typing import Any

import pytest

from controllers.cli.main import main
from tests.controllers.cli import corpus
from webhook.admission.call import Call
from webhook.admission.verify import apply
from webhook.objects.documents import read_documents, write_yaml
from webhook.objects.meta import Json
from webhook.objects.workloads import WORKLOADS, workload_of

LOCAL = ["--local", str(corpus.CLUSTER), "--now", corpus.NOW]
TRUE = {"sidecar-injector/inject": "true"}


def pod(name: str = "web", namespace: str = "shop", **metadata: Any) -> Json:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace, **metadata},
        "spec": {"containers": [{"name": "app", "image": "example.com/app:1"}]},
    }


def workload(kind: str, annotations: Json, name: str = "web") -> Json:
    known = next(one for one in WORKLOADS if one.kind == kind)
    inner: Json = {"metadata": {"annotations": annotations}, "spec": pod()["spec"]}
    for key in reversed(known.template):
        inner = {key: inner}
    return {"apiVersion": known.versions[0], "kind": kind, "metadata": {"name": name, "namespace": "shop"}, **inner}


def written(folder: Path, *documents: Any, name: str = "file.yaml") -> str:
    file = folder / name
    file.write_text("---\n".join(map(write_yaml, documents)))
    return str(file)


def values(text: str) -> list[Any]:
    return [document.value for document in read_documents(text, "out")]


def containers(value: Json) -> list[str]:
    return [container["name"] for container in corpus.pod_of(value)["spec"]["containers"]]


def served(pod: Json, namespace: str) -> Json:
    """The pod as the server sends it back."""
    setup = corpus.setup()
    request = {
        "uid": "0f4d1c5e-7a5d-4e0e-9a53-3d5a1f1c9b10",
        "resource": {"group": "", "version": "v1", "resource": "pods"},
        "namespace": namespace,
        "operation": "CREATE",
        "object": pod,
    }
    body = json.dumps({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}).encode()
    reply = setup.gate().answer(Call("POST", "/mutate", "timeout=5s", "application/json", body, setup.clock.monotonic_s()))
    response = json.loads(reply.body)["response"]
    assert response["allowed"], response
    return apply(pod, json.loads(base64.b64decode(response["patch"]))) if "patch" in response else pod


# -- what comes out --------------------------------------------------------------------------------------------------


def test_a_pod_comes_out_as_the_server_answers_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sent = pod(annotations={"gatehouse.dev/inject": "full,metrics"}, labels={"app.kubernetes.io/name": "web"})

    assert main(["inject", *LOCAL, written(tmp_path, sent)]) == 0

    assert values(capsys.readouterr().out) == [served(sent, "shop")]


@pytest.mark.parametrize("kind", [one.kind for one in WORKLOADS if one.kind != "Pod"])
def test_a_template_comes_out_as_the_server_answers_its_pod(
    kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sent = workload(kind, {"gatehouse.dev/inject": "full,log-collector"})
    created = corpus.pod_of(sent)

    assert main(["inject", *LOCAL, written(tmp_path, sent)]) == 0

    (value,) = values(capsys.readouterr().out)
    known = workload_of(value)
    assert known is not None
    template, answered = known.template_of(value), served(created, "shop")
    assert template["spec"] == answered["spec"]
    assert template["metadata"] == {key: answered["metadata"][key] for key in template["metadata"]}
    assert set(template["metadata"]) == {"annotations", "labels"}
    assert created["metadata"].get("ownerReferences") is None or "ownerReferences" not in json.dumps(value)


def test_what_is_said_goes_to_standard_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = written(tmp_path, {"kind": "Service", "apiVersion": "v1"}, pod(annotations=TRUE), pod("none"))

    assert main(["inject", *LOCAL, file]) == 0

    said = capsys.readouterr().err.splitlines()
    assert [line.partition("@")[0] for line in said] == [
        f"{file}:4: Pod shop/web: Injected: envoy-initializer",
        f"{file}:16: Pod shop/none: unchanged: NotAsked: nobody asks for a sidecar",
    ]


def test_items_of_a_list_are_told_with_their_own_lines(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    items = [{"apiVersion": "v1", "kind": "ConfigMap"}, pod("one", annotations=TRUE), pod("two", annotations=TRUE)]
    file = written(tmp_path, {"apiVersion": "v1", "kind": "List", "items": items})

    assert main(["inject", *LOCAL, file]) == 0

    captured = capsys.readouterr()
    (value,) = values(captured.out)
    assert value["items"][0] == items[0]
    assert [containers(item) for item in value["items"][1:]] == [["app", "envoy"]] * 2
    assert [line.split(":")[1] for line in captured.err.splitlines()] == ["6", "17"]


def test_a_typed_list_stays_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bare = {key: value for key, value in pod(annotations=TRUE).items() if key in ("metadata", "spec")}

    assert main(["inject", *LOCAL, written(tmp_path, {"apiVersion": "v1", "kind": "PodList", "items": [bare]})]) == 0

    (value,) = values(capsys.readouterr().out)
    assert set(value["items"][0]) == {"metadata", "spec"}
    assert len(value["items"][0]["spec"]["containers"]) == 2


def test_standard_input_and_several_files_become_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"kind: A")))
    one, two = written(tmp_path, {"kind": "B"}, name="b.yaml"), written(tmp_path, {"kind": "C"}, name="c.yaml")

    assert main(["inject", *LOCAL, "-", "-f", one, "-f", two]) == 0

    assert capsys.readouterr().out == "kind: A\n---\nkind: B\n---\nkind: C\n"


def test_every_document_can_be_written_as_json_or_yaml(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = written(tmp_path, {"kind": "A", "text": "ü"}, pod(annotations=TRUE))

    assert main(["inject", *LOCAL, "-o", "json", file]) == 0
    as_json = capsys.readouterr().out
    assert main(["inject", *LOCAL, "-o", "yaml", file]) == 0
    as_yaml = capsys.readouterr().out

    assert [json.loads(line) for line in as_json.splitlines()] == values(as_yaml)
    assert as_yaml.startswith("kind: A\ntext: ü\n---\napiVersion: v1\n")


def test_nulls_of_a_workload_count_as_absent(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sent = pod(annotations=TRUE, labels=None, creationTimestamp=None)
    sent["spec"]["volumes"] = None
    sent["spec"]["containers"][0]["volumeMounts"] = None

    assert main(["inject", *LOCAL, written(tmp_path, sent)]) == 0

    assert values(capsys.readouterr().out) == [served(pod(annotations=TRUE), "shop")]


# -- where it belongs ------------------------------------------------------------------------------------------------


def test_objects_without_namespace_are_in_the_one_that_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sent = pod()
    del sent["metadata"]["namespace"]
    file = written(tmp_path, sent)

    assert main(["inject", *LOCAL, "--namespace", "legacy", file]) == 0
    assert containers(values(capsys.readouterr().out)[0]) == ["app", "envoy"]
    assert main(["inject", *LOCAL, "--namespace", "plain", file]) == 0
    assert containers(values(capsys.readouterr().out)[0]) == ["app"]


def test_a_namespace_of_the_file_counts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    own = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "new", "labels": {"sidecar-injector": "enabled"}}}

    assert main(["inject", *LOCAL, written(tmp_path, own, pod(namespace="new", annotations=TRUE))]) == 0

    assert containers(values(capsys.readouterr().out)[1]) == ["app", "envoy"]


def test_labels_of_a_namespace_in_the_file_stand_beside_the_clusters(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "legacy", "labels": {"team": "a"}}}

    assert main(["inject", *LOCAL, written(tmp_path, own, pod(namespace="legacy"))]) == 0

    assert containers(values(capsys.readouterr().out)[1]) == ["app", "envoy"]


def test_the_control_planes_pods_are_left_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = written(tmp_path, pod(namespace="kube-system", annotations=TRUE))

    assert main(["inject", *LOCAL, file]) == 0

    captured = capsys.readouterr()
    assert captured.out == Path(file).read_text()
    assert captured.err == f"{file}:1: Pod kube-system/web: unchanged: SystemNamespace: pods of kube-system are left alone\n"


# -- what is warned of -----------------------------------------------------------------------------------------------


def test_a_word_on_the_wrong_level_is_told_at_its_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sent = workload("Deployment", {})
    sent["metadata"]["annotations"] = TRUE
    file = written(tmp_path, sent)

    assert main(["inject", *LOCAL, file]) == 0

    first, *_ = capsys.readouterr().err.splitlines()
    assert first == (
        f"{file}:6: Deployment shop/web: warning: annotation sidecar-injector/inject in metadata does nothing: "
        "pods inherit only spec.template.metadata"
    )


def test_a_pods_own_name_in_a_template_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = {"named": 'annotations: {self: "${pod.name}"}', "plain": 'annotations: {self: "${pod.namespace}"}'}
    metadata = {"name": "own", "namespace": "shop", "labels": {"gatehouse.dev/sidecars": "true"}}
    folder = tmp_path / "local"
    folder.mkdir()
    namespace = {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": "shop", "labels": {"sidecar-injector": "enabled"}},
    }
    written(folder, namespace, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": config})

    said = []
    for name in config:
        file = written(tmp_path, workload("StatefulSet", {"gatehouse.dev/inject": name}))
        assert main(["inject", "--local", str(folder), file]) == 0
        said.append("a pod's own name was asked for" in capsys.readouterr().err)

    assert said == [True, False]


def test_control_characters_of_names_never_reach_the_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inject", *LOCAL, written(tmp_path, pod("\x1b[2Jweb"))]) == 0

    assert "\x1b" not in capsys.readouterr().err


# -- what is refused -------------------------------------------------------------------------------------------------


def test_of_a_file_with_a_refusal_nothing_comes_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bad = written(tmp_path, pod(annotations=TRUE), pod("bad", annotations={"gatehouse.dev/inject": "nobody"}), name="bad.yaml")
    good = written(tmp_path, {"kind": "A"}, name="good.yaml")

    assert main(["inject", *LOCAL, bad, good]) == 1

    captured = capsys.readouterr()
    assert captured.out == "kind: A\n"
    line = Path(bad).read_text().splitlines().index("---") + 2
    assert f'{bad}:{line}: Pod shop/bad: refused: sidecar entry "nobody"' in captured.err


def test_the_rest_of_a_file_comes_out_on_demand(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    refused = pod("bad", annotations={"gatehouse.dev/inject": "nobody"})
    listed = {"apiVersion": "v1", "kind": "List", "items": [pod("in-a-list"), refused]}
    file = written(tmp_path, {"kind": "A"}, refused, pod(annotations=TRUE), listed)

    assert main(["inject", *LOCAL, "--keep-going", file]) == 1

    first, second = values(capsys.readouterr().out)
    assert first == {"kind": "A"}
    assert containers(second) == ["app", "envoy"]


def test_a_namespace_that_nobody_knows_cannot_be_decided(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = written(tmp_path, pod(namespace="elsewhere", annotations=TRUE))

    assert main(["inject", *LOCAL, file]) == 1

    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith(f"{file}:1: Pod elsewhere/web: not decided: ")
    assert captured.err.endswith("nobody knows namespace elsewhere: its Namespace belongs into --local, or into the files\n")


@pytest.mark.parametrize(
    ("change", "field"),
    [
        (
            {"metadata": {"name": "web", "namespace": "shop", "annotations": {"sidecar-injector/inject": True}}},
            "metadata.annot",
        ),
        ({"metadata": {"name": "web", "namespace": 1}}, "metadata.namespace"),
        ({"spec": "x", "metadata": {"name": "web", "namespace": "legacy"}}, "spec"),
        ({"spec": {"containers": [None]}, "metadata": {"name": "web", "namespace": "legacy"}}, "spec.containers[0]"),
    ],
)
def test_a_field_of_the_wrong_type_is_a_clear_error(
    change: Json, field: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["inject", *LOCAL, written(tmp_path, {**pod(), **change})]) == 1

    said = capsys.readouterr().err
    assert f"not decided: {field}" in said
    assert "expected" in said


def test_a_file_that_cannot_be_read_is_told_with_its_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "broken.yaml"
    file.write_text("a: 1\n---\nb: [\n")

    assert main(["inject", *LOCAL, str(file), written(tmp_path, {"kind": "A"})]) == 1

    captured = capsys.readouterr()
    assert captured.err.startswith(f"{file}:4: cannot be read: ")
    assert captured.out == "kind: A\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "no file"),
        (["nowhere.yaml"], "nowhere.yaml: cannot be read"),
        (["--local", "nowhere", "x.yaml"], "nowhere: no such folder"),
        (["--namespace", "", "x.yaml"], '--namespace ""'),
        (["--now", "today", "x.yaml"], "--now today"),
    ],
)
def test_wrong_use_is_told(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inject", *arguments]) == 2

    assert message in capsys.readouterr().err


def test_injection_that_is_switched_off_changes_nothing_and_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = written(
        tmp_path,
        {
            "apiVersion": "gatehouse.dev/v1alpha1",
            "kind": "GatehouseConfiguration",
            "features": {"sidecar": {"enabled": False}},
        },
        name="config.yaml",
    )
    file = written(tmp_path, pod(annotations=TRUE))

    assert main(["inject", *LOCAL, "--config", config, file]) == 0

    captured = capsys.readouterr()
    assert captured.out == Path(file).read_text()
    assert "switches injection off" in captured.err


def test_a_kind_that_is_not_kubernetes_own_stays_as_it_is_and_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rollout = workload("Deployment", TRUE) | {"apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout"}
    other = {"apiVersion": "example.com/v1", "kind": "Other", "metadata": {"name": "x"}, "spec": {"template": {"spec": 5}}}
    file = written(tmp_path, rollout, other)

    assert main(["inject", *LOCAL, file]) == 0

    out, err = capsys.readouterr()
    assert out == Path(file).read_text()
    assert [line for line in err.splitlines() if "kind" in line] == [
        f"{file}:1: kind Rollout is not Kubernetes' own: its template stays as it is, its pods are not"
    ]
