"""`gatehouse manifests` prints what the registry says, for the server that is asked for."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest
import trustme

from controllers.cli.main import main
from webhook.admission.configurations import ClientConfig, configurations
from webhook.admission.registry import SERVICES
from webhook.admission.settings import Settings
from webhook.objects.documents import read_documents


@pytest.fixture(scope="module")
def ca_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("ca") / "ca.crt"
    trustme.CA().cert_pem.write_to_path(str(file))
    return file


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[Any]:
    assert main(["manifests", *arguments]) == 0
    return [document.value for document in read_documents(capsys.readouterr().out, "stdout")]


def test_by_default_the_service_in_the_cluster_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(capsys) == configurations(SERVICES, ClientConfig.service("kube-system", "gatehouse", 443))


def test_another_service_is_named_with_its_port(capsys: pytest.CaptureFixture[str]) -> None:
    found, _ = printed(capsys, "--service", "edge/gate:9443")

    assert found["webhooks"][0]["clientConfig"] == {
        "service": {"namespace": "edge", "name": "gate", "port": 9443, "path": "/node-taint"}
    }


def test_a_server_outside_the_cluster_is_named_with_its_ca(capsys: pytest.CaptureFixture[str], ca_file: Path) -> None:
    found, _ = printed(capsys, "--url", "https://10.0.0.7:9443/", "--ca-file", str(ca_file))

    assert [webhook["clientConfig"] for webhook in found["webhooks"]] == [
        {"url": f"https://10.0.0.7:9443{service.path}", "caBundle": base64.b64encode(ca_file.read_bytes()).decode()}
        for service in SERVICES
        if service.mutating
        for _ in service.entries_with(Settings())
    ]


def test_services_that_are_switched_off_are_left_out(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    config = tmp_path / "gatehouse.yaml"
    config.write_text(
        "apiVersion: gatehouse.dev/v1alpha1\nkind: GatehouseConfiguration\nfeatures: {endpoint: {enabled: false}}\n"
    )

    found, _ = printed(capsys, "--config", str(config))

    names = [webhook["name"] for webhook in found["webhooks"]]
    assert "endpoint.gatehouse.dev" not in names
    assert {"node-taint.gatehouse.dev", "pod-status.gatehouse.dev"} <= set(names)


def test_bounds_are_registered_as_the_configuration_has_them(capsys: pytest.CaptureFixture[str]) -> None:
    config = Path(__file__).parents[3] / "examples" / "bounds" / "gatehouse.yaml"

    _, found = printed(capsys, "--config", str(config), "--service", "edge/gatehouse")

    webhooks = {webhook["name"]: webhook for webhook in found["webhooks"]}
    assert set(webhooks) == {
        "validate.gatehouse.dev",
        "validate-warn.gatehouse.dev",
        "validate-creators.gatehouse.dev",
        "workload-warnings.gatehouse.dev",
    }
    (selector,) = webhooks["validate-creators.gatehouse.dev"]["namespaceSelector"]["matchExpressions"]
    assert selector["values"] == ["edge", "kube-node-lease", "kube-public", "kube-system"]


def test_json_is_a_list(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["manifests", "-o", "json"]) == 0

    found = json.loads(capsys.readouterr().out)
    assert found["kind"] == "List"
    assert found["items"] == configurations(SERVICES, ClientConfig.service("kube-system", "gatehouse", 443))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--url", "http://a:1"], "--url http://a:1: must be https://HOST:PORT"),
        (["--url", ""], "--url : must be https://HOST:PORT"),
        (["--url", "https://10.0.0.7:0"], "--url https://10.0.0.7:0: must be https://HOST:PORT"),
        (["--url", "https://a b:443"], "--url https://a b:443: must be https://HOST:PORT"),
        (["--service", "UPPER/x y"], "--service UPPER/x y: must be NAMESPACE/NAME"),
        (["--ca-file", "/dev/null"], "--ca-file /dev/null: holds no certificate in PEM"),
        (["--url", "https://"], "--url https://: must be https://HOST:PORT"),
        (["--url", "https://a:1/path"], "--url https://a:1/path: only https://HOST:PORT"),
        (["--url", "https://u@a:1"], "--url https://u@a:1: only https://HOST:PORT"),
        (["--url", "https://a:1?b"], "--url https://a:1?b: only https://HOST:PORT"),
        (["--url", "https://a:x"], "--url https://a:x: "),
        (["--service", "gatehouse"], "--service gatehouse: must be NAMESPACE/NAME"),
        (["--service", "a/b:0"], "--service a/b:0: a port is a number"),
        (["--ca-file", "gone.crt"], "--ca-file gone.crt: cannot be read: No such file or directory"),
    ],
)
def test_wrong_use_is_told(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["manifests", *arguments]) == 2

    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith(f"gatehouse: {message}")


def test_a_ca_file_without_a_certificate_or_with_a_key_is_refused(
    tmp_path: Path, ca_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "text.crt").write_text("hello")
    (tmp_path / "binary.crt").write_bytes(b"\xff\x00")
    (tmp_path / "both.pem").write_bytes(ca_file.read_bytes() + b"-----BEGIN EC PRIVATE KEY-----\n")

    for name, message in (("text.crt", "no certificate"), ("binary.crt", "no certificate"), ("both.pem", "a private key")):
        assert main(["manifests", "--ca-file", str(tmp_path / name)]) == 2
        assert f"{name}: holds {message}" in capsys.readouterr().err
