"""Calico's custom resources, as its Go module has them, and Calico's own code to ask.

The pools here hold every address that these tests use, so that all of them run as in a cluster with Calico.
Source: projectcalico/calico libcalico-go/config/crd.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import yaml

from tests.apiserver.databases import CRDS, serve
from tests.apiserver.waiting import wait_for
from tests.cluster import Api, Cluster, Json
from tests.cluster.kinds import apply
from tests.webhook.objects.oracles import Ask, asking

MODULE = "github.com/projectcalico/calico"
VERSION = "v1.11.0-cni-plugin.0.20250813170300-a0db560f0520"  # of release v3.28: the one that the module proxy has
SUM = "h1:TXnPEzx4pLWgwzCetIO/VJuz4iBZZrOdNSv16a50YqE="
KINDS = ("ippools", "ipamblocks", "ipamhandles", "ipamconfigs", "blockaffinities", "clusterinformations", "ipreservations")
GROUP = "crd.projectcalico.org"
BLOCKS = f"/apis/{GROUP}/v1/ipamblocks"
DISABLED, TUNNELS = "calico-disabled", "calico-tunnels"
POOLS: dict[str, Json] = {
    "calico-v4": {"cidr": "10.64.0.0/10"},
    "calico-v6": {"cidr": "fd64::/32", "blockSize": 122},
    DISABLED: {"cidr": "10.48.0.0/24", "disabled": True},
    TUNNELS: {"cidr": "10.48.1.0/24", "allowedUses": ["Tunnel"]},
}


@contextmanager
def installed(api: Api) -> Iterator[None]:
    """Inside the block the API server has Calico's resources, and POOLS."""
    folder = _sources()
    for name in KINDS:
        serve(api, yaml.safe_load((folder / f"{GROUP}_{name}.yaml").read_text()))
    try:
        for name, spec in POOLS.items():
            _make_pool(api, name, spec)
        yield
    finally:
        for name in KINDS:
            api.delete(f"{CRDS}/{name}.{GROUP}")
        wait_for(lambda: not any(api.find(f"{CRDS}/{name}.{GROUP}") for name in KINDS), 30.0, "Calico's resources gone")


@contextmanager
def asked(cluster: Cluster, folder: Path) -> Iterator[Ask]:
    """Calico's own code, as the administrator of the cluster."""
    environment = {"KUBECONFIG": str(cluster.kubeconfig("admin"))}
    with asking("calico", folder, cluster.namespace.command, environment) as ask:
        yield ask


def _make_pool(api: Api, name: str, spec: Json) -> None:
    defaults = {"ipipMode": "Never", "vxlanMode": "Never", "nodeSelector": "all()", "blockSize": 26}
    apply(api, {"apiVersion": f"{GROUP}/v1", "kind": "IPPool", "metadata": {"name": name}, "spec": defaults | spec})


def _sources() -> Path:
    command = ["go", "mod", "download", "-json", f"{MODULE}@{VERSION}"]
    with tempfile.TemporaryDirectory() as elsewhere:  # outside of any module
        found = json.loads(subprocess.run(command, capture_output=True, check=True, timeout=120, cwd=elsewhere).stdout)
    if found["Sum"] != SUM:
        raise AssertionError(f"{MODULE}: unexpected content {found['Sum']}")
    return Path(found["Dir"]) / "libcalico-go" / "config" / "crd"
