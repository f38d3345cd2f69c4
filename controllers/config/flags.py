"""The flags that take precedence over the configuration file, named as Kubernetes components name theirs."""

from __future__ import annotations

import argparse
from typing import Any, Final

import attrs

from controllers.config.decoder import Override
from webhook.objects.faults import Path


@attrs.frozen
class _Flag:
    """One flag and the setting that it overrides."""

    name: str
    path: Path
    metavar: str  # "" = true or false
    help: str
    also: tuple[Path, Any] | None = None  # what giving it implies


_SOURCE: Final[Path] = ("webhook", "certificate", "source")

_FLAGS: Final = (
    _Flag(
        "--kubeconfig",
        ("clientConnection", "kubeconfig"),
        "FILE",
        "how to reach the API server (default: $KUBECONFIG, else the pod's service account, else ~/.kube/config)",
    ),
    _Flag(
        "--webhook-bind-address",
        ("webhook", "bindAddress"),
        "ADDRESS",
        "where reviews are answered (default :9443; port 0 takes a free one)",
    ),
    _Flag(
        "--metrics-bind-address",
        ("metrics", "bindAddress"),
        "ADDRESS",
        "where /metrics is served (default :8080; 0 switches it off)",
    ),
    _Flag(
        "--health-probe-bind-address",
        ("probes", "bindAddress"),
        "ADDRESS",
        "where /healthz and /readyz are served (default :8081; 0 switches it off)",
    ),
    _Flag(
        "--tls-cert-file",
        ("webhook", "certificate", "certFile"),
        "FILE",
        "serving certificate, PEM, with its intermediates; read again when it changes",
        (_SOURCE, "files"),
    ),
    _Flag(
        "--tls-private-key-file",
        ("webhook", "certificate", "keyFile"),
        "FILE",
        "the certificate's private key, PEM",
        (_SOURCE, "files"),
    ),
    _Flag("--leader-elect", ("leaderElection", "enabled"), "", "let one of several replicas do the led work (default false)"),
    _Flag("--leader-elect-resource-name", ("leaderElection", "name"), "NAME", "of the Lease (default gatehouse)"),
    _Flag("--leader-elect-resource-namespace", ("leaderElection", "namespace"), "NAME", "of the Lease (default: our own)"),
    _Flag("--leader-elect-lease-duration", ("leaderElection", "leaseDuration"), "DURATION", "default 15s"),
    _Flag("--leader-elect-renew-deadline", ("leaderElection", "renewDeadline"), "DURATION", "default 10s"),
    _Flag("--leader-elect-retry-period", ("leaderElection", "retryPeriod"), "DURATION", "default 2s"),
    _Flag("--log-format", ("logging", "format"), "FORMAT", "text or json (default text)"),
)


def add_config_flag(parser: argparse.ArgumentParser) -> None:
    """Add --config."""
    parser.add_argument("--config", metavar="FILE", default="", help="a GatehouseConfiguration, YAML or JSON")


def add_override_flags(parser: argparse.ArgumentParser) -> None:
    """Add every flag that overrides a setting, in a group of their own."""
    group = parser.add_argument_group("settings (each takes precedence over the configuration file)")
    for flag in _FLAGS:
        if flag.metavar:
            group.add_argument(flag.name, metavar=flag.metavar, help=flag.help)
        else:
            # As Go's flags do: `--leader-elect`, and `--leader-elect=false`.
            group.add_argument(
                flag.name, nargs="?", const="true", choices=("true", "false"), metavar="true|false", help=flag.help
            )
    group.add_argument("-v", "--verbose", action="store_true", help="log every review")


def overrides(options: argparse.Namespace) -> dict[Path, Override]:
    """What the flags in *options* say, by the path of the setting that it replaces."""
    found: dict[Path, Override] = {}
    for flag in _FLAGS:
        value = getattr(options, flag.name.removeprefix("--").replace("-", "_"))
        if value is None:
            continue
        found[flag.path] = Override(flag.name, value if flag.metavar else value == "true")
        if flag.also:
            found[flag.also[0]] = Override(flag.name, flag.also[1])
    if options.verbose:
        found[("logging", "verbose")] = Override("--verbose", True)
    return found
