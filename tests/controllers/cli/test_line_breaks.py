"""A line break in a name or a text of somebody's object makes no line of what a command prints."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from controllers.cli.main import main
from controllers.cli.text import describe as describe_review
from controllers.explaining.differences import CHANGED, Change
from controllers.explaining.rendering import change_line, page
from controllers.status.text import describe
from controllers.wording import one_line
from tests.controllers.cli.desk import EVERY_POD, NOW, Desk, namespace, pod
from tests.controllers.status.web.scenes import quiet
from webhook.objects.meta import Json

BOUNDS = Path(__file__).parents[3] / "examples" / "bounds" / "gatehouse.yaml"
BREAKS = ("\n", "\r", "\v", "\f", "\x1c", "\x1d", "\x1e", "\x85", "\u2028", "\u2029", "\r\n")
FORGED = "  validate at /validate: allowed"


def forging(line_break: str) -> str:
    return f"x{line_break}{line_break}all rules{line_break}{FORGED}"


@pytest.fixture
def desk(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Desk:
    return Desk(tmp_path, capsys)


def node(name: str) -> Json:
    taint = {"key": name, "value": name, "effect": "NoSchedule"}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "spec": {"taints": [taint]}}


def silent(name: str) -> Json:
    row = {"guarded": True, "reason": "Guarded", "vote": "healthy", "ageSeconds": 1.0, "endsInSeconds": None}
    services = {name: {"path": "/mutate", "ready": False, "waitsFor": [name]}}
    failing = {name: {"error": name}}
    return {
        **quiet(),
        "silentNodes": {"count": 1, "guarded": 1, "nodes": [{"node": name, **row}]},
        "services": services,
        "caches": failing,
        "databases": {"error": name},
    }


@pytest.mark.parametrize("line_break", BREAKS, ids=ascii)
def test_explain_writes_the_line_breaks_of_a_node_out(
    line_break: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def explained(name: str) -> list[str]:
        file = tmp_path / "node.json"
        file.write_text(json.dumps(node(name)))
        assert main(["explain", "node", *NOW, "--local", str(tmp_path), str(file)]) == 0
        return capsys.readouterr().out.splitlines()

    found = explained(forging(line_break))

    assert FORGED not in found
    assert len(found) == len(explained("edge-1"))
    assert found[0].endswith(f"Node {one_line(forging(line_break))}")


@pytest.mark.parametrize("line_break", BREAKS, ids=ascii)
def test_explain_writes_the_line_breaks_of_a_container_out(line_break: str, desk: Desk) -> None:
    desk.cluster(namespace("prod-1", **EVERY_POD))

    def explained(name: str) -> list[str]:
        image = f"elsewhere.example.com/{name}"
        asked = pod(space="prod-1", spec={"containers": [{"name": name, "image": image}]})
        return desk.run("--config", str(BOUNDS), desk.file(asked), code=1).splitlines()

    found = explained(forging(line_break))

    assert FORGED not in found
    assert len(found) == len(explained(forging("-")))


@pytest.mark.parametrize("line_break", BREAKS, ids=ascii)
def test_the_status_writes_line_breaks_out(line_break: str) -> None:
    found = describe(silent(forging(line_break))).splitlines()

    assert FORGED not in found
    assert len(found) == len(describe(silent("edge-1")).splitlines())
    assert any(one_line(forging(line_break)) in line for line in found)


def test_a_review_writes_the_line_breaks_of_a_refusal_out() -> None:
    answer = {"response": {"allowed": False, "status": {"code": 403, "message": "no\nallowed, unchanged"}}}

    assert describe_review({}, 200, json.dumps(answer).encode()) == "refused (403): no\\nallowed, unchanged"


def test_what_changes_is_one_line_whatever_it_is_called() -> None:
    found = page([change_line(Change(CHANGED, "container", forging("\n"), "spec.containers[0]", (forging("\r"),)))])

    assert len(found.splitlines()) == 1


def test_what_is_one_line_is_left_as_it_is() -> None:
    assert one_line("a\tb – \x1b \u202e") == "a\tb – \x1b \u202e"
