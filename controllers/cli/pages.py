"""Pages of a running process, as commands read them: from its metrics port, with TLS and a token where it asks for them.

Errors: UsageError for flags that cannot be meant, OSError and ValueError for a page that does not come.
"""

from __future__ import annotations

import argparse
import http.client
import io
import ipaddress
import json
import re
import socket
import ssl
import time
from typing import TYPE_CHECKING, Any, Final

import attrs

from controllers.cli.usage import UsageError
from controllers.inputs import read_file
from webhook.objects.faults import quoted

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

TIMEOUT_S: Final = 10.0  # of the whole answer: one that comes byte by byte would never run out of time
MOST_BYTES: Final = 16 * 2**20  # /statusz lists at most some hundred rows of each kind
NOT_OURS: Final = "not Gatehouse's metrics port"
# OpenSSL's names for an answer that is no TLS, and its codes for what is wrong with a certificate (x509_vfy.h).
_NO_TLS: Final = frozenset({"WRONG_VERSION_NUMBER", "HTTP_REQUEST", "PACKET_LENGTH_TOO_LONG", "RECORD_LAYER_FAILURE"})
_EXPIRED: Final = 10
_OTHER_NAME: Final = frozenset({62, 64})  # of a host, an IP
OTHER_PORT: Final = "this is not the metrics port (--metrics-bind-address)"
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
            said = NOT_OURS if is_html(body) else body[:200].decode("utf-8", "replace").strip()
            if status == http.client.NOT_FOUND and said != NOT_OURS:  # our other ports say what they have
                said = OTHER_PORT
            raise ValueError(f"{status} {phrase}{f': {said}' if said else ''}")
        try:
            return json.loads(body)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"{NOT_OURS}: its answer is {'a web page' if is_html(body) else 'no JSON'}") from error

    def ask(self, method: str, path: str, body: bytes | None = None) -> tuple[int, str, bytes]:
        """Status, phrase and body of the answer; *body* is JSON. Raises OSError or ValueError saying why there is none."""
        headers = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        headers |= {"Content-Type": "application/json"} if body is not None else {}
        end_s = time.monotonic() + TIMEOUT_S
        connection = http.client.HTTPConnection(self.host, self.port, timeout=TIMEOUT_S)
        with self._connect() as sock:
            timed: Any = _Timed(sock, end_s)
            connection.sock = timed
            try:
                connection.request(method, path, body, headers)
                answer = connection.getresponse()
                content = answer.read(MOST_BYTES + 1)
            except TimeoutError as error:
                raise TimeoutError(f"no whole answer within {TIMEOUT_S:g} s") from error
            except ConnectionError:
                raise
            except http.client.HTTPException as error:
                raise ValueError(f"{NOT_OURS}: it does not speak HTTP ({type(error).__name__})") from error
        if len(content) > MOST_BYTES:
            raise ValueError(f"{NOT_OURS}: its answer is longer than {MOST_BYTES // 2**20} MiB")
        if self.tls is None and answer.status == http.client.BAD_REQUEST and b"speaks HTTPS only" in content:
            raise ValueError("this port speaks HTTPS only: add --tls")
        return answer.status, answer.reason, content

    def _connect(self) -> socket.socket:
        sock = socket.create_connection((self.host, self.port), TIMEOUT_S)
        if self.tls is None:
            return sock
        try:
            return self.tls.wrap_socket(sock, server_hostname=self.server_name or self.host)
        except ssl.SSLError as error:
            sock.close()
            raise ValueError(self._distrust(error)) from error
        except BaseException:
            sock.close()
            raise

    def _distrust(self, error: ssl.SSLError) -> str:
        """What is wrong with the handshake, and what to do."""
        if error.reason in _NO_TLS:
            return "this port does not speak TLS: leave out --tls and --ca-file"
        if not isinstance(error, ssl.SSLCertVerificationError):
            return f"the TLS handshake failed: {error.reason or error}"
        if error.verify_code == _EXPIRED:
            return "its certificate has expired"
        if error.verify_code in _OTHER_NAME:
            return f"its certificate is not for {self.server_name or self.host}: --server-name NAME says what it is for"
        return f"its certificate is not trusted ({error.verify_message}): --ca-file FILE names its CA"


def is_html(body: bytes) -> bool:
    """Whether *body* is a web page, or XML: no process of ours answers so where a command asks."""
    return body.lstrip()[:1] == b"<"


class _Timed:
    """What `http.client` uses of a socket, with one end for everything that is read and written together."""

    def __init__(self, sock: socket.socket, end_s: float) -> None:
        self._sock, self._end_s = sock, end_s

    def sendall(self, data: bytes) -> None:
        """Send all of *data*. Raises TimeoutError."""
        self._sock.settimeout(_left_s(self._end_s))
        self._sock.sendall(data)

    def makefile(self, mode: str) -> io.BufferedReader:
        """The answer."""
        return io.BufferedReader(_Reading(self._sock, self._end_s))

    def close(self) -> None:
        """Nothing: the answer may still be read, and who has opened the socket closes it."""


class _Reading(io.RawIOBase):
    """Reads until a moment."""

    def __init__(self, sock: socket.socket, end_s: float) -> None:
        self._sock, self._end_s = sock, end_s

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        self._sock.settimeout(_left_s(self._end_s))
        return self._sock.recv_into(buffer)


def _left_s(end_s: float) -> float:
    left_s = end_s - time.monotonic()
    if left_s <= 0.0:
        raise TimeoutError
    return left_s


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
        raise UsageError(f"--address {options.address or quoted('')}: expected HOST:PORT, without http:// and path")
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
        return read_file(file).decode("ascii")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "not ASCII"
        raise UsageError(f"{flag} {file}: cannot be read: {why}") from error
