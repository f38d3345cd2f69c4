"""The whole process with fixed addresses switched on: what waits for them, and what does not."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from controllers.status.text import describe
from controllers.testing import FakeApi
from tests.controllers.followers import arguments
from tests.controllers.pod_ip.shelf import address_pool, calico_appears, fake_api, ip_pool, pod
from tests.controllers.served import Served, serve
from tests.server.client import wait_until

READY_WITHIN_S = 60.0
CONFIG = {
    "apiVersion": "gatehouse.dev/v1alpha1",
    "kind": "GatehouseConfiguration",
    "features": {"podIP": {"enabled": True}},
}


@contextmanager
def serving(api: FakeApi, folder: Path) -> Iterator[Served]:
    config = folder / "config.json"
    config.write_text(json.dumps(CONFIG))
    with serve(folder, arguments=arguments(api.kubeconfig(folder), f"--config={config}")) as served:
        wait_until(lambda: served.get("healthProbe", "/readyz")[0] == 200, READY_WITHIN_S)
        yield served


def test_a_cluster_without_the_kinds_puts_nothing_else_out_of_service(tmp_path: Path) -> None:
    with FakeApi() as api, serving(api, tmp_path) as served:
        page = json.loads(served.get("metrics", "/statusz")[1])

        assert served.get("healthProbe", "/readyz")[0] == 200
        assert served.get("healthProbe", "/readyz/node-taint")[0] == 200
        assert served.get("healthProbe", "/readyz/pod-ip")[0] == 500
        assert served.get("healthProbe", "/healthz")[0] == 200
        assert "addressreservations" in page["addresses"]["waitingFor"]


def test_a_pool_is_ready_when_the_leader_has_reserved_what_older_pods_carry(tmp_path: Path) -> None:
    with fake_api() as api:
        calico_appears(api)
        api.objects.put(ip_pool())
        api.objects.put(address_pool(adopted=False))
        api.objects.put(pod("web-0", "10.0.0.2", uid="p1", creationTimestamp="2026-01-01T00:00:00Z"))
        with serving(api, tmp_path) as served:
            wait_until(lambda: served.get("healthProbe", "/readyz/pod-ip")[0] == 200, READY_WITHIN_S)
            page = json.loads(served.get("metrics", "/statusz")[1])
            exposed = served.get("metrics", "/metrics")[1]

            assert page["addresses"]["network"]["source"] == "Calico"
            assert [one.path.rpartition("/")[2] for one in api.asked("create", "/apis/gatehouse.dev")] == [
                "addressreservations"
            ]
            assert {"addressreservations", "addresspools", "ippools", "ipamblocks"} <= page["caches"].keys()
            assert "  pool web: 1 of 4 used, 3 free" in describe(page).splitlines()
            assert 'gatehouse_address_pool_used{pool="web"} 1.0' in exposed
