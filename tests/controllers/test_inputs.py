"""What is read of a file is bounded, whatever it is that somebody names."""

from __future__ import annotations

import io
import os
from pathlib import Path

import pytest

from controllers.cli.main import main
from controllers.inputs import LIMIT_BYTES, read_file, read_stream


def test_a_device_without_end_is_read_to_the_limit_and_no_further() -> None:
    with pytest.raises(OSError, match="it is larger than 1000 bytes, the most that is read of one file"):
        read_file("/dev/zero", 1000)


def test_a_stream_is_read_one_byte_beyond_the_limit_at_most() -> None:
    stream = io.BytesIO(b"x" * 5000)

    with pytest.raises(OSError, match="stdin"):
        read_stream(stream, "stdin", 1000)
    assert stream.tell() == 1001


def test_what_is_as_large_as_the_limit_is_read_whole(tmp_path: Path) -> None:
    file = tmp_path / "a"
    file.write_bytes(b"x" * 1000)

    assert read_file(file, 1000) == b"x" * 1000


@pytest.mark.parametrize(
    "arguments",
    [
        ["check"],
        ["inject"],
        ["review"],
        ["explain", "pod"],
        ["explain", "pod", "examples/sidecars/pod.yaml", "--config"],
        ["manifests", "--service", "a/b", "--ca-file"],
    ],
)
def test_every_command_refuses_a_file_beyond_the_limit_and_names_it(
    arguments: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    large = tmp_path / "large.yaml"
    large.touch()
    os.truncate(large, LIMIT_BYTES + 1)  # a hole: it takes no room

    assert main([*arguments, str(large)]) == 2
    assert "cannot be read: it is larger than 64 MiB, the most that is read of one file" in capsys.readouterr().err


def test_a_cluster_in_files_refuses_one_beyond_the_limit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    large = tmp_path / "large.yaml"
    large.touch()
    os.truncate(large, LIMIT_BYTES + 1)

    assert main(["explain", "node", "a", "--local", str(tmp_path)]) == 2
    assert "it is larger than 64 MiB" in capsys.readouterr().err
