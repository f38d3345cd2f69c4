"""`gatehouse explain pod` says why a pod gets what it gets, and what would change it."""

from __future__ import annotations

import ast
import io
import json
import re
from pathlib import Path
from typing import Any

import pytest

from controllers.cli.main import main
from controllers.explaining.pod_advice import ADVICE
from tests.controllers.cli.desk import ENTRIES, ENVOY, EVERY_POD, MAY_ASK, NOW, Desk, config_map, namespace, pod
from webhook.names import Reason
from webhook.objects.documents import write_yaml

ROOT = Path(__file__).parents[3]
EXAMPLE = ROOT / "examples" / "sidecars"
NO_POD = "holds no pod and no workload; another kind is explained by its own word (--help)"
LOCAL = ["--local", str(EXAMPLE), "--config", str(EXAMPLE / "gatehouse.yaml")]


@pytest.fixture
def desk(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Desk:
    return Desk(tmp_path, capsys)


# -- who says what


def test_every_level_is_shown_and_the_one_that_decides_is_marked(desk: Desk) -> None:
    desk.cluster(namespace(**EVERY_POD), config_map(envoy=ENVOY))

    text = desk.run(desk.file(pod(annotations={"gatehouse.dev/inject": "envoy"}, labels={"sidecar-injector/inject": "false"})))

    assert text.split("\n\n")[1].splitlines()[1:] == [
        '> pod annotation       gatehouse.dev/inject: "envoy"',
        '  pod label            sidecar-injector/inject: "false"',
        "  namespace annotation –",
        '  namespace label      pod-admission-webhook-injection: "enabled"',
    ]


@pytest.mark.parametrize(
    ("labels", "asked", "reason", "level"),
    [
        (EVERY_POD, {}, "Injected", "namespace label"),
        (MAY_ASK, {}, "NotAsked", None),
        (MAY_ASK, {"annotations": {"sidecar-injector/inject": "true"}}, "Injected", "pod annotation"),
        (EVERY_POD, {"labels": {"sidecar-injector/inject": "false"}}, "OptedOut", "pod label"),
        ({}, {"annotations": {"sidecar-injector/inject": "true"}}, "NamespaceNotEnabled", None),
        ({**EVERY_POD, "gatehouse.dev/mutate": "disabled"}, {}, "MutateDisabled", "namespace label"),
    ],
)
def test_the_reason_and_the_level_that_decides_are_in_the_json(
    labels: dict[str, str], asked: dict[str, Any], reason: str, level: str | None, desk: Desk
) -> None:
    desk.cluster(namespace(**labels), config_map(**ENTRIES))

    found = desk.explain(pod(**asked))

    assert found["reason"] == reason
    assert [one["level"] for one in found["levels"] if one["decides"]] == ([level] if level else [])
    assert found["advice"][0]["reason"] == reason


def test_in_an_unknown_namespace_nothing_is_decided_and_it_is_said_how_to_make_it_known(desk: Desk) -> None:
    desk.cluster(config_map(**ENTRIES))

    text = desk.run(desk.file(pod()), code=1)

    assert "\nnot decided, NamespaceUnknown: nobody knows namespace shop\n" in text
    assert "put its Namespace into the files that --local names" in text


def test_a_value_that_cannot_be_read_is_a_warning_with_its_advice(desk: Desk) -> None:
    desk.cluster(namespace(**EVERY_POD), config_map(**ENTRIES))

    found = desk.explain(pod(annotations={"sidecar-injector/inject": "yes"}))

    assert (found["reason"], [one["reason"] for one in found["findings"]]) == ("Injected", ["InvalidValue"])
    assert {one["reason"] for one in found["advice"]} == {"Injected", "InvalidValue"}


# -- where the entries were looked for


def test_an_entry_is_found_in_the_pods_namespace_before_ours(desk: Desk) -> None:
    desk.cluster(namespace(**EVERY_POD), config_map(**ENTRIES), config_map("kube-system", **ENTRIES))

    (entry,) = desk.explain(pod())["entries"]

    assert (entry["outcome"], entry["configMap"], entry["key"]) == ("found", "shop/sidecars", "envoy-initializer")
    assert entry["lookedIn"] == ["shop", "kube-system"]
    assert entry["revision"]


def test_a_missing_entry_that_the_pod_names_refuses_it(desk: Desk) -> None:
    desk.cluster(namespace(**MAY_ASK), config_map(**ENTRIES))

    found = desk.explain(pod(annotations={"gatehouse.dev/inject": "gone"}), code=1)

    assert (found["refusal"]["reason"], found["entries"][0]["outcome"]) == ("EntryMissing", "missing")
    assert found["changes"] == []
    assert found["advice"][0]["reason"] == "EntryMissing"


def test_a_broken_entry_is_shown_with_its_faults(desk: Desk) -> None:
    desk.cluster(namespace(**MAY_ASK), config_map(broken="containers: 5\n"))

    text = desk.run(desk.file(pod(annotations={"gatehouse.dev/inject": "broken"})), code=1)

    assert "refused, EntryBroken: " in text
    assert "  broken: broken, and no earlier version was good:\n    key broken, line 1, containers: " in text


# -- what changes


def test_what_changes_is_told_with_its_place(desk: Desk) -> None:
    entry = ENVOY + "    volumeMounts: [{name: conf, mountPath: /etc/envoy}]\nvolumes: [{name: conf, emptyDir: {}}]\n"
    entry += "app: {env: [{name: HTTP_PROXY, value: 'http://127.0.0.1'}]}\nnativeSidecar: Never\n"
    desk.cluster(namespace(**EVERY_POD), config_map(**{"envoy-initializer": entry}))

    text = desk.run(desk.file(pod()))

    assert "\nwhat changes\n" in text
    assert "  + container envoy  (spec.containers[1])\n" in text
    assert "  ~ container app  (spec.containers[0]): variable HTTP_PROXY\n" in text
    assert "  + volume conf  (spec.volumes[0])\n" in text
    assert "  + annotation gatehouse.dev/injected  (metadata.annotations)\n" in text


def test_a_pod_that_has_everything_already_changes_nothing(
    desk: Desk, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    desk.cluster(namespace(**EVERY_POD), config_map(**ENTRIES))
    file = desk.file(pod())
    assert main(["inject", file, "--local", str(tmp_path / "cluster")]) == 0
    Path(file).write_text(capsys.readouterr().out)

    found = json.loads(desk.run("-o", "json", file))

    assert (found["reason"], found["changes"]) == ("AlreadyInjected", [])


def test_a_conflict_is_a_warning(desk: Desk) -> None:
    desk.cluster(namespace(**EVERY_POD), config_map(**ENTRIES))
    mine = {"containers": [{"name": "app", "image": "app:1"}, {"name": "envoy", "image": "mine:1"}]}

    found = desk.explain(pod(spec=mine))

    assert "NameConflict" in {one["reason"] for one in found["findings"]}


def test_what_the_namespace_would_refuse_is_told_and_what_is_repaired_stands_apart(desk: Desk) -> None:
    strict = namespace(**EVERY_POD, **{"pod-security.kubernetes.io/enforce": "restricted"})
    desk.cluster(strict, config_map(**ENTRIES))
    assert "\nwhat would refuse it\n  PodSecurity: " in desk.run(desk.file(pod()))

    desk.cluster(strict, config_map(**{"envoy-initializer": f"{ENVOY}repair: [PodSecurity]\n"}))
    text = desk.run(desk.file(pod()))

    assert "\nrepaired\n  Repaired: " in text


# -- which objects


@pytest.mark.parametrize(
    ("kind", "version", "wrap"),
    [
        ("Deployment", "apps/v1", lambda template: {"template": template}),
        ("Job", "batch/v1", lambda template: {"template": template}),
        ("CronJob", "batch/v1", lambda template: {"jobTemplate": {"spec": {"template": template}}}),
    ],
)
def test_a_workload_is_explained_by_the_pods_it_makes(kind: str, version: str, wrap: Any, desk: Desk) -> None:
    desk.cluster(namespace(**MAY_ASK), config_map(**ENTRIES))
    template = {"metadata": {"annotations": {"sidecar-injector/inject": "true"}}, "spec": pod()["spec"]}
    workload = {"apiVersion": version, "kind": kind, "metadata": {"name": "web", "namespace": "shop"}, "spec": wrap(template)}

    found = desk.explain(workload)

    assert (found["subject"], found["reason"]) == (f"{kind} shop/web", "Injected")


def test_an_annotation_on_the_workload_instead_of_its_template_is_told(desk: Desk) -> None:
    desk.cluster(namespace(**MAY_ASK), config_map(**ENTRIES))
    asked = {"name": "web", "namespace": "shop", "annotations": {"sidecar-injector/inject": "true"}}
    workload = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": asked, "spec": {"template": {"spec": pod()["spec"]}}}

    found = desk.explain(workload)

    assert (found["reason"], found["findings"][0]["reason"]) == ("NotAsked", "WrongLevel")
    assert "WrongLevel" in {one["reason"] for one in found["advice"]}


@pytest.mark.parametrize(
    ("labels", "reason", "advice"),
    [
        ({"sidecar-injector": "enabled"}, "NamespaceKeyOnPod", "write it on the Namespace"),
        ({"proxy.sidecar.gatehouse.dev/cpu-limit": "2"}, "LabelInsteadOfAnnotation", "write it as an annotation"),
    ],
)
def test_each_thing_in_the_wrong_place_has_its_own_advice(desk: Desk, labels: dict[str, str], reason: str, advice: str) -> None:
    desk.cluster(namespace(**MAY_ASK), config_map(**ENTRIES))

    found = desk.explain(pod(labels=labels))

    assert [one["reason"] for one in found["findings"]] == [reason]
    assert [one["text"].startswith(advice) for one in found["advice"] if one["reason"] == reason] == [True]


def test_every_pod_of_a_file_is_explained_and_other_objects_are_passed_over(desk: Desk) -> None:
    desk.cluster(namespace(**EVERY_POD), config_map(**ENTRIES))

    file = desk.file(pod("one"), namespace("other"), pod("two"))

    text = desk.run(file)

    assert [line.split(": ")[1] for line in text.splitlines() if line.startswith(file)] == ["Pod shop/one", "Pod shop/two"]


def test_a_name_means_an_object_of_the_folder(desk: Desk) -> None:
    desk.cluster(namespace(**EVERY_POD), config_map(**ENTRIES), pod("web"), pod("web", "tools"))

    text = desk.run("shop/web")

    assert text.count(": Pod ") == 1
    assert ": Pod shop/web\nInjected" in text


def test_objects_without_a_namespace_get_that_of_the_flag(desk: Desk) -> None:
    desk.cluster(namespace("tools", **EVERY_POD), config_map("tools", **ENTRIES))
    plain = pod()
    del plain["metadata"]["namespace"]

    assert ": Pod tools/web\nInjected" in desk.run("-n", "tools", desk.file(plain))


def test_a_pod_comes_from_standard_input(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.cluster(namespace(**EVERY_POD), config_map(**ENTRIES))
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(write_yaml(pod()).encode())))

    assert desk.run("-").startswith("stdin:1: Pod shop/web\nInjected: envoy-initializer@")


def test_a_pod_of_the_wrong_shape_is_told_and_the_others_are_explained(desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    desk.cluster(namespace(**EVERY_POD), config_map(**ENTRIES))
    file = desk.file(pod(spec={"containers": "none"}), pod("good"))

    assert main(["explain", "pod", file, *NOW]) == 1

    captured = capsys.readouterr()
    assert "asked.yaml:1: spec.containers: expected a list, found a string" in captured.err
    assert "Pod shop/good" in captured.out


def test_what_strangers_wrote_does_not_steer_the_terminal(desk: Desk) -> None:
    desk.cluster(namespace(**EVERY_POD), config_map(**ENTRIES))

    text = desk.run(desk.file(pod(annotations={"sidecar-injector/inject": "\033[31m\nfalse"})))

    assert "\033" not in text
    assert "\nfalse" not in text


def test_an_injection_that_is_switched_off_is_said(desk: Desk, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    desk.cluster(namespace(**EVERY_POD), config_map(**ENTRIES))
    off = tmp_path / "off.yaml"
    off.write_text("apiVersion: gatehouse.dev/v1alpha1\nkind: GatehouseConfiguration\nfeatures: {sidecar: {enabled: false}}\n")

    assert main(["explain", "pod", desk.file(pod()), "--config", str(off), "--local", str(tmp_path / "cluster")]) == 0

    assert capsys.readouterr().err == "gatehouse: the configuration switches injection off: this is what it would do\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-n", "", "-"], 'gatehouse: --namespace "": expected a name'),
        (["gone.yaml"], "gatehouse: gone.yaml: cannot be read: No such file or directory"),
        (["shop/web", "--local", str(EXAMPLE)], f"gatehouse: shop/web: no pod and no workload of that name in {EXAMPLE}"),
        (
            [str(EXAMPLE / "2-envoy.yaml")],
            f"gatehouse: {EXAMPLE / '2-envoy.yaml'}: {NO_POD}",
        ),
    ],
)
def test_wrong_use_says_what_to_mend(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "pod", *arguments]) == 2

    assert capsys.readouterr().err.strip() == message


# -- the example, and the advice


def test_the_example_gets_what_its_comments_say(capsys: pytest.CaptureFixture[str]) -> None:
    files = [str(EXAMPLE / name) for name in ("pod.yaml", "deployment.yaml")]

    assert main(["explain", "pod", *files, *LOCAL, "-o", "json"]) == 0

    envoy, named = map(json.loads, capsys.readouterr().out.splitlines())
    assert [one["name"] for one in envoy["entries"]] == ["envoy-initializer"]
    assert ("added", "envoy") in {(one["action"], one["name"]) for one in envoy["changes"]}
    assert [one["outcome"] for one in named["entries"]] == ["found", "found"]
    assert {"proxy", "proxy-setup", "log-collector"} <= {one["name"] for one in named["changes"]}


def test_the_pods_of_the_page_get_what_it_says(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    blocks = re.findall(r"```yaml\n(.*?)```", (ROOT / "docs" / "sidecars.md").read_text(), re.S)
    (tmp_path / "page.yaml").write_text("---\n".join(blocks))

    assert main(["explain", "pod", "shop/demo-pod", "shop/busy", "--local", str(tmp_path), "-o", "json"]) == 0

    for found in map(json.loads, capsys.readouterr().out.splitlines()):
        assert {("added", "container", "envoy"), ("added", "volume", "envoy-conf")} <= {
            (one["action"], one["what"], one["name"]) for one in found["changes"]
        }
        assert found["findings"] == []


def test_every_reason_that_a_sidecar_decision_can_give_has_its_advice() -> None:
    sources = [*(ROOT / "webhook" / "sidecars").glob("*.py"), ROOT / "webhook" / "objects" / "compliance.py"]
    sources += [ROOT / "webhook" / "features" / f"{name}.py" for name in ("sidecar", "resource_limits", "pod_compliance")]
    given = {
        Reason[node.attr]
        for path in sources
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "Reason"
    }

    assert len(given) > 20
    assert given - ADVICE.keys() <= {Reason.NOT_APPLICABLE, Reason.WITHIN_LIMITS, Reason.COMPLIANT}
    for text in ADVICE.values():
        assert text == text.strip()
        assert "\n" not in text
