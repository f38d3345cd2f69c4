"""The files of manifests/, and what an installation consists of."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from webhook.objects.documents import read_documents

ROOT = Path(__file__).parents[2]
MANIFESTS = ROOT / "manifests"


def documents(file: Path) -> list[Any]:
    """What is written in *file*."""
    return [document.value for document in read_documents(file.read_bytes(), file.name)]
