"""What pods are given really runs: native sidecars beside a Job, a reader of log files, defaults."""

from __future__ import annotations

import pytest

from tests.apiserver.waiting import wait_for
from tests.apiserver.workloads import pods_path
from tests.cluster import Api, Json
from tests.e2e import pods
from tests.e2e.installed import Installed

JOBS, ASKING = "jobs", "asking"
JOB_S = 60.0


@pytest.fixture(scope="module", autouse=True)
def _namespaces(gatehouse: Installed, api: Api) -> None:
    pods.make_namespace(api, JOBS, pods.EVERY_POD)
    pods.make_namespace(api, ASKING, pods.WHO_ASKS)


def test_a_native_sidecar_runs_beside_its_job_and_lets_it_complete(gatehouse: Installed, api: Api) -> None:
    template = pods.pod("", pods.container("work", "sleep 5; echo done"), restartPolicy="Never")
    spec = {"template": {"metadata": {"labels": {"of": "job"}}, "spec": template["spec"]}, "backoffLimit": 0}
    path = f"/apis/batch/v1/namespaces/{JOBS}/jobs"
    api.create(path, {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "report"}, "spec": spec})
    seen: list[dict[str, str]] = []

    def complete() -> bool:
        found = api.get(f"{pods_path(JOBS)}?labelSelector=of=job")["items"]
        seen.extend(pods.states(one) for one in found)
        return bool(api.get(f"{path}/report").get("status", {}).get("succeeded"))

    wait_for(complete, JOB_S, "the Job complete")
    (made,) = api.get(f"{pods_path(JOBS)}?labelSelector=of=job")["items"]

    assert {"reader": "running", "work": "running"} in seen
    assert [one["restartPolicy"] for one in made["spec"]["initContainers"] if one["name"] == "reader"] == ["Always"]
    assert made["status"]["phase"] == "Succeeded"
    assert pods.logs(gatehouse, JOBS, made["metadata"]["name"], "reader").split() == ["runs", "ends"]


def test_the_log_collector_prints_what_the_application_writes(gatehouse: Installed, api: Api) -> None:
    writes = "n=0; while :; do n=$((n+1)); echo line $n >> /var/log/app/app.log; sleep 0.2; done"
    asks = {"gatehouse.dev/inject": "logs"}
    api.create(pods_path(ASKING), pods.pod("shop", pods.container("app", writes), annotations=asks))
    made = pods.wait_phase(api, ASKING, "shop", "Running")
    wait_for(lambda: "line 3" in pods.logs(gatehouse, ASKING, "shop", "log-collector"), 30.0, "lines of the application")

    assert pods.logs(gatehouse, ASKING, "shop", "log-collector").splitlines()[:3] == ["line 1", "line 2", "line 3"]
    assert _shared(made) == ["emptyDir"]


def test_who_does_not_ask_gets_nothing_where_one_has_to_ask(api: Api) -> None:
    made = api.create(pods_path(ASKING), pods.pod("alone", pods.sleeper()))

    assert pods.names(made) == ["app"]
    assert pods.names(made, "initContainers") == []


def test_what_nobody_wrote_down_is_set_and_the_node_runs_it(gatehouse: Installed, api: Api) -> None:
    pods.make_namespace(api, "plain")
    api.create(pods_path("plain"), pods.pod("web", pods.sleeper()))
    made = pods.wait_phase(api, "plain", "web", "Running")
    (app,) = made["spec"]["containers"]

    assert made["metadata"]["labels"]["version"] == "1.37"
    assert app["resources"] == {"requests": {"cpu": "10m", "memory": "16Mi"}, "limits": {"memory": "64Mi"}}
    assert made["status"]["qosClass"] == "Burstable"


def _shared(made: Json) -> list[str]:
    """What kind of volume both the application and the reader mount at the folder of the logs."""
    every = [*made["spec"]["containers"], *made["spec"].get("initContainers", ())]
    by_container = {
        one["name"]: {mount["name"] for mount in one.get("volumeMounts", ()) if mount["mountPath"] == "/var/log/app"}
        for one in every
    }
    common = by_container["app"] & by_container["log-collector"]
    return [key for volume in made["spec"]["volumes"] if volume["name"] in common for key in volume if key != "name"]
