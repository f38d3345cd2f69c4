"""Where the API server is and who we are to it; whatever a kubeconfig or a service account holds, its faults are told."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import trustme

from controllers.runtime.access import from_kubeconfig, in_cluster, server_of
from controllers.runtime.errors import ClientConfigError

CLUSTER: dict[str, Any] = {"server": "https://10.0.0.1:6443"}


@pytest.mark.parametrize(
    ("host", "server"),
    [
        ("https://10.0.0.1:6443", "https://10.0.0.1:6443"),
        ("https://10.0.0.1:6443/", "https://10.0.0.1:6443"),
        ("http://localhost:8080//", "http://localhost:8080"),
        ("HTTPS://API.example.com", "HTTPS://API.example.com"),
        ("https://[::1]:6443", "https://[::1]:6443"),
        ("https://rancher.example.com/k8s/clusters/c-1/", "https://rancher.example.com/k8s/clusters/c-1"),
    ],
)
def test_a_server_is_its_url_without_a_slash_at_the_end(host: str, server: str) -> None:
    assert server_of(host) == server


@pytest.mark.parametrize(
    "host",
    [
        *(None, "", 42, ["https://10.0.0.1"], "10.0.0.1:6443", "localhost", "https://", "https://:6443", "//10.0.0.1:6443"),
        *("tcp://10.0.0.1:6443", "unix:///run/api.sock", "https:10.0.0.1", "https://[::1", "https://a:port", "https://a:0"),
        *("https://a:65536", "https://a:-1"),
    ],
)
def test_what_is_no_url_of_a_server_is_refused_as_it_was_written(host: object) -> None:
    with pytest.raises(ClientConfigError, match=re.escape(f"the server {host!r} of the kubeconfig is no URL")):
        server_of(host)


# -- kubeconfigs


def kubeconfig(folder: Path, cluster: Any = CLUSTER, user: Any = None, **more: Any) -> str:
    path = folder / "config"
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "here",
        "contexts": [{"name": "here", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": cluster}],
        "users": [{"name": "u", "user": {"token": "secret"} if user is None else user}],
        **more,
    }
    path.write_text(json.dumps(content))
    return str(path)


def told_by(configuration: Any) -> str:
    """The header by which a client says who it is."""
    (setting,) = configuration.auth_settings().values()
    return f"{setting['value']}".strip()  # a token's file may end in a line break


def test_a_kubeconfig_says_where_and_who(tmp_path: Path) -> None:
    found = from_kubeconfig(kubeconfig(tmp_path))

    assert (found.host, told_by(found)) == ("https://10.0.0.1:6443", "Bearer secret")


@pytest.mark.parametrize(
    "content",
    [
        "",
        "][",
        "\t",
        "[]",
        "5",
        "\x00",
        '{"current-context": "x"}',
        '{"current-context": "x", "contexts": [], "clusters": [], "users": []}',
        '{"current-context": "x", "contexts": [{"name": "x"}], "clusters": [], "users": []}',
        '{"current-context": "x", "contexts": 5, "clusters": 5, "users": 5}',
        '{"contexts": [{"name": "x", "context": {"cluster": "c"}}], "clusters": [{"name": "c", "cluster": {"server": "a"}}]}',
    ],
)
def test_a_broken_kubeconfig_is_named(content: str, tmp_path: Path) -> None:
    path = tmp_path / "config"
    path.write_text(content)

    with pytest.raises(ClientConfigError, match=f"^kubeconfig {re.escape(str(path))}: "):
        from_kubeconfig(str(path))


@pytest.mark.parametrize(
    ("cluster", "user"),
    [
        ({**CLUSTER, "certificate-authority": "absent.pem"}, None),
        ({**CLUSTER, "certificate-authority-data": ["a"]}, None),
        ({"server": 42}, None),
        (None, None),
        (CLUSTER, {"client-certificate": "absent.pem", "client-key": "absent.pem"}),
        (CLUSTER, {"tokenFile": "absent"}),
        (CLUSTER, 5),
    ],
)
def test_a_field_that_cannot_be_used_is_a_fault_of_the_kubeconfig(cluster: Any, user: Any, tmp_path: Path) -> None:
    path = kubeconfig(tmp_path, cluster, user)

    with pytest.raises(ClientConfigError, match=f"^kubeconfig {re.escape(path)}: "):
        from_kubeconfig(path)


@pytest.mark.parametrize("path", ["absent", ".", "file/below"])
def test_a_kubeconfig_that_cannot_be_read_is_named(path: str, tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(ClientConfigError, match=re.escape(str(tmp_path))):
        from_kubeconfig(str(tmp_path / path))


def test_without_a_path_the_environment_counts_and_then_the_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("KUBECONFIG", raising=False)
    with pytest.raises(ClientConfigError, match=re.escape(f"kubeconfig {tmp_path}/.kube/config: ")):
        from_kubeconfig(None)

    (tmp_path / ".kube").mkdir()
    kubeconfig(tmp_path / ".kube", {"server": "https://home:6443"})
    assert from_kubeconfig(None).host == "https://home:6443"

    monkeypatch.setenv("KUBECONFIG", kubeconfig(tmp_path, {"server": "https://environment:6443"}))
    assert from_kubeconfig(None).host == "https://environment:6443"
    assert from_kubeconfig(kubeconfig(tmp_path / ".kube", {"server": "https://given:6443"})).host == "https://given:6443"


# -- service accounts


@pytest.fixture
def account(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a pod's service account, which is as it should be."""
    from kubernetes.config import incluster_config

    trustme.CA().cert_pem.write_to_path(str(tmp_path / "ca.crt"))
    (tmp_path / "token").write_text("pod-token\n")
    monkeypatch.setattr(incluster_config, "SERVICE_TOKEN_FILENAME", str(tmp_path / "token"))
    monkeypatch.setattr(incluster_config, "SERVICE_CERT_FILENAME", str(tmp_path / "ca.crt"))
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "fd00::1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")
    return tmp_path


def test_a_service_account_says_where_and_who(account: Path) -> None:
    found = in_cluster()

    assert (found.host, told_by(found)) == ("https://[fd00::1]:443", "bearer pod-token")
    assert found.ssl_ca_cert == str(account / "ca.crt")


@pytest.mark.parametrize("variable", ["KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT"])
@pytest.mark.parametrize("value", ["", None])
def test_outside_a_pod_there_is_no_service_account(
    variable: str, value: str | None, account: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if value is None:
        monkeypatch.delenv(variable)
    else:
        monkeypatch.setenv(variable, value)

    with pytest.raises(ClientConfigError, match=r"^service account: "):
        in_cluster()


@pytest.mark.parametrize("file", ["token", "ca.crt"])
@pytest.mark.parametrize("content", [None, b"", b"\xff\xfe"])
def test_a_service_account_that_lacks_a_file_is_told(file: str, content: bytes | None, account: Path) -> None:
    (account / file).unlink()
    if content is not None:
        (account / file).write_bytes(content)

    with pytest.raises(ClientConfigError, match=r"^service account: "):
        in_cluster()
