"""Pages of a running process, as commands read them: from its metrics port, with TLS and a token where it asks for them.

Errors: UsageError for flags that cannot be meant, OSError and ValueError for a page that does not come.
"""

from __future__ import annotations

import argparse
import http.client
import ipaddress
import json
import re
import socket
import ssl
from pathlib import Path
from typing import Any, Final

import attrs

from controllers.cli.usage import UsageError

TIMEOUT_S: Final = 10.0
MOST_BYTES: Final = 256 * 2**20
_HOST: Final = re.compile(r"[A-Za-z0-9._-]*|\[[0-9A-Fa-f:.]+(%[A-Za-z0-9._-]+)?\]")


@attrs.frozen
class Source:
    """Where pages are read."""

    host: str
    port: int
    tls: ssl.SSLContext | None = None
    server_name: str = ""  # what the certificate is for, when not the host
    token: str = attrs.field(default="", repr=False)

    def url(self, path: str) -> str:
        """*path* there, as messages name it."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'http' if self.tls is None else 'https'}://{host}:{self.port}{path}"

    def read_json(self, path: str) -> Any:
        """The page at *path*. Raises OSError or ValueError saying why there is none."""
        status, phrase, body = self.ask("GET", path)
        if status != 200:
            said = body[:200].decode("utf-8", "replace").strip()
            raise ValueError(f"{status} {phrase}{f': {said}' if said else ''}")
        return json.loads(body)

    def ask(self, method: str, path: str, body: bytes | None = None) -> tuple[int, str, bytes]:
        """Status, phrase and body of the answer; *body* is JSON. Raises OSError or ValueError saying why there is none."""
        headers = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        headers |= {"Content-Type": "application/json"} if body is not None else {}
        connection = http.client.HTTPConnection(self.host, self.port, timeout=TIMEOUT_S)
        try:
            connection.sock = self._connect()
            connection.request(method, path, body, headers)
            answer = connection.getresponse()
            return answer.status, answer.reason, answer.read(MOST_BYTES)
        except http.client.HTTPException as error:
            raise ValueError(str(error) or type(error).__name__) from error
        finally:
            connection.close()

    def _connect(self) -> socket.socket:
        sock = socket.create_connection((self.host, self.port), TIMEOUT_S)
        if self.tls is None:
            return sock
        try:
            return self.tls.wrap_socket(sock, server_hostname=self.server_name or self.host)
        except BaseException:
            sock.close()
            raise


def add_arguments(parser: argparse._ActionsContainer) -> None:
    """Declare the flags that say where a process's pages are."""
    parser.add_argument("--address", metavar="HOST:PORT", default="127.0.0.1:8080", help="its --metrics-bind-address")
    parser.add_argument(
        "--tls", action="store_true", help="metrics.tls is on; on loopback, without --ca-file, nobody's certificate is verified"
    )
    parser.add_argument("--ca-file", metavar="FILE", help="the CA of its certificate, PEM; implies --tls")
    parser.add_argument(
        "--server-name", metavar="NAME", default="", help="what the certificate is for: gatehouse.kube-system.svc"
    )
    parser.add_argument("--token-file", metavar="FILE", help="a bearer token, where metrics.authorization asks for one")


def source(options: argparse.Namespace) -> Source:
    """What the flags in *options* say. Raises UsageError."""
    host, colon, port = options.address.rpartition(":")
    if not colon or not (port.isascii() and port.isdecimal() and int(port) < 65536) or not _HOST.fullmatch(host):
        raise UsageError(f"--address {options.address}: expected HOST:PORT, without http:// and path")
    host = host.strip("[]") or "127.0.0.1"
    tls = _context(host, options.ca_file) if options.tls or options.ca_file else None
    if options.server_name and tls is None:
        raise UsageError("--server-name is about a certificate: it needs --tls or --ca-file")
    token = _content("--token-file", options.token_file).strip() if options.token_file else ""
    if options.token_file and not re.fullmatch(r"[!-~]+", token):
        raise UsageError(f"--token-file {options.token_file}: is no token")
    return Source(host, int(port), tls, options.server_name, token)


def _context(host: str, ca_file: str | None) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cadata=_content("--ca-file", ca_file) if ca_file else None)
    except (ssl.SSLError, ValueError) as error:
        raise UsageError(f"--ca-file {ca_file}: holds no certificate, PEM") from error
    if not ca_file and _is_loopback(host):
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _content(flag: str, file: str) -> str:
    try:
        return Path(file).read_text("ascii")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "not ASCII"
        raise UsageError(f"{flag} {file}: cannot be read: {why}") from error
