"""A real `gatehouse serve --local` process on free ports, for tests."""

from __future__ import annotations

import base64
import json
import os
import signal
import ssl
import subprocess
import sys
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import attrs

from tests.server.client import Client

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "edge-health"
LIMIT_S = 30


@attrs.define
class Served:
    """The process and where it listens."""

    process: subprocess.Popen[str]
    addresses: dict[str, str]
    log_file: Path

    def connect(self) -> Client:
        """A verified TLS connection to the webhook port."""
        host, _, port = self.addresses["webhook"].rpartition(":")
        context = ssl.create_default_context(cadata=base64.b64decode(self.addresses["caBundle"]).decode())
        return Client((host, int(port)), context)

    def get(self, server: str, path: str) -> tuple[int, str]:
        """A GET of a page of the metrics or healthProbe server."""
        try:
            with urllib.request.urlopen(f"http://{self.addresses[server]}{path}", timeout=LIMIT_S) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode()

    def resident_bytes(self) -> int:
        """Memory that the process holds."""
        pages = int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")

    def log(self) -> str:
        """What it has logged so far."""
        return self.log_file.read_text()

    def stop(self) -> int:
        """SIGTERM, and the exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(LIMIT_S)


def command(*flags: str, local: Path = EXAMPLE) -> list[str]:
    """`gatehouse serve` on free ports of loopback."""
    ports = ("--webhook-bind-address", "127.0.0.1:0", "--metrics-bind-address", "127.0.0.1:0")
    probes = ("--health-probe-bind-address", "127.0.0.1:0")
    return [sys.executable, "-m", "controllers", "serve", "--local", str(local), *ports, *probes, *flags]


@contextmanager
def serve(folder: Path, *flags: str, arguments: Sequence[str] | None = None) -> Iterator[Served]:
    """A process that serves; its log goes to a file in *folder*. Ends it."""
    log_file = folder / "log"
    with log_file.open("w") as log:
        process = subprocess.Popen(
            arguments or command(*flags), cwd=ROOT, stdout=subprocess.PIPE, stderr=log, text=True, start_new_session=True
        )
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            assert line, f"it did not start: {log_file.read_text()}"
            yield Served(process, json.loads(line), log_file)
        finally:
            if process.poll() is None:
                process.kill()
            process.wait(LIMIT_S)
            if process.stdout is not None:
                process.stdout.close()
