"""The last request that each service refused, and the last that it could not decide: what a person asks first about a service.

One of each sort a service, texts cut: bounded by the table of services, whatever strangers send. Nothing here is touched by a
request that passes. Any thread; each entry is one frozen value that is replaced as a whole, so that no lock is needed.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import attrs

from webhook.admission.review import AdmissionRequest
from webhook.admission.service import Answer
from webhook.errors import AdmissionError
from webhook.telemetry import Telemetry

TEXT_LIMIT: Final = 500  # characters of a message; names have at most 253, and a kind and a namespace before them
UNREAD: Final = "a review that was not read"


@attrs.frozen
class Refusal:
    """One request that did not get what it asked for."""

    at_s: float  # wall clock, seconds since the epoch
    reason: str  # reason code of the rule, or code of the error
    message: str  # as the client was told
    subject: str  # `pods shop/web-1`
    user: str  # who asked; "" when that was not read


class Refusals:
    """The newest of each service, and a count of all that were refused."""

    def __init__(self, services: Iterable[str], telemetry: Telemetry) -> None:
        self._count = telemetry.counter(
            "gatehouse_admission_refused", "Requests that a rule refused; not those that could not be decided", ["service"]
        )
        for service in services:
            self._count.labels(service)
        self._refused: dict[str, Refusal] = {}
        self._undecided: dict[str, Refusal] = {}

    # -- called by the worker threads

    def refused(self, service: str, request: AdmissionRequest, answer: Answer, now_s: float) -> None:
        """*answer* denies *request*."""
        denial = answer.response.denial
        if denial is None:
            return
        self._count.labels(service).inc()
        reason = next((one.reason.value for _, one in answer.verdicts if one.denial is not None), denial.reason)
        self._refused[service] = _refusal(request, reason, denial.message, now_s)

    def undecided(self, service: str, request: AdmissionRequest | None, error: AdmissionError, now_s: float) -> None:
        """*service* could not decide; *request* is None where the review was not even read."""
        self._undecided[service] = _refusal(request, error.code, str(error), now_s)

    # -- called by anyone

    def last_refused(self, service: str) -> Refusal | None:
        """The newest request that a rule of *service* refused."""
        return self._refused.get(service)

    def last_undecided(self, service: str) -> Refusal | None:
        """The newest review that *service* could not decide."""
        return self._undecided.get(service)


def _refusal(request: AdmissionRequest | None, reason: str, message: str, now_s: float) -> Refusal:
    if request is None:
        return Refusal(now_s, reason, _cut(message), UNREAD, "")
    return Refusal(now_s, reason, _cut(message), _cut(request.subject), _cut(request.user.name))


def _cut(text: str) -> str:
    return text if len(text) <= TEXT_LIMIT else f"{text[: TEXT_LIMIT - 1]}…"
