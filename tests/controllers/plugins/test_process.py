"""Rules and controllers of others in the whole process: who runs where, what is told, and when it does not start."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from controllers.cli.main import main
from controllers.config.document import parse
from controllers.plugins.finding import CONTROLLERS
from controllers.process.assembly import Options, Process
from controllers.testing import FakeApi
from tests.controllers.followers import ONLY_ADMISSION
from tests.controllers.plugins.conftest import Install
from tests.controllers.plugins.test_using import RULE
from webhook.clock import SystemClock

WITHIN_S = 20.0
ELSEWHERE = {
    "apiVersion": "coordination.k8s.io/v1",
    "kind": "Lease",
    "metadata": {"namespace": "kube-system", "name": "gatehouse"},
    "spec": {"holderIdentity": "another", "leaseDurationSeconds": 600, "leaseTransitions": 1},
}
COUNTING = """
from controllers.runtime import *
SEEN = []
WATCH = Watch(objects_resource("pods", "/api/v1/pods", "v1", "Pod"))

def plugin_of(led):
    def reconcile(key, context):
        SEEN.append(led)
        return Done()
    return ControllerPlugin(settings=NoSettings, watches=(WATCH,), build=lambda given: reconcile, led=led)

plugin = plugin_of(LED)
"""


@pytest.fixture
def api() -> Iterator[FakeApi]:
    with FakeApi() as api:
        api.objects.put({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web", "namespace": "shop"}})
        api.objects.put(ELSEWHERE)
        yield api


def options(kubeconfig: str, plugins: dict[str, Any]) -> Options:
    anywhere = {"bindAddress": "127.0.0.1:0"}
    sections = {
        "leaderElection": {"enabled": True, "namespace": "kube-system"},
        "webhook": anywhere | {"shutdownDelay": "0s"},
        "metrics": anywhere,
        "probes": anywhere,
        "clientConnection": {"kubeconfig": kubeconfig},
        "plugins": plugins,
    }
    return Options(parse(json.dumps(ONLY_ADMISSION | sections), "config.json"))


def test_only_the_leader_runs_what_is_led_and_every_replica_the_rest(install: Install, api: FakeApi, tmp_path: Path) -> None:
    install(COUNTING.replace("LED)", "True)"), group=CONTROLLERS, name="led", module="led_module")
    install(COUNTING.replace("LED)", "False)"), group=CONTROLLERS, name="everywhere", module="everywhere_module")
    process = Process(options(api.kubeconfig(tmp_path), {"controllers": {"led": {}, "everywhere": {}}}), SystemClock())
    import everywhere_module  # type: ignore[import-not-found]
    import led_module  # type: ignore[import-not-found]

    codes: list[int] = []
    found: dict[str, Any] = {}

    def use() -> None:
        try:
            api.until(lambda: bool(everywhere_module.SEEN), WITHIN_S)
            found.update(process.status())
        finally:
            process.supervisor.request_stop()

    codes.append(process.supervisor.run(threading.Thread(target=use).start))

    running = {name: one["running"] for name, one in found["leaderElection"]["controllers"].items()}
    assert (running["controller/led"], running["controller/everywhere"]) == (False, True)
    assert (set(everywhere_module.SEEN), led_module.SEEN) == ({False}, [])
    assert {"led/pods", "everywhere/pods"} <= set(found["caches"])
    assert sorted(one["name"] for one in found["plugins"]) == ["everywhere", "led"]
    assert codes == [0]


def test_a_rule_that_cannot_be_built_keeps_the_command_from_starting(
    install: Install, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    install(RULE + "plugin = RulePlugin(settings=Settings, build=lambda it, facts: it.no, entries=(Entry((PODS,)),))\n")
    config = tmp_path / "g.yaml"
    config.write_text(
        "apiVersion: gatehouse.dev/v1alpha1\nkind: GatehouseConfiguration\nplugins: {rules: {own: {}}}\n"
        "metrics: {bindAddress: '0'}\nprobes: {bindAddress: '0'}\n"
    )

    code = main(["serve", "--local", str(tmp_path), "--config", str(config)])

    assert code == 2
    assert (
        f"{config}:3:19: plugins.rules.own: "
        "plug-in own (package own-module 1.2, entry point own_module:plugin): the rule cannot be built"
    ) in capsys.readouterr().err
