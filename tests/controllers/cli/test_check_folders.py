"""`gatehouse check DIR`: what cannot be read is a fault of its own, and the other files are checked."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from controllers.cli.main import main

BROKEN = "apiVersion: gatehouse.dev/v1alpha1\nkind: GatehouseConfiguration\nvotes: {protocol: smoke}\n"


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("pipe.yaml", "not a regular file"),
        ("nowhere.yaml", "cannot be read: No such file or directory"),
        ("circle.yaml", "cannot be read: Too many levels of symbolic links"),
    ],
)
def test_what_cannot_be_read_below_a_folder_is_reported_beside_the_faults_of_the_others(
    name: str, why: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "gatehouse.yaml").write_text(BROKEN)
    if name == "pipe.yaml":
        os.mkfifo(tmp_path / name)
    else:
        (tmp_path / name).symlink_to(tmp_path / ("gone" if name == "nowhere.yaml" else name))

    assert main(["check", str(tmp_path)]) == 1

    said = capsys.readouterr().out
    assert f"{tmp_path / name}:1:1: {why}\n" in said
    assert "gatehouse.yaml:3:9: votes.protocol: must be one of" in said
    assert "2 files: 1 configuration, 0 entries in 0 sidecar ConfigMaps; 2 faults" in said
