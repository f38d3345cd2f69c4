"""The single file and the image around it (make binary, make image): they start, serve, end, and leave nothing behind."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import attrs
import pytest

from tests.controllers.served import EXAMPLE, LIMIT_S, ROOT, Served, serve
from tests.server.boxed import command, unpack
from tests.server.client import wait_until
from tests.server.figures import Figures
from tests.server.replica import example_review

BUILDING_S = 600  # cold: the packages are fetched, then half a minute on a quiet core
MIB = 2**20
ON_FREE_PORTS = [f"--{name}-bind-address=127.0.0.1:0" for name in ("webhook", "metrics", "health-probe")]

pytestmark = pytest.mark.timeout(BUILDING_S)


def outside_tests() -> dict[str, str]:
    """The environment without what makes every warning an error: pip has its own."""
    return {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "MAKE"))}


def make(*targets: str) -> None:
    done = subprocess.run(["make", "-s", *targets], cwd=ROOT, env=outside_tests(), capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def binary(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy, so that nothing beside it can help."""
    make("binary")
    return Path(shutil.copy(ROOT / "dist" / "gatehouse", tmp_path_factory.mktemp("binary")))


@attrs.frozen
class Place:
    """Where a run of the binary is at home: an empty environment but for TMPDIR."""

    binary: Path
    scratch: Path

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [self.binary, *arguments], env=self.environment(), cwd=ROOT, capture_output=True, text=True, timeout=LIMIT_S
        )

    def environment(self) -> dict[str, str]:
        return {"TMPDIR": str(self.scratch)}

    def serving(self, *arguments: str) -> list[str]:
        variables = [f"{key}={value}" for key, value in self.environment().items()]
        return ["env", "-i", *variables, str(self.binary), "serve", "--local", str(EXAMPLE), *ON_FREE_PORTS, *arguments]

    def left(self) -> list[str]:
        return [path.name for path in self.scratch.iterdir()]


@pytest.fixture
def place(binary: Path, tmp_path: Path) -> Place:
    (tmp_path / "scratch").mkdir()
    return Place(binary, tmp_path / "scratch")


@pytest.fixture
def served(place: Place, tmp_path: Path) -> Iterator[Served]:
    with serve(tmp_path, arguments=place.serving()) as running:
        yield running


def status(pid: int, key: str) -> int:
    found = re.search(rf"^{key}:\s+(\d+)", Path(f"/proc/{pid}/status").read_text(), re.M)
    assert found is not None
    return int(found[1])


def children(pid: int) -> list[int]:
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def family(pid: int) -> list[int]:
    return [pid, *(one for child in children(pid) for one in family(child))]


def alive(pids: list[int]) -> list[int]:
    return [pid for pid in pids if Path(f"/proc/{pid}").exists() and "Z (" not in Path(f"/proc/{pid}/status").read_text()]


def processor_s(pids: list[int]) -> float:
    ticks = [Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13] for pid in pids]
    return sum(int(tick) for pair in ticks for tick in pair) / os.sysconf("SC_CLK_TCK")


def test_it_says_its_version(place: Place) -> None:
    done = place.run("version", "-o", "json")

    assert (done.returncode, done.stderr) == (0, "")
    assert f"version = {json.loads(done.stdout)['version']}\n" in (ROOT / "setup.cfg").read_text()
    assert place.left() == []


def test_it_explains_itself(place: Place) -> None:
    done = place.run("--help")

    assert done.returncode == 0
    assert "serve" in done.stdout


@pytest.mark.parametrize("name", ["serve", "review", "check", "explain", "inject", "manifests", "ip", "status"])
def test_every_command_is_in_it(place: Place, name: str) -> None:
    assert place.run(name, "--help").returncode == 0


def test_wrong_use_ends_it_with_the_same_code_as_ever(place: Place) -> None:
    assert place.run("serve", "--local", "/nowhere").returncode == 2


def test_the_files_of_the_packages_are_in_it(place: Place) -> None:
    installation = place.run("manifests", "--all")
    sidecars = ROOT / "examples" / "sidecars"
    files = ["--local", str(sidecars), "--config", str(sidecars / "gatehouse.yaml"), str(sidecars / "deployment.yaml")]
    injected = place.run("inject", *files)

    assert "kind: Deployment" in installation.stdout, installation.stderr
    assert injected.returncode == 0, injected.stderr  # reads pod_types.json and log_reader.sh
    assert "initContainers:" in injected.stdout


def test_it_is_ready_in_time_and_small(place: Place, tmp_path: Path, figures: Figures) -> None:
    begin_s = time.monotonic()
    with serve(tmp_path, arguments=place.serving()) as running:
        wait_until(lambda: running.get("healthProbe", "/readyz")[0] == 200)
        took_s, pids = time.monotonic() - begin_s, family(running.process.pid)
        own_s = processor_s(pids)
        resident = sum(status(pid, "VmRSS") for pid in pids) * 1024
        size = place.binary.stat().st_size

    figures.add("single binary: start to ready, its own time", f"{own_s:.2f} s", "≤ 2 s", own_s <= 2)
    figures.add("single binary: start to ready, by the clock", f"{took_s:.2f} s", "≤ 2 s", took_s <= 2)
    figures.add(
        "single binary: resident when idle, both processes", f"{resident / MIB:.0f} MiB", "≤ 80 MiB", resident <= 80 * MIB
    )
    figures.add("single binary: size", f"{size / MIB:.1f} MiB", "≤ 32 MiB", size <= 32 * MIB)
    assert own_s < 6
    assert resident < 160 * MIB
    assert size < 64 * MIB


def test_sigterm_ends_it_in_peace_and_leaves_nothing(served: Served, place: Place) -> None:
    pids = family(served.process.pid)

    assert served.stop() == 0, served.log()
    assert alive(pids) == []
    assert place.left() == []


def test_a_signal_to_the_whole_group_is_one_wish(served: Served) -> None:
    os.killpg(served.process.pid, signal.SIGINT)  # Ctrl-C; the launcher passes its own on as well

    assert served.process.wait(LIMIT_S) == 0, served.log()
    assert "supervisor stopped" in served.log()


def test_a_launcher_that_is_killed_takes_the_program_along(served: Served) -> None:
    pids = family(served.process.pid)
    served.process.kill()
    served.process.wait(LIMIT_S)

    wait_until(lambda: alive(pids) == [])


def test_what_a_killed_process_left_is_swept_and_what_lives_is_not(served: Served, place: Place, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    with serve(tmp_path / "other", arguments=place.serving()) as other:
        (living,) = set(place.left()) - {path for path in place.left() if str(path) in mapped(served)}
        served.process.kill()
        served.process.wait(LIMIT_S)
        assert len(place.left()) == 2
        place.run("version")

        assert place.left() == [living]
        assert other.get("healthProbe", "/readyz")[0] == 200


def test_starts_at_the_same_time_leave_each_other_alone(place: Place) -> None:
    with ThreadPoolExecutor(6) as pool:
        runs = list(pool.map(lambda _: place.run("version"), range(18)))

    assert [(run.returncode, run.stderr) for run in runs] == [(0, "")] * len(runs)
    assert place.left() == []


def mapped(served: Served) -> set[str]:
    (child,) = children(served.process.pid)
    return set(re.findall(r"(_MEI\w+)/", Path(f"/proc/{child}/maps").read_text()))


def test_programs_that_it_starts_find_the_libraries_of_the_system(place: Place, tmp_path: Path) -> None:
    plugin, seen = tmp_path / "plugin", tmp_path / "seen"
    plugin.write_text(f'#!/bin/sh\necho "libraries: $LD_LIBRARY_PATH." > {seen}\nexit 1\n')
    plugin.chmod(0o755)
    kubeconfig = tmp_path / "kubeconfig"
    cluster, user = (
        {"server": "https://127.0.0.1:1"},
        {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": str(plugin)}},
    )
    context = {"cluster": "c", "user": "u"}
    named = {"clusters": ("cluster", cluster, "c"), "users": ("user", user, "u"), "contexts": ("context", context, "x")}
    lists = {key: [{"name": name, kind: value}] for key, (kind, value, name) in named.items()}
    kubeconfig.write_text(json.dumps({"apiVersion": "v1", "kind": "Config", "current-context": "x", **lists}))

    with subprocess.Popen(
        [place.binary, "serve", "--kubeconfig", str(kubeconfig), *ON_FREE_PORTS],
        env=place.environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        wait_until(lambda: seen.exists() and seen.read_text().endswith("\n"), LIMIT_S)
        process.terminate()

    assert seen.read_text() == "libraries: .\n"


def test_building_it_again_in_another_folder_gives_the_same_bytes(binary: Path, tmp_path: Path) -> None:
    for name in ("webhook", "controllers", "manifests", "release"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    python = ROOT / ".venv-binary" / "bin" / "python"
    environment = {"PATH": os.environ["PATH"], "TMPDIR": str(tmp_path)}
    subprocess.run([python, "-m", "release.binary", "again"], cwd=tmp_path, env=environment, check=True, capture_output=True)

    assert (tmp_path / "again").read_bytes() == binary.read_bytes()


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, object]]:
    """The unpacked root and the configuration."""
    make("image")
    root = tmp_path_factory.mktemp("image")
    root.chmod(0o755)  # as a runtime makes it
    return root, unpack(ROOT / "dist" / "gatehouse-image.tar", root)


def test_the_image_has_no_user_with_rights_and_nothing_that_could_give_them(image: tuple[Path, dict[str, object]]) -> None:
    root, config = image

    assert config["User"] == "65532:65532"
    assert config["Entrypoint"] == ["/usr/local/bin/gatehouse"]
    raised = [path for path in root.rglob("*") if not path.is_symlink() and path.is_file() and path.stat().st_mode & 0o6000]
    programs = [path.relative_to(root).as_posix() for path in root.rglob("bin/*")]
    assert raised == []
    assert programs == ["usr/local/bin/gatehouse"]  # no shell


def test_the_image_serves_read_only_as_process_1_and_ends_on_sigterm(
    image: tuple[Path, dict[str, object]], tmp_path: Path, figures: Figures
) -> None:
    root, config = image
    arguments = command(root, EXAMPLE, config, "serve", "--local", "/tmp/example", *ON_FREE_PORTS)
    with serve(tmp_path, arguments=arguments) as running:
        (first,) = children(running.process.pid)
        with running.connect() as client:
            reply = client.post(example_review(), "/node-taint?timeout=3s", ["Content-Type: application/json"])
        users = {status(pid, "Uid") for pid in family(first)}
        os.kill(first, signal.SIGTERM)
        code = running.process.wait(LIMIT_S)
        log = running.log()

    size = (ROOT / "dist" / "gatehouse-image.tar").stat().st_size
    figures.add("image: size of the archive", f"{size / MIB:.1f} MiB", "≤ 40 MiB", size <= 40 * MIB)
    assert reply.status == 200
    assert users == {65532}
    assert code == 0, log
    assert "Traceback" not in log


def test_without_a_place_to_unpack_to_it_says_so(image: tuple[Path, dict[str, object]]) -> None:
    root, config = image
    done = subprocess.run(command(root, None, config, "version"), capture_output=True, text=True, timeout=LIMIT_S)

    assert done.returncode != 0
    assert "temporary directory" in done.stderr
