"""What the transport and the gate say to each other: a call in, a reply out, and the exchange between them.

Values that are made for every review are structs here and elsewhere, not attrs classes: they take a sixth of the time.
"""

from __future__ import annotations

from http import HTTPStatus

import attrs
import msgspec

from webhook.admission.review import AdmissionRequest
from webhook.admission.service import Answer, BoundService
from webhook.clock import Deadline
from webhook.errors import AdmissionError


class Call(msgspec.Struct, frozen=True):
    """What the transport knows of a request."""

    method: str
    path: str
    query: str
    content_type: str
    body: bytes  # at most one byte more than the limit
    accepted_s: float  # monotonic, when its first byte arrived
    client: str = ""  # common name of the verified client certificate, "" without one


class Reply(msgspec.Struct, frozen=True):
    """What the transport sends back."""

    status: int
    body: bytes
    headers: tuple[tuple[str, str], ...] = ()
    close: bool = False  # end the connection, so that a retry reaches another replica

    @property
    def line(self) -> str:
        """The status line's code and phrase."""
        return _LINES[self.status]


_LINES = {int(status): f"{int(status)} {status.phrase}" for status in HTTPStatus}
JSON_HEADERS = (("Content-Type", "application/json"),)


@attrs.define
class Exchange:
    """One request on its way in and out. Used by one thread."""

    call: Call
    service: BoundService | None = None
    deadline: Deadline | None = None
    request: AdmissionRequest | None = None
    answer: Answer | None = None


def failure(error: AdmissionError) -> Reply:
    """The reply to a review that could not be decided: a metav1.Status, which the API server shows to its client."""
    headers: tuple[tuple[str, str], ...] = JSON_HEADERS
    if error.retry_after_s is not None:
        headers += (("Retry-After", str(error.retry_after_s)),)
    if error.status == HTTPStatus.METHOD_NOT_ALLOWED:
        headers += (("Allow", "POST"),)
    status = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": f"gatehouse: {error}",
        "reason": error.code,
        "code": error.status,
    }
    return Reply(error.status, msgspec.json.encode(status), headers, error.close)
