"""`gatehouse manifests`: prints the webhook configurations of the services that the configuration leaves on."""

from __future__ import annotations

import argparse
import json
import re
import ssl
import sys
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from controllers.cli.usage import UsageError, configuration
from controllers.config.document import DEFAULT_HOME
from controllers.config.flags import add_config_flag
from webhook.admission.configurations import ClientConfig, configurations
from webhook.admission.registry import SERVICES
from webhook.objects.documents import write_yaml

DEFAULT_SERVICE: Final = "kube-system/gatehouse:443"

EXAMPLES: Final = f"""\
examples:
  gatehouse manifests | kubectl diff -f -
                     for the Service {DEFAULT_SERVICE}, whose CA something else fills in
  gatehouse manifests --service edge/gatehouse --ca-file ca.crt
                     for another Service, with its CA
  gatehouse manifests --url https://10.0.0.7:9443 --ca-file ca.crt | kubectl apply -f -
                     for a server outside the cluster

exit codes: 0 printed, 2 wrong use
"""

DNS_LABEL: Final = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")  # names of namespaces and Services


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's flags."""
    target = parser.add_mutually_exclusive_group()
    target.add_argument("--url", metavar="https://HOST:PORT", help="how the API server reaches a server outside the cluster")
    target.add_argument(
        "--service",
        metavar="NS/NAME[:PORT]",
        default=DEFAULT_SERVICE,
        help=f"the Service inside it (default {DEFAULT_SERVICE})",
    )
    parser.add_argument("--ca-file", metavar="FILE", help="PEM of the CA that signed the serving certificate")
    add_config_flag(parser)
    parser.add_argument("-o", "--output", choices=("yaml", "json"), default="yaml", help="json: a List")


def run(options: argparse.Namespace) -> int:
    """Print the configurations; the exit code. Raises UsageError."""
    ca_pem = _certificates(options.ca_file) if options.ca_file is not None else b""
    client = _service(options.service, ca_pem) if options.url is None else ClientConfig.url(_url(options.url), ca_pem)
    home = options.service.partition("/")[0] if options.url is None else DEFAULT_HOME
    settings = configuration(options).settings(home)
    found = configurations([service for service in SERVICES if service.name not in settings.disabled], client, settings)
    if options.output == "json":
        print(json.dumps({"apiVersion": "v1", "kind": "List", "items": found}, indent=2))
    else:
        sys.stdout.write("---\n".join(map(write_yaml, found)))
    return 0


def _url(url: str) -> str:
    """*url* as a webhook configuration may hold it (admissionregistration/v1 WebhookClientConfig)."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise UsageError(f"--url {url}: {error}") from error
    if parts.scheme != "https" or not parts.hostname or port == 0 or not re.fullmatch(r"[0-9A-Za-z.:_-]+", parts.hostname):
        raise UsageError(f"--url {url}: must be https://HOST:PORT")
    if parts.path.strip("/") or parts.query or parts.fragment or parts.username is not None:
        raise UsageError(f"--url {url}: only https://HOST:PORT; the services' paths are put behind it")
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return f"https://{host}:{port}" if port else f"https://{host}"


def _service(text: str, ca_pem: bytes) -> ClientConfig:
    namespace, slash, rest = text.partition("/")
    name, colon, port = rest.partition(":")
    if not slash or not DNS_LABEL.fullmatch(namespace) or not DNS_LABEL.fullmatch(name):
        raise UsageError(f"--service {text}: must be NAMESPACE/NAME or NAMESPACE/NAME:PORT")
    if colon and not (port.isascii() and port.isdecimal() and 0 < int(port) <= 65535):
        raise UsageError(f"--service {text}: a port is a number from 1 to 65535")
    return ClientConfig.service(namespace, name, int(port or 443), ca_pem)


def _certificates(file: str) -> bytes:
    """The content of *file* when the API server would take it for a CA bundle."""
    try:
        pem = Path(file).read_bytes()
    except OSError as error:
        raise UsageError(f"--ca-file {file}: cannot be read: {error.strerror}") from error
    if b"PRIVATE KEY" in pem:
        raise UsageError(f"--ca-file {file}: holds a private key, which would become readable to everyone")
    try:
        if not pem.strip():
            raise ValueError("empty")
        ssl.create_default_context(cadata=pem.decode("ascii"))
    except (ssl.SSLError, ValueError) as error:
        raise UsageError(f"--ca-file {file}: holds no certificate in PEM") from error
    return pem
