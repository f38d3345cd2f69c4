"""`gatehouse ip` and the probes on a real API server: what is said of an address, and what is not given back."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

from tests.apiserver.addresses import objects
from tests.apiserver.addresses.objects import address, create, from_pool, pod, reservation
from tests.apiserver.addresses.stage import Stage
from tests.apiserver.waiting import wait_for
from tests.cluster import Api, Cluster

WITHIN_S = 60.0


def run(cluster: Cluster, *arguments: str) -> tuple[int, str, str]:
    """Exit code, standard output and standard error of `gatehouse ip`, as the administrator."""
    kubeconfig = f"--kubeconfig={cluster.kubeconfig('admin')}"
    argv = [sys.executable, "-m", "controllers", "ip", arguments[0], kubeconfig, *arguments[1:]]
    done = subprocess.run(cluster.namespace.command(argv), capture_output=True, text=True, timeout=WITHIN_S)
    return done.returncode, done.stdout, done.stderr


def listed(cluster: Cluster, namespace: str) -> list[dict[str, Any]]:
    code, out, err = run(cluster, "list", "-n", namespace, "-o", "json")
    assert code == 0, err
    found: list[dict[str, Any]] = json.loads(out)
    return found


def test_an_address_is_listed_shown_and_given_back_only_when_no_pod_has_it(stage: Stage, api: Api, namespace: str) -> None:
    objects.make_pool(api, "by-hand", "10.110.0.1-10.110.0.2", cooldown="1h")
    made = create(api, namespace, pod("held", from_pool("by-hand")))
    held = address(made)
    objects.wait_bound(api, made)

    (one,) = listed(stage.cluster, namespace)
    code, out, _ = run(stage.cluster, "show", held)
    refused_code, _, refused = run(stage.cluster, "release", "--yes", held)

    assert (one["address"], one["pod"], one["podUID"], one["pool"]) == (held, "held", made["metadata"]["uid"], "by-hand")
    assert (code, out.splitlines()[0]) == (0, f"{held}: held by {namespace}/held")
    assert (refused_code, f"{namespace}/held has it" in refused) == (1, True)
    assert reservation(api, held) is not None

    objects.delete(api, made)
    wait_for(lambda: objects.phase(api, held) == "Cooling", WITHIN_S, "the address cooling")
    code, out, err = run(stage.cluster, "release", "--yes", held)

    assert (code, out) == (0, f"{held}: released, was of pod {namespace}/held\n"), err
    assert reservation(api, held) is None
    assert run(stage.cluster, "show", held)[1].startswith(f"{held}: free")
    # Every replica hears of it: what was cooling for an hour can be had again.
    create(api, namespace, pod("next-1", from_pool("by-hand")))
    create(api, namespace, pod("next-2", from_pool("by-hand")))
