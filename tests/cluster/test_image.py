"""Images are archives that containerd imports: a manifest, a config and one layer whose digests agree."""

from __future__ import annotations

import hashlib
import json
import tarfile
from pathlib import Path

from tests.cluster.image import write_image


def test_an_image_names_its_layer_by_the_layers_digest(tmp_path: Path) -> None:
    program = tmp_path / "program"
    program.write_text("#!/bin/sh\n")
    target = tmp_path / "image.tar"

    write_image(target, "localhost/program:1", ["/bin/program"], {"/bin/program": program}, {"MODE": "test"})

    with tarfile.open(target) as archive:
        manifest = json.load(archive.extractfile("manifest.json"))[0]  # type: ignore[arg-type]
        config = json.load(archive.extractfile(manifest["Config"]))  # type: ignore[arg-type]
        layer = archive.extractfile(manifest["Layers"][0])
        assert layer is not None
        digest = hashlib.sha256(layer.read()).hexdigest()
    assert manifest["RepoTags"] == ["localhost/program:1"]
    assert config["rootfs"]["diff_ids"] == [f"sha256:{digest}"]
    assert config["config"]["Entrypoint"] == ["/bin/program"]
    assert "MODE=test" in config["config"]["Env"]
