"""The webhook registrations of the table, as the two objects that the API server reads.

Both are named `gatehouse`. Pure; what is not set is left to the API server's defaults only where those can never change what is
matched.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Sequence
from typing import Any

import attrs

from webhook.admission.service import Entry, Service
from webhook.admission.settings import Settings
from webhook.names import APP_LABEL, DOMAIN, PROJECT
from webhook.objects.meta import Json

API_VERSION = "admissionregistration.k8s.io/v1"
REVIEW_VERSIONS = ("v1", "v1beta1")
DEFAULTS = Settings()


@attrs.frozen
class ClientConfig:
    """How the API server reaches the webhook server: a Service of the cluster, or a URL."""

    base: Json
    ca_bundle: str  # base64 of PEM; "" where something else fills it in

    @classmethod
    def service(cls, namespace: str, name: str, port: int, ca_pem: bytes = b"") -> ClientConfig:
        """A Service. The certificate must be valid for <name>.<namespace>.svc."""
        return cls({"namespace": namespace, "name": name, "port": port}, _encoded(ca_pem))

    @classmethod
    def url(cls, url: str, ca_pem: bytes = b"") -> ClientConfig:
        """A server outside the cluster, `https://HOST:PORT`; the service's path is put behind it."""
        return cls({"url": url.rstrip("/")}, _encoded(ca_pem))

    def at(self, path: str) -> Json:
        """The clientConfig for *path*."""
        target: Json
        if "url" in self.base:
            target = {"url": self.base["url"] + path}
        else:
            target = {"service": {**self.base, "path": path}}
        return target | ({"caBundle": self.ca_bundle} if self.ca_bundle else {})


def configurations(
    services: Iterable[Service],
    client: ClientConfig,
    settings: Settings = DEFAULTS,
    review_versions: Sequence[str] = REVIEW_VERSIONS,
) -> list[Json]:
    """The mutating and the validating configuration; an empty one too, so that applying it takes old registrations away.

    settings: some services register what these leave them to decide, and nothing when that is nothing.
    """
    mutating: list[Json] = []
    validating: list[Json] = []
    for service in services:
        webhooks = [_webhook(service, entry, client, review_versions) for entry in service.entries_with(settings)]
        (mutating if service.mutating else validating).extend(webhooks)
    return [
        {
            "apiVersion": API_VERSION,
            "kind": kind,
            "metadata": {"name": PROJECT, "labels": {APP_LABEL: PROJECT}},
            "webhooks": webhooks,
        }
        for kind, webhooks in (("MutatingWebhookConfiguration", mutating), ("ValidatingWebhookConfiguration", validating))
    ]


def _webhook(service: Service, entry: Entry, client: ClientConfig, review_versions: Sequence[str]) -> Json:
    webhook: dict[str, Any] = {
        "name": f"{service.name}{entry.suffix}.{DOMAIN}",
        "clientConfig": client.at(service.path),
        "rules": [
            {
                "apiGroups": [match.group],
                "apiVersions": [match.version],
                "resources": [match.resource],
                "operations": [operation.value for operation in match.operations],
                "scope": match.scope,
            }
            for match in entry.matches
        ],
        "namespaceSelector": dict(entry.namespace_selector),
        "objectSelector": dict(entry.object_selector),
        "matchPolicy": entry.match_policy,
        "failurePolicy": entry.failure_policy,
        "sideEffects": entry.side_effects,
        "timeoutSeconds": entry.timeout_s,
        "admissionReviewVersions": list(review_versions),
    }
    if entry.match_conditions:
        webhook["matchConditions"] = [{"name": name, "expression": cel} for name, cel in entry.match_conditions]
    if service.mutating:
        webhook["reinvocationPolicy"] = entry.reinvocation_policy
    return webhook


def _encoded(pem: bytes) -> str:
    return base64.b64encode(pem).decode("ascii")
