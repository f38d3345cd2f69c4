"""Offline, an author sees what a rule does wrong: where it raises, what it edits in vain, and what ends it before it starts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from controllers.cli.main import main
from controllers.config.document import parse
from controllers.plugins.finding import CONTROLLERS
from controllers.process.assembly import Options, Process
from tests.controllers.plugins.conftest import Install
from tests.controllers.plugins.test_using import CONTROLLER, FINE, HEAD, ORIGIN, RULE
from webhook.admission.places import OVERDUE_S
from webhook.clock import SystemClock

POD = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web", "namespace": "shop"}, "spec": {"containers": []}}
DECIDING = RULE + "plugin = RulePlugin(settings=Settings, build=lambda *_: decide, entries=(Entry((PODS,)),), mutating=True)\n"
RAISING = DECIDING + "def decide(request, draft, context):\n    raise ValueError('no owner')\n"
CARELESS = (
    DECIDING
    + "def decide(request, draft, context):\n"
    + "    draft.object['metadata']['labels'] = {'a': 'b'}\n    return Verdict(Reason.NOTHING_TO_DO)\n"
)


SYS = "import sys\n"


def line_of(source: str, text: str) -> int:
    return next(number for number, line in enumerate(source.splitlines(), 1) if text in line)


def configuration(folder: Path, section: str = "plugins: {rules: {own: {}}}\n") -> list[str]:
    file = folder / "g.yaml"
    file.write_text(HEAD + section)
    return ["--config", str(file)]


def review(folder: Path) -> int:
    request = {
        "uid": "u",
        "operation": "CREATE",
        "resource": {"group": "", "version": "v1", "resource": "pods"},
        "namespace": "shop",
        "name": "web",
        "object": POD,
    }
    file = folder / "review.json"
    file.write_text(json.dumps({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}))
    return main(["review", *configuration(folder), "--path", "/rules/own", str(file)])


def explain(folder: Path) -> int:
    file = folder / "pod.json"
    file.write_text(json.dumps(POD))
    return main(["explain", "pod", *configuration(folder), str(file)])


def test_review_says_where_a_rule_raises_and_prints_the_traceback(
    install: Install, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    install(RAISING)

    code = review(tmp_path)

    told = capsys.readouterr()
    line = line_of(RAISING, "raise ValueError")
    assert code == 1
    assert f"not decided (HTTP 500): gatehouse: {ORIGIN} failed: ValueError at own_module.py:{line}" in told.out
    assert f'own_module.py", line {line}, in decide' in told.err
    assert "ValueError: no owner" in told.err


def test_explain_says_where_a_rule_raises_and_what(
    install: Install, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    install(RAISING)

    code = explain(tmp_path)

    assert code == 1
    assert f"failed: ValueError at own_module.py:{line_of(RAISING, 'raise ValueError')}: no owner" in capsys.readouterr().out


@pytest.mark.parametrize("command", [review, explain])
def test_an_edit_beside_the_draft_is_no_silent_loss(
    install: Install, tmp_path: Path, capsys: pytest.CaptureFixture[str], command: object
) -> None:
    install(CARELESS)

    assert callable(command)
    assert command(tmp_path) == 1
    assert "it has changed the object itself, at /metadata/labels" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("source", "group", "section"),
    [
        (SYS + "sys.exit(0)\n", "", "rules"),
        (SYS + FINE.replace("entries=(Entry((PODS,)),)", "entries=lambda it: sys.exit(0)"), "", "rules"),
        (SYS + FINE.replace("build=build", "build=lambda *_: sys.exit(0)"), "", "rules"),
        (SYS + FINE.replace("build=build", "build=lambda *_: None"), "", "rules"),
        (
            SYS + FINE.replace("    grace_s", "    def __attrs_post_init__(self):\n        sys.exit(0)\n    grace_s"),
            "",
            "rules",
        ),
        (SYS + CONTROLLER.replace("watches=(Watch(PODS),)", "watches=lambda it: sys.exit(0)"), CONTROLLERS, "controllers"),
    ],
)
def test_what_ends_the_process_is_wrong_use_with_its_place(
    install: Install, tmp_path: Path, capsys: pytest.CaptureFixture[str], source: str, group: str, section: str
) -> None:
    assert source not in (SYS + FINE, SYS + CONTROLLER)
    install(source, **({"group": group} if group else {}))
    file = tmp_path / "pod.json"
    file.write_text(json.dumps(POD))

    code = main(["explain", "pod", *configuration(tmp_path, f"plugins: {{{section}: {{own: {{}}}}}}\n"), str(file)])

    told = capsys.readouterr().err
    assert code == 2
    assert f"plugins.{section}.own" in told
    assert len(told.splitlines()) == 1


def test_readiness_of_a_rule_fails_while_its_calls_are_overdue_and_that_of_the_process_does_not(
    install: Install, tmp_path: Path
) -> None:
    class Later(SystemClock):
        late_s = 0.0

        def monotonic_s(self) -> float:
            return super().monotonic_s() + self.late_s

    install(FINE)
    clock = Later()
    process = Process(Options(parse(HEAD + "plugins: {rules: {own: {}}}\n", "g.yaml"), tmp_path), clock)
    probes, ticket = process._probes, process.gate.shared.enter("own")

    def failing(path: str) -> bool:
        return "[-]in-time failed" in probes.answer(path, "verbose")[1]

    assert not failing("/readyz/own")
    clock.late_s = OVERDUE_S
    assert failing("/readyz/own")
    assert not failing("/readyz")
    process.gate.shared.leave("own", ticket)
    assert not failing("/readyz/own")
