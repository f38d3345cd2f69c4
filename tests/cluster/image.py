"""Container images without Docker and without a registry: a docker-archive tar of one layer, which containerd imports.

Pods that use one need imagePullPolicy Never. Source: moby image-spec v1.2 (`docker save`), which `ctr images import` reads.
"""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
from collections.abc import Mapping, Sequence
from pathlib import Path


def write_image(
    target: Path,
    reference: str,
    entrypoint: Sequence[str],
    files: Mapping[str, Path],
    environment: Mapping[str, str] | None = None,
) -> None:
    """Write the image *reference* ("localhost/pause:1") to *target*.

    files: path in the image -> file or whole folder on this machine (links inside a folder are kept).
    """
    layer = _layer(files)
    digest = hashlib.sha256(layer).hexdigest()
    path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    variables = {"PATH": path, **(environment or {})}
    config = {
        "architecture": "amd64",
        "os": "linux",
        "config": {"Entrypoint": list(entrypoint), "Env": [f"{key}={value}" for key, value in variables.items()]},
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{digest}"]},
    }
    encoded = json.dumps(config).encode()
    name = f"{hashlib.sha256(encoded).hexdigest()}.json"
    manifest = [{"Config": name, "RepoTags": [reference], "Layers": [f"{digest}/layer.tar"]}]
    with tarfile.open(target, "w") as archive:
        for member, content in (
            (name, encoded),
            (f"{digest}/layer.tar", layer),
            ("manifest.json", json.dumps(manifest).encode()),
        ):
            header = tarfile.TarInfo(member)
            header.size = len(content)
            archive.addfile(header, io.BytesIO(content))


def _layer(files: Mapping[str, Path]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for inside, source in files.items():
            archive.add(source.resolve() if source.is_file() else source, arcname=inside.lstrip("/"))
    return buffer.getvalue()
