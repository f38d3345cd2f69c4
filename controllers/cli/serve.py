"""`gatehouse serve`: the process itself."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Final

from controllers.cli.usage import UsageError, configuration, no_cluster
from controllers.collector.loading import undisturbed
from controllers.config.document import LogFormat
from controllers.config.flags import add_config_flag, add_override_flags, overrides
from controllers.config.webhook import MetricsAuthorization
from webhook.logs import configure_logging

EXAMPLES: Final = """\
examples:
  gatehouse serve --local examples/edge-health
                     try it without a cluster: facts from files, a certificate made at start, 127.0.0.1 only
  gatehouse serve --kubeconfig ~/.kube/config --tls-cert-file tls.crt --tls-private-key-file tls.key
                     outside the cluster; `gatehouse manifests --url ...` registers it
  gatehouse serve --config /etc/gatehouse/config.yaml --leader-elect --log-format json
                     as the manifests start it

One line of JSON on standard output says which addresses are in use, once all are.
SIGTERM and SIGINT stop it, a second one at once; so does SIGHUP when its terminal goes, unless nohup has it ignored.
exit codes: 0 stopped, 1 something failed, 2 wrong use
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's flags."""
    parser.add_argument("--local", metavar="DIR", help="the cluster's nodes and pods as files instead of an API server")
    add_config_flag(parser)
    add_override_flags(parser)


def run(options: argparse.Namespace) -> int:
    """Serve until a signal; the exit code. Raises UsageError."""
    config = configuration(options, overrides(options))
    if options.local is not None and (not options.local or not Path(options.local).is_dir()):
        raise UsageError(f"--local {options.local}: no such folder")
    if options.local is not None and config.metrics.authorization is MetricsAuthorization.KUBERNETES:
        raise UsageError("metrics.authorization: kubernetes needs an API server to ask, and --local has none")
    configure_logging(verbose=config.logging.verbose, json_lines=config.logging.format is LogFormat.JSON)
    # Only now: what serves is half a second of imports that a wrong flag need not wait for.
    with undisturbed():
        from controllers.process import assembly
        from controllers.runtime.errors import ClientConfigError

    try:
        return assembly.run(assembly.Options(config, Path(options.local) if options.local is not None else None))
    except ClientConfigError as error:
        raise no_cluster(error, "gatehouse serve --local examples/edge-health needs none") from error
