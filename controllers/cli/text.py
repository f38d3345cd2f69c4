"""What a person reads of a review and its answer: the decision, its reason, and what it changes.

Pure but for `wants_colour`, which reads the environment. Colours are ANSI escapes, only where the caller asks for them.
"""

from __future__ import annotations

import base64
import difflib
import json
import os
from collections.abc import Iterator
from typing import Any, Final, TextIO

import msgspec

from controllers.wording import one_line
from webhook.admission.draft import Operation
from webhook.admission.verify import apply
from webhook.objects.documents import write_yaml
from webhook.objects.meta import Json

_RESET: Final = "\033[0m"
BOLD, RED, GREEN, YELLOW, CYAN = "\033[1m", "\033[31m", "\033[32m", "\033[33m", "\033[36m"
_CONTEXT_LINES: Final = 3
NO_REVIEW: Final = "not an AdmissionReview"


def wants_colour(stream: TextIO) -> bool:
    """Whether to colour what goes to *stream*: a terminal, and NO_COLOR (no-color.org) is not set."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def describe(review: Json, status: int, body: bytes, *, colour: bool = False) -> str:
    """The answer to *review* in lines: decision, reasons, warnings, and a diff of the object when a patch changes it.

    status, body: of the HTTP answer. No line break at the end.
    """
    try:
        answer = msgspec.json.decode(body) if body else {}
    except (msgspec.DecodeError, RecursionError):
        answer = {}
    lines = _undecided(status, answer) if status != 200 else _decided(review, answer.get("response") or {})
    return "\n".join(painted(visible(one_line(text)), code, colour) for text, code in lines)


def subject(review: Any) -> str:
    """The review in one line: `UPDATE pods/status shop/web-1`."""
    request = review.get("request") if isinstance(review, dict) else None
    if not isinstance(request, dict):
        return NO_REVIEW
    resource = request.get("resource")
    plural = resource.get("resource") if isinstance(resource, dict) else None
    kind = "/".join(str(part) for part in (plural or "?", request.get("subResource")) if part)
    name = "/".join(str(part) for part in (request.get("namespace"), request.get("name")) if part)
    return visible(one_line(" ".join(str(part) for part in (request.get("operation", "?"), kind, name) if part)))


def visible(text: str) -> str:
    """*text* without control characters: names and messages come from strangers and must not steer the terminal."""
    return "".join(c if c.isprintable() or c == "\n" else ascii(c)[1:-1] for c in text)


def _undecided(status: int, answer: Any) -> Iterator[tuple[str, str]]:
    message = answer.get("message", "") if isinstance(answer, dict) else ""
    yield f"not decided (HTTP {status}): {message}", RED


def _decided(review: Json, response: Json) -> Iterator[tuple[str, str]]:
    patch = base64.b64decode(response.get("patch") or "")
    operations = msgspec.json.decode(patch, type=list[Operation]) if patch else []
    if not response.get("allowed"):
        refusal = response.get("status") or {}
        code = " ".join(str(part) for part in (refusal.get("code"), refusal.get("reason")) if part)
        yield f"refused ({code}): {refusal.get('message', '')}", RED
    elif operations:
        count = f"{len(operations)} operation{'s' if len(operations) > 1 else ''}"
        yield f"allowed, changed by {count}", YELLOW
    else:
        yield "allowed, unchanged", GREEN
    for rule, reason in (response.get("auditAnnotations") or {}).items():
        yield f"  {rule}: {reason}", ""
    for warning in response.get("warnings") or []:
        yield f"  warning: {warning}", YELLOW
    if operations:
        yield from _difference(review, operations)


def _difference(review: Json, operations: list[Operation]) -> Iterator[tuple[str, str]]:
    request = review["request"]
    before = write_yaml(request["object"]).splitlines()
    try:
        after = write_yaml(apply(json.loads(json.dumps(request["object"])), operations)).splitlines()
    except ValueError as error:
        yield f"  the patch does not apply: {error}", RED
        return
    name = subject(review)
    for line in difflib.unified_diff(before, after, name, f"{name} (answered)", n=_CONTEXT_LINES, lineterm=""):
        yield line, _diff_colour(line)


def _diff_colour(line: str) -> str:
    if line.startswith(("---", "+++")):
        return BOLD
    return {"-": RED, "+": GREEN, "@": CYAN}.get(line[:1], "")


def painted(text: str, code: str, colour: bool) -> str:
    """*text* in the colour *code* (RED, …, "" for none), or as it is."""
    return f"{code}{text}{_RESET}" if colour and code else text
