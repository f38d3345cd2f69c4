"""What an operator applies: the RBAC of manifests/, and the webhook configurations that `gatehouse manifests` prints."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import attrs
import yaml

from tests.cluster import Api, Json
from tests.cluster.kinds import apply, object_path

ROOT = Path(__file__).parents[2]
NAMESPACE = "kube-system"
ACCOUNT = "gatehouse"
USER = f"system:serviceaccount:{NAMESPACE}:{ACCOUNT}"
RBAC_KINDS = ("ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding")
NODES, PODS_STATUS, ENDPOINTS, ENDPOINT_SLICES = "nodes", "pods/status", "endpoints", "endpointslices"


def rbac() -> list[Json]:
    """The ServiceAccount, roles and bindings of manifests/base."""
    found = [
        document
        for path in sorted((ROOT / "manifests" / "base").rglob("*.yaml"))
        for document in yaml.safe_load_all(path.read_text())
        if document and document.get("kind") in RBAC_KINDS
    ]
    if not found:
        raise AssertionError("manifests/base has no ServiceAccount and no roles")
    return found


def apply_rbac(api: Api) -> None:
    """Apply what `rbac` finds."""
    for document in rbac():
        if document["kind"] in ("ServiceAccount", "Role", "RoleBinding"):
            document["metadata"].setdefault("namespace", NAMESPACE)  # as kustomize does
        apply(api, document)


def service_account_token(api: Api, account: str = ACCOUNT) -> str:
    """A token of the ServiceAccount *account*, Gatehouse's own by default, as a kubelet would mount it, good for an hour."""
    request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 3600}}
    path = f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts/{account}/token"
    token: str = api.create(path, request)["status"]["token"]
    return token


@attrs.frozen
class Registration:
    """Webhook configurations for a Gatehouse outside the cluster."""

    configurations: Sequence[Json]

    @classmethod
    def printed(cls, url: str, ca_file: Path, config: Path | None = None) -> Registration:
        """What `gatehouse manifests` prints for the server at *url*, with the configuration file *config*."""
        return cls._printed("--url", url, "--ca-file", str(ca_file), *([f"--config={config}"] if config else []))

    @classmethod
    def for_service(cls, service: str, config: Path, ca_file: Path | None = None) -> Registration:
        """What it prints for a Service of the cluster, "NAMESPACE/NAME"."""
        return cls._printed("--service", service, f"--config={config}", *([f"--ca-file={ca_file}"] if ca_file else []))

    @classmethod
    def _printed(cls, *arguments: str) -> Registration:
        argv = [sys.executable, "-m", "controllers", "manifests", *arguments]
        result = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, timeout=30)
        if result.returncode:
            raise AssertionError(f"manifests: exit code {result.returncode}: {result.stderr}")
        return cls([document for document in yaml.safe_load_all(result.stdout) if document])

    def only(self, *resources: str) -> Registration:
        """Without the webhooks that ask for anything beside *resources*."""
        kept = [
            {**item, "webhooks": [webhook for webhook in item["webhooks"] if _resources(webhook) <= set(resources)]}
            for item in self.configurations
        ]
        return Registration([item for item in kept if item["webhooks"]])

    def speaking(self, *versions: str) -> Registration:
        """With *versions* as every webhook's admissionReviewVersions."""
        return Registration(
            [
                {**item, "webhooks": [{**hook, "admissionReviewVersions": list(versions)} for hook in item["webhooks"]]}
                for item in self.configurations
            ]
        )

    def webhooks(self) -> list[str]:
        """The names of all webhooks."""
        return [webhook["name"] for item in self.configurations for webhook in item["webhooks"]]

    @contextlib.contextmanager
    def applied(self, api: Api) -> Iterator[None]:
        """Registered inside the block."""
        try:
            for item in self.configurations:
                apply(api, item)
            yield
        finally:
            for item in self.configurations:
                api.delete(object_path(item))


def _resources(webhook: Json) -> set[str]:
    return {resource for rule in webhook["rules"] for resource in rule["resources"]}
