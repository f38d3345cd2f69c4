"""`gatehouse status`: what a running process knows, read from its /statusz."""

from __future__ import annotations

import argparse
import http.client
import json
import re
import sys
import urllib.error
import urllib.request
from typing import Final

from controllers.cli.usage import UsageError
from controllers.status import describe

EXAMPLES: Final = """\
examples:
  gatehouse status                                        the process on this machine
  kubectl -n kube-system exec deploy/gatehouse -- gatehouse status
  gatehouse status --address 127.0.0.1:8080 -o json | jq .silentNodes.nodes

exit codes: 0 ready, 1 not ready or not reachable, 2 wrong use
"""

TIMEOUT_S = 10.0
_HOST: Final = re.compile(r"[A-Za-z0-9._-]*|\[[0-9A-Fa-f:.]+(%[A-Za-z0-9._-]+)?\]")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's flags."""
    parser.add_argument("--address", metavar="HOST:PORT", default="127.0.0.1:8080", help="its --metrics-bind-address")
    parser.add_argument("-o", "--output", choices=("text", "json"), default="text")


def run(options: argparse.Namespace) -> int:
    """Print the page; the exit code says whether the process is ready. Raises UsageError."""
    host, colon, port = options.address.rpartition(":")
    if not colon or not (port.isascii() and port.isdecimal() and int(port) < 65536) or not _HOST.fullmatch(host):
        raise UsageError(f"--address {options.address}: expected HOST:PORT, without http:// and path")
    url = f"http://{host or '127.0.0.1'}:{port}/statusz"
    try:
        with urllib.request.urlopen(url, timeout=TIMEOUT_S) as answer:
            page = json.load(answer)
        if not isinstance(page, dict) or not isinstance(page.get("process"), dict):
            raise ValueError("not the status page of a gatehouse process")
    except (OSError, ValueError, http.client.HTTPException) as error:
        why = error.reason if isinstance(error, urllib.error.URLError) else str(error) or type(error).__name__
        print(f"{url}: {why}", file=sys.stderr)
        return 1
    print(json.dumps(page) if options.output == "json" else describe(page))
    return 0 if page.get("process", {}).get("ready") else 1
