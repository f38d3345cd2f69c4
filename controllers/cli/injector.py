"""Decides about every workload of a file and puts the result where it came from. Pure but for what the facts do.

One `Injector` serves all files of a command; one thread at a time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, Final

import attrs

from controllers.cli.offline import Offline
from controllers.cli.text import GREEN, RED, YELLOW
from webhook.admission.review import VERSIONS, AdmissionRequest, GroupVersionResource, Operations, User
from webhook.admission.service import Answer, BoundService, Context
from webhook.errors import AdmissionError, Unavailable
from webhook.names import Reason
from webhook.objects import meta
from webhook.objects.documents import Document, DocumentError, read_documents
from webhook.objects.faults import Path
from webhook.objects.meta import Json
from webhook.objects.nulls import without_nulls
from webhook.objects.rewriting import LEFT_OUT, rewrite
from webhook.objects.workloads import Workload, workload_of
from webhook.sidecars.misplaced import misplaced
from webhook.sidecars.wish import SYSTEM_NAMESPACES

MUTATE: Final = "mutate"

_PODS: Final = GroupVersionResource("", "v1", "pods")
_PREFIX: Final = "gatehouse: "  # of warnings as the API server passes them on
_OF_A_POD: Final = re.compile(r"^pod \S+: ")
# A name that no pod has: what turns up with it in a template came from the pod's name.
_OTHER_NAME: Final = "gatehouse-other-name"


@attrs.frozen
class Line:
    """One thing to tell."""

    where: str  # "file:line"
    text: str
    colour: str = ""  # an escape of `controllers.cli.text`


@attrs.frozen
class Outcome:
    """What became of a file."""

    result: bytes
    lines: tuple[Line, ...] = ()
    failed: bool = False  # something in it was refused, or could not be decided


class _NotInjected(Exception):
    """A workload that must not come out. Its text says why."""


@attrs.define
class _Place:
    """Where in a file we are."""

    document: Document
    lines: list[Line]

    def tell(self, path: Path, text: str, colour: str = "") -> None:
        line, _ = self.document.position(path)
        self.lines.append(Line(f"{self.document.file}:{line}", text, colour))


class Injector:
    """The service `mutate` over files."""

    def __init__(self, setup: Offline, namespace: str, *, keep_going: bool = False) -> None:
        """namespace: of objects that name none. keep_going: leave out what is refused instead of the whole file."""
        self._service = setup.service(MUTATE)
        self._setup = setup
        self._namespace = namespace
        self._keep_going = keep_going

    @property
    def is_off(self) -> bool:
        """Whether the configuration switches injection off, so that nothing can change."""
        return self._service is None

    def inject(self, source: bytes, file: str) -> Outcome:
        """*source* with every workload as the server would have its pods; *file* is its name in messages."""
        try:
            documents = read_documents(source, file, positions=True)
        except DocumentError as error:
            return Outcome(b"", (Line(f"{file}:{error.line}", f"cannot be read: {error.message}", RED),), True)
        lines: list[Line] = []
        values: dict[int, Any] = {}
        failed = False
        for index, document in enumerate(documents):
            place = _Place(document, lines)
            try:
                changed = self._value(document.value, (), place)
            except _NotInjected:
                failed = True
                values[index] = LEFT_OUT
            else:
                if changed is not None:
                    values[index] = changed
        if failed and not self._keep_going:
            return Outcome(b"", tuple(lines), True)
        return Outcome(rewrite(source, documents, values), tuple(lines), failed)

    def _value(self, value: Any, path: Path, place: _Place) -> Any:
        """What becomes of the object at *path* of the document; None when it stays as it is. Raises _NotInjected."""
        items = _items(value)
        if items is not None:
            return self._list(value, items, path, place)
        workload = workload_of(value)
        if workload is None and self._service is not None and _has_template(value):
            place.tell(
                path, f"kind {value.get('kind')} is not Kubernetes' own: its template stays as it is, its pods are not", YELLOW
            )
        if workload is None or self._service is None:
            return None
        try:
            return self._workload(self._service, workload, value, path, place)
        except AdmissionError as error:
            hint = ": its Namespace belongs into --local, or into the files" if isinstance(error, Unavailable) else ""
            place.tell(path, f"{_subject(workload, value)}: not decided: {_plain(str(error))}{hint}", RED)
            raise _NotInjected from error

    def _list(self, value: Json, items: Sequence[Any], path: Path, place: _Place) -> Any:
        kind = value["kind"].removesuffix("List")
        header = {"apiVersion": value.get("apiVersion"), "kind": kind} if kind else {}
        changed: dict[int, Any] = {}
        refused = False
        for index, item in enumerate(items):
            # The items of a typed list do not say what they are.
            added = {key: header[key] for key in header if isinstance(item, dict) and key not in item}
            try:
                result = self._value({**added, **item} if added else item, (*path, "items", index), place)
            except _NotInjected:
                refused = True  # the others are told, too
                continue
            if result is not None:
                changed[index] = {key: inner for key, inner in result.items() if key not in added}
        if refused:
            raise _NotInjected
        return {**value, "items": [changed.get(index, item) for index, item in enumerate(items)]} if changed else None

    def _workload(self, service: BoundService, workload: Workload, value: Json, path: Path, place: _Place) -> Json | None:
        subject = _subject(workload, value)
        for finding in misplaced(workload, value):
            place.tell((*path, *finding.field.split(".")), f"{subject}: warning: {finding.message}", YELLOW)
        decoded = without_nulls(value)
        namespace = meta.text(meta.metadata(decoded), "namespace", "metadata") or self._namespace
        if namespace in SYSTEM_NAMESPACES:  # no registration matches these, whatever their labels
            place.tell(path, f"{subject}: unchanged: {Reason.SYSTEM_NAMESPACE.value}: pods of {namespace} are left alone")
            return None
        context = self._setup.context(service)
        answer = _answer(service, workload.pod(decoded), namespace, context)
        warnings = [warning.removeprefix(_PREFIX) for warning in answer.response.warnings]
        for warning in warnings:
            place.tell(path, f"{subject}: warning: {warning}", YELLOW)
        if answer.response.denial is not None:
            place.tell(path, f"{subject}: refused: {_plain(answer.response.denial.message)}", RED)
            raise _NotInjected
        if answer.draft is None or not answer.response.operations:
            for text in _reasons(answer, warnings):
                place.tell(path, f"{subject}: unchanged: {text}")
            return None
        result = workload.with_pod(decoded, answer.draft.object)
        for text in _reasons(answer, warnings):
            place.tell(path, f"{subject}: {text}", GREEN)
        if workload.template and self._depends_on_name(service, workload, decoded, namespace, context, result):
            place.tell(path, f"{subject}: warning: a pod's own name was asked for, which its template cannot hold", YELLOW)
        return result

    def _depends_on_name(
        self, service: BoundService, workload: Workload, decoded: Json, namespace: str, context: Context, result: Json
    ) -> bool:
        """Whether the template would get something else if the pod had another name: each pod has its own."""
        pod = workload.pod(decoded)
        for key in ("name", "generateName"):
            if key in pod["metadata"]:
                pod["metadata"][key] = _OTHER_NAME
        draft = _answer(service, pod, namespace, context).draft
        return draft is not None and workload.with_pod(decoded, draft.object) != result


def _answer(service: BoundService, pod: Json, namespace: str, context: Context) -> Answer:
    """What the service says to the creation of *pod*, which it edits."""
    name = meta.text(meta.metadata(pod), "name", "metadata")
    request = AdmissionRequest(
        VERSIONS[0], "", _PODS, "", name, namespace, Operations.CREATE, User("", ()), pod, None, dry_run=True
    )
    return service.answer(request, context)


def _has_template(value: Any) -> bool:
    """Whether *value*, of whatever kind, holds a pod template where the kinds of Kubernetes have it."""
    for key in ("spec", "template", "spec", "containers"):
        value = value.get(key) if isinstance(value, dict) else None
    return isinstance(value, list) and bool(value)


def _items(value: Any) -> list[Any] | None:
    """The items of a List (`List`, `PodList`, …); None for everything else."""
    if not isinstance(value, dict):
        return None
    kind, items = value.get("kind"), value.get("items")
    return items if isinstance(kind, str) and kind.endswith("List") and isinstance(items, list) else None


def _subject(workload: Workload, value: Json) -> str:
    metadata = value.get("metadata")
    names = metadata if isinstance(metadata, dict) else {}
    name = names.get("name") or f"{names.get('generateName') or ''}…"
    return f"{workload.kind} {'/'.join(str(part) for part in (names.get('namespace'), name) if part)}"


def _plain(message: str) -> str:
    """*message* without "pod shop/web: " in front: the line says of what it speaks."""
    return _OF_A_POD.sub("", message)


def _reasons(answer: Answer, told: Sequence[str]) -> Iterator[str]:
    """What each rule made of the pod; not again what is *told* already."""
    for _, verdict in answer.verdicts:
        if verdict.reason not in (Reason.NOTHING_TO_DO, Reason.NOT_APPLICABLE):
            is_news = verdict.message and verdict.message not in told
            yield f"{verdict.reason.value}: {verdict.message}" if is_news else verdict.reason.value
