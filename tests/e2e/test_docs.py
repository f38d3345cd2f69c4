"""What the runbooks begin with is run as it stands there, against replicas that run."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import attrs

from tests.docs import elsewhere
from tests.docs.pages import all_blocks
from tests.docs.running import Desk
from tests.e2e.grounds import Ground
from tests.e2e.installed import REPLICAS, Installed

FIRST_LOOK = ("docs/runbooks.md", "kubectl -n kube-system get pods")
STATUS = "for try in $(seq 20); do gatehouse status && break; sleep 0.5; done\n"  # the forwarded port opens a moment later


def test_the_first_look_of_the_runbooks_shows_replicas_logs_and_status(
    ground: Ground, gatehouse: Installed, tmp_path: Path
) -> None:
    (block,) = (one for one in all_blocks("sh") if elsewhere.is_meant(one, FIRST_LOOK))
    programs = tmp_path / "programs"
    programs.mkdir()
    gatehouse_here = ground.beside_kubectl([sys.executable, "-m", "controllers"])
    for name, command in (("kubectl", ground.kubectl()), ("gatehouse", gatehouse_here)):
        (programs / name).write_text(f'#!/bin/sh\nexec {shlex.join(command)} "$@"\n')
        (programs / name).chmod(0o755)

    printed = Desk(tmp_path / "desk").run(attrs.evolve(block, text=block.text + STATUS), programs)

    names = [one.name for one in gatehouse.replicas()]
    assert len(names) == REPLICAS
    assert all(f"{name} " in printed for name in names), printed
    assert all(f"[pod/{name}" in printed for name in names), printed
    assert ": ready, up " in printed
    assert "\nleader election: " in printed
