"""Where the API server is and who we are to it: the kubernetes package's loaders of kubeconfigs and service accounts.

It and `rest` import kubernetes, and only when a client is made. Any thread. Errors: ClientConfigError.
"""

from __future__ import annotations

import os
from typing import Any
from urllib.parse import urlsplit

from controllers.runtime.errors import ClientConfigError


def server_of(host: Any) -> str:
    """The server's URL without a slash at its end. Raises ClientConfigError."""
    try:
        parts = urlsplit(host) if isinstance(host, str) else None
        usable = parts is not None and parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # a port that is no number, brackets that do not match
        usable = False
    if not usable:
        raise ClientConfigError(f"the server {host!r} of the kubeconfig is no URL: expected https://HOST:PORT")
    return str(host).rstrip("/")


def config_exception() -> type[Exception]:
    """What the loaders, and the refresh of their tokens, raise."""
    from kubernetes.config import ConfigException

    return ConfigException


def from_kubeconfig(path: str | None) -> Any:
    """A kubernetes.client.Configuration of the kubeconfig at *path*; None: $KUBECONFIG, else ~/.kube/config."""
    from kubernetes.client import Configuration
    from kubernetes.config import load_kube_config

    where = path or os.environ.get("KUBECONFIG") or os.path.expanduser("~/.kube/config")
    configuration = Configuration()
    try:
        load_kube_config(config_file=where, client_configuration=configuration)  # type: ignore[no-untyped-call]
    except Exception as error:  # whatever its YAML parser, base64 and dict look-ups raise on a broken file
        # Its loader calls methods of whatever stands there: `server: 42` has no rstrip.
        hint = "a field of the wrong type, perhaps the server: " if isinstance(error, AttributeError | TypeError) else ""
        raise ClientConfigError(f"kubeconfig {where}: {hint}{type(error).__name__}: {error}") from error
    return configuration


def in_cluster() -> Any:
    """A kubernetes.client.Configuration of the pod's service account."""
    from kubernetes.client import Configuration
    from kubernetes.config import load_incluster_config

    configuration = Configuration()
    try:
        load_incluster_config(client_configuration=configuration)  # type: ignore[no-untyped-call]
    except (config_exception(), OSError, ValueError) as error:
        raise ClientConfigError(f"service account: {error}") from error
    return configuration
