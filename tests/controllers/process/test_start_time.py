"""How soon a process is there: bounds that only a mistake of another order would break, figures against the targets."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from controllers.testing import FakeApi
from tests.controllers.followers import arguments, fill
from tests.controllers.served import LIMIT_S, ROOT, serve
from tests.server.client import wait_until
from tests.server.figures import Figures, best_of

NODES = 100
IMPORT_TARGET_S, IMPORT_BELOW_S = 0.5, 5.0
READY_TARGET_S, READY_BELOW_S = 2.0, 20.0
IMPORTS = """
import time
start_s = time.process_time()
import controllers.process.assembly
print(time.process_time() - start_s)
"""


@pytest.fixture(autouse=True)
def _as_installed(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Modules are compiled once, as pip does: the first of several tries pays for it."""
    monkeypatch.setenv("PYTHONPYCACHEPREFIX", str(tmp_path_factory.getbasetemp() / "compiled"))
    for name in ("PYTHONDONTWRITEBYTECODE", "PYTHONDEVMODE"):
        monkeypatch.delenv(name, raising=False)


def import_s() -> float:
    """Seconds of processor time that everything takes which serves, in a new interpreter."""
    done = subprocess.run([sys.executable, "-c", IMPORTS], cwd=ROOT, capture_output=True, text=True, timeout=LIMIT_S)
    assert done.returncode == 0, done.stderr
    return float(done.stdout)


def ready_s(folder: Path) -> float:
    """Seconds from the start of a process until it is ready, which follows a cluster of NODES nodes."""
    folder.mkdir()
    with FakeApi() as api:
        fill(api, NODES)
        start_s = time.monotonic()
        with serve(folder, arguments=arguments(api.kubeconfig(folder))) as served:
            wait_until(lambda: served.get("healthProbe", "/readyz")[0] == 200, READY_BELOW_S)
            took_s = time.monotonic() - start_s
            assert f'gatehouse_cache_objects{{resource="nodes"}} {NODES}.0' in served.get("metrics", "/metrics")[1]
    return took_s


def test_what_serves_is_imported_quickly(figures: Figures) -> None:
    took_s = best_of(import_s, lambda seconds: seconds, IMPORT_TARGET_S)

    figures.add(
        "import of what serves, processor time", f"{took_s:.2f} s", f"<= {IMPORT_TARGET_S} s", took_s <= IMPORT_TARGET_S
    )
    assert took_s < IMPORT_BELOW_S


def test_a_process_is_ready_soon_after_its_start(tmp_path: Path, figures: Figures) -> None:
    folders = iter(tmp_path / name for name in "abc")

    took_s = best_of(lambda: ready_s(next(folders)), lambda seconds: seconds, READY_TARGET_S)

    figures.add(f"start to ready with {NODES} nodes", f"{took_s:.2f} s", f"<= {READY_TARGET_S} s", took_s <= READY_TARGET_S)
    assert took_s < READY_BELOW_S
