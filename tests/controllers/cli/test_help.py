"""The examples in --help run as they stand, in the repository, and each command has one."""

from __future__ import annotations

import io
import json
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from controllers.cli.main import grammar, main
from controllers.testing import FakeApi
from tests.controllers.pod_ip.shelf import fake_api, reservation
from tests.controllers.served import Served, serve
from webhook.addresses.address import Address

ROOT = Path(__file__).parents[3]
COMMANDS = tuple(command.name for command in grammar().below)
FREE_PORTS = [f"--{server}-bind-address=127.0.0.1:0" for server in ("webhook", "metrics", "health-probe")]
# They need a cluster, a process or an end; a test of their own gives it.
APART = {"serve", "status", "ip"}


def examples(command: str, capsys: pytest.CaptureFixture[str]) -> list[list[str]]:
    """The examples of a command's help that are one plain command of ours, without what is said of them."""
    assert main([command, "--help"]) == 0
    text = capsys.readouterr().out.partition("examples:\n")[2]
    lines = [line.strip().partition("   ")[0] for line in text.splitlines() if line.startswith("  gatehouse ")]
    return [shlex.split(line)[1:] for line in lines if not set("|<>") & set(line)]


def stands(arguments: list[str]) -> bool:
    """Whether *arguments* need nothing but files of the repository."""
    named = [one for one in arguments if one.endswith((".yaml", ".json", ".crt", "/")) or one.startswith("examples/")]
    return all(Path(one).exists() for one in named) and "--from-replica" not in arguments


@pytest.fixture
def repository(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


@pytest.mark.parametrize("command", [name for name in COMMANDS if name not in APART])
def test_each_command_has_an_example_that_runs_without_a_cluster(
    command: str, repository: None, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "none"))
    ran = []
    for arguments in filter(stands, examples(command, capsys)):
        code = main(arguments)
        captured = capsys.readouterr()
        if code == 2 and "no cluster to read from" in captured.err:
            continue
        assert code == 0, f"{arguments}: {captured.err}"
        assert captured.out
        ran.append(arguments)

    assert ran


def test_the_example_of_serve_serves_until_it_is_told_to_stop(repository: None, capsys: pytest.CaptureFixture[str]) -> None:
    (arguments,) = filter(stands, examples("serve", capsys)[:1])
    with subprocess.Popen(
        [sys.executable, "-m", "controllers", *arguments, *FREE_PORTS],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    ) as process:
        try:
            assert process.stdout is not None
            assert json.loads(process.stdout.readline()).keys() >= {"webhook", "metrics", "healthProbe"}
        finally:
            process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serve(tmp_path_factory.mktemp("status")) as found:
        yield found


def test_the_examples_of_status_ask_a_process(
    served: Served, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = examples("status", capsys)
    assert ["status"] in found
    for arguments in found:
        assert main([*arguments, "--address", served.addresses["metrics"]]) == 0
        assert capsys.readouterr().out


@pytest.fixture
def api(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeApi]:
    with fake_api() as found:
        monkeypatch.setenv("KUBECONFIG", found.kubeconfig(tmp_path))
        yield found


def test_the_examples_of_ip_ask_an_api_server(
    api: FakeApi, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    cooling = {"phase": "Cooling", "releasedTime": "2026-01-01T00:01:00Z"}
    for address in map(Address.parse, ("10.20.0.7", "fd00::7")):
        api.objects.put(reservation(address.name, status=cooling, ip=address.text))
    found = examples("ip", capsys)
    assert len(found) > 3
    for arguments in found:
        assert main([*arguments, *(["--yes"] if arguments[:2] == ["ip", "release"] and "--yes" not in arguments else [])]) == 0
        assert "".join(capsys.readouterr())


def test_the_overview_of_all_commands_has_examples_that_run(repository: None, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    text = capsys.readouterr().out.partition("start here:\n")[2]
    lines = [line.strip().partition("   ")[0] for line in text.splitlines() if line.startswith("  gatehouse review")]
    (line,) = lines
    # A shell fills in the files of the pattern.
    arguments = [
        one for part in shlex.split(line)[1:] for one in (sorted(map(str, ROOT.glob(part))) if "*" in part else [part])
    ]

    assert main(arguments) == 0


@pytest.mark.parametrize("command", COMMANDS)
def test_help_is_no_wider_than_a_wide_terminal(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([command, "--help"]) == 0

    assert max(map(len, capsys.readouterr().out.splitlines())) <= 128


# -- what goes wrong names the next step


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        # what is not there
        (["review", "gone.yaml"], 2, "gone.yaml: cannot be read: No such file or directory"),
        (["review", "--local", "gone", "-"], 2, "gone: no such folder"),
        (["review", "--config", "gone.yaml", "-"], 2, "gone.yaml: cannot be read: No such file or directory"),
        (["inject", "gone.yaml"], 2, "gone.yaml: cannot be read"),
        (["inject"], 2, "no file: name one, or - for standard input"),
        (["check", "gone.yaml"], 2, "gone.yaml: cannot be read"),
        (["check", "{empty}"], 2, "no file below it ends in .yaml, .yml, .json"),
        (["explain", "node", "gone.yaml"], 2, "gone.yaml: cannot be read"),
        (["serve", "--local", "gone"], 2, "--local gone: no such folder"),
        (["serve", "--config", "gone.yaml"], 2, "gone.yaml: cannot be read"),
        (["manifests", "--url", "https://a:1", "--ca-file", "gone.crt"], 2, "--ca-file gone.crt: cannot be read"),
        # no cluster
        (["serve"], 2, "--kubeconfig FILE names one; gatehouse serve --local examples/edge-health needs none"),
        (["explain", "node", "edge-1"], 2, "--kubeconfig FILE names one; --local DIR takes files instead"),
        (["ip", "list"], 2, "--kubeconfig FILE names one"),
        # no process
        (["status", "--address", "127.0.0.1:1"], 1, "kubectl -n kube-system port-forward deploy/gatehouse 8080"),
        (["explain", "node", "a", "--from-replica", "--address", "127.0.0.1:1"], 1, "port-forward deploy/gatehouse 8080"),
        # wrong words
        (["dance"], 2, "gatehouse --help has examples"),
        (["explain", "cat", "a"], 2, "gatehouse explain --help has examples"),
        (["ip", "take"], 2, "gatehouse ip --help has examples"),
        (["ip", "show"], 2, "gatehouse ip show --help has examples"),
        (["manifests", "--overlay", "none"], 2, "gatehouse manifests --help has examples"),
    ],
)
def test_what_goes_wrong_names_the_next_step(
    arguments: list[str],
    code: int,
    message: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "none"))
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO()))
    (tmp_path / "empty").mkdir()

    assert main([one.format(empty="empty") for one in arguments]) == code

    captured = capsys.readouterr()
    assert captured.out == ""
    assert message in captured.err


def test_lacking_rights_are_said_with_how_they_are_seen(api: FakeApi, capsys: pytest.CaptureFixture[str]) -> None:
    from controllers.testing.answers import status

    for verb in ("get", "list"):
        api.always(verb, status(403))

    for arguments in (["ip", "list"], ["explain", "address", "10.20.0.7"], ["explain", "node", "edge-1"]):
        assert main(arguments) == 1
        assert "kubectl auth can-i --list says which they are" in capsys.readouterr().err
