"""`gatehouse review`: decides reviews from files, through the same gate as the server.

Exit codes: 0 every review was answered, 1 one could not be decided, 2 wrong use.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import attrs
import msgspec

from controllers.cli.text import describe, subject, wants_colour
from controllers.cli.usage import UsageError, configuration
from controllers.config.document import Configuration
from controllers.config.flags import add_config_flag
from controllers.local import LocalCluster, LocalError
from webhook.admission.call import Call, Reply, failure
from webhook.admission.gate import Gate
from webhook.admission.registry import path_for
from webhook.admission.review import KIND
from webhook.clock import SystemClock
from webhook.errors import BadRequest
from webhook.objects.documents import Document, DocumentError, objects, read_documents
from webhook.objects.meta import parse_time_s
from webhook.telemetry import Telemetry

__all__ = ["add_arguments", "describe", "run"]

EXAMPLES: Final = """\
examples:
  gatehouse review --local cluster/ review.yaml
                     what would be decided, with the nodes and pods of that folder
  gatehouse review --config gatehouse.yaml -o json review.json | jq -r .response.patch | base64 -d
                     the answer's bytes, as the API server would get them
  kubectl logs my-recorder | gatehouse review -
                     reviews from standard input: YAML documents, a List, or JSON values in a row
  gatehouse review --now 2026-11-29T10:00:00Z review.yaml
                     decide as if it were then, for votes that have aged since

exit codes: 0 every review was answered, 1 one could not be decided, 2 wrong use
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's flags."""
    parser.add_argument(
        "files", nargs="+", metavar="FILE", help="AdmissionReviews, YAML or JSON, several or a List; - reads stdin"
    )
    parser.add_argument("--local", metavar="DIR", help="the cluster's nodes and pods, as files (default: an empty cluster)")
    add_config_flag(parser)
    parser.add_argument("--path", metavar="PATH", help="the path that the reviews are sent to (default: by their resource)")
    parser.add_argument("--now", metavar="TIME", help="decide as if it were this moment (RFC 3339)")
    parser.add_argument("-o", "--output", choices=("text", "json"), default="text", help="json: the answers, one per line")


def run(options: argparse.Namespace) -> int:
    """Decide every review of every file, print the answers, and say by the exit code how it went. Raises UsageError."""
    gate = _gate(options, configuration(options))
    paths = [path for bound in gate.services for path in (bound.service.path, *bound.service.aliases)]
    if options.path is not None and options.path not in paths:
        raise UsageError(f"--path {options.path}: no service there; have {', '.join(paths)}")
    undecided = 0
    for file, source in [(file, _source(file)) for file in options.files]:
        for review in _reviews(file, source):
            reply = _answer(gate, review, options.path)
            undecided += reply.status != 200
            if options.output == "json":
                sys.stdout.buffer.write(reply.body + b"\n")
                sys.stdout.buffer.flush()
            else:
                print(_text(review, reply, wants_colour(sys.stdout)), flush=True)
    return 1 if undecided else 0


@attrs.frozen
class _Review:
    """One document that should be an AdmissionReview."""

    where: str  # "file:line"
    value: Any
    body: bytes  # as a server would get it
    fault: str = ""  # why the document cannot be read at all


class _Moment(SystemClock):
    """A wall clock that stands still."""

    def __init__(self, now_s: float) -> None:
        self._now_s = now_s

    def wall_s(self) -> float:
        return self._now_s


def _gate(options: argparse.Namespace, config: Configuration) -> Gate:
    clock = SystemClock()
    if options.now is not None:
        now_s = parse_time_s(options.now)
        if now_s is None:
            raise UsageError(f'--now {options.now}: not an RFC 3339 time such as "2026-11-29T10:00:00Z"')
        clock = _Moment(now_s)
    # Who calls is proved to the server by TLS; here the operator is the caller.
    settings = attrs.evolve(config.settings(), client_subjects=None, verify_patches=True)
    facts = LocalCluster(options.local or ".", settings.votes, clock)
    if options.local == "":
        raise UsageError('--local "": no such folder')
    if options.local is not None:
        try:
            facts.read()
        except LocalError as error:
            raise UsageError(str(error)) from error
    return Gate(settings, facts.cluster, Telemetry(), clock)


def _source(file: str) -> bytes:
    if file == "-":
        return sys.stdin.buffer.read()
    try:
        return Path(file).read_bytes()
    except OSError as error:
        raise UsageError(f"{file}: cannot be read: {error.strerror}") from error


def _reviews(file: str, source: bytes) -> Iterator[_Review]:
    name = "stdin" if file == "-" else file
    review = _sent_review(source)
    if review is not None:
        yield _Review(f"{name}:1", review, source)
        return
    try:
        documents = read_documents(source, name, positions=True)
    except DocumentError as error:
        yield _Review(f"{name}:{error.line}", None, b"", str(error))
        return
    if not documents:
        yield _Review(name, None, b"", f"{name}: holds no document")
    for document in objects(documents):
        yield _Review(f"{name}:{document.line}", document.value, _body(document))


def _sent_review(source: bytes) -> Any:
    """The review in a file that holds one as it is sent, so that the gate reads the very bytes; None for any other file."""
    try:
        review = msgspec.json.decode(source)
    except (msgspec.DecodeError, RecursionError):
        return None
    return review if isinstance(review, dict) and review.get("kind") == KIND else None


def _body(document: Document) -> bytes:
    """The document as it would be sent: JSON untouched, YAML as JSON."""
    text = document.json_text or json.dumps(document.value, ensure_ascii=False, separators=(",", ":"))
    return text.encode()


def _answer(gate: Gate, review: _Review, path: str | None) -> Reply:
    if review.fault:
        return failure(BadRequest(review.fault))
    path = path or _path_of(review.value)
    if path is None:
        return failure(BadRequest(f"{subject(review.value)}: no service takes that resource; --path sends it to one"))
    call = Call("POST", path, "", "application/json", review.body, SystemClock().monotonic_s())
    return gate.answer(call)


def _path_of(review: Any) -> str | None:
    """The path that a registration would send *review* to."""
    request = review.get("request") if isinstance(review, dict) else None
    resource = request.get("resource") if isinstance(request, dict) else None
    if not isinstance(request, dict) or not isinstance(resource, dict):
        return None
    group, plural, subresource = resource.get("group"), resource.get("resource"), request.get("subResource")
    return path_for(str(group or ""), str(plural or ""), str(subresource or ""))


def _text(review: _Review, reply: Reply, colour: bool) -> str:
    heading = f"{review.where}: {subject(review.value)}" if review.value is not None else review.where
    return f"{heading}\n{describe(review.value, reply.status, reply.body, colour=colour)}\n"
