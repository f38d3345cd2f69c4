"""AdmissionReview v1 and v1beta1: bytes to a request, an answer to bytes.

A review is parsed once, into plain dicts (msgspec: exact integers of any size, NaN and lone surrogates refused, of duplicate
keys the last wins as in Go). The old object, half of most reviews of an UPDATE, is only read when a rule asks for it, and what
no rule may ask for is passed over. The answer always names apiVersion and kind as asked, and the request's uid; the API server
refuses a v1 answer without them. Pure.
Source: k8s.io/api/admission/v1 types.go; apiserver admission/plugin/webhook/request/admissionreview.go.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, TypedDict

import attrs
import msgspec

from webhook.admission.draft import Operation
from webhook.errors import BadRequest
from webhook.objects.meta import Json

GROUP = "admission.k8s.io"
VERSIONS = (f"{GROUP}/v1", f"{GROUP}/v1beta1")
KIND = "AdmissionReview"

# The API server cuts each warning at 256 characters and all of them together at 4096 (apiserver warning/context.go).
WARNING_LIMIT = 256
WARNINGS_LIMIT = 4096
# Audit annotation values are unbounded there, but they are stored with every audit event: keep a line a line.
AUDIT_LIMIT = 1024


class Operations(StrEnum):
    """What is done to the object."""

    CREATE = "CREATE"
    UPDATE = "UPDATE"
    DELETE = "DELETE"
    CONNECT = "CONNECT"


_OPERATIONS = {operation.value: operation for operation in Operations}


class GroupVersionResource(msgspec.Struct, frozen=True):
    """A resource as in `{"group": "", "version": "v1", "resource": "pods"}`."""

    group: str
    version: str
    resource: str

    def __str__(self) -> str:
        return f"{self.resource}.{self.version}.{self.group}" if self.group else f"{self.resource}.{self.version}"


class User(msgspec.Struct, frozen=True):
    """Who asks, as the API server authenticated them."""

    name: str
    groups: tuple[str, ...]


@attrs.frozen
class AdmissionRequest:
    """What the API server asks about."""

    api_version: str  # of the review: one of VERSIONS
    uid: str
    resource: GroupVersionResource
    subresource: str
    name: str
    namespace: str
    operation: Operations
    user: User
    object: Json | None  # None on DELETE and CONNECT
    _old_object: Json | msgspec.Raw | None
    dry_run: bool

    @property
    def old_object(self) -> Json | None:
        """The object as it is stored; None on CREATE and CONNECT. Raises BadRequest when it turns out not to be JSON."""
        old = self._old_object
        if type(old) is msgspec.Raw:
            old = _parsed(old)
            object.__setattr__(self, "_old_object", old)  # read once; a request is one thread's
        return old

    @property
    def subject(self) -> str:
        """The object in one word for messages: `pods/status shop/web-1`; one that is yet to be named: `pods shop/web-…`."""
        kind = f"{self.resource.resource}/{self.subresource}" if self.subresource else self.resource.resource
        name = self.name or _prefix(self.object)
        return f"{kind} {self.namespace}/{name}" if self.namespace else f"{kind} {name}"


def _prefix(obj: Json | None) -> str:
    """What the API server is to make a name of, as `meta.display_name` has it; never raises."""
    metadata = obj.get("metadata") if obj is not None else None
    prefix = metadata.get("generateName") if isinstance(metadata, dict) else None
    return f"{prefix}…" if isinstance(prefix, str) and prefix else ""


FORBIDDEN = 403  # what the client of a request that a policy refuses gets
UNPROCESSABLE = 422  # the same where the object itself makes no sense


@attrs.frozen
class Denial:
    """A decided refusal: HTTP 200 with allowed false."""

    code: int  # HTTP status that the client of the API server gets, 400 to 599
    reason: str  # metav1.StatusReason or a reason code
    message: str  # subject, fact and limit


class AdmissionResponse(msgspec.Struct, frozen=True):
    """What was decided."""

    denial: Denial | None = None
    operations: Sequence[Operation] = ()
    warnings: Sequence[str] = ()
    audit: Mapping[str, str] = msgspec.field(
        default_factory=dict
    )  # keys without "/": the API server puts the webhook's name before

    @property
    def allowed(self) -> bool:
        """Whether the request may go on."""
        return self.denial is None


def decode(body: bytes) -> AdmissionRequest:
    """The request in *body*.

    Raises BadRequest (400) with the field's path for anything that is not an AdmissionReview with a request.
    """
    if not body:
        raise BadRequest("the body is empty: expected an AdmissionReview")
    return _request(_parsed(body, _REVIEW))


class _Request(TypedDict, total=False):
    """What is read of a request. Any: it is checked here, with the field's path in the message."""

    uid: Any
    resource: Any
    subResource: Any
    name: Any
    namespace: Any
    operation: Any
    userInfo: Any
    object: Any
    oldObject: msgspec.Raw
    dryRun: Any


class _Review(TypedDict, total=False):
    apiVersion: Any
    kind: Any
    request: _Request


_REVIEW = msgspec.json.Decoder(_Review)
_ANYTHING = msgspec.json.Decoder()


def _parsed(text: bytes | msgspec.Raw, decoder: msgspec.json.Decoder[Any] = _ANYTHING) -> Any:
    """*text* as *decoder* reads it, or as it is where it has another shape. Raises BadRequest."""
    try:
        return decoder.decode(text)
    except RecursionError as error:
        raise BadRequest("the body is nested too deeply") from error
    except msgspec.DecodeError as error:
        if decoder is not _ANYTHING and isinstance(error, msgspec.ValidationError):
            return _parsed(text)
        raise BadRequest(f"the body is not valid JSON: {error}") from error


def _request(review: Any) -> AdmissionRequest:
    if type(review) is not dict:
        raise BadRequest("the body is not a JSON object: expected an AdmissionReview")
    version, kind = review.get("apiVersion"), review.get("kind")
    if version not in VERSIONS or kind != KIND:
        raise BadRequest(
            f"expected kind {KIND} of apiVersion {' or '.join(VERSIONS)}, found {_found(kind)} of {_found(version)}"
        )
    request = _field(review, "request", dict, "")
    user = _object(request, "userInfo") or {}
    uid = _field(request, "uid", str, "request.")
    if not uid:
        raise BadRequest("request.uid: must not be empty")
    operation = _OPERATIONS.get(_field(request, "operation", str, "request."))
    if operation is None:
        raise BadRequest(f"request.operation: expected one of {', '.join(_OPERATIONS)}, found {_found(request['operation'])}")
    return AdmissionRequest(
        version,
        uid,
        _resource(_field(request, "resource", dict, "request.")),
        _text(request, "subResource"),
        _text(request, "name"),
        _text(request, "namespace"),
        operation,
        User(_text(user, "username", "request.userInfo."), _groups(user)),
        _object(request, "object"),
        _old_object(request),
        _flag(request, "dryRun"),
    )


def encode(request: AdmissionRequest, response: AdmissionResponse) -> bytes:
    """The AdmissionReview that answers *request*, in the version that was asked.

    A non-empty list of operations becomes a base64 JSON patch; without one there is neither patch nor patchType.
    """
    answer: dict[str, Any] = {"uid": request.uid, "allowed": response.allowed}
    if response.denial is not None:
        denial = response.denial
        answer["status"] = {
            "status": "Failure",
            "message": denial.message,
            "reason": denial.reason,
            "code": denial.code,
        }
    elif response.operations:
        answer["patch"] = msgspec.json.encode(response.operations)  # bytes: msgspec writes them as base64
        answer["patchType"] = "JSONPatch"
    if response.audit:
        answer["auditAnnotations"] = {key: _cut(value, AUDIT_LIMIT) for key, value in response.audit.items()}
    if response.warnings:
        answer["warnings"] = limit_warnings(response.warnings)
    return msgspec.json.encode({"apiVersion": request.api_version, "kind": KIND, "response": answer})


def limit_warnings(warnings: Sequence[str]) -> list[str]:
    """*warnings* without repeats, each at most 256 characters, together at most 4096; the last says how many were left out."""
    kept: list[str] = []
    room = WARNINGS_LIMIT - 64  # for the line that counts what was left out
    for warning in dict.fromkeys(warnings):
        line = _cut(warning.replace("\n", " ").replace("\r", " "), WARNING_LIMIT)
        if len(line) > room:
            kept.append(f"{len(dict.fromkeys(warnings)) - len(kept)} more warnings were left out")
            break
        kept.append(line)
        room -= len(line)
    return kept


def _cut(value: str, limit: int) -> str:
    return value if len(value) <= limit else value[: limit - 1] + "…"


def _found(value: Any) -> str:
    return "nothing" if value is None else _cut(repr(value), 80)


def _field(parent: Mapping[str, Any], key: str, kind: type, path: str) -> Any:
    value = parent.get(key)
    if type(value) is not kind:
        expected = "an object" if kind is dict else "a string"
        raise BadRequest(f"{path}{key}: expected {expected}, found {_found(value)}")
    return value


def _text(parent: Mapping[str, Any], key: str, path: str = "request.") -> str:
    value = parent.get(key)
    if value is None:
        return ""
    if type(value) is not str:
        raise BadRequest(f"{path}{key}: expected a string, found {_found(value)}")
    return value


def _flag(request: Mapping[str, Any], key: str) -> bool:
    value = request.get(key)
    if value is None:
        return False
    if type(value) is not bool:
        raise BadRequest(f"request.{key}: expected true or false, found {_found(value)}")
    return value


def _object(request: Mapping[str, Any], key: str) -> Json | None:
    value = request.get(key)
    if value is not None and type(value) is not dict:
        raise BadRequest(f"request.{key}: expected an object, found {_found(value)}")
    return value


def _old_object(request: Mapping[str, Any]) -> Json | msgspec.Raw | None:
    """An object is left as it is written; anything else is judged at once."""
    value = request.get("oldObject")
    if type(value) is msgspec.Raw:
        if bytes(memoryview(value)[:1]) == b"{":
            return value
        value = _parsed(value)
    return _object({"oldObject": value}, "oldObject")


def _resource(value: Mapping[str, Any]) -> GroupVersionResource:
    path = "request.resource."
    return GroupVersionResource(
        _text(value, "group", path), _text(value, "version", path), _field(value, "resource", str, path)
    )


def _groups(user: Mapping[str, Any]) -> tuple[str, ...]:
    groups = user.get("groups")
    if groups is None:
        return ()
    if type(groups) is not list or not all(type(group) is str for group in groups):
        raise BadRequest("request.userInfo.groups: expected a list of strings")
    return tuple(groups)
