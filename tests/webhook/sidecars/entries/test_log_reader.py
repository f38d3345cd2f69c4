"""The log collector's reader, run by a real BusyBox: files that come late, rotate, multiply, and names that bite."""

from __future__ import annotations

import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.cluster.binaries import BuildError, install_tools
from webhook.objects.schema import check, named
from webhook.sidecars.entries import log_reader

PATIENCE_S = 20.0

Follow = Callable[..., "Reader"]


class Reader:
    """The reader of *path* as a process, in an environment where every program is BusyBox's.

    limit, pause: its last two arguments in the place of the container's own.
    """

    def __init__(self, path: str, bin_folder: Path, limit: str = "", pause: str = "") -> None:
        *command, usual_limit, usual_pause = log_reader.build(path).container["command"]
        self._process = subprocess.Popen(
            [str(bin_folder / "sh"), *command[1:], limit or usual_limit, pause or usual_pause],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={"PATH": str(bin_folder)},
            start_new_session=True,
        )
        self._lock = threading.Lock()  # guards the two texts; no IO under it
        self._texts = {"stdout": b"", "stderr": b""}
        self._threads = [
            threading.Thread(target=self._collect, args=(name, stream), name=f"reader/{name}")
            for name, stream in (("stdout", self._process.stdout), ("stderr", self._process.stderr))
        ]
        for thread in self._threads:
            thread.start()

    def _collect(self, name: str, stream: object) -> None:
        while chunk := stream.read1():  # type: ignore[attr-defined]
            with self._lock:
                self._texts[name] += chunk

    def lines(self, stream: str = "stdout") -> list[str]:
        with self._lock:
            return self._texts[stream].decode().splitlines()

    def tails(self) -> int:
        """How many files are followed."""
        children = Path(f"/proc/{self._process.pid}/task/{self._process.pid}/children").read_text().split()
        commands = [Path(f"/proc/{pid}/cmdline") for pid in children]
        return sum(path.read_bytes().startswith(b"tail\0") for path in commands if path.exists())

    def wait_for(self, *lines: str, stream: str = "stdout") -> None:
        """Until exactly *lines* were printed, in any order."""
        self.wait(lambda: sorted(self.lines(stream)) == sorted(lines), lambda: f"{stream}: {self.lines(stream)}, not {lines}")

    def wait(self, met: Callable[[], bool], seen: Callable[[], str]) -> None:
        end_s = time.monotonic() + PATIENCE_S
        while not met():
            assert self._process.poll() is None, f"ended with {self._process.returncode}: {self.lines('stderr')}"
            assert time.monotonic() < end_s, seen()
            time.sleep(0.05)

    def end(self) -> int:
        """SIGTERM to the shell alone, as the runtime sends it; the exit code."""
        self._process.send_signal(signal.SIGTERM)
        code = self._process.wait(PATIENCE_S)
        for thread in self._threads:  # their streams end only when no tail is left
            thread.join(PATIENCE_S)
            assert not thread.is_alive(), "a tail outlived the shell"
        return code

    def close(self) -> None:
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        for stream in (self._process.stdout, self._process.stderr):
            assert stream is not None
        subprocess.run(["kill", "-9", "--", f"-{self._process.pid}"], check=False, capture_output=True)
        for thread in self._threads:
            thread.join(PATIENCE_S)
        for stream in (self._process.stdout, self._process.stderr):
            assert stream is not None
            stream.close()


@pytest.fixture(scope="module")
def bin_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    try:
        install_tools({"busybox": "busybox-static"})
    except BuildError as error:
        pytest.fail(str(error))
    folder = tmp_path_factory.mktemp("bin")
    for name in ("sh", "tail", "stat", "sleep"):
        (folder / name).symlink_to(str(shutil.which("busybox")))
    return folder


@pytest.fixture
def follow(bin_folder: Path) -> Iterator[Follow]:
    readers: list[Reader] = []

    def start(path: str, **arguments: str) -> Reader:
        readers.append(Reader(path, bin_folder, **arguments))
        return readers[-1]

    yield start
    for reader in readers:
        reader.close()


def append(path: Path, text: str) -> None:
    with path.open("a") as file:
        file.write(text)


def test_a_file_that_comes_late_is_printed_from_its_first_line_and_followed(tmp_path: Path, follow: Follow) -> None:
    reader = follow(f"{tmp_path}/logs/app.log")
    (tmp_path / "logs").mkdir()
    append(tmp_path / "logs" / "app.log", "one\ntwo\n")
    reader.wait_for("one", "two")

    append(tmp_path / "logs" / "app.log", "three\n")

    reader.wait_for("one", "two", "three")


def test_after_a_rotation_both_the_old_files_last_lines_and_the_new_file_are_printed(tmp_path: Path, follow: Follow) -> None:
    file = tmp_path / "app.log"
    append(file, "one\n")
    reader = follow(str(file))
    reader.wait_for("one")
    with file.open("a") as still_open:
        file.rename(tmp_path / "app.log.1")
        append(file, "new\n")
        reader.wait_for("one", "new")

        still_open.write("late\n")

    reader.wait_for("one", "new", "late")


def test_a_file_that_is_gone_is_let_go_after_ten_rounds(tmp_path: Path, follow: Follow) -> None:
    file = tmp_path / "app.log"
    append(file, "one\n")
    reader = follow(str(file), pause="0.05")
    reader.wait_for("one")
    assert reader.tails() == 1

    file.unlink()

    reader.wait(lambda: reader.tails() == 0, lambda: "its space on the disk is never freed")


def test_a_file_cut_to_nothing_is_read_from_its_start_again(tmp_path: Path, follow: Follow) -> None:
    file = tmp_path / "app.log"
    append(file, "a long first line\n")
    reader = follow(str(file))
    reader.wait_for("a long first line")

    file.write_text("short\n")

    reader.wait_for("a long first line", "short")


def test_a_pattern_follows_every_file_that_matches_also_later_ones_and_none_twice(tmp_path: Path, follow: Follow) -> None:
    append(tmp_path / "a.log", "a1\n")
    append(tmp_path / "other.txt", "never\n")
    reader = follow(f"{tmp_path}/*.log")
    reader.wait_for("a1")
    append(tmp_path / "b.log", "b1\n")
    reader.wait_for("a1", "b1")

    (tmp_path / "a.log").rename(tmp_path / "a-old.log")
    append(tmp_path / "a-old.log", "a2\n")
    append(tmp_path / "b.log", "b2\n")

    reader.wait_for("a1", "b1", "a2", "b2")


@pytest.mark.parametrize("name", ['it\'s "mine".log', "a b;touch pwned.log", "`touch pwned`.log", "-n.log", "é & (x) #.log"])
def test_a_name_is_never_read_as_a_command(name: str, tmp_path: Path, follow: Follow) -> None:
    folder = tmp_path / "my 'logs'"
    folder.mkdir()
    append(folder / name, "one\n")

    follow(f"{folder}/{name}").wait_for("one")

    assert not list(tmp_path.rglob("pwned"))


def test_asked_to_end_it_prints_the_last_lines_and_ends_well(tmp_path: Path, follow: Follow) -> None:
    file = tmp_path / "app.log"
    append(file, "one\n")
    reader = follow(str(file))
    reader.wait_for("one")
    append(file, "last\n")

    code = reader.end()

    assert code == 0
    assert reader.lines() == ["one", "last"]
    assert reader.lines("stderr") == []


def test_a_folder_of_too_many_files_is_followed_as_far_as_the_limit_and_said_once_a_file(
    tmp_path: Path, follow: Follow
) -> None:
    for name in ("a", "b", "c"):
        append(tmp_path / f"{name}.log", f"{name}\n")
    reader = follow(f"{tmp_path}/*.log", limit="2")
    reader.wait_for("a", "b")
    append(tmp_path / "a.log", "again\n")
    reader.wait_for("a", "b", "again")

    (line,) = reader.lines("stderr")

    assert line.startswith("log-collector: not followed, there are 2 others")
    assert line.endswith("/c.log")


def test_the_script_has_nothing_that_the_kubelet_would_expand() -> None:
    assert "$(" not in log_reader.script()
    assert "$$" not in log_reader.script()


def test_the_reader_is_told_what_to_follow_how_much_of_it_and_how_often_to_look() -> None:
    command = log_reader.build("/var/log/app/*.log").container["command"]

    assert command == ["/bin/sh", "-c", log_reader.script(), "log-collector", "/var/log/app", "*.log", "100", "1"]


def test_the_reader_is_a_container_that_restricted_namespaces_take() -> None:
    collector = log_reader.build({"path": "/var/log/app/*.log", "name": "tailer", "sizeLimit": "64Mi"})

    assert list(check(collector.container, named("Container"))) == []
    assert (collector.folder, collector.files) == ("/var/log/app", "*.log")
    assert collector.volume == {"name": "tailer-logs", "emptyDir": {"sizeLimit": "64Mi"}}
    security = collector.container["securityContext"]
    assert security["runAsNonRoot"] is True and security["allowPrivilegeEscalation"] is False
    assert security["capabilities"] == {"drop": ["ALL"]} and security["seccompProfile"] == {"type": "RuntimeDefault"}


@pytest.mark.parametrize(
    ("app", "spec", "user"),
    [
        ({}, {}, log_reader.NOBODY),
        ({"securityContext": {"runAsUser": 1000}}, {"securityContext": {"runAsUser": 7}}, 1000),
        ({}, {"securityContext": {"runAsUser": 7}}, 7),
        ({"securityContext": {"runAsUser": 0}}, {"securityContext": {"runAsUser": 7}}, log_reader.NOBODY),
    ],
)
def test_the_reader_runs_as_the_apps_user_unless_that_is_root(app: dict, spec: dict, user: int) -> None:  # type: ignore[type-arg]
    container = log_reader.build("/var/log/app/app.log").container

    made = log_reader.as_user_of(container, app, {"spec": spec})

    assert made["securityContext"]["runAsUser"] == user
    assert container["securityContext"]["runAsUser"] == log_reader.NOBODY


def test_a_user_that_somebody_gave_the_reader_stays() -> None:
    container = {"name": "log-collector", "securityContext": {"runAsUser": 5}}

    assert log_reader.as_user_of(container, {"securityContext": {"runAsUser": 1000}}, {}) is container
    assert log_reader.as_user_of({"name": "x"}, {"securityContext": {"runAsUser": 1000}}, {}) == {"name": "x"}
