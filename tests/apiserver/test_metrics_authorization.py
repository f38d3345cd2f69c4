"""The metrics port asks a real API server who may read it: TokenReview, SubjectAccessReview, TLS."""

from __future__ import annotations

import ssl
from collections.abc import Iterator

import pytest
import yaml

from tests.apiserver.gatehouse import Gatehouse
from tests.apiserver.registration import NAMESPACE, ROOT, USER, service_account_token
from tests.apiserver.waiting import wait_for
from tests.cluster import Api, Cluster, Json
from tests.cluster.api import Connections, Reply
from tests.cluster.components import APISERVER
from tests.cluster.kinds import apply, object_path

READER, STRANGER = "metrics-reader", "metrics-stranger"
CONFIG: Json = {"metrics": {"authorization": "kubernetes", "tls": True}, "controllers": {"edgeHealth": {"enabled": False}}}
ACCOUNTS = f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts"
WITHIN_S = 30.0


@pytest.fixture(scope="module")
def rights(quiet_cluster: Cluster) -> Iterator[Api]:
    """What the component installs, with the reader's role bound to an account of these tests. Taken away afterwards."""
    file = ROOT / "manifests" / "components" / "metrics-authorization" / "rights.yaml"
    documents = list(yaml.safe_load_all(file.read_text()))
    (binding,) = [one for one in documents if one["kind"] == "ClusterRoleBinding" and "reader" in one["metadata"]["name"]]
    binding["subjects"] = [{"kind": "ServiceAccount", "name": READER, "namespace": NAMESPACE}]
    with quiet_cluster.api() as api:
        for name in (READER, STRANGER):
            api.create(ACCOUNTS, {"metadata": {"name": name}})
        for document in documents:
            apply(api, document)
        yield api
        for document in documents:
            api.delete(object_path(document))
        for name in (READER, STRANGER):
            api.delete(f"{ACCOUNTS}/{name}")


class Port:
    """The metrics port as a scraper sees it."""

    def __init__(self, gatehouse: Gatehouse, connections: Connections) -> None:
        self.gatehouse = gatehouse
        self._connections = connections

    def get(self, path: str, token: str = "") -> Reply:
        return self._connections.call("GET", path, headers={"Authorization": f"Bearer {token}"} if token else {})


@pytest.fixture(scope="module")
def port(quiet_cluster: Cluster, rights: Api, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Port]:
    with Gatehouse(quiet_cluster, tmp_path_factory.mktemp("authorized"), config=CONFIG) as gatehouse:
        tls = ssl.create_default_context(cafile=str(gatehouse.ca_file))
        number = int(gatehouse.addresses["metrics"].rpartition(":")[2])
        with quiet_cluster.connections(number, tls) as connections:
            yield Port(gatehouse, connections)


@pytest.fixture(scope="module")
def reader(rights: Api) -> str:
    return service_account_token(rights, READER)


def test_who_is_bound_to_the_reader_s_role_gets_the_metrics_and_nothing_else(port: Port, reader: str) -> None:
    found = port.get("/metrics", reader)

    assert found.status == 200
    assert b"gatehouse_metrics_requests_total" in found.body
    denied = port.get("/statusz", reader)
    assert denied.status == 403
    assert denied.body.decode().startswith(f"system:serviceaccount:{NAMESPACE}:{READER} may not get /statusz: bind it to a")


def test_another_account_of_the_cluster_gets_nothing(port: Port, rights: Api) -> None:
    assert port.get("/metrics", service_account_token(rights, STRANGER)).status == 403


@pytest.mark.parametrize("token", ["", "invented", "eyJhbGciOiJSUzI1NiJ9.e30.AAAA"])
def test_who_is_nobody_is_told_to_show_a_token(port: Port, token: str) -> None:
    answer = port.get("/metrics", token)

    assert answer.status == 401
    assert answer.headers["www-authenticate"].startswith('Bearer realm="gatehouse"')


def test_an_administrator_sees_the_status_from_anywhere(port: Port, quiet_cluster: Cluster) -> None:
    answer = port.get("/statusz", quiet_cluster.credentials.token("admin"))

    assert answer.status == 200
    assert b'"process"' in answer.body


def test_tokens_are_in_no_log(port: Port, reader: str) -> None:
    port.get("/statusz", reader)

    log = port.gatehouse.log()
    assert "not allowed to read" in log
    assert reader not in log and reader.rpartition(".")[2] not in log


def test_all_of_it_is_asked_as_our_own_account(port: Port, rights: Api, quiet_cluster: Cluster, reader: str) -> None:
    port.get("/metrics", reader)
    lines = quiet_cluster.audit_log.read_text().rpartition("\n")[0].splitlines()  # the last one may be half written
    reviews = [line for line in lines if '"resource":"tokenreviews"' in line or '"resource":"subjectaccessreviews"' in line]

    assert reviews
    assert all(f'"username":"{USER}"' in line and '"code":201' in line for line in reviews)


def test_while_the_api_server_is_silent_who_is_known_reads_on_and_others_are_put_off(
    port: Port, quiet_cluster: Cluster, reader: str, rights: Api
) -> None:
    other = service_account_token(rights, STRANGER)
    assert port.get("/metrics", reader).status == 200
    quiet_cluster.suspend(APISERVER)
    try:
        answer = port.get("/metrics", other)
        known = port.get("/metrics", reader)
    finally:
        quiet_cluster.resume(APISERVER)

    assert answer.status == 503
    assert int(answer.headers["retry-after"]) >= 1
    assert known.status == 200
    wait_for(lambda: port.get("/metrics", other).status == 403, WITHIN_S, "an answer once the API server speaks")
