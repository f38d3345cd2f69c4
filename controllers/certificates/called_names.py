"""Whether the served certificate is for the names that the API server calls us by. Pure.

The API server verifies the name NAME.NAMESPACE.svc of a Service, or the host of a URL, against the certificate's SAN.
Source: Kubernetes API reference, WebhookClientConfig; apiserver pkg/util/webhook client.go; RFC 6125 6.4.3, as Go has it.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Collection, Iterable
from typing import Any
from urllib.parse import urlsplit

from webhook.serving.chains import canonical_name


def called_name(client_config: Any) -> str:
    """The name that is called, as `chains.canonical_name` writes it; "" when *client_config* names none that can be read."""
    if not isinstance(client_config, dict):
        return ""
    service, url = client_config.get("service"), client_config.get("url")
    if isinstance(service, dict):
        name, namespace = service.get("name"), service.get("namespace")
        whole = isinstance(name, str) and isinstance(namespace, str) and name and namespace
        return canonical_name(f"{name}.{namespace}.svc") if whole else ""
    try:
        return canonical_name((isinstance(url, str) and urlsplit(url).hostname) or "")
    except ValueError:  # brackets without an address
        return ""


def uncovered(called: Iterable[str], names: Collection[str]) -> tuple[str, ...]:
    """Those of *called* that a certificate for *names* is not valid for, each once, in order; as `canonical_name` has them."""
    return tuple(sorted({one for one in called if one and not _covers(names, one)}))


def _covers(names: Collection[str], called: str) -> bool:
    host = called.removesuffix(".")
    if host in names:
        return True
    _, dot, rest = host.partition(".")
    return bool(dot) and not _is_address(host) and f"*.{rest}" in names  # a wildcard is one whole label, the first


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
