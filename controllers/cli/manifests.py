"""`gatehouse manifests`: prints the webhook configurations of the services that the configuration leaves on.

With --all the whole installation, from the same files as `make deploy` (`installation`).
"""

from __future__ import annotations

import argparse
import json
import re
import ssl
import sys
from collections.abc import Sequence
from typing import Final
from urllib.parse import urlsplit

from controllers.cli.installation import (
    CONFIGURATION,
    WEBHOOKS,
    configured,
    follow_configuration,
    installation,
    overlays,
)
from controllers.cli.manifests_config import EDGE_ONLY, beyond_the_edge, faults
from controllers.cli.usage import UsageError, configuration
from controllers.config.document import DEFAULT_HOME, load
from controllers.config.flags import add_config_flag
from controllers.inputs import read_file
from webhook.admission.configurations import ClientConfig, configurations
from webhook.admission.registry import services_with
from webhook.names import CONFIG_MAP_KEY
from webhook.objects.documents import write_yaml
from webhook.objects.meta import Json
from webhook.objects.sources import decode_text

DEFAULT_SERVICE: Final = "kube-system/gatehouse:443"

EXAMPLES: Final = f"""\
examples:
  gatehouse manifests | kubectl diff -f -
                     for the Service {DEFAULT_SERVICE}, whose CA something else fills in
  gatehouse manifests --service edge/gatehouse --ca-file ca.crt
                     for another Service, with its CA
  gatehouse manifests --url https://10.0.0.7:9443 --ca-file ca.crt | kubectl apply -f -
                     for a server outside the cluster
  gatehouse manifests --all --image registry.example.com/gatehouse:1.0
                     the whole installation, as `make deploy` applies it
  gatehouse manifests --all --overlay single-node --overlay monitoring --config gatehouse.yaml
                     with another configuration, and what it registers; it says webhook.certificate and leaderElection itself
  gatehouse manifests --all --no-webhooks | kubectl apply --server-side -f -
                     what comes first: the webhooks follow once `kubectl -n kube-system rollout status deploy gatehouse` ends

exit codes: 0 printed, 2 wrong use
"""

IMAGE: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/@-]*")  # a reference; the container runtime knows its finer rules
DNS_LABEL: Final = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")  # names of namespaces and Services


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's flags."""
    target = parser.add_mutually_exclusive_group()
    target.add_argument("--url", metavar="https://HOST:PORT", help="how the API server reaches a server outside the cluster")
    target.add_argument(
        "--service",
        metavar="NS/NAME[:PORT]",
        help=f"the Service inside it (default {DEFAULT_SERVICE})",
    )
    parser.add_argument("--ca-file", metavar="FILE", help="PEM of the CA that signed the serving certificate")
    add_config_flag(parser)
    parser.add_argument("-o", "--output", choices=("yaml", "json"), default="yaml", help="json: a List")
    whole = parser.add_argument_group("the whole installation in kube-system")
    whole.add_argument(
        "--all", action="store_true", help="everything: kinds, rights, the replicas, their Service, the webhooks"
    )
    whole.add_argument(
        "--overlay",
        metavar="NAME",
        action="append",
        default=[],
        choices=overlays(),
        help=f"changed by one of {', '.join(overlays())}; may be given several times",
    )
    whole.add_argument("--image", metavar="REFERENCE", help="of the replicas (default gatehouse:dev)")
    whole.add_argument("--no-webhooks", action="store_true", help="without the webhook configurations, which are applied last")


def run(options: argparse.Namespace) -> int:
    """Print the objects; the exit code. Raises UsageError."""
    if options.all:
        found = _installation(options)
    elif options.overlay or options.image is not None or options.no_webhooks:
        raise UsageError("--overlay, --image and --no-webhooks are about the whole installation: they need --all")
    else:
        found = _registrations(options)
    if options.output == "json":
        print(json.dumps({"apiVersion": "v1", "kind": "List", "items": found}, indent=2))
    else:
        sys.stdout.write("---\n".join(map(write_yaml, found)))
    return 0


def _registrations(options: argparse.Namespace) -> list[Json]:
    """The two webhook configurations."""
    ca_pem = _certificates(options.ca_file) if options.ca_file is not None else b""
    service = DEFAULT_SERVICE if options.service is None else options.service
    client = _service(service, ca_pem) if options.url is None else ClientConfig.url(_url(options.url), ca_pem)
    home = service.partition("/")[0] if options.url is None else DEFAULT_HOME
    settings = configuration(options).settings(home)
    return configurations(
        [service for service in services_with(settings) if service.name not in settings.disabled], client, settings
    )


def _installation(options: argparse.Namespace) -> list[Json]:
    """Every object. --config replaces the configuration of the replicas, and with it what is registered."""
    if options.url is not None or options.service is not None or options.ca_file is not None:
        raise UsageError(
            f"--all installs the Service {DEFAULT_SERVICE}, whose CA it fills in itself: no --url, --service, --ca-file"
        )
    own = configured(options.overlay)
    if len(own) > 1 and not options.config:
        raise UsageError(
            f"{' and '.join(own)} each bring a configuration of their own: give the one that is meant with --config"
        )
    found = installation(options.overlay)
    if options.config:
        registered = {item["kind"]: item["webhooks"] for item in _registrations(options)}
        _refuse_unfit(options.config, found, options.overlay)
        for item in found:
            if (item["kind"], item["metadata"]["name"]) == CONFIGURATION:
                item["data"] = {CONFIG_MAP_KEY: decode_text(read_file(options.config), options.config)}
            elif item["kind"] in WEBHOOKS:
                item["webhooks"] = registered[item["kind"]]
        # Before the webhooks, which come last.
        found[-len(WEBHOOKS) : -len(WEBHOOKS)] = _rights(options)
    follow_configuration(found)
    if options.image is not None:
        if not IMAGE.fullmatch(options.image):
            raise UsageError(f"--image {options.image}: is no reference of an image")
        for item in found:
            if item["kind"] == "Deployment":
                item["spec"]["template"]["spec"]["containers"][0]["image"] = options.image
    return [item for item in found if item["kind"] not in WEBHOOKS] if options.no_webhooks else found


def _refuse_unfit(file: str, found: list[Json], overlays: Sequence[str]) -> None:
    """The replicas of *found* get *file* and nothing else: neither our environment nor what base's configuration says."""
    (replicas,) = (item["spec"].get("replicas", 1) for item in found if item["kind"] == "Deployment")
    config = load(file, {})
    told = faults(config, replicas) + (beyond_the_edge(config) if EDGE_ONLY in overlays else [])
    if told:
        raise UsageError("\n".join(f"{file}: {one}" for one in told))


def _rights(options: argparse.Namespace) -> list[Json]:
    """What the controllers of others ask for that the configuration names."""
    used = configuration(options).plugins.controllers_used
    if not used:
        return []
    from controllers.plugins.rights import roles

    return roles(used, DEFAULT_HOME)


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
        pem = read_file(file)
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
