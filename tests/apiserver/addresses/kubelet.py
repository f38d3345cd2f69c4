"""Runs pods, as far as the API server can tell: scheduled, Running with the addresses that they were given, ended when deleted.

Pods behind a scheduling gate wait. A pod with the label `runs: once` succeeds as soon as it has run, as a Job's does.
Source: core/v1 Binding; kubernetes pkg/kubelet/status (what a kubelet writes).
"""

from __future__ import annotations

import threading
from types import TracebackType

from tests.apiserver import nodes
from tests.apiserver.addresses.objects import addresses
from tests.apiserver.workloads import pods_path
from tests.cluster import Api, ApiError, Json

ONCE = {"runs": "once"}
LOOK_EVERY_S = 0.1
NODE = "rack-1"


class Kubelet:
    """Looks after the pods of *namespaces* inside its block. *api* is closed with it."""

    def __init__(self, api: Api, *namespaces: str) -> None:
        self._api = api
        self._namespaces = namespaces
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="test/kubelet")
        self._faults: list[BaseException] = []
        self.keeps_deleted = threading.Event()  # while set, pods that terminate take their time

    def __enter__(self) -> Kubelet:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._stop.set()
        self._thread.join()
        self._api.close()
        if self._faults and error is None:
            raise self._faults[0]

    def _run(self) -> None:
        while not self._stop.wait(LOOK_EVERY_S):
            try:
                for namespace in self._namespaces:
                    for pod in self._api.get(pods_path(namespace))["items"]:
                        self._attend(pod)
            except Exception as fault:  # told at the end of the block
                self._faults.append(fault)
                return

    def _attend(self, pod: Json) -> None:
        try:
            self._one_step(pod)
        except ApiError as refused:  # somebody else was faster: the next look tells
            if refused.status not in (404, 409, 422):
                raise

    def _one_step(self, pod: Json) -> None:
        meta, phase = pod["metadata"], pod["status"].get("phase", "Pending")
        path = f"{pods_path(meta['namespace'])}/{meta['name']}"
        if meta.get("deletionTimestamp"):
            if not self.keeps_deleted.is_set():
                self._api.delete(path, {"gracePeriodSeconds": 0, "preconditions": {"uid": meta["uid"]}})
        elif pod["spec"].get("schedulingGates"):
            return
        elif not pod["spec"].get("nodeName"):
            target = {"apiVersion": "v1", "kind": "Node", "name": NODE}
            body = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": meta["name"]}, "target": target}
            self._api.create(f"{path}/binding", body)
        elif phase == "Pending":
            self._set_running(pod)
        elif phase == "Running" and ONCE.items() <= meta.get("labels", {}).items():
            ended = {"terminated": {"exitCode": 0, "startedAt": nodes.time(), "finishedAt": nodes.time()}}
            self._write(pod, phase="Succeeded", containerStatuses=[_container(ended, ready=False)])

    def _set_running(self, pod: Json) -> None:
        now, given = nodes.time(), addresses(pod) or ["192.0.2.1"]
        conditions = [
            {"type": kind, "status": "True", "lastTransitionTime": now}
            for kind in ("PodScheduled", "Initialized", "ContainersReady", "Ready")
        ]
        self._write(
            pod,
            phase="Running",
            conditions=conditions,
            containerStatuses=[_container({"running": {"startedAt": now}}, ready=True)],
            podIP=given[0],
            podIPs=[{"ip": one} for one in given],
            startTime=now,
        )

    def _write(self, pod: Json, **status: object) -> None:
        """Unless somebody has changed the pod since."""
        meta = pod["metadata"]
        body = {"metadata": {"resourceVersion": meta["resourceVersion"]}, "status": status}
        self._api.patch(f"{pods_path(meta['namespace'])}/{meta['name']}/status", body)


def _container(state: Json, *, ready: bool) -> Json:
    head = {"name": "app", "image": "app:1", "imageID": "app", "restartCount": 0}
    return head | {"ready": ready, "started": ready, "state": state}
