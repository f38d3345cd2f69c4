"""What can go wrong between us and the API server, and between its objects and our facts.

RuntimeFault                                never raised itself
|-- ClientConfigError                       the operator's kubeconfig or service account cannot be used; no retry helps
|-- UndecodableObject                       one object breaks its API's types: its writer's fault; no retry helps
|-- StoreError                              an index function failed on an object: our fault; the reflector relists
|-- InformerStopped                         a handler was added after stop: the caller's fault
|-- LeaseLost                               we may not write as the leader (any more): nobody's fault; the next leader does it
`-- ApiError                                a request that gave no usable answer
    |-- Unreachable            no status    nobody's fault we know of: refused, reset, DNS, TLS; retry later
    |   `-- TimedOut           no status    connected, but no bytes in time; retry later
    |       `-- HeldBack       no status    our own rate limit let nothing out in time; retry later
    |-- Cancelled              no status    we gave up on purpose (stop); no retry
    |-- UndecodableAnswer      2xx          a proxy, or a bug: not the JSON that was asked for; retry later
    |-- BadRequest             400          our fault; no retry helps
    |-- Unauthorized           401          our credentials expired or are wrong; retry after a reload
    |-- Forbidden              403          RBAC lacks a rule: the operator's fault; retry much later
    |-- NotFound               404          the object is not there; the caller decides
    |-- Conflict               409          somebody wrote in between; read again, then retry
    |   `-- AlreadyExists      409          somebody created it first; read it instead
    |-- Gone                   410          our resource version or page token is too old; list anew
    |-- Invalid                422          the object or option is refused; no retry helps
    |-- Throttled              429          the server is busy; retry after `retry_after_s`
    |-- ServerError            5xx          the server's fault; retry later
    |   `-- TooLargeResourceVersion  504    the server has not reached our version (restored from a backup?); ask for any
    `-- UnexpectedStatus       the rest     not a status that the API uses; no retry helps
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, ClassVar

import msgspec

OnDeath = Callable[[str, BaseException], None]  # told the name of a thread that died of an unforeseen error, and the error
MOST_RETRY_AFTER_S = 60.0  # what we obey: a proxy's typing error must not put an object off for days


def bearable_s(seconds: float | None) -> float | None:
    """The seconds that a server asked us to wait, within 0 and MOST_RETRY_AFTER_S; None for what is no length of time."""
    return None if seconds is None or not math.isfinite(seconds) else min(max(0.0, seconds), MOST_RETRY_AFTER_S)


class RuntimeFault(Exception):
    """The root of the runtime's errors."""


class ClientConfigError(RuntimeFault):
    """The kubeconfig or the service account cannot be used. The operator's fault; no retry helps."""


class UndecodableObject(RuntimeFault):
    """One object has a field of a type that its API forbids. Its writer's fault; no retry helps.

    object: `Node "edge-1"`; reason: names the field, ``Expected `str`, got `int` - at `$.metadata.name` ``.
    """

    def __init__(self, subject: str, reason: str) -> None:
        super().__init__(f"{subject}: {reason}")
        self.subject = subject
        self.reason = reason


class StoreError(RuntimeFault):
    """An index function failed on an object. Our fault; the store is unchanged and the reflector lists again."""


class InformerStopped(RuntimeFault):
    """A handler was added to an informer that has stopped. The caller's fault."""


class LeaseLost(RuntimeFault):
    """We may not write as the leader (any more). Nobody's fault; whoever leads next does the work."""


class ApiError(RuntimeFault):
    """A request to the API server that gave no usable answer. The message never holds a body or a credential.

    status: the HTTP status, or 0 when there was none. retry_after_s: what the server asked for, at most MOST_RETRY_AFTER_S;
    None when it did not.
    """

    retriable: ClassVar[bool] = False  # whether the same request may succeed later without anybody's help
    code: ClassVar[str] = "Error"

    def __init__(self, message: str, *, status: int = 0, reason: str = "", retry_after_s: float | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.reason = reason
        self.retry_after_s = bearable_s(retry_after_s)


class Unreachable(ApiError):
    """No answer: refused, reset, no such host, TLS failure. Retry later."""

    retriable = True
    code = "Unreachable"


class TimedOut(Unreachable):
    """Connected, but no bytes within the time allowed. Retry later."""

    code = "TimedOut"


class HeldBack(TimedOut):
    """Our own rate limit would have let the request out too late, so nothing was sent. Retry later."""

    code = "HeldBack"


class Cancelled(ApiError):
    """We closed the connection on purpose. No retry."""

    code = "Cancelled"


class UndecodableAnswer(ApiError):
    """A success whose body is not what was asked for: a proxy's page, a Table, cut JSON. Retry later."""

    retriable = True
    code = "UndecodableAnswer"


class BadRequest(ApiError):
    """The server cannot read our request. Our fault; no retry helps."""

    code = "BadRequest"


class Unauthorized(ApiError):
    """Our credentials expired or are wrong. Retry after they were read again."""

    retriable = True
    code = "Unauthorized"


class Forbidden(ApiError):
    """RBAC lacks a rule for us. The operator's fault; retry much later."""

    code = "Forbidden"


class NotFound(ApiError):
    """The object (or the whole resource) is not there. The caller decides."""

    code = "NotFound"


class Conflict(ApiError):
    """Somebody wrote in between. Read again, then retry."""

    code = "Conflict"


class AlreadyExists(Conflict):
    """Somebody created it first. Read it instead."""

    code = "AlreadyExists"


class Gone(ApiError):
    """Our resource version or page token is older than what the server remembers. List anew."""

    code = "Gone"


class Invalid(ApiError):
    """The server refuses the object or an option. No retry helps."""

    code = "Invalid"


class Throttled(ApiError):
    """The server is busy. Retry after `retry_after_s`."""

    retriable = True
    code = "Throttled"


class ServerError(ApiError):
    """The server's fault. Retry later."""

    retriable = True
    code = "ServerError"


class TooLargeResourceVersion(ServerError):
    """The server has not reached our resource version; after a restored backup it may never. Ask without a version."""

    code = "TooLargeResourceVersion"


class UnexpectedStatus(ApiError):
    """Not a status that the Kubernetes API uses. No retry helps."""

    code = "UnexpectedStatus"


class _Cause(msgspec.Struct, frozen=True):
    reason: str | None = None
    message: str | None = None


class _Details(msgspec.Struct, frozen=True, rename="camel"):
    causes: list[_Cause] | None = None
    retry_after_seconds: float | None = None


class StatusBody(msgspec.Struct, frozen=True):
    """A metav1.Status: the body of failed requests and the object of ERROR events."""

    code: int | None = None
    reason: str | None = None
    message: str | None = None
    details: _Details | None = None


_BY_STATUS: dict[int, type[ApiError]] = {
    400: BadRequest,
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    410: Gone,
    422: Invalid,
    429: Throttled,
}
# An ERROR event of a watch is read by its reason: apiserver sends "Expired" with code 410, some proxies lose the code.
_BY_REASON: dict[str, type[ApiError]] = {"Expired": Gone, "Gone": Gone, "AlreadyExists": AlreadyExists}
_MESSAGE_LIMIT = 300


def error_from_answer(request: str, http_status: int, body: bytes | bytearray, retry_after: str | None) -> ApiError:
    """The typed error of a failed request. *request* is "GET /api/v1/nodes"; *body* may be anything."""
    try:
        status = msgspec.json.decode(body, type=StatusBody)
    except (ValueError, RecursionError):  # msgspec's errors are ValueErrors
        status = StatusBody()  # a proxy's page: its text stays out of our logs
    return error_from_status(request, status, http_status=http_status, retry_after_s=_seconds(retry_after))


def error_from_status(
    request: str, status: StatusBody, *, http_status: int = 0, retry_after_s: float | None = None
) -> ApiError:
    """The typed error of a metav1.Status, as in an ERROR event (then *http_status* is 0 and its own code counts)."""
    code = http_status or status.code or 500
    reason = status.reason or ""
    if retry_after_s is None and status.details and status.details.retry_after_seconds:
        retry_after_s = status.details.retry_after_seconds
    kind = TooLargeResourceVersion if code == 504 and _version_too_large(status) else _kind(code, reason)
    text = (status.message or reason or "no message")[:_MESSAGE_LIMIT]
    return kind(f"{request}: {code} {text}", status=code, reason=reason, retry_after_s=retry_after_s)


def _kind(code: int, reason: str) -> type[ApiError]:
    by_reason = _BY_REASON.get(reason)
    if by_reason is not None:
        return by_reason
    return _BY_STATUS.get(code, ServerError if code >= 500 else UnexpectedStatus)


def _version_too_large(status: StatusBody) -> bool:
    # apimachinery: the cause since 1.17; the message is all that older and forwarding servers send.
    causes = (status.details.causes if status.details else None) or []
    return any(cause.reason == "ResourceVersionTooLarge" for cause in causes) or "Too large resource version" in (
        status.message or ""
    )


def _seconds(retry_after: Any) -> float | None:
    # RFC 9110 also allows a date here; kube-apiserver only sends seconds.
    try:
        return bearable_s(float(retry_after))
    except (TypeError, ValueError):
        return None
