"""Manifests as people write them go through `gatehouse inject` without losing anything."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.controllers.cli import corpus
from webhook.objects.documents import Document, objects, read_documents
from webhook.objects.nulls import without_nulls
from webhook.objects.sources import decode_text
from webhook.objects.workloads import WORKLOADS, workload_of

# Nothing of these changes: no workload in them, or none that gets anything.
STAYING = {
    "blank.yaml",
    "comments-only.yaml",
    "crd.yaml",
    "custom-resources.yaml",
    "daemonset-host-network.yaml",
    "empty-documents.yaml",
    "empty.yaml",
    "kube-system.yaml",
    "list-unchanged.yaml",
    "not-asked.yaml",
    "opted-out.yaml",
    "rbac.yaml",
    "secrets.yaml",
    "services-and-ingress.yaml",
    "windows-pod.yaml",
    "wrong-level.yaml",
}

each_file = pytest.mark.parametrize("file", corpus.FILES, ids=lambda file: file.name)


def documents(source: bytes) -> list[tuple[Document, str]]:
    """The documents of *source*, each with its own text."""
    text = decode_text(source, "")
    return [(document, text[slice(*document.span)]) for document in read_documents(source, "f")]


def lost(old: Any, new: Any, path: str = "") -> Iterator[str]:
    """What *old* has and *new* has not, list elements in any place but in order."""
    if isinstance(old, dict):
        for key, value in old.items():
            if isinstance(new, dict) and key in new:
                yield from lost(value, new[key], f"{path}.{key}")
            else:
                yield f"{path}.{key}"
    elif isinstance(old, list) and isinstance(new, list):
        rest = iter(new)
        for index, value in enumerate(old):
            if not any(not list(lost(value, other)) for other in rest):
                yield f"{path}[{index}]"
    elif old != new and not (path.endswith(".image") and old == "auto"):
        yield f"{path}: {old!r} became {new!r}"


@each_file
def test_what_should_change_changes(file: Path) -> None:
    assert (corpus.injected(file) == file.read_bytes()) is (file.name in STAYING)


@each_file
def test_documents_that_do_not_change_keep_every_byte(file: Path) -> None:
    source = file.read_bytes()

    before, after = documents(source), documents(corpus.injected(file))

    assert len(before) == len(after)
    for (old, old_text), (new, new_text) in zip(before, after, strict=True):
        if old.value == new.value:
            assert old_text == new_text
        else:
            assert any(workload_of(one.value) for one in objects([old])), "no workload, and changed"


@each_file
def test_comments_between_documents_and_line_ends_stay(file: Path) -> None:
    source = decode_text(file.read_bytes(), "")
    result = decode_text(corpus.injected(file), "")

    gaps = [gap.strip() for gap in between(source, read_documents(source, "f"))]
    others = [gap.strip() for gap in between(result, read_documents(result, "f"))]
    assert [lines(gap) for gap in others] == [lines(gap) for gap in gaps]
    assert ("\r\n" in result) is ("\r\n" in source)


def between(text: str, found: list[Document]) -> Iterator[str]:
    end = 0
    for document in found:
        yield text[end : document.span[0]]
        end = document.span[1]
    yield text[end:]


def lines(gap: str) -> list[str]:
    return [line.strip() for line in gap.splitlines() if line.strip()]


@each_file
def test_nothing_that_was_written_is_lost(file: Path) -> None:
    before = list(objects(read_documents(file.read_bytes(), "f")))
    after = list(objects(read_documents(corpus.injected(file), "f")))

    for old, new in zip(before, after, strict=True):
        if old.value != new.value:
            assert list(lost(without_nulls(old.value), new.value)) == []


@each_file
def test_a_second_time_changes_nothing(file: Path) -> None:
    once = corpus.injected(file)

    assert corpus.injector().inject(once, file.name).result == once


def test_every_kind_and_version_with_a_pod_template_is_among_them() -> None:
    found = {workload_of(one.value) for file in corpus.FILES for one in objects(read_documents(file.read_bytes(), file.name))}

    assert set(WORKLOADS) <= found
    assert len(corpus.FILES) >= 60
