"""What `make run` shows: Gatehouse on files, asked over TLS the way kube-apiserver asks.

Starts `gatehouse serve --local examples/edge-health`, posts every review of the example on one keep-alive connection, prints
what each answer changed, then serves until Ctrl-C (`--once`: ends). Needs nothing but the project's own virtual environment.
"""

from __future__ import annotations

import argparse
import base64
import http.client
import json
import signal
import ssl
import subprocess
import sys
from pathlib import Path

from controllers.cli.review import describe
from webhook.admission.registry import path_for
from webhook.objects.documents import read_documents

EXAMPLE = Path(__file__).parent / "edge-health"
START_LIMIT_S = 30


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--once", action="store_true", help="end after the examples")
    parser.add_argument("--webhook-bind-address", default="127.0.0.1:9443", help="port 0 takes a free one")
    options = parser.parse_args()
    address = "127.0.0.1:0" if options.once else options.webhook_bind_address
    command = [sys.executable, "-m", "controllers", "serve", "--local", str(EXAMPLE)]
    command += ["--config", str(EXAMPLE / "gatehouse.yaml"), "--webhook-bind-address", address]
    command += ["--metrics-bind-address", "127.0.0.1:0", "--health-probe-bind-address", "127.0.0.1:0"]
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))  # so that `finally` ends the server, too
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[1])
    try:
        started = json.loads(server.stdout.readline() or "{}")
        if "webhook" not in started:
            return server.wait(START_LIMIT_S) or 1
        failed = ask(started)
        if options.once:
            return 1 if failed else 0
        say(f"\nServing https://{started['webhook']} until Ctrl-C. See what it does: http://{started['metrics']}/status", "")
        return server.wait()
    except KeyboardInterrupt:
        return 0
    finally:
        if server.poll() is None:
            server.send_signal(signal.SIGTERM)
            server.wait(START_LIMIT_S)


def ask(started: dict[str, str]) -> int:
    """Post every review of the example; how many could not be decided."""
    host, _, port = started["webhook"].rpartition(":")
    trust = ssl.create_default_context(cadata=base64.b64decode(started["caBundle"]).decode())
    connection = http.client.HTTPSConnection(host, int(port), context=trust, timeout=10)
    failed = 0
    for file in sorted((EXAMPLE / "reviews").glob("*.yaml")):
        source = file.read_text()
        (document,) = read_documents(source, file.name)
        request = document.value["request"]
        path = path_for(request["resource"]["group"], request["resource"]["resource"], request.get("subResource", ""))
        connection.request(
            "POST",
            f"{path}?timeout=3s",
            json.dumps(document.value),
            {"Content-Type": "application/json", "Accept": "application/json", "User-Agent": "kube-apiserver-admission"},
        )
        response = connection.getresponse()
        body = response.read()
        say(f"\n{file.name}: POST {path}", source.splitlines()[0].lstrip("# "))
        print(describe(document.value, response.status, body, colour=sys.stdout.isatty()), flush=True)
        failed += response.status != 200
    connection.close()
    return failed


def say(title: str, text: str) -> None:
    """A heading and a line."""
    bold, plain = ("\033[1m", "\033[0m") if sys.stdout.isatty() else ("", "")
    print(f"{bold}{title}{plain}" + (f"\n{text}" if text else ""), flush=True)


if __name__ == "__main__":
    sys.exit(main())
