"""`gatehouse status`: where it asks. And a kubeconfig that names no server."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from controllers.cli.main import main


@pytest.fixture(autouse=True)
def logs_as_they_were() -> Iterator[None]:
    root = logging.getLogger("gatehouse")
    handlers, propagate, level = root.handlers[:], root.propagate, root.level

    yield

    for handler in root.handlers:
        if handler not in handlers:
            handler.close()
    root.handlers[:], root.propagate = handlers, propagate
    root.setLevel(level)


@pytest.mark.parametrize(
    "address",
    [
        "http://127.0.0.1:8080",
        "https://127.0.0.1:8080",
        "127.0.0.1:8080/statusz",
        "127.0.0.1",
        "127.0.0.1:",
        "127.0.0.1:http",
        "127.0.0.1:99999",
        "user@host:8080",
        "::1:8080",
        "[::1:8080",
    ],
)
def test_an_address_that_is_no_host_and_port_is_wrong_use(address: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["status", "--address", address]) == 2

    assert f"--address {address}: expected HOST:PORT" in capsys.readouterr().err


@pytest.mark.parametrize("address", ["127.0.0.1:1", ":1", "localhost:1", "[::1]:1"])
def test_a_process_that_does_not_answer_is_not_ready(address: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["status", "--address", address]) == 1

    assert "/statusz: " in capsys.readouterr().err


@pytest.mark.parametrize(
    ("server", "why"),
    [("garbage::://", "is no URL: expected https://HOST:PORT"), (42, "a field of the wrong type, perhaps the server")],
)
def test_a_kubeconfig_whose_server_is_no_url_is_wrong_use_and_says_so(
    server: object, why: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "x",
        "contexts": [{"name": "x", "context": {"cluster": "x", "user": "x"}}],
        "clusters": [{"name": "x", "cluster": {"server": server}}],
        "users": [{"name": "x", "user": {"token": "t"}}],
    }
    path = tmp_path / "kubeconfig"
    path.write_text(json.dumps(config))

    assert main(["serve", "--kubeconfig", str(path)]) == 2

    text = capsys.readouterr().err
    assert why in text
    assert "Traceback" not in text
