"""`gatehouse status`: what a running process knows, read from its /statusz."""

from __future__ import annotations

import argparse
import json
import sys
from typing import Final

from controllers.cli import pages
from controllers.cli.text import visible
from controllers.status.text import describe
from controllers.wording import one_line

FORWARD: Final = "kubectl -n kube-system port-forward deploy/gatehouse 8080 makes one of a cluster reachable"

EXAMPLES: Final = """\
examples:
  gatehouse status                                        the process on this machine
  kubectl -n kube-system exec deploy/gatehouse -- gatehouse status        (with metrics.tls: status --tls)
  gatehouse status --address 127.0.0.1:8080 -o json | jq .silentNodes.nodes

exit codes: 0 ready, 1 not ready or not reachable, 2 wrong use
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's flags."""
    pages.add_arguments(parser)
    parser.add_argument("-o", "--output", choices=("text", "json"), default="text", help="json: the whole of /statusz")


def run(options: argparse.Namespace) -> int:
    """Print the page; the exit code says whether the process is ready. Raises UsageError."""
    source = pages.source(options)
    try:
        page = source.read_json("/statusz")
        if not isinstance(page, dict) or not isinstance(page.get("process"), dict):
            raise ValueError(f"{pages.NOT_OURS}: its answer is no status page")
    except (OSError, ValueError) as error:
        hint = f"; is it running there? {FORWARD}" if isinstance(error, OSError) else ""
        print(visible(one_line(f"{source.url('/statusz')}: {error or type(error).__name__}{hint}")), file=sys.stderr)
        return 1
    # Names come from users' objects: they must not steer a terminal.
    print(json.dumps(page) if options.output == "json" else visible(describe(page)))
    return 0 if page.get("process", {}).get("ready") else 1
