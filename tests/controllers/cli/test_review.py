"""`gatehouse review` decides as the server does, and says so by its exit code."""

from __future__ import annotations

import base64
import io
import json
from pathlib import Path
from typing import Any

import pytest

from controllers.cli.main import main
from controllers.cli.text import describe, subject, wants_colour
from webhook.admission.call import Call
from webhook.admission.gate import Gate
from webhook.admission.settings import Settings
from webhook.clock import SystemClock
from webhook.cluster import Cluster
from webhook.objects.documents import write_yaml
from webhook.telemetry import Telemetry
from webhook.testing import facts

EXAMPLE = Path(__file__).parents[3] / "examples" / "edge-health"
LOCAL = ["--local", str(EXAMPLE), "--config", str(EXAMPLE / "gatehouse.yaml")]

TAINTED = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {"name": "edge-1", "annotations": {"superedgehealth/node-health": "true"}},
    "spec": {"taints": [{"key": "node.kubernetes.io/unreachable", "effect": "NoExecute"}]},
    "status": {"conditions": [{"type": "Ready", "status": "Unknown", "lastTransitionTime": "2026-11-29T09:59:00Z"}]},
}
NOW = ["--now", "2026-11-29T10:00:00Z"]


def review(**request: Any) -> dict[str, Any]:
    """A review of a tainted node whose peers vouch for it."""
    return {
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "request": {
            "uid": "0f4d1c5e-7a5d-4e0e-9a53-3d5a1f1c9b10",
            "resource": {"group": "", "version": "v1", "resource": "nodes"},
            "name": "edge-1",
            "operation": "UPDATE",
            "object": TAINTED,
            "oldObject": TAINTED,
            **request,
        },
    }


def written(folder: Path, *reviews: Any, name: str = "reviews.yaml") -> str:
    file = folder / name
    file.write_text("---\n".join(map(write_yaml, reviews)))
    return str(file)


# -- answers ---------------------------------------------------------------------------------------------------------


def test_json_answers_are_the_bytes_of_the_server(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    body = json.dumps(review()).encode()
    (tmp_path / "review.json").write_bytes(body)
    cluster: Cluster = facts.cluster()
    gate = Gate(Settings(), cluster, Telemetry(), SystemClock())
    clock = SystemClock()
    served = gate.answer(Call("POST", "/node-taint", "timeout=3s", "application/json", body, clock.monotonic_s()))

    assert main(["review", "-o", "json", str(tmp_path / "review.json")]) == 0

    assert capfdbinary.readouterr().out == served.body + b"\n"


def test_yaml_and_json_and_a_list_get_the_same_answers_one_per_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one, two = review(), review(uid="0f4d1c5e-7a5d-4e0e-9a53-3d5a1f1c9b11")
    (tmp_path / "a.json").write_text(json.dumps(one) + "\n" + json.dumps(two))
    (tmp_path / "c.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [one, two]}))
    lines = []
    for file in (tmp_path / "a.json", written(tmp_path, one, two), tmp_path / "c.json"):
        assert main(["review", *NOW, "-o", "json", str(file)]) == 0
        lines.append(capsys.readouterr().out.splitlines())

    assert lines[0] == lines[1] == lines[2]
    assert [json.loads(line)["response"]["uid"][-2:] for line in lines[0]] == ["10", "11"]


def test_the_moment_of_the_decision_can_be_given(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = written(tmp_path, review())

    assert main(["review", "--now", "2026-11-29T10:00:00Z", file]) == 0
    assert "TaintRemoved" in capsys.readouterr().out
    assert main(["review", "--now", "2026-12-29T10:00:00Z", file]) == 0
    assert "VoteExpired" in capsys.readouterr().out


def test_facts_come_from_the_folder(capsys: pytest.CaptureFixture[str]) -> None:
    file = str(EXAMPLE / "reviews" / "2-endpoints.yaml")

    assert main(["review", *LOCAL, file]) == 0
    assert "allowed, changed by" in capsys.readouterr().out
    assert main(["review", file]) == 0
    assert "allowed, unchanged" in capsys.readouterr().out


def test_every_example_is_answered(capsys: pytest.CaptureFixture[str]) -> None:
    files = sorted(map(str, (EXAMPLE / "reviews").glob("*.yaml")))

    assert main(["review", *LOCAL, *files]) == 0

    assert capsys.readouterr().out.count("allowed, ") == len(files)


def test_reviews_come_from_standard_input(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(write_yaml(review()).encode())))

    assert main(["review", *NOW, "-"]) == 0

    assert capsys.readouterr().out.startswith("stdin:1: UPDATE nodes edge-1\nallowed, changed by 1 operation\n")


def test_text_shows_the_decision_its_reason_and_a_diff(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["review", *NOW, written(tmp_path, review())]) == 0

    text = capsys.readouterr().out
    assert "  node-taint: TaintRemoved: node edge-1: " in text
    assert "--- UPDATE nodes edge-1\n+++ UPDATE nodes edge-1 (answered)\n" in text
    assert "-  taints:\n-  - key: node.kubernetes.io/unreachable\n-    effect: NoExecute\n+  taints: []\n" in text
    assert "\033[" not in text


def test_a_path_may_be_given(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["review", "--path", "/endpoint", written(tmp_path, review())]) == 0

    assert "WrongResource" in capsys.readouterr().out


# -- what could not be decided ---------------------------------------------------------------------------------------


def test_the_rest_is_answered_when_one_cannot_be_decided(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = written(tmp_path, review(uid=""), {"kind": "Node"}, review(resource={"group": "a.b", "resource": "c"}), review())

    assert main(["review", *NOW, file]) == 1

    text = capsys.readouterr().out
    assert "not decided (HTTP 400): gatehouse: request.uid: must not be empty" in text
    assert "not an AdmissionReview, and no object of Kubernetes" in text
    assert "UPDATE c edge-1: no service takes that resource" in text
    assert "allowed, changed by 1 operation" in text


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"apiVersion": "v1", "kind": "Pod"}, 'not an AdmissionReview but a "Pod": gatehouse explain pod FILE says'),
        ({"apiVersion": "apps/v1", "kind": "Deployment"}, "gatehouse explain deployment FILE says"),
        ({"apiVersion": "v1", "kind": "Endpoints"}, "gatehouse explain endpoints FILE says"),
        ({"apiVersion": "v1", "kind": "Address"}, "gatehouse explain object FILE says"),
        ({"apiVersion": "a.b/v1", "kind": "Whim"}, "gatehouse explain object FILE says"),
        ({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"}, "not an AdmissionReview: it has no request"),
        ({"kind": ["Pod"]}, "not an AdmissionReview, and no object of Kubernetes"),
        (review(resource={"group": "a.b", "resource": "c"}), "no service takes that resource; --path sends it to one"),
    ],
)
def test_what_nobody_takes_says_what_to_do_with_it(
    value: Any, expected: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["review", written(tmp_path, value)]) == 1

    assert expected in capsys.readouterr().out


def test_a_broken_file_is_named_with_its_line_and_the_others_are_answered(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "broken.yaml").write_text("kind: AdmissionReview\nrequest: [\n")
    (tmp_path / "empty.yaml").write_text("# nothing\n")

    code = main(["review", *NOW, str(tmp_path / "broken.yaml"), str(tmp_path / "empty.yaml"), written(tmp_path, review())])

    text = capsys.readouterr().out
    assert code == 1
    assert f"{tmp_path / 'broken.yaml'}:3:1: did not find" in text
    assert f"{tmp_path / 'empty.yaml'}: holds no document" in text
    assert "allowed, changed by 1 operation" in text


def test_as_json_it_is_the_status_that_a_server_sends(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["review", "-o", "json", written(tmp_path, review(operation="DANCE"))]) == 1

    status = json.loads(capsys.readouterr().out)
    assert (status["kind"], status["code"]) == ("Status", 400)


def test_a_service_that_is_switched_off_does_not_answer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = tmp_path / "gatehouse.yaml"
    config.write_text(
        "apiVersion: gatehouse.dev/v1alpha1\nkind: GatehouseConfiguration\nfeatures: {nodeTaint: {enabled: false}}\n"
    )

    assert main(["review", "--config", str(config), written(tmp_path, review())]) == 1

    assert "not decided (HTTP 404)" in capsys.readouterr().out


# -- wrong use -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["gone.yaml"], "gatehouse: gone.yaml: cannot be read: No such file or directory"),
        (["."], "gatehouse: .: cannot be read: Is a directory"),
        (
            ["--path", "/nope", "-"],
            "gatehouse: --path /nope: no service there; have /node-taint, /endpoint, /pod-status, /mutate, "
            "/mutate/defaults, /pod-ip, /webhook/mutating, /pod-ip-check, /validate, /validate/warn, /validate/creators, "
            "/validate/creators/warn, /workload-warnings, /database-instance",
        ),
        (["--now", "today", "-"], 'gatehouse: --now today: not an RFC 3339 time such as "2026-11-29T10:00:00Z"'),
        (["--local", "gone", "-"], "gatehouse: gone: no such folder"),
        (["--config", "gone.yaml", "-"], "gatehouse: gone.yaml: cannot be read: No such file or directory"),
    ],
)
def test_wrong_use_is_told_before_anything_is_decided(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["review", *arguments]) == 2

    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.strip() == message


# -- text ------------------------------------------------------------------------------------------------------------


def answer(**response: Any) -> bytes:
    return json.dumps({"response": {"uid": "1", **response}}).encode()


def test_a_refusal_shows_code_reason_and_message() -> None:
    body = answer(allowed=False, status={"code": 403, "reason": "Forbidden", "message": "too much memory"})

    assert describe(review(), 200, body) == "refused (403 Forbidden): too much memory"


def test_warnings_are_shown() -> None:
    assert (
        describe(review(), 200, answer(allowed=True, warnings=["mind the gap"]))
        == "allowed, unchanged\n  warning: mind the gap"
    )


def test_colours_are_only_there_when_asked_for() -> None:
    patch = base64.b64encode(b'[{"op": "remove", "path": "/spec/taints/0"}]').decode()
    body = answer(allowed=True, patch=patch, patchType="JSONPatch")

    coloured = describe(review(), 200, body, colour=True)

    assert "\033[31m-  - key: node.kubernetes.io/unreachable\033[0m" in coloured
    assert "\033" not in describe(review(), 200, body)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("stream", "environment", "wanted"),
    [
        (Terminal(), {}, True),
        (io.StringIO(), {}, False),
        (Terminal(), {"NO_COLOR": "1"}, False),
        (Terminal(), {"NO_COLOR": ""}, True),
        (Terminal(), {"TERM": "dumb"}, False),
    ],
)
def test_colours_are_for_terminals_that_want_them(
    stream: io.StringIO, environment: dict[str, str], wanted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    for name, value in environment.items():
        monkeypatch.setenv(name, value)

    assert wants_colour(stream) is wanted


def test_an_answer_that_is_no_json_is_shown_as_undecided() -> None:
    assert describe(review(), 502, b"<html>").startswith("not decided (HTTP 502)")


def test_a_patch_that_does_not_apply_is_said() -> None:
    patch = base64.b64encode(b'[{"op": "remove", "path": "/nope"}]').decode()

    assert "the patch does not apply" in describe(review(), 200, answer(allowed=True, patch=patch))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (review(subResource="status", namespace="shop", resource={"resource": "pods"}), "UPDATE pods/status shop/edge-1"),
        ({"request": {}}, "? ?"),
        ({"request": []}, "not an AdmissionReview"),
        ([], "not an AdmissionReview"),
        (None, "not an AdmissionReview"),
    ],
)
def test_a_review_is_named_in_one_line(value: Any, text: str) -> None:
    assert subject(value) == text


# -- more than one service -------------------------------------------------------------------------------------------

BOUNDS = EXAMPLE.parent / "bounds"


def test_each_service_is_asked_that_the_api_server_asks_and_a_refusal_ends_it(capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--local", str(BOUNDS), "--config", str(BOUNDS / "gatehouse.yaml"), "-o", "json"]

    assert main(["review", *options, *map(str, sorted((BOUNDS / "reviews").glob("*.yaml")))]) == 0

    answers = [json.loads(line)["response"] for line in capsys.readouterr().out.splitlines()]
    assert [answer["allowed"] for answer in answers] == [True, False, False, False]
    assert ["sidecar" in answers[0]["auditAnnotations"], answers[3]["status"]["reason"]] == [True, "CreatorNotAllowed"]


def test_later_services_judge_what_has_become_of_the_object(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    labels = {"pod-admission-webhook-injection": "enabled"}
    entry = "containers: [{name: proxy, image: 'proxy:1', resources: {requests: {cpu: 2}}}]"
    objects = [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop", "labels": labels}},
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "envoy-initializer", "namespace": "shop"},
            "data": {"config": entry},
        },
    ]
    (tmp_path / "cluster").mkdir()
    written(tmp_path / "cluster", *objects)
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"}, "spec": {"containers": [{"name": "app"}]}}
    resource = {"group": "", "version": "v1", "resource": "pods"}
    file = written(
        tmp_path, review(resource=resource, operation="CREATE", object=pod, oldObject=None, namespace="shop", name="web")
    )

    main(["review", "--local", str(tmp_path / "cluster"), "--config", str(BOUNDS / "gatehouse.yaml"), file])

    said = capsys.readouterr().out
    assert "CREATE pods shop/web at /mutate\nallowed, changed by" in said
    assert "CREATE pods shop/web at /validate\nrefused (403 OutOfLimits)" in said
    assert 'container "proxy": cpu request 2 exceeds the maximum of 1 (spec.containers[1].resources.requests.cpu' in said


def test_what_the_first_service_cannot_decide_is_not_judged_by_the_next(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pod = {"metadata": {"name": "web", "annotations": {"gatehouse.dev/inject": "nobody"}}, "spec": {"containers": []}}
    resource = {"group": "", "version": "v1", "resource": "pods"}
    file = written(
        tmp_path, review(resource=resource, operation="CREATE", object=pod, oldObject=None, namespace="gone", name="web")
    )

    assert main(["review", "-o", "json", "--config", str(BOUNDS / "gatehouse.yaml"), file]) == 1

    (answer,) = capsys.readouterr().out.splitlines()
    assert json.loads(answer)["code"] == 503


@pytest.mark.parametrize(("flags", "code"), [([], 0), (["--check"], 1)])
def test_a_refusal_is_an_answer_and_a_problem_only_where_one_checks(flags: list[str], code: int) -> None:
    bounds = EXAMPLE.parent / "bounds"
    refused = str(bounds / "reviews" / "3-a-shell-in-production.yaml")

    assert main(["review", "--config", str(bounds / "gatehouse.yaml"), *flags, refused]) == code
    assert main(["review", *LOCAL, *flags, str(EXAMPLE / "reviews" / "1-node-taint.yaml")]) == 0
