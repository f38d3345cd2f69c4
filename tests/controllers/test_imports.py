"""What a process loads: what is off by default, and what only other commands need, costs it neither start nor memory."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.controllers.served import LIMIT_S, ROOT

# The process of a cluster that nobody asks: building it opens nothing.
BUILD = """
import json, sys
import controllers.cli.serve
from controllers.config.document import parse
from controllers.process.assembly import Options, Process
from webhook.clock import SystemClock

Process(Options(parse(sys.argv[1], "config.yaml")), SystemClock())
print(json.dumps(sorted(sys.modules)))
"""
KUBECONFIG = {
    "apiVersion": "v1",
    "kind": "Config",
    "current-context": "here",
    "clusters": [{"name": "here", "cluster": {"server": "https://127.0.0.1:1"}}],
    "users": [{"name": "me", "user": {"token": "none"}}],
    "contexts": [{"name": "here", "context": {"cluster": "here", "user": "me"}}],
}
# By default nobody asks for addresses, databases, another certificate than one made in memory, proofs of patches or files.
OFF = (
    "controllers.pod_ip.",
    "controllers.database_instance.",
    "controllers.certificates.controller",
    "controllers.certificates.following",
    "controllers.local",
    "controllers.testing",
    "webhook.features.pod_ip",
    "webhook.features.database_instance",
    "webhook.testing",
    "cryptography",
    "jsonpatch",
)


def modules(folder: Path, **sections: object) -> set[str]:
    """Everything that is loaded once a process with these sections of configuration is built."""
    kubeconfig = folder / "kubeconfig"
    kubeconfig.write_text(json.dumps(KUBECONFIG))
    head = {"apiVersion": "gatehouse.dev/v1alpha1", "kind": "GatehouseConfiguration"}
    document = json.dumps({**head, "clientConnection": {"kubeconfig": str(kubeconfig)}, **sections})
    command = [sys.executable, "-c", BUILD, document]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=LIMIT_S)
    assert done.returncode == 0, done.stderr
    return set(json.loads(done.stdout))


def test_what_is_off_is_not_loaded(tmp_path: Path) -> None:
    loaded = modules(tmp_path)

    assert "controllers.edge_health.controller" in loaded
    assert sorted(name for name in loaded if name.startswith(OFF)) == []


@pytest.mark.parametrize(
    ("sections", "module"),
    [
        ({"features": {"podIP": {"enabled": True}}}, "controllers.pod_ip.caches"),
        ({"controllers": {"databaseInstance": {"enabled": True}}}, "controllers.database_instance.controller"),
        ({"webhook": {"certificate": {"secretName": "gatehouse-tls"}}}, "controllers.certificates.following"),
        ({"webhook": {"verifyPatches": True}}, "jsonpatch"),
    ],
)
def test_what_is_on_is_loaded_before_anything_starts(sections: dict[str, object], module: str, tmp_path: Path) -> None:
    assert module in modules(tmp_path, **sections)
