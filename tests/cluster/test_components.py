"""Command lines: what a caller adds wins over what a cluster sets."""

from __future__ import annotations

import socket
from http.client import HTTPConnection
from pathlib import Path

import pytest

from tests.cluster import components
from tests.cluster.api import Connections, impersonating
from tests.cluster.kinds import collection_path, object_path


def test_extra_flags_come_last() -> None:
    argv = components.command(components.APISERVER, Path("/state"), {components.APISERVER: ["--secure-port=1"]})

    assert argv[0] == "kube-apiserver"
    assert argv.index("--secure-port=6443") < argv.index("--secure-port=1")


@pytest.mark.parametrize("component", components.CONTROL_PLANE)
def test_extra_flags_of_one_component_reach_no_other(component: str) -> None:
    others = {name: ["--of-another"] for name in components.CONTROL_PLANE if name != component}

    assert "--of-another" not in components.command(component, Path("/state"), others)


@pytest.mark.parametrize(
    ("version", "kind", "namespace", "path"),
    [
        ("v1", "Node", None, "/api/v1/nodes"),
        ("v1", "Pod", "shop", "/api/v1/namespaces/shop/pods"),
        ("discovery.k8s.io/v1", "EndpointSlice", "shop", "/apis/discovery.k8s.io/v1/namespaces/shop/endpointslices"),
        ("rbac.authorization.k8s.io/v1", "ClusterRole", None, "/apis/rbac.authorization.k8s.io/v1/clusterroles"),
    ],
)
def test_an_object_is_found_at_the_path_of_its_kind(version: str, kind: str, namespace: str | None, path: str) -> None:
    metadata = {"name": "a"} | ({"namespace": namespace} if namespace else {})
    item = {"apiVersion": version, "kind": kind, "metadata": metadata}

    assert collection_path(item) == path
    assert object_path(item) == f"{path}/a"


def test_an_administrator_can_act_as_somebody_else() -> None:
    assert impersonating("jane") == {"Impersonate-User": "jane"}


def test_each_group_of_somebody_else_is_a_header_of_its_own() -> None:
    here, there = socket.socketpair()
    with here, there:
        connection = HTTPConnection("api")
        connection.sock = here
        there.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")

        reply = Connections._call(connection, "POST", "/pods", b"{}", impersonating("jane", "dev", "ops"))

        sent = there.recv(65536).split(b"\r\n")
        assert reply.body == b"{}"
        assert [line for line in sent if line.startswith(b"Impersonate-Group")] == [
            b"Impersonate-Group: dev",
            b"Impersonate-Group: ops",
        ]
        assert b"Content-Length: 2" in sent
        assert sent[-1] == b"{}"
