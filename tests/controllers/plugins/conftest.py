"""Packages as pip leaves them: a module and its dist-info in a folder of `sys.path`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

import pytest

from controllers.plugins.finding import RULES


class Install(Protocol):
    """Installs a package: a module *module* with *source*, and an entry point *name* of *group* that leads to its `plugin`."""

    def __call__(
        self, source: str, *, name: str = "own", module: str = "own_module", package: str = "", group: str = RULES
    ) -> None: ...


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.syspath_prepend(str(folder))
    before = set(sys.modules)
    yield folder
    for module in {path.stem for path in folder.glob("*.py")} & (set(sys.modules) - before):
        del sys.modules[module]


@pytest.fixture
def install(site: Path) -> Install:
    def write(source: str, *, name: str = "own", module: str = "own_module", package: str = "", group: str = RULES) -> None:
        (site / f"{module}.py").write_text(source)
        package = package or module.replace("_", "-")
        info = site / f"{module}-1.2.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.2\n")
        (info / "entry_points.txt").write_text(f"[{group}]\n{name} = {module}:plugin\n")

    return write
