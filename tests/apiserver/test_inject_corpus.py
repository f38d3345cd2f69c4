"""Every manifest of the corpus, injected offline, is one that the real API server takes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import attrs
import pytest

from tests.cluster import Api, ApiError, Cluster, Json
from tests.cluster.kinds import apply
from tests.controllers.cli.corpus import CLUSTER, FILES, NAMESPACE, injected
from webhook.objects.documents import objects, read_documents


@attrs.frozen
class Served:
    """Where the API server has a kind."""

    collection: str  # "/apis/apps/v1"
    plural: str
    namespaced: bool

    def path(self, namespace: str) -> str:
        """The collection in *namespace*."""
        scope = f"/namespaces/{namespace}" if self.namespaced else ""
        return f"{self.collection}{scope}/{self.plural}?dryRun=All&fieldValidation=Warn"


@pytest.fixture(scope="module")
def admin(quiet_cluster: Cluster) -> Iterator[Api]:
    """An administrator, and the namespaces that the manifests name."""
    with quiet_cluster.api() as api:
        names = {NAMESPACE}
        for file in (*FILES, *CLUSTER.glob("*.yaml")):
            for document in _objects(file.read_bytes(), file.name):
                metadata = document.get("metadata") or {}
                names |= {metadata.get("namespace") or NAMESPACE}
                if document.get("kind") == "Namespace":
                    names.add(metadata["name"])
        for name in names:
            apply(api, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        yield api


@pytest.fixture(scope="module")
def served(admin: Api) -> Mapping[tuple[str, str], Served]:
    """What the API server serves, by apiVersion and kind."""
    versions = ["v1"] + [version["groupVersion"] for group in admin.get("/apis")["groups"] for version in group["versions"]]
    found = {}
    for version in versions:
        root = f"/apis/{version}" if "/" in version else f"/api/{version}"
        for resource in admin.get(root)["resources"]:
            if "/" not in resource["name"]:
                found[version, resource["kind"]] = Served(root, resource["name"], resource["namespaced"])
    return found


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_an_injected_manifest_is_taken(admin: Api, served: Mapping[tuple[str, str], Served], file: Path) -> None:
    refused = []
    for document in _objects(injected(file), file.name):
        kind = served.get((document.get("apiVersion", ""), document.get("kind", "")))
        if kind is None:
            continue
        namespace = (document.get("metadata") or {}).get("namespace") or NAMESPACE
        try:
            admin.create(kind.path(namespace), document)
        except ApiError as error:
            if error.reason != "AlreadyExists":
                refused.append(str(error))

    assert refused == []


def test_most_files_hold_something_that_the_api_server_judges(served: Mapping[tuple[str, str], Served]) -> None:
    judged = [
        file
        for file in FILES
        if any((doc.get("apiVersion"), doc.get("kind")) in served for doc in _objects(injected(file), file.name))
    ]

    assert len(judged) >= 60


def _objects(source: bytes, name: str) -> list[Json]:
    found = [document.value for document in objects(read_documents(source, name))]
    return [value for value in found if isinstance(value, dict)]
