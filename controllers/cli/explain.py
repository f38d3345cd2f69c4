"""`gatehouse explain pod`: why a pod gets what it gets, decided through the same function as the server's.

Exit codes: 0 every pod would be admitted, 1 one would be refused or could not be decided, 2 wrong use.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from controllers.cli.offline import STDIN, Offline, add_namespace_flag, add_offline_flags, offline, read_source, shown
from controllers.cli.text import BOLD, GREEN, RED, YELLOW, painted, visible, wants_colour
from controllers.cli.usage import UsageError
from controllers.explaining import Case, Explanation, explain
from controllers.local import SUFFIXES
from webhook.admission.registry import completion, pod_bounds
from webhook.clock import Deadline
from webhook.errors import MalformedObject
from webhook.names import PROJECT
from webhook.objects import meta
from webhook.objects.documents import Document, DocumentError, objects, read_documents
from webhook.objects.meta import Json
from webhook.objects.workloads import Workload, workload_of
from webhook.sidecars.misplaced import misplaced

EXAMPLES: Final = """\
examples:
  gatehouse explain pod examples/sidecars/pod.yaml --local examples/sidecars --config examples/sidecars/gatehouse.yaml
                     who asks, which entries, what changes, what would refuse it, and what would change that
  gatehouse explain pod deployment.yaml --local cluster/
                     the pods of a workload of any kind
  gatehouse explain pod shop/web --local cluster/
                     the pod or workload of that name in the files
  kubectl get pod web -o yaml | gatehouse explain pod - --local cluster/ -o json | jq .advice

exit codes: 0 admitted, 1 refused or undecided, 2 wrong use
"""

_TIMEOUT_S: Final = 5.0  # what the server would have; nothing waits here
_NAME: Final = re.compile(r"([a-z0-9-]+)/([a-z0-9.-]+)")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's flags."""
    parser.add_argument("what", choices=("pod",), help="what to explain")
    parser.add_argument(
        "targets", nargs="+", metavar="FILE|NAMESPACE/NAME", help="pods or workloads in a file (- reads stdin), or in --local"
    )
    add_offline_flags(parser)
    add_namespace_flag(parser)
    parser.add_argument("-o", "--output", choices=("text", "json"), default="text", help="json: one explanation per line")


def run(options: argparse.Namespace) -> int:
    """Explain every pod and workload; the exit code says whether all would be admitted. Raises UsageError."""
    facts = offline(options)
    if not facts.config.features.sidecar.enabled:
        print(f"{PROJECT}: the configuration switches injection off: this is what it would do", file=sys.stderr)
    found = [pair for target in options.targets for pair in _found(target, options)]
    code = 0
    for index, (document, workload) in enumerate(found):
        try:
            explanation = _explained(document, workload, facts, options.namespace)
        except MalformedObject as error:
            code = 1
            print(f"{document.file}:{document.line}: {visible(str(error))}", file=sys.stderr)
            continue
        if explanation.is_refused or not explanation.is_decided:
            code = 1
        if options.output == "json":
            print(json.dumps(explanation.to_json()), flush=True)
        else:
            print(("\n" if index else "") + _coloured(explanation, wants_colour(sys.stdout)), flush=True)
    return code


def _found(target: str, options: argparse.Namespace) -> Sequence[tuple[Document, Workload]]:
    """The pods and workloads that *target* means. Raises UsageError when there is none."""
    named = _NAME.fullmatch(target)
    if target == STDIN or Path(target).exists() or named is None:
        found = list(_pods(target))
        if not found:
            raise UsageError(f"{shown(target)}: holds no pod and no workload")
        return found
    if options.local is None:
        raise UsageError(f"{target}: no such file; to find it by namespace and name, --local DIR says where")
    found = [
        (document, workload)
        for file in _files(Path(options.local))
        for document, workload in _pods(file)
        if _key(document.value, options.namespace) == named.groups()
    ]
    if not found:
        raise UsageError(f"{target}: no pod and no workload of that name in {options.local}")
    return found


def _files(folder: Path) -> Iterator[str]:
    """The files below *folder*, which `offline` has read already, as local mode takes them."""
    for path in sorted(folder.rglob("*")):
        hidden = any(part.startswith(".") for part in path.relative_to(folder).parts)
        if path.suffix.lower() in SUFFIXES and not hidden and path.is_file():
            yield str(path)


def _pods(file: str) -> Iterator[tuple[Document, Workload]]:
    try:
        documents = read_documents(read_source(file), shown(file), positions=True)
    except DocumentError as error:
        raise UsageError(str(error)) from error
    for document in objects(documents):
        workload = workload_of(document.value)
        if workload is not None:
            yield document, workload


def _key(value: Json, namespace: str) -> tuple[str, str]:
    try:
        metadata = meta.metadata(value)
        return meta.text(metadata, "namespace", "metadata") or namespace, meta.text(metadata, "name", "metadata")
    except MalformedObject:
        return "", ""


def _explained(document: Document, workload: Workload, facts: Offline, namespace: str) -> Explanation:
    value = document.value
    namespace = meta.text(meta.metadata(value), "namespace", "metadata") or namespace
    case = Case(
        workload.pod(value),
        namespace,
        f"{workload.kind} {namespace}/{meta.display_name(value)}",
        f"{document.file}:{document.line}",
        misplaced(workload, value),
    )
    deadline = Deadline.after(_TIMEOUT_S, facts.clock)
    after = completion(facts.settings, facts.cluster)
    now_s, judges = facts.clock.wall_s(), pod_bounds(facts.settings)
    return explain(case, facts.cluster, facts.settings.sidecars, now_s, deadline, after, judges)


def _coloured(explanation: Explanation, colour: bool) -> str:
    """The text with its verdict and headings in colour."""
    told = explanation.findings or explanation.bounds
    verdict = RED if explanation.is_refused or not explanation.is_decided else YELLOW if told else GREEN
    lines = visible(explanation.to_text()).split("\n")
    codes = [BOLD, verdict, *("" if line.startswith((" ", ">")) else BOLD for line in lines[2:])]
    return "\n".join(painted(line, code if line else "", colour) for line, code in zip(lines, codes, strict=True))
