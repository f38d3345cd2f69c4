"""Golden cases take rules of one's own, and hold them to more than the case says."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs
import pytest

from webhook.admission import AdmissionRequest, Context, Draft, Entry, Match, Operations, Reason, RulePlugin, Verdict
from webhook.testing import golden_cases, run_golden_case

POD: dict[str, Any] = {"metadata": {"name": "web", "namespace": "shop"}, "spec": {"containers": [{"name": "app"}]}}


@attrs.frozen
class Settings:
    label: str = "owner"


def plugin(edit: Callable[[Draft, Settings], object]) -> RulePlugin[Settings]:
    def build(settings: Settings, facts: object) -> Callable[[AdmissionRequest, Draft, Context], Verdict]:
        def decide(request: AdmissionRequest, draft: Draft, context: Context) -> Verdict:
            edit(draft, settings)
            return Verdict(Reason.DEFAULTED)

        return decide

    pods = Match("", "v1", "pods", (Operations.CREATE,), "Namespaced")
    return RulePlugin(settings=Settings, build=build, entries=(Entry((pods,)),), mutating=True)


LABELS = plugin(lambda draft, settings: draft.set(("metadata", "labels"), {settings.label: "a"}))


def case(folder: Path, expect: dict[str, Any], **given: Any) -> Path:
    file = folder / "case.yaml"
    request = {"operation": "CREATE", "resource": "pods", "object": POD}
    file.write_text(json.dumps({"given": given, "request": request, "expect": expect}))
    return file


def labelled(label: str) -> dict[str, Any]:
    return {"object": POD | {"metadata": POD["metadata"] | {"labels": {label: "a"}}}, "reason": "Defaulted"}


def test_a_rule_is_asked_with_the_settings_of_the_case(tmp_path: Path) -> None:
    run_golden_case(case(tmp_path, labelled("owner")), {"own": LABELS})
    run_golden_case(case(tmp_path, labelled("team"), rules={"own": {"label": "team"}}), {"own": LABELS})


def test_a_case_that_expects_something_else_fails(tmp_path: Path) -> None:
    with pytest.raises(AssertionError):
        run_golden_case(case(tmp_path, labelled("team")), {"own": LABELS})


@pytest.mark.parametrize("rules", [{"own": {"lable": "x"}}, {"other": {}}])
def test_settings_that_do_not_fit_fail_the_case(tmp_path: Path, rules: dict[str, Any]) -> None:
    with pytest.raises(AssertionError, match="unknown key"):
        run_golden_case(case(tmp_path, labelled("owner"), rules=rules), {"own": LABELS})


def test_a_pod_that_the_api_server_could_not_decode_fails_the_case(tmp_path: Path) -> None:
    field, value = ("spec", "priority"), "high"
    breaking = plugin(lambda draft, settings: draft.set(field, value))
    expected = {"object": POD | {"spec": POD["spec"] | {"priority": value}}}

    with pytest.raises(AssertionError, match=r"could not decode the patched pod: spec.priority must be an integer"):
        run_golden_case(case(tmp_path, expected), {"own": breaking})


def test_a_second_call_that_changes_something_fails_the_case(tmp_path: Path) -> None:
    growing = plugin(lambda draft, settings: draft.append(("spec", "containers"), {"name": "more"}))
    expected = {"object": POD | {"spec": {"containers": [{"name": "app"}, {"name": "more"}]}}}

    with pytest.raises(AssertionError, match="a second pass changes the object again"):
        run_golden_case(case(tmp_path, expected), {"own": growing})


def test_an_edit_beside_the_draft_fails_the_case(tmp_path: Path) -> None:
    careless = plugin(lambda draft, settings: draft.object["metadata"].update(labels={"a": "b"}))

    with pytest.raises(AssertionError, match=r"it has changed the object itself, at /metadata/labels"):
        run_golden_case(case(tmp_path, {"reason": "Defaulted"}), {"own": careless})


def test_an_unknown_expectation_is_told_with_those_that_there_are(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match=r"unknown keys denied \(known: allowed, confirmed, message, object, reason,"):
        run_golden_case(case(tmp_path, {"denied": True}), {"own": LABELS})


def test_a_folder_without_cases_is_no_success(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match=r"holds no \*.yaml"):
        golden_cases(tmp_path)
