"""Which folders of other starts the single file deletes: those of the dead, and nobody else's."""

from __future__ import annotations

import fcntl
import mmap
import os
import subprocess
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import attrs
import pytest

from release import entry

FILES = ("libpython.so", "msgspec/_core.so")
HOUR_S = entry.UNPACKED_WITHIN_S


@attrs.frozen
class Scratch:
    """A TMPDIR with the folder of a start that sweeps."""

    root: Path

    def folder(self, name: str, *, age_s: float = 0.0, files: tuple[str, ...] = FILES) -> Path:
        folder = self.root / f"_MEI{name}"
        for file in files:
            (folder / file).parent.mkdir(parents=True, exist_ok=True)
            (folder / file).write_bytes(b"x" * 4096)
        self.age(folder, age_s)
        return folder

    def age(self, folder: Path, age_s: float) -> None:
        then_s = folder.stat().st_mtime - age_s
        os.utime(folder, (then_s, then_s))

    def sweep(self) -> None:
        lock = entry.sweep(self.folder("own"))
        assert lock is not None
        os.close(lock)


@pytest.fixture
def scratch(tmp_path: Path) -> Scratch:
    return Scratch(tmp_path)


def mark(folder: Path, launcher: str) -> Path:
    (folder / entry.HELD).write_text(launcher)
    return folder


@contextmanager
def held(folder: Path) -> Iterator[None]:
    lock = entry.hold(folder)
    assert lock is not None
    try:
        yield
    finally:
        os.close(lock)


def test_the_folder_of_a_process_that_is_gone_is_deleted(scratch: Scratch) -> None:
    with subprocess.Popen(["true"]) as gone:
        pass
    folders = [mark(scratch.folder("dead"), f"{gone.pid} 1"), mark(scratch.folder("older"), "")]
    scratch.sweep()

    assert not any(folder.exists() for folder in folders)


def test_the_folder_of_a_living_process_is_left_however_old(scratch: Scratch) -> None:
    folder = scratch.folder("living")
    with held(folder):
        scratch.age(folder, 100 * HOUR_S)
        scratch.sweep()

        assert (folder / FILES[0]).exists()


def test_a_folder_that_its_launcher_is_about_to_delete_is_left_to_it(scratch: Scratch) -> None:
    folder = scratch.folder("ending")
    with held(folder):
        pass  # the program has ended; its launcher, our parent, has not
    scratch.sweep()

    assert folder.exists()


def test_a_launcher_is_told_from_its_successor_with_the_same_number(scratch: Scratch) -> None:
    folder = mark(scratch.folder("dead"), f"{os.getppid()} 1")  # as process 1 of a container that has been started again
    scratch.sweep()

    assert not folder.exists()


def test_a_folder_that_is_being_unpacked_is_left(scratch: Scratch) -> None:
    folder = scratch.folder("fresh", age_s=HOUR_S / 2)
    scratch.sweep()

    assert folder.exists()


@pytest.mark.parametrize("files", [FILES, FILES[:1]])
def test_a_folder_whose_unpacking_was_killed_is_deleted_after_an_hour(scratch: Scratch, files: tuple[str, ...]) -> None:
    folder = scratch.folder("cut", age_s=HOUR_S + 60, files=files)
    scratch.sweep()

    assert not folder.exists()


def test_a_folder_of_another_program_is_left(scratch: Scratch) -> None:
    folder = scratch.folder("other", age_s=100 * HOUR_S, files=("libpython.so", "their.so"))
    scratch.sweep()

    assert folder.exists()


def test_a_folder_without_a_mark_whose_libraries_run_is_left(scratch: Scratch) -> None:
    folder = scratch.folder("full", age_s=100 * HOUR_S)
    with (folder / FILES[0]).open("r+b") as file, closing(mmap.mmap(file.fileno(), 4096)):
        scratch.sweep()

    assert folder.exists()


def test_a_link_to_a_folder_is_left(scratch: Scratch, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "_MEIlink").symlink_to(mark(tmp_path / "mine", ""))
    scratch.sweep()

    assert (tmp_path / "mine" / entry.HELD).exists()


def test_a_start_that_cannot_write_its_mark_goes_on(scratch: Scratch) -> None:
    own = scratch.folder("own")
    (own / f"{entry.HELD}.new").write_text("")

    assert entry.sweep(own) is None


def test_no_start_ever_finds_the_mark_of_another_without_its_lock(scratch: Scratch) -> None:
    folders, ended = [scratch.folder(str(number)) for number in range(300)], threading.Event()
    locks: list[int | None] = []

    def start() -> None:
        locks.extend(map(entry.hold, folders))
        ended.set()

    starting = threading.Thread(target=start)
    starting.start()
    unlocked = []
    while not ended.is_set():
        unlocked += [folder for folder in folders if (folder / entry.HELD).exists() and lockable(folder / entry.HELD)]
    starting.join()
    for lock in locks:
        assert lock is not None
        os.close(lock)

    assert unlocked == []


def lockable(path: Path) -> bool:
    with path.open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True
