"""docs/security.md, "A certificate for the API server", as it is written there: only who has the certificate is answered."""

from __future__ import annotations

import os
import re
import shutil
import ssl
import subprocess
from collections.abc import Iterator
from pathlib import Path

import attrs
import pytest
import yaml

from tests.apiserver.conftest import NOBODY_JUDGES
from tests.apiserver.gatehouse import Gatehouse
from tests.apiserver.installing import run
from tests.apiserver.registration import NAMESPACE, ROOT, Registration, apply_rbac
from tests.apiserver.waiting import wait_for
from tests.cluster import Api, Cluster, Json, Settings
from tests.cluster.components import APISERVER, CONTROLLER_MANAGER
from tests.cluster.network import ADDRESS

PAGE = (ROOT / "docs" / "security.md").read_text()
FOLDER, CA_FILE = "/etc/kubernetes/webhooks", "/etc/gatehouse-clients/clients-ca.crt"  # as the page has them
PORT = 9443
SERVICE = f"gatehouse.{NAMESPACE}.svc"


def block(beginning: str) -> str:
    """The one fenced block of the page whose first line starts with *beginning*."""
    (found,) = re.findall(rf"^```(?:sh|yaml)\n(# {re.escape(beginning)}.*?)^```$", PAGE, re.M | re.S)
    return str(found)


@attrs.frozen
class Scene:
    """An API server that has the certificate, and a Gatehouse that asks for it, behind a Service."""

    api: Api
    gatehouse: Gatehouse
    files: Path
    cluster: Cluster

    def call(self, certificate: str = "") -> int:
        """The status that whoever calls /node-taint gets, with the certificate of that name in the folder, or without."""
        tls = ssl.create_default_context(cafile=str(self.gatehouse.ca_file))
        if certificate:
            tls.load_cert_chain(self.files / f"{certificate}.crt", self.files / f"{certificate}.key")
        with self.cluster.connections(PORT, tls, ADDRESS) as connections:
            return connections.call("POST", "/node-taint", b"{}", {"Content-Type": "application/json"}).status

    def answered(self) -> float:
        return self.gatehouse.total("controller_runtime_webhook_requests_total", webhook="/node-taint", code="200")


class Asking(Gatehouse):
    """Shows a certificate that is good for the Service."""

    hosts = (SERVICE, ADDRESS)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the page makes for /etc/kubernetes/webhooks."""
    folder = tmp_path_factory.mktemp("webhooks")
    subprocess.run(["sh", "-ec", block("make the files")], cwd=folder, check=True, capture_output=True, timeout=30)
    for name in ("admission.yaml", "kubeconfig.yaml"):
        text = block(name)
        assert FOLDER in text
        (folder / name).write_text(text.replace(FOLDER, str(folder)))
    return folder


@pytest.fixture(scope="module")
def cluster(files: Path) -> Iterator[Cluster]:
    # Endpoints instead of the Service's address, which nothing translates without a node.
    flags = [f"--admission-control-config-file={files / 'admission.yaml'}", "--enable-aggregator-routing=true"]
    settings = Settings(f"clients-{os.getpid()}", {APISERVER: flags, CONTROLLER_MANAGER: NOBODY_JUDGES})
    with Cluster(settings) as running:
        yield running


@pytest.fixture(scope="module")
def scene(cluster: Cluster, files: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    config = yaml.safe_load(installed(cluster, files, tmp_path_factory.mktemp("kustomized"))["data"]["configuration.yaml"])
    auth = config["webhook"]["clientAuth"]
    assert auth["caFile"] == CA_FILE
    config_file = files / "gatehouse.yaml"
    config_file.write_text("apiVersion: gatehouse.dev/v1alpha1\nkind: GatehouseConfiguration\n")
    webhook = {"clientAuth": {**auth, "caFile": str(files / "clients-ca.crt")}, "shutdownDelay": "0s"}
    with cluster.api() as api:
        apply_rbac(api)
        publish(api)
        asking = Asking(
            cluster,
            tmp_path_factory.mktemp("asking"),
            config={"webhook": webhook, "controllers": {"edgeHealth": {"enabled": False}}},
            arguments=[f"--webhook-bind-address={ADDRESS}:{PORT}"],
        )
        with asking as gatehouse:
            printed = Registration.for_service(f"{NAMESPACE}/gatehouse", config_file, gatehouse.ca_file)
            with printed.only("nodes").applied(api):
                yield Scene(api, gatehouse, files, cluster)


def installed(cluster: Cluster, files: Path, folder: Path) -> Json:
    """The ConfigMap of Gatehouse as kustomize makes it of the page's kustomization, whose other objects are looked at."""
    shutil.copytree(ROOT / "manifests", folder / "manifests")
    (folder / "mine").mkdir()
    (folder / "mine" / "kustomization.yaml").write_text(block("mine/kustomization.yaml"))
    shutil.copy(files / "clients-ca.crt", folder / "mine")
    made = {
        (item["kind"], item["metadata"]["name"]): item
        for item in yaml.safe_load_all(run(cluster, "kustomize", str(folder / "mine")))
    }
    pod = made["Deployment", "gatehouse"]["spec"]["template"]["spec"]
    mounts = {mount["name"]: mount["mountPath"] for mount in pod["containers"][0]["volumeMounts"]}
    (volume,) = [one for one in pod["volumes"] if one["name"] == "clients"]
    assert f"{mounts['clients']}/clients-ca.crt" == CA_FILE
    assert "clients-ca.crt" in made["ConfigMap", volume["configMap"]["name"]]["data"]
    return made["ConfigMap", "gatehouse"]


def publish(api: Api) -> None:
    """The Service, and where it leads."""
    ports = [{"name": "webhook", "port": 443, "targetPort": PORT, "protocol": "TCP"}]
    api.create(f"/api/v1/namespaces/{NAMESPACE}/services", {"metadata": {"name": "gatehouse"}, "spec": {"ports": ports}})
    labels = {"kubernetes.io/service-name": "gatehouse", "endpointslice.kubernetes.io/managed-by": "test"}
    slice_ = {
        "metadata": {"name": "gatehouse-1", "labels": labels},
        "addressType": "IPv4",
        "endpoints": [{"addresses": [ADDRESS], "conditions": {"ready": True}}],
        "ports": [{"name": "webhook", "port": PORT, "protocol": "TCP"}],
    }
    api.create(f"/apis/discovery.k8s.io/v1/namespaces/{NAMESPACE}/endpointslices", slice_)


def test_the_api_server_shows_the_certificate_and_is_answered(scene: Scene) -> None:
    path = "/api/v1/nodes"
    scene.api.create(path, {"metadata": {"name": "edge"}})
    before = scene.answered()

    def asked() -> bool:
        scene.api.patch(f"{path}/edge?dryRun=All", {"metadata": {"annotations": {"seen": str(scene.answered())}}})
        return scene.answered() > before

    wait_for(asked, 15.0, "an answer to the API server")


def test_whoever_shows_none_is_refused(scene: Scene) -> None:
    assert scene.call() == 401


def test_whom_the_same_ca_has_named_otherwise_is_refused(scene: Scene) -> None:
    command = block("make the files").partition("openssl req -x509 -CA ")[2].replace("kube-apiserver-webhooks", "kubelet")
    made = "openssl req -x509 -CA " + command.replace("client.key", "other.key").replace("client.crt", "other.crt")
    subprocess.run(["sh", "-ec", made], cwd=scene.files, check=True, capture_output=True, timeout=30)

    assert scene.call("other") == 403


def test_who_has_the_certificate_itself_is_answered(scene: Scene) -> None:
    assert scene.call("client") == 400  # the body is no review: he got that far
