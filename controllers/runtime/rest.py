"""The client of the API server: raw JSON on the kubernetes package's pool, with limits on everything.

It and `access` import kubernetes, and only when a client is made: `--local` never does. From that package come the
kubeconfig and in-cluster loaders (token refresh, exec plugins, proxies, TLS); what it leaves open is closed here: connect
and read timeouts on every call, no hidden retries (its default repeats a PUT, which then meets its own conflict), our own
User-Agent and rate limit, credentials that are read again after a 401, and kept connections that went dark.

Threads: any may call anything. A request blocks its caller at most `timeout_s`, plus what nobody can bound: name resolution,
         the run of a credential plugin, and a head that comes byte by byte, or after ever more `100 Continue`.
Errors:  `errors.ApiError`; ClientConfigError when there are no credentials to start with.
Source:  client-go rest; Kubernetes API concepts; RFC 6902, RFC 7386.
"""

from __future__ import annotations

import os
import platform
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib.metadata import PackageNotFoundError, version
from typing import Any
from urllib.parse import urlencode, urlsplit

import attrs
import msgspec
import urllib3

from controllers.runtime import access
from controllers.runtime.errors import (
    ApiError,
    ClientConfigError,
    HeldBack,
    Unauthorized,
    UndecodableAnswer,
    Unreachable,
    error_from_answer,
)
from controllers.runtime.rate import RateLimit
from controllers.runtime.resource import Body, Cancellation, Json, Params
from controllers.runtime.transport import (
    Cancel,
    LineStream,
    announced_to,
    make_cancellable,
    read_body,
    read_pieces,
    translated,
)
from controllers.runtime.trust import Trust
from webhook.clock import Clock, Deadline
from webhook.names import PROJECT
from webhook.telemetry import Telemetry

JSON_PATCH = "application/json-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"
MERGE_PATCH = "application/merge-patch+json"
_JSON = "application/json"
_RELOAD_AFTER_S = 10.0  # credentials are read again after a 401, at most this often
_POOL_CONNECTIONS = 32  # kept open; more callers get connections that are closed after use


@attrs.frozen
class Limits:
    """Bounds of every request. Seconds, requests per second, bytes."""

    connect_timeout_s: float = 3.0
    timeout_s: float = 30.0  # of one unary request in all
    list_timeout_s: float = 120.0  # 50,000 pods without pages are 500 MB
    per_second: float = 50.0
    burst: int = 100
    body_bytes: int = 2**30


@attrs.frozen
class _Access:
    """One reading of the credentials, and the pool that was built from it."""

    configuration: Any
    pool: urllib3.PoolManager
    trust: Trust  # in the pool's idle connections
    base: str
    host: str
    loaded_s: float


class RestClient:
    """Requests to one API server."""

    def __init__(self, load: Callable[[], Any], telemetry: Telemetry, clock: Clock, limits: Limits = Limits()) -> None:
        """A client whose kubernetes.client.Configuration comes from *load*, which is called again after a 401."""
        self._load = load
        self._clock = clock
        self._limits = limits
        self._rate = RateLimit(limits.per_second, limits.burst, clock)
        self._agent = f"{PROJECT}/{_version()} ({platform.system().lower()}/{platform.machine()})"
        self._requests = telemetry.counter("rest_client_requests", "Requests to the API server.", ("code", "method", "host"))
        self._durations = telemetry.histogram(
            "rest_client_request_duration_seconds", "Time until the head of the answer.", ("verb", "host")
        )
        self._lock = threading.Lock()  # guards _access; credentials are loaded under it, so that one thread does
        self._access = self._open()

    # -- made by

    @classmethod
    def from_kubeconfig(cls, path: str | None, telemetry: Telemetry, clock: Clock, limits: Limits = Limits()) -> RestClient:
        """A client of the kubeconfig at *path*; None: $KUBECONFIG, else ~/.kube/config. Raises ClientConfigError."""
        return cls(lambda: access.from_kubeconfig(path), telemetry, clock, limits)

    @classmethod
    def in_cluster(cls, telemetry: Telemetry, clock: Clock, limits: Limits = Limits()) -> RestClient:
        """A client with the pod's service account. Raises ClientConfigError outside a pod."""
        return cls(access.in_cluster, telemetry, clock, limits)

    @classmethod
    def auto(cls, kubeconfig: str, telemetry: Telemetry, clock: Clock, limits: Limits = Limits()) -> RestClient:
        """As controller-runtime: *kubeconfig*, else $KUBECONFIG, else the pod's service account, else ~/.kube/config."""
        if not kubeconfig and not os.environ.get("KUBECONFIG") and os.environ.get("KUBERNETES_SERVICE_HOST"):
            return cls.in_cluster(telemetry, clock, limits)
        return cls.from_kubeconfig(kubeconfig or None, telemetry, clock, limits)

    # -- called by anyone

    @property
    def host(self) -> str:
        """The server's host:port, as in the metrics."""
        return self._access.host

    def get(self, path: str, params: Params | None = None, *, timeout_s: float | None = None) -> Json:
        """The object or list at *path*."""
        return self._object("GET", path, self.get_bytes(path, params, timeout_s=timeout_s))

    def get_bytes(
        self, path: str, params: Params | None = None, *, timeout_s: float | None = None, accept: str = _JSON
    ) -> bytes:
        """The body of a GET; *accept* asks for another form than the whole object (Kubernetes API concepts)."""
        return bytes(self._unary("GET", path, params, timeout_s=timeout_s, accept=accept))

    def list_page(self, path: str, params: Params, *, cancellation: Cancellation | None = None) -> Body:
        """One page of the collection at *path*; *params* hold limit, continue, resourceVersion, selectors."""
        return self._unary(
            "GET", path, params, timeout_s=self._limits.list_timeout_s, cancel=_cancel(cancellation), method="LIST"
        )

    @contextmanager
    def listing(self, path: str, params: Params, *, cancellation: Cancellation | None = None) -> Iterator[Iterator[bytes]]:
        """As `list_page`, in the pieces in which it arrives; one that is left before its end costs the connection."""
        cancel, deadline = _cancel(cancellation), Deadline.after(self._limits.list_timeout_s, self._clock)
        request = f"LIST {path}"
        response = self._answer("GET", path, params, deadline, cancel=cancel, method="LIST")

        def pieces() -> Iterator[bytes]:
            with translated(request, cancel):
                yield from read_pieces(response, self._limits.body_bytes, deadline.remaining_s, self._access.trust.doubt)

        with _answered(response, cancel):
            yield pieces()

    def create(self, path: str, body: Json, *, timeout_s: float | None = None) -> Json:
        """The object as created in the collection at *path*. Raises AlreadyExists."""
        return self._write("POST", path, body, timeout_s)

    def update(self, path: str, body: Json, *, timeout_s: float | None = None) -> Json:
        """The object at *path* as replaced by *body*, whose resourceVersion guards it. Raises Conflict."""
        return self._write("PUT", path, body, timeout_s)

    def patch_json(self, path: str, operations: list[Json], *, timeout_s: float | None = None) -> Json:
        """The object at *path* after the RFC 6902 *operations*. A failed `test` raises Invalid."""
        return self._write("PATCH", path, operations, timeout_s, JSON_PATCH)

    def patch_merge(self, path: str, patch: Json, *, timeout_s: float | None = None) -> Json:
        """The object at *path* after the RFC 7386 *patch*; with metadata.resourceVersion in it, guarded by Conflict."""
        return self._write("PATCH", path, patch, timeout_s, MERGE_PATCH)

    def patch_strategic(self, path: str, patch: Json, *, timeout_s: float | None = None) -> Json:
        """The object at *path* after the strategic merge *patch*: items of lists are merged by the key that their API names.

        metadata.uid and metadata.resourceVersion in it guard it (Conflict).
        """
        return self._write("PATCH", path, patch, timeout_s, STRATEGIC_PATCH)

    def delete(
        self, path: str, *, uid: str = "", version: str = "", propagation: str = "", timeout_s: float | None = None
    ) -> Json:
        """The Status or the object that is now being deleted. *uid* and *version* are preconditions (Conflict)."""
        preconditions = {key: value for key, value in (("uid", uid), ("resourceVersion", version)) if value}
        options: Json = {"apiVersion": "v1", "kind": "DeleteOptions"}
        if preconditions:
            options["preconditions"] = preconditions
        if propagation:
            options["propagationPolicy"] = propagation
        return self._write("DELETE", path, options, timeout_s)

    def watch(
        self, path: str, params: Params, read_timeout_s: float, *, cancellation: Cancellation | None = None
    ) -> LineStream:
        """The open watch of the collection at *path*; *params* as for `list_page`, `watch=true` is added.

        Silence for *read_timeout_s* raises TimedOut, before the head as well as between events.
        """
        request, cancel = f"WATCH {path}", _cancel(cancellation) or Cancel()
        timeout = urllib3.Timeout(connect=self._limits.connect_timeout_s, read=read_timeout_s)
        self._wait_turn(request, self._limits.timeout_s, cancel)
        response = self._send("GET", "WATCH", path, {**params, "watch": "true"}, None, {"Accept": _JSON}, timeout, cancel)
        if response.status != 200:
            raise self._refused(request, response, cancel, self._limits.timeout_s)
        return LineStream(response, request, cancel, on_silence=self._access.trust.withdraw)

    def cancellation(self) -> Cancel:
        """A new cancellation for one thread's requests."""
        return Cancel()

    def close(self) -> None:
        """Close the idle connections."""
        self._access.pool.clear()

    # -- inside

    def _write(self, method: str, path: str, body: Any, timeout_s: float | None, content_type: str = _JSON) -> Json:
        answer = self._unary(method, path, None, msgspec.json.encode(body), content_type, timeout_s=timeout_s)
        return self._object(method, path, answer)

    def _object(self, method: str, path: str, body: Body) -> Json:
        try:
            return msgspec.json.decode(body, type=dict[str, Any])
        except (ValueError, RecursionError) as error:  # msgspec's errors are ValueErrors
            raise UndecodableAnswer(f"{method} {path}: {error}") from error

    def _unary(
        self,
        verb: str,
        path: str,
        params: Params | None,
        body: bytes | None = None,
        content_type: str = _JSON,
        *,
        timeout_s: float | None = None,
        cancel: Cancel | None = None,
        method: str = "",
        accept: str = _JSON,
    ) -> Body:
        deadline = Deadline.after(timeout_s or self._limits.timeout_s, self._clock)
        method = method or verb
        response = self._answer(verb, path, params, deadline, body, content_type, cancel=cancel, method=method, accept=accept)
        return self._read(f"{method} {path}", response, cancel, deadline)

    def _answer(
        self,
        verb: str,
        path: str,
        params: Params | None,
        deadline: Deadline,
        body: bytes | None = None,
        content_type: str = _JSON,
        *,
        cancel: Cancel | None,
        method: str,
        accept: str = _JSON,
    ) -> urllib3.BaseHTTPResponse:
        """The answer whose head has come, and is no refusal."""
        request = f"{method} {path}"
        self._wait_turn(request, deadline.remaining_s(), cancel)
        left_s = max(0.001, deadline.remaining_s())
        timeout = urllib3.Timeout(total=left_s, connect=min(self._limits.connect_timeout_s, left_s), read=left_s)
        headers = {"Accept": accept} if body is None else {"Accept": accept, "Content-Type": content_type}
        response = self._send(verb, method, path, params or {}, body, headers, timeout, cancel)
        if not 200 <= response.status < 300:
            raise self._refused(request, response, cancel, deadline.remaining_s())
        return response

    def _read(self, request: str, response: urllib3.BaseHTTPResponse, cancel: Cancel | None, deadline: Deadline) -> Body:
        with _answered(response, cancel), translated(request, cancel):
            return read_body(response, self._limits.body_bytes, deadline.remaining_s, self._access.trust.doubt)

    def _refused(self, request: str, response: urllib3.BaseHTTPResponse, cancel: Cancel | None, timeout_s: float) -> ApiError:
        try:
            body = self._read(request, response, cancel, Deadline.after(min(timeout_s, 5.0), self._clock))
        except Unreachable:
            body = bytearray()  # the status alone says enough
        error = error_from_answer(request, response.status, body, response.headers.get("Retry-After"))
        if isinstance(error, Unauthorized):
            self._reload()
        return error

    def _send(
        self,
        verb: str,
        method: str,
        path: str,
        params: Params,
        body: bytes | None,
        headers: Mapping[str, str],
        timeout: urllib3.Timeout,
        cancel: Cancel | None,
    ) -> urllib3.BaseHTTPResponse:
        current, request = self._access, f"{method} {path}"
        url = f"{current.base}{path}?{urlencode(params)}" if params else current.base + path
        code, began_s = "<error>", self._clock.monotonic_s()  # client-go's word for "no answer"
        left = Deadline.after(timeout.total, self._clock).remaining_s if isinstance(timeout.total, float) else None
        try:
            headers = self._identified(current, headers)
            with announced_to(cancel, left), translated(request, cancel):
                response = current.pool.request(
                    verb,
                    url,
                    body=body,
                    headers=headers,
                    timeout=timeout,
                    retries=False,
                    redirect=False,
                    preload_content=False,
                    decode_content=False,
                )
            code = str(response.status)
            return response
        finally:
            self._requests.labels(code, method, current.host).inc()
            self._durations.labels(verb, current.host).observe(self._clock.monotonic_s() - began_s)

    def _identified(self, current: _Access, asked: Mapping[str, str]) -> Mapping[str, str]:
        headers = {**asked, "User-Agent": self._agent}
        try:
            auth = current.configuration.auth_settings().get("BearerToken")  # runs the loader's refresh hook
        except (OSError, ValueError, access.config_exception()) as error:
            raise Unreachable(f"credentials: {error}") from error
        if auth:
            headers[auth["key"]] = auth["value"].strip()  # the token file may end with a newline
        return headers

    def _wait_turn(self, request: str, longest_s: float, cancel: Cancel | None) -> None:
        wait_s = self._rate.reserve(longest_s)
        if wait_s is None:
            raise HeldBack(f"{request}: held back by our own rate limit")
        if wait_s > 0:
            self._clock.wait(cancel.fired if cancel is not None else threading.Event(), wait_s)

    def _reload(self) -> None:
        with self._lock:
            if self._clock.monotonic_s() - self._access.loaded_s < _RELOAD_AFTER_S:
                return
            with suppress(ClientConfigError):  # half-written files: the access at hand stays until the next 401
                old, self._access = self._access, self._open()
                old.pool.clear()  # its idle connections; those in use end by themselves

    def _open(self) -> _Access:
        from kubernetes.client.rest import RESTClientObject

        configuration = self._load()
        base = access.server_of(configuration.host)
        configuration.connection_pool_maxsize = _POOL_CONNECTIONS
        pool = RESTClientObject(configuration).pool_manager
        host = urlsplit(base).netloc
        trust = Trust(host, self._clock)
        make_cancellable(pool, trust)
        return _Access(configuration, pool, trust, base, host, self._clock.monotonic_s())


@contextmanager
def _answered(response: urllib3.BaseHTTPResponse, cancel: Cancel | None) -> Iterator[None]:
    """Read *response* inside. Its rest must not meet the connection's next request; read to its end, it has none any more."""
    try:
        yield
    finally:
        if cancel is not None:
            cancel.detach()
        response.close()


def _cancel(cancellation: Cancellation | None) -> Cancel | None:
    if cancellation is not None and not isinstance(cancellation, Cancel):
        raise TypeError("a RestClient takes the cancellations that it made")
    return cancellation


def _version() -> str:
    with suppress(PackageNotFoundError):
        return version(PROJECT)
    return "dev"  # run from a source tree
