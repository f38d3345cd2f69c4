"""What rules and controllers of others rely on stays: names, signatures, and the way in."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path

import pytest

from tests.public_interface import FILE, PACKAGES, lines
from tests.test_layers import imports

ROOT = Path(__file__).parents[1]
EXAMPLES = sorted((ROOT / "examples" / name) for name in ("own-rule", "second-controller"))
SOURCES = [path for folder in EXAMPLES for path in folder.rglob("*.py")]


def test_no_public_name_and_no_signature_goes_or_changes() -> None:
    pinned, found = FILE.read_text().splitlines(), lines()

    gone = [line for line in pinned if line not in found]
    assert not gone, "this breaks rules and controllers of others: keep it, or say so in CHANGELOG.md and renew the file"


def test_what_is_new_is_pinned() -> None:
    new = [line for line in lines() if line not in FILE.read_text().splitlines()]

    assert not new, "run `python -m tests.public_interface`"


@pytest.mark.parametrize("package", PACKAGES)
def test_every_public_name_is_there_and_explained(package: str) -> None:
    module = importlib.import_module(package)

    assert sorted(module.__all__) == sorted(set(module.__all__))
    for name in module.__all__:
        value = getattr(module, name)
        if callable(value) and isinstance(value, type):
            assert value.__doc__, f"{package}.{name}"


@pytest.mark.parametrize("package", PACKAGES)
def test_a_star_import_brings_what_is_public(package: str) -> None:
    code = f"from {package} import *; import {package} as it; assert all(name in globals() for name in it.__all__)"

    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, timeout=60)


@pytest.mark.parametrize("package", ["webhook.admission", "controllers.runtime"])
def test_importing_one_module_of_a_package_does_not_import_all_that_is_public(package: str) -> None:
    code = f"import {package}, sys; assert not [name for name in sys.modules if name.startswith('{package}.')]"

    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, timeout=60)


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT / "examples")))
def test_the_examples_import_nothing_of_ours_but_the_public_packages(path: Path) -> None:
    ours = {name for name in imports(path) if name.split(".")[0] in ("webhook", "controllers", "tests", "manifests", "release")}
    public = {*PACKAGES, *(f"{package}.{name}" for package in PACKAGES for name in importlib.import_module(package).__all__)}

    assert ours or path.name == "conftest.py"
    assert ours <= public


@pytest.mark.parametrize("package", ["webhook", "controllers"])
def test_type_checkers_of_others_see_our_types(package: str) -> None:
    assert (ROOT / package / "py.typed").exists()
    assert f"{package} = py.typed" in (ROOT / "setup.cfg").read_text()
