"""Why a review could not be decided.

A refusal is a value (`admission.review.Denial`) and travels as HTTP 200. These exceptions are the other outcome: the
caller gets a non-2xx status and its failurePolicy rules. Statuses are HTTP's own; a 503 is retried by the API server.

    AdmissionError                     never raised itself
    |-- BadRequest              400    the sender's fault; a retry is useless
    |   `-- MalformedObject     400    a field of the object has a type that its API forbids
    |-- Unauthenticated         401    no acceptable client certificate
    |-- PermissionDenied        403    a certificate, but not of an allowed caller
    |-- UnknownPath             404
    |-- WrongMethod             405
    |-- TooLarge                413
    |-- WrongMediaType          415
    |-- Internal                500    our fault, caught; failurePolicy decides
    |-- Misconfigured           500    the installation lacks a right or a CRD; a retry is useless before somebody mends it
    |-- Overloaded              503    too much in flight; retry elsewhere
    |-- Unavailable             503    draining, or a cache is not synced; retry elsewhere
    `-- DeadlineExceeded        504    the caller's time is used up

PluginError stands beside them: it is found before anything starts. So does RuleFailed, a plug-in's fault, answered with 500.
Interrupted is raised by a command's own handlers of signals, never by a server's.
"""

from __future__ import annotations

from typing import ClassVar


class Interrupted(KeyboardInterrupt):
    """SIGINT or SIGTERM ends a command, whatever the main thread is at: a rule that hangs does not answer by it."""

    def __init__(self, number: int) -> None:
        self.code = 128 + number  # as a shell says of a process that a signal ended
        super().__init__(number)


class PluginError(Exception):
    """Somebody else's rule or controller cannot be used: the process does not start with it. Names package and entry point.

    path: of its section in the configuration, for who can say where that stands; () when the message says it, or nobody can.
    """

    def __init__(self, message: str, path: tuple[str | int, ...] = ()) -> None:
        self.path = path
        super().__init__(message)


class RuleFailed(Exception):
    """A rule of somebody else's raised: 500, with its traceback (the cause) in the log. Safe to show: nothing of the object."""

    def __init__(self, origin: str, kind: str, place: str) -> None:
        """origin: whose it is. kind: of what it raised. place: "file.py:12" in its own code, "" when unknown."""
        self.place = place
        super().__init__(f"{origin} failed: {kind}{f' at {place}' if place else ''}")


class AdmissionError(Exception):
    """A review that could not be decided. The message is safe to show to the caller."""

    status: ClassVar[int] = 500
    code: ClassVar[str] = "Internal"
    # The API server retries 503 with Retry-After inside the same admission call (at most 10 times); on a new
    # connection only if this one is closed, so that the retry can reach another replica.
    retry_after_s: ClassVar[int | None] = None
    close: ClassVar[bool] = False


class BadRequest(AdmissionError):
    """The bytes are not an AdmissionReview that we can read."""

    status = 400
    code = "BadRequest"


class MalformedObject(BadRequest):
    """A field of the object under review has a type that the Kubernetes API forbids."""

    code = "MalformedObject"


class Unauthenticated(AdmissionError):
    """The caller showed no client certificate although one is required."""

    status = 401
    code = "Unauthenticated"


class PermissionDenied(AdmissionError):
    """The caller's client certificate does not name an allowed subject."""

    status = 403
    code = "PermissionDenied"


class UnknownPath(AdmissionError):
    """No service has this path."""

    status = 404
    code = "UnknownPath"


class WrongMethod(AdmissionError):
    """Reviews are sent by POST."""

    status = 405
    code = "WrongMethod"


class TooLarge(AdmissionError):
    """The body is larger than any review can be."""

    status = 413
    code = "TooLarge"
    close = True


class WrongMediaType(AdmissionError):
    """Reviews are application/json."""

    status = 415
    code = "WrongMediaType"


class Internal(AdmissionError):
    """A fault of ours that was caught."""


class Misconfigured(AdmissionError):
    """The API server refuses what this service needs for its answer. The message names what is missing."""

    code = "Misconfigured"


class Overloaded(AdmissionError):
    """As many reviews as this service may decide at once are being decided."""

    status = 503
    code = "Overloaded"
    retry_after_s = 1
    close = True


class Unavailable(AdmissionError):
    """This replica is leaving, or does not know enough yet."""

    status = 503
    code = "Unavailable"
    retry_after_s = 1
    close = True


class DeadlineExceeded(AdmissionError):
    """The caller has stopped waiting, or is about to."""

    status = 504
    code = "DeadlineExceeded"
