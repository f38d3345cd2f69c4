"""A small REST client for tests: JSON in, JSON out, one kept connection per thread, into a cluster's namespace.

Never used by the programs under test. Any thread may use a client; each has a connection of its own, and `close` (or the
end of the client's block) closes them all.
Raises ApiError with the Status the API server sent, OSError when there was no answer.
"""

from __future__ import annotations

import http.client
import json
import re
import select
import ssl
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import attrs

from tests.cluster.network import Namespace

Json = dict[str, Any]
Headers = Mapping[str, str | Sequence[str]]  # several values of one name are sent as a header each

MERGE_PATCH = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"
STRATEGIC_MERGE_PATCH = "application/strategic-merge-patch+json"
TIMEOUT_S = 30.0
# RFC 7234 section 5.5; several headers arrive as one, joined by commas (see Connections._call).
_WARNING = re.compile(r'299 - "((?:[^"\\]|\\.)*)"')


class ApiError(Exception):
    """The API server refused: *status* is the HTTP status, *reason* the Status object's reason ("NotFound")."""

    def __init__(self, method: str, path: str, status: int, body: bytes, warnings: Sequence[str] = ()) -> None:
        self.warnings = tuple(warnings)
        try:
            answer = json.loads(body)
        except ValueError:
            answer = {}
        answer = answer if isinstance(answer, dict) else {}
        self.status = status
        self.reason = str(answer.get("reason", ""))
        super().__init__(f"{method} {path}: {status} {answer.get('message') or body[:500]!r}")


@attrs.frozen
class Reply:
    """One HTTP answer."""

    status: int
    headers: Mapping[str, str]  # names in lower case
    body: bytes


class Connections:
    """HTTP connections to one address inside a namespace, one per thread. *tls* None speaks clear text."""

    def __init__(self, namespace: Namespace, host: str, port: int, tls: ssl.SSLContext | None = None) -> None:
        self._namespace = namespace
        self._host = host
        self._port = port
        self._tls = tls
        self._local = threading.local()
        self._lock = threading.Lock()  # guards _opened; no IO under it
        self._opened: list[http.client.HTTPConnection] = []

    def call(self, method: str, path: str, body: bytes | None = None, headers: Headers | None = None) -> Reply:
        """One request on this thread's connection, which is made anew when the other side has closed it meanwhile."""
        connection = getattr(self._local, "connection", None)
        if connection is not None and _is_closed(connection):
            self._drop()
            connection = None
        try:
            return self._call(connection or self._open(TIMEOUT_S), method, path, body, headers or {})
        except (OSError, http.client.HTTPException):
            self._drop()
            raise

    def stream(self, path: str, headers: Mapping[str, str], timeout_s: float) -> http.client.HTTPResponse:
        """A GET on a connection of its own, to be read line by line; a silence of *timeout_s* raises TimeoutError."""
        connection = self._connect(timeout_s)
        try:
            connection.request("GET", path, headers={**headers, "Connection": "close"})
            response = connection.getresponse()  # owns the socket from here on
            if response.status != 200:
                with response:
                    raise ApiError("GET", path, response.status, response.read())
        except BaseException:
            connection.close()
            raise
        return response

    def close(self) -> None:
        """Close every thread's connection. No thread may be using one."""
        with self._lock:
            opened, self._opened = self._opened, []
        for connection in opened:
            connection.close()
        self._local = threading.local()

    def __enter__(self) -> Connections:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def _open(self, timeout_s: float) -> http.client.HTTPConnection:
        connection = self._local.connection = self._connect(timeout_s)
        with self._lock:
            self._opened.append(connection)
        return connection

    def _drop(self) -> None:
        """Close this thread's connection."""
        connection = getattr(self._local, "connection", None)
        if connection is not None:
            connection.close()
            self._local.connection = None
            with self._lock:
                self._opened.remove(connection)

    def _connect(self, timeout_s: float) -> http.client.HTTPConnection:
        connection = http.client.HTTPConnection(self._host, self._port, timeout=timeout_s)
        sock = self._namespace.connect(self._host, self._port, timeout_s)
        try:
            connection.sock = self._tls.wrap_socket(sock, server_hostname=self._host) if self._tls else sock
        except OSError:
            sock.close()
            raise
        return connection

    @staticmethod
    def _call(connection: http.client.HTTPConnection, method: str, path: str, body: bytes | None, headers: Headers) -> Reply:
        connection.putrequest(method, path)
        for key, value in headers.items():
            for one in (value,) if isinstance(value, str) else value:
                connection.putheader(key, one)
        if body is not None or method in ("POST", "PUT", "PATCH"):
            connection.putheader("Content-Length", str(len(body or b"")))
        connection.endheaders(body)
        response = connection.getresponse()
        names: dict[str, str] = {}
        for name, value in response.getheaders():
            key = name.lower()
            names[key] = f"{names[key]}, {value}" if key in names else value
        return Reply(response.status, names, response.read())


def _is_closed(connection: http.client.HTTPConnection) -> bool:
    """Whether the other side has ended an idle connection (nothing else makes it readable between two requests)."""
    return connection.sock is None or bool(select.select([connection.sock], [], [], 0)[0])


class Api:
    """The API server, as the holder of *token*."""

    def __init__(self, namespace: Namespace, host: str, port: int, ca_file: Path, token: str) -> None:
        self._connections = Connections(namespace, host, port, ssl.create_default_context(cafile=str(ca_file)))
        self._headers = {"Authorization": f"Bearer {token}", "Accept": "application/json"}

    def request(
        self,
        method: str,
        path: str,
        body: Json | list[Json] | None = None,
        content_type: str = "application/json",
        headers: Headers | None = None,
    ) -> Json:
        """The object the API server answers with; `{}` for an answer that is not JSON."""
        return self.told(method, path, body, content_type, headers)[0]

    def told(
        self,
        method: str,
        path: str,
        body: Json | list[Json] | None = None,
        content_type: str = "application/json",
        headers: Headers | None = None,
    ) -> tuple[Json, list[str]]:
        """As `request`, with the warnings that kubectl would show."""
        sent = dict(self._headers) | dict(headers or {})
        if body is not None:
            sent["Content-Type"] = content_type
        reply = self._connections.call(method, path, None if body is None else json.dumps(body).encode(), sent)
        warnings = [json.loads(f'"{quoted}"') for quoted in _WARNING.findall(reply.headers.get("warning", ""))]
        if reply.status >= 400:
            raise ApiError(method, path, reply.status, reply.body, warnings)
        if "json" not in reply.headers.get("content-type", ""):
            return {}, warnings
        answer: Json = json.loads(reply.body)
        return answer, warnings

    def get(self, path: str) -> Json:
        """One object or list."""
        return self.request("GET", path)

    def find(self, path: str) -> Json | None:
        """One object; None when there is none."""
        try:
            return self.get(path)
        except ApiError as error:
            if error.status == 404:
                return None
            raise

    def create(self, path: str, body: Json, headers: Headers | None = None) -> Json:
        """POST *body* to the collection *path*."""
        return self.request("POST", path, body, headers=headers)

    def replace(self, path: str, body: Json) -> Json:
        """PUT *body*."""
        return self.request("PUT", path, body)

    def patch(
        self,
        path: str,
        body: Json | list[Json],
        content_type: str = MERGE_PATCH,
        headers: Headers | None = None,
    ) -> Json:
        """PATCH, by default an RFC 7396 merge patch."""
        return self.request("PATCH", path, body, content_type, headers)

    def delete(self, path: str, body: Json | None = None) -> None:
        """DELETE; no error when there is none."""
        try:
            self.request("DELETE", path, body)
        except ApiError as error:
            if error.status != 404:
                raise

    def events(self, path: str, resource_version: str, timeout_s: int = 600) -> Iterator[Json]:
        """The watch events of the collection *path* after *resource_version*, until the API server ends the watch."""
        query = f"{path}?watch=1&resourceVersion={resource_version}&timeoutSeconds={timeout_s}&allowWatchBookmarks=true"
        with self._connections.stream(query, self._headers, timeout_s + TIMEOUT_S) as response:
            for line in response:
                yield json.loads(line)

    def close(self) -> None:
        """Close every thread's connection. No thread may be using one."""
        self._connections.close()

    def __enter__(self) -> Api:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


def is_ready(opened: Callable[[], Api]) -> bool:
    """Whether the API server that *opened* opens a client of says so."""
    try:
        with opened() as api:
            api.get("/readyz")
    except (ApiError, OSError):
        return False
    return True


def impersonating(user: str, *groups: str) -> Headers:
    """Headers with which an administrator acts as *user*."""
    # One header for each group: the API server takes a comma for a part of a group's name.
    return {"Impersonate-User": user} | ({"Impersonate-Group": groups} if groups else {})
