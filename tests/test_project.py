"""What the project says of itself is true: manifests, README, and nothing of anybody's machine."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from webhook.admission.registry import SERVICES
from webhook.admission.settings import Settings

ROOT = Path(__file__).parents[1]
TRACKED = [
    ROOT / name
    for name in subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split(
        "\0"
    )
    if name
]
README = (ROOT / "README.md").read_text()


def test_every_service_has_golden_cases_and_stands_in_the_readme() -> None:
    for service in SERVICES:
        assert list((ROOT / "tests" / "cases" / service.name).glob("*.yaml")), service.name
        assert f"`{service.path}`" in README


def test_services_that_guard_availability_are_in_nobodys_way() -> None:
    for service in SERVICES:
        for entry in service.entries_with(Settings()):
            if service.guards_availability:
                assert (entry.failure_policy, entry.timeout_s) == ("Ignore", 3)
            assert entry.object_selector == {
                "matchExpressions": [{"key": "app.kubernetes.io/name", "operator": "NotIn", "values": ["gatehouse"]}]
            }


def test_every_make_target_is_explained_and_every_command_of_the_readme_exists() -> None:
    makefile = (ROOT / "Makefile").read_text()
    targets = set(re.findall(r"^([a-z0-9-]+):", makefile, re.M))

    assert targets == set(re.findall(r"^## ([a-z0-9-]+): ", makefile, re.M))
    assert set(re.findall(r"`make ([a-z0-9-]+)", README)) <= targets


def test_ci_runs_the_commands_of_the_readme() -> None:
    commands = re.findall(r"^part \S+ +\d+ make (\S+)", (ROOT / ".ci" / "run").read_text(), re.M)

    assert commands
    for command in commands:
        assert f"| `make {command}` |" in README


@pytest.mark.parametrize(("failing", "code"), [("", 0), ("test-server", 1), ("bench", 1)])
def test_ci_ends_with_minutes_and_the_warnings_of_the_bench_and_fails_when_a_part_does(
    failing: str, code: int, tmp_path: Path
) -> None:
    make = tmp_path / "make"  # stands for the real one: fails for *failing*, warns as the bench does
    make.write_text(
        "#!/bin/sh\n"
        'for word; do case $word in WARNINGS=?*) echo "bench: warning: node-20k" >> "${word#WARNINGS=}";; esac; done\n'
        f'echo "made $1"; [ "$1" != "{failing}" ]\n'
    )
    make.chmod(0o755)
    environment = os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}", "TMPDIR": str(tmp_path)}

    ran = subprocess.run([ROOT / ".ci" / "run"], env=environment, capture_output=True, text=True, timeout=60)

    before, after = ran.stdout.split("=== minutes\n")
    *rows, warning = after.splitlines()
    assert ran.returncode == code
    assert [row.split()[0] for row in rows if row.endswith("FAILED")] == ([failing] if failing else [])
    assert [row.split()[0] for row in rows] == re.findall(r"^made (\S+)$", before, re.M)
    assert warning == "bench: warning: node-20k"
    assert list(tmp_path.iterdir()) == [make]


def test_every_dependency_has_a_reason_in_the_readme() -> None:
    block = re.search(r"install_requires =\n((?:    .*\n)+)", (ROOT / "setup.cfg").read_text())
    assert block is not None
    for line in block.group(1).splitlines():
        name = re.match(r"\s+([A-Za-z-]+)", line)
        assert name is not None
        assert re.search(rf"^\| (?:[\w-]+, )*{name.group(1)}(?:, [\w-]+)* \|", README, re.M), f"{name.group(1)}: say why"


@pytest.mark.parametrize("link", sorted(set(re.findall(r"\]\(([^)#:]+)\)", README))))
def test_links_of_the_readme_lead_somewhere(link: str) -> None:
    assert (ROOT / link).exists()


def test_no_file_holds_a_path_of_a_machine_or_a_key() -> None:
    home = re.compile(r"/(?:root|home/[a-z]+|work)/[A-Za-z.]")
    for path in TRACKED:
        if path.suffix in (".sum", ".lock") or not path.exists() or path == Path(__file__):
            continue
        content = path.read_text(errors="replace")
        assert not home.search(content), path
        assert "PRIVATE KEY-----\n" not in content, path
