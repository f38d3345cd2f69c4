"""A folder that stands for the cluster, and pods and workloads to explain."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from controllers.cli.main import main
from webhook.objects.documents import write_yaml

NOW = ["--now", "2026-11-29T10:00:00Z"]

ENVOY = "containers:\n  - name: envoy\n    image: envoy:1\n"


def pod(name: str = "web", space: str = "shop", *, spec: dict[str, Any] | None = None, **metadata: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": space, **metadata},
        "spec": {"containers": [{"name": "app", "image": "app:1"}], **(spec or {})},
    }


def namespace(name: str = "shop", **labels: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}


def config_map(space: str = "shop", **data: str) -> dict[str, Any]:
    metadata = {"name": "sidecars", "namespace": space, "labels": {"gatehouse.dev/sidecars": "true"}}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


EVERY_POD = {"pod-admission-webhook-injection": "enabled"}
MAY_ASK = {"sidecar-injector": "enabled"}
ENTRIES = {"envoy-initializer": ENVOY}


class Desk:
    """A folder that stands for the cluster, and a file with what is explained."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self._folder, self._capsys = folder, capsys
        (folder / "cluster").mkdir()

    def cluster(self, *objects: dict[str, Any]) -> None:
        (self._folder / "cluster" / "all.yaml").write_text("---\n".join(map(write_yaml, objects)))

    def file(self, *objects: dict[str, Any]) -> str:
        file = self._folder / "asked.yaml"
        file.write_text("---\n".join(map(write_yaml, objects)))
        return str(file)

    def run(self, *arguments: str, code: int = 0) -> str:
        assert main(["explain", "pod", *NOW, "--local", str(self._folder / "cluster"), *arguments]) == code
        return self._capsys.readouterr().out

    def explain(self, obj: dict[str, Any], code: int = 0) -> dict[str, Any]:
        """The explanation of one object as JSON."""
        found: dict[str, Any] = json.loads(self.run("-o", "json", self.file(obj), code=code))
        return found
