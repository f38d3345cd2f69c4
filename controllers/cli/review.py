"""`gatehouse review`: decides reviews from files, through the same gate as the server.

Exit codes: 0 every review was answered, 1 one could not be decided (with --check: also refused), 2 wrong use.
"""

from __future__ import annotations

import argparse
import base64
import copy
import json
import sys
from collections.abc import Iterator
from typing import Any, Final

import attrs
import msgspec

from controllers.cli.explain_targets import KINDS
from controllers.cli.offline import add_offline_flags, offline, read_source, shown, tracebacks
from controllers.cli.text import NO_REVIEW, describe, subject, wants_colour
from controllers.cli.usage import UsageError
from controllers.explaining.kinds import is_of
from webhook.admission.call import Call, Reply, failure
from webhook.admission.draft import Operation
from webhook.admission.gate import Gate
from webhook.admission.registry import paths_for
from webhook.admission.review import KIND, Operations
from webhook.admission.verify import apply
from webhook.clock import SystemClock
from webhook.errors import BadRequest
from webhook.names import PROJECT
from webhook.objects.documents import Document, DocumentError, objects, read_documents
from webhook.objects.faults import quoted

__all__ = ["add_arguments", "describe", "run"]

EXAMPLES: Final = """\
examples:
  gatehouse review --config examples/bounds/gatehouse.yaml examples/bounds/reviews/3-a-shell-in-production.yaml
                     what would be decided; --local DIR says with which nodes, pods and namespaces
  gatehouse review --local cluster/ review.yaml
                     the same of your own: reviews as kube-apiserver sends them
  gatehouse review --config gatehouse.yaml -o json review.json | jq -r .response.patch | base64 -d
                     the answer's bytes, as the API server would get them
  kubectl logs my-recorder | gatehouse review -
                     reviews from standard input: YAML documents, a List, or JSON values in a row
  gatehouse review --now 2026-11-29T10:00:00Z review.yaml
                     decide as if it were then, for votes that have aged since
  gatehouse review --check --config gatehouse.yaml reviews/*.yaml
                     in a pipeline: exit code 1 when a review is refused

exit codes: 0 every review was answered, allowed or refused; 1 one could not be decided (with --check: or was refused);
2 wrong use
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's flags."""
    parser.add_argument(
        "files", nargs="+", metavar="FILE", help="AdmissionReviews, YAML or JSON, several or a List; - reads stdin"
    )
    add_offline_flags(parser)
    parser.add_argument("--path", metavar="PATH", help="the path that the reviews are sent to (default: each that takes them)")
    parser.add_argument("--check", action="store_true", help="a refusal is a problem, too: exit code 1")
    parser.add_argument("-o", "--output", choices=("text", "json"), default="text", help="json: the answers, one per line")


def run(options: argparse.Namespace) -> int:
    """Decide every review of every file, print the answers, and say by the exit code how it went. Raises UsageError."""
    gate = offline(options).gate()
    paths = [path for bound in gate.services for path in (bound.service.path, *bound.service.aliases)]
    if options.path is not None and options.path not in paths:
        raise UsageError(f"--path {options.path}: no service there; have {', '.join(paths)}")
    problems = 0
    for file, source in [(file, read_source(file)) for file in options.files]:
        for asked in _reviews(file, source):
            for review, reply in _answers(gate, asked, options.path):
                problems += reply.status != 200 or (options.check and not _is_allowed(reply))
                if options.output == "json":
                    sys.stdout.buffer.write(reply.body + b"\n")
                    sys.stdout.buffer.flush()
                else:
                    print(_text(review, reply, wants_colour(sys.stdout)), flush=True)
    return 1 if problems else 0


def _is_allowed(reply: Reply) -> bool:
    return bool(msgspec.json.decode(reply.body).get("response", {}).get("allowed"))


@attrs.frozen
class _Review:
    """One document that should be an AdmissionReview."""

    where: str  # "file:line"
    value: Any
    body: bytes  # as a server would get it
    fault: str = ""  # why the document cannot be read at all
    path: str = ""  # where it is sent, "" where only one service takes it


def _reviews(file: str, source: bytes) -> Iterator[_Review]:
    name = shown(file)
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


def _answers(gate: Gate, review: _Review, path: str | None) -> Iterator[tuple[_Review, Reply]]:
    """What each service says that takes *review*, as the API server asks them: each later one of what the former made of it.

    A refusal ends it, and so does a review that cannot be decided.
    """
    if review.fault:
        yield review, failure(BadRequest(review.fault))
        return
    paths = [path] if path else _paths_of(review.value, gate)
    if not paths:
        yield review, failure(BadRequest(_why_nowhere(review)))
    for each in paths:
        call = Call("POST", each, "", "application/json", review.body, SystemClock().monotonic_s())
        with tracebacks():
            reply = gate.answer(call)
        yield attrs.evolve(review, path=each if len(paths) > 1 else ""), reply
        answered = _answered(review, reply)
        if answered is None:
            return
        review = answered


def _why_nowhere(review: _Review) -> str:
    """Why nobody is asked, and what to do: an object that is no review is explained."""
    if subject(review.value) != NO_REVIEW:
        return f"{subject(review.value)}: no service takes that resource; --path sends it to one"
    value = review.value if isinstance(review.value, dict) else {}
    kind = value.get("kind")
    if kind == KIND:
        return f"{NO_REVIEW}: it has no request"
    if not isinstance(kind, str) or not is_of("object", value):
        return f"{NO_REVIEW}, and no object of Kubernetes"
    word = kind.lower()
    word = word if KINDS.get(word, "address") != "address" and is_of(KINDS[word], value) else "object"
    return f"{NO_REVIEW} but a {quoted(kind)}: {PROJECT} explain {word} FILE says what every rule would answer about it"


def _paths_of(review: Any, gate: Gate) -> list[str]:
    """The paths that registrations would send *review* to. One that is on none of them goes to the first of its resource."""
    request = review.get("request") if isinstance(review, dict) else None
    resource = request.get("resource") if isinstance(request, dict) else None
    if not isinstance(request, dict) or not isinstance(resource, dict):
        return []
    group, plural, subresource = resource.get("group"), resource.get("resource"), request.get("subResource")
    name = (str(group or ""), str(plural or ""), str(subresource or ""))
    operation = next((one for one in Operations if one.value == request.get("operation")), None)
    found = paths_for(*name, operation, gate.settings) or paths_for(*name, None, gate.settings)[:1]
    served = {bound.service.path for bound in gate.services}
    return [path for path in found if path in served] or list(found[:1])


def _answered(review: _Review, reply: Reply) -> _Review | None:
    """*review* with its object as *reply* leaves it; None when it goes no further."""
    response = msgspec.json.decode(reply.body).get("response", {}) if reply.status == 200 else {}
    if not response.get("allowed"):
        return None
    if "patch" not in response:
        return review
    value = copy.deepcopy(review.value)
    value["request"]["object"] = apply(
        value["request"]["object"], msgspec.json.decode(base64.b64decode(response["patch"]), type=list[Operation])
    )
    return attrs.evolve(review, value=value, body=msgspec.json.encode(value))


def _text(review: _Review, reply: Reply, colour: bool) -> str:
    heading = f"{review.where}: {subject(review.value)}" if review.value is not None else review.where
    heading += f" at {review.path}" if review.path else ""
    return f"{heading}\n{describe(review.value, reply.status, reply.body, colour=colour)}\n"
