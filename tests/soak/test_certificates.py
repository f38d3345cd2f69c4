"""The long form of tests/apiserver/test_certificates.py: lifetimes of seconds, so that CAs come and go by themselves."""

from __future__ import annotations

import os
import time
from pathlib import Path

from tests.apiserver import registration, shared_certificate
from tests.apiserver.conftest import NOBODY_JUDGES
from tests.apiserver.shared_certificate import secret
from tests.apiserver.waiting import POLL_S
from tests.cluster import Cluster, Settings
from tests.cluster.components import CONTROLLER_MANAGER
from tests.server.figures import Figures

LIFETIMES = {"caLifetime": "60s", "leafLifetime": "30s", "rotationGrace": "5s"}
SECONDS = 240.0
BEGIN = b"-----BEGIN CERTIFICATE"


def test_cas_that_live_for_a_minute_follow_each_other_and_nobody_notices(tmp_path: Path, figures: Figures) -> None:
    leaves, authorities, most = set(), set(), 0
    settings = Settings(f"certificates-{os.getpid()}", {CONTROLLER_MANAGER: NOBODY_JUDGES})
    with Cluster(settings) as cluster:
        with cluster.api() as api:
            registration.apply_rbac(api)
        with shared_certificate.two_replicas(cluster, tmp_path, LIFETIMES) as stage:
            end_s = time.monotonic() + SECONDS
            while time.monotonic() < end_s:
                now = secret(stage.admin)
                leaves.add(now["tls.crt"])
                authorities.add(now["ca.crt"].partition(b"-----END")[0])
                most = max(most, now["ca.crt"].count(BEGIN))
                time.sleep(POLL_S)
        faults = [fault.what for fault in (*stage.users.faults, *stage.callers.faults)]

    text = f"{len(faults)} of {len(stage.users.created)} creates and {len(stage.callers.calls)} calls"
    figures.add(f"faults while {len(leaves)} leaves and {len(authorities)} CAs come and go", text, "0", not faults)
    assert faults == []
    assert stage.users.incomplete == []
    assert len(authorities) >= 5
    assert len(leaves) >= 10
    assert most == 2  # each old CA is gone before the next one comes
