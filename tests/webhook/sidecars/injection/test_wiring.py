"""What the pod's own containers get, and which containers those are."""

from __future__ import annotations

from typing import Any

import pytest

from tests.webhook.sidecars.injection.injecting import empty, entry, pod, run
from webhook.names import Reason
from webhook.sidecars.entries.entry import AppWiring

A = {"name": "A", "value": "1"}


def wired(*names: str, **changes: Any) -> Any:
    return empty(app=AppWiring(names, env=(A,), **changes))


def containers(*names: str) -> list[dict[str, Any]]:
    return [{"name": name, "image": f"{name}:1"} for name in names]


def who(done: Any) -> list[str]:
    everywhere = [*done.pod["spec"]["containers"], *(done.pod["spec"].get("initContainers") or [])]
    return [container["name"] for container in everywhere if container.get("env")]


@pytest.mark.parametrize("proxy", ["istio-proxy", "linkerd-proxy", "vault-agent", "daprd"])
def test_the_proxy_that_another_injector_put_first_is_not_the_app(proxy: str) -> None:
    assert who(run(pod(*containers(proxy, "app")), wired())) == ["app"]


def test_native_and_other_init_containers_are_not_the_app() -> None:
    inits = [{**containers("native")[0], "restartPolicy": "Always"}, *containers("init")]

    assert who(run(pod(initContainers=inits), wired())) == ["app"]


def test_init_containers_are_wired_when_the_entry_says_so() -> None:
    inits = [{**containers("native")[0], "restartPolicy": "Always"}, *containers("init")]

    assert who(run(pod(initContainers=inits), wired(init_containers=True))) == ["app", "init"]


def test_containers_that_the_entry_names_are_wired_whatever_they_are() -> None:
    inits = [{**containers("native")[0], "restartPolicy": "Always"}]

    done = run(pod(*containers("istio-proxy", "app"), initContainers=inits), wired("istio-proxy", "native"))

    assert who(done) == ["istio-proxy", "native"]


def test_a_named_container_that_is_not_there_is_said() -> None:
    done = run(pod(), wired("web"))

    assert who(done) == []
    assert done.reasons == [Reason.ANCHOR_MISSING]


def test_containers_of_entries_are_not_wired() -> None:
    assert who(run(pod(), entry(), wired())) == ["app"]


def test_variables_go_to_the_end_in_their_order() -> None:
    both = empty(app=AppWiring(env=(A, {"name": "B", "value": "$(A)"})))

    assert run(pod({"name": "app", "env": [{"name": "Z", "value": "0"}], "image": "a"}), both).env() == [
        ("Z", "0"),
        ("A", "1"),
        ("B", "$(A)"),
    ]


def test_variables_that_others_refer_to_come_before_them() -> None:
    both = empty(app=AppWiring(env=(A, {"name": "B", "value": "2"}, {"name": "C", "value": "3"})))
    own = [{"name": "X", "value": "0"}, {"name": "Y", "value": "http://$(A)"}, {"name": "Z", "value": "$(B)$(Y)"}]

    assert [name for name, _ in run(pod({"name": "app", "image": "a", "env": own}), both).env()] == [
        "X",
        "A",
        "B",
        "Y",
        "Z",
        "C",
    ]


def test_a_variable_from_a_source_is_recognised() -> None:
    field = {"name": "IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}
    sent = pod({"name": "app", "image": "a", "env": [{"name": "IP", "value": ""}]})

    assert run(pod(), empty(app=AppWiring(env=(field,)))).findings == ()
    assert run(sent, empty(app=AppWiring(env=(field,)))).reasons == [Reason.VARIABLE_CONFLICT]


def test_sources_of_variables_come_once() -> None:
    theirs = ({"configMapRef": {"name": "c"}}, {"prefix": "P_", "configMapRef": {"name": "c"}}, {"secretRef": {"name": "c"}})
    sent = pod({"name": "app", "image": "a", "envFrom": [{"configMapRef": {"name": "c", "optional": True}}]})

    done = run(sent, empty(app=AppWiring(env_from=theirs)), empty("two", app=AppWiring(env_from=theirs)))

    assert done.container("app")["envFrom"] == [{"configMapRef": {"name": "c", "optional": True}}, *theirs[1:]]


def test_a_mount_that_is_there_is_not_added_again() -> None:
    mount = {"name": "v", "mountPath": "/data"}
    sent = pod({"name": "app", "image": "a", "volumeMounts": [{**mount, "readOnly": True}]})

    done = run(sent, empty(app=AppWiring(volume_mounts=(mount,))))

    assert done.container("app")["volumeMounts"] == [{**mount, "readOnly": True}]
    assert done.findings == ()
