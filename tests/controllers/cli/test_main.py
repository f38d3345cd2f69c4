"""The command line as a whole: help, exit codes, flags."""

from __future__ import annotations

import argparse
import json
import os
import signal
import ssl
import subprocess
import sys
from base64 import b64decode
from http.client import HTTPSConnection
from pathlib import Path

import pytest

from controllers.cli.main import main
from controllers.config.document import load
from controllers.config.flags import add_override_flags, overrides
from webhook.objects.documents import read_documents

ROOT = Path(__file__).parents[3]
EXAMPLE = ROOT / "examples" / "edge-health"


def flags(*arguments: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    add_override_flags(parser)
    return parser.parse_args(arguments)


@pytest.mark.parametrize("command", [[], ["serve"], ["review"], ["check"], ["explain"], ["manifests"], ["version"]])
def test_help_teaches_with_examples_and_exit_codes(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*command, "--help"]) == 0

    text = capsys.readouterr().out
    assert "gatehouse " in text
    assert "examples:" in text or "start here:" in text


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["dance"],
        ["--dance"],
        ["review"],
        ["review", "-o", "xml", "x.yaml"],
        ["serve", "--leader-elect=maybe"],
        ["serve", "--leader"],
        ["serve", "extra"],
        ["check"],
        ["explain", "pod"],
        ["manifests", "--url", "https://a", "--service", "a/b"],
    ],
)
def test_wrong_use_is_exit_code_2_and_says_how_it_is_done(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2

    captured = capsys.readouterr()
    assert captured.out == ""
    assert "usage: gatehouse" in captured.err


def test_the_version_is_printed_as_text_and_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["version"]) == 0
    assert capsys.readouterr().out.startswith("gatehouse ")

    assert main(["version", "-o", "json"]) == 0
    assert json.loads(capsys.readouterr().out).keys() == {"version", "python", "platform"}


def test_faults_of_the_configuration_and_of_flags_end_serve_before_anything_starts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "gatehouse.yaml"
    file.write_text("apiVersion: gatehouse.dev/v1alpha1\nkind: GatehouseConfiguration\nvotes: {maxAge: 1m}\nwat: 1\n")

    assert main(["serve", "--config", str(file), "--webhook-bind-address", "9443"]) == 2

    captured = capsys.readouterr()
    assert captured.out == ""
    assert [line.split(": ")[1] for line in captured.err.splitlines()] == [
        "--webhook-bind-address",
        f"{file}:3:9",
        f"{file}:4:1",
    ]


def test_serve_without_its_folder_is_wrong_use(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serve", "--local", "no/such/folder"]) == 2

    assert capsys.readouterr().err == "gatehouse: --local no/such/folder: no such folder\n"


# -- flags -----------------------------------------------------------------------------------------------------------


def test_every_flag_reaches_its_setting() -> None:
    config = load(
        "",
        overrides(
            flags(
                "--kubeconfig=admin.conf",
                "--webhook-bind-address=127.0.0.1:0",
                "--metrics-bind-address=0",
                "--health-probe-bind-address=:9081",
                "--tls-cert-file=tls.crt",
                "--tls-private-key-file=tls.key",
                "--leader-elect",
                "--leader-elect-resource-name=gh",
                "--leader-elect-resource-namespace=edge",
                "--leader-elect-lease-duration=60s",
                "--leader-elect-renew-deadline=40s",
                "--leader-elect-retry-period=5s",
                "--log-format=json",
                "-v",
            )
        ),
    )

    assert config.client_connection.kubeconfig == "admin.conf"
    assert str(config.webhook.bind_address) == "127.0.0.1:0"
    assert not config.metrics.bind_address.enabled
    assert str(config.probes.bind_address) == ":9081"
    assert config.webhook.certificate.source.value == "files"
    assert (config.webhook.certificate.cert_file, config.webhook.certificate.key_file) == ("tls.crt", "tls.key")
    election = config.leader_election
    assert (election.enabled, election.name, election.namespace) == (True, "gh", "edge")
    assert (election.lease_duration_s, election.renew_deadline_s, election.retry_period_s) == (60, 40, 5)
    assert (config.logging.format.value, config.logging.verbose) == ("json", True)


def test_without_flags_nothing_is_overridden() -> None:
    assert overrides(flags()) == {}


@pytest.mark.parametrize(
    ("flag", "enabled"), [("--leader-elect", True), ("--leader-elect=true", True), ("--leader-elect=false", False)]
)
def test_a_boolean_flag_is_written_as_for_go(flag: str, enabled: bool) -> None:
    assert load("", overrides(flags(flag))).leader_election.enabled is enabled


def test_one_half_of_a_certificate_is_a_fault_of_the_flag() -> None:
    with pytest.raises(ValueError, match=r"--tls-cert-file|keyFile"):
        load("", overrides(flags("--tls-cert-file=tls.crt")))


# -- the process -----------------------------------------------------------------------------------------------------


def test_serve_answers_over_tls_as_review_does_and_ends_cleanly(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    review = EXAMPLE / "reviews" / "1-node-taint.yaml"
    arguments = ["--local", str(EXAMPLE), "--config", str(EXAMPLE / "gatehouse.yaml")]
    assert main(["review", *arguments, "-o", "json", str(review)]) == 0
    offline = capfdbinary.readouterr().out
    body = json.dumps(read_documents(review.read_bytes(), "review")[0].value)
    command = [sys.executable, "-m", "controllers", "serve", *arguments]
    command += [f"--{server}-bind-address=127.0.0.1:0" for server in ("webhook", "metrics", "health-probe")]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=ROOT, env=os.environ | {"PYTHONPATH": "."}
    ) as process:
        try:
            assert process.stdout is not None
            started = json.loads(process.stdout.readline())
            host, _, port = started["webhook"].rpartition(":")
            trust = ssl.create_default_context(cadata=b64decode(started["caBundle"]).decode())
            connection = HTTPSConnection(host, int(port), context=trust, timeout=10)
            connection.request("POST", "/node-taint?timeout=3s", body, {"Content-Type": "application/json"})
            online = connection.getresponse().read()
            connection.close()
        finally:
            process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0

    assert online + b"\n" == offline
