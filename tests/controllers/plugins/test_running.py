"""Controllers of others run as ours do, with caches of their own, and nothing that they raise ends the process."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from controllers.cli.main import main
from controllers.cli.manifests_config import CERTIFICATE_LINES, ELECTION_LINES
from controllers.plugins.finding import CONTROLLERS
from controllers.runtime import (
    Context,
    ControllerPlugin,
    Done,
    Given,
    NoSettings,
    Outcome,
    Reference,
    RequeueAfter,
    Watch,
    objects_resource,
)
from controllers.testing import FakeApi, Rehearsal
from tests.controllers.plugins.conftest import Install
from tests.controllers.plugins.test_using import CONTROLLER, HEAD
from webhook.errors import PluginError
from webhook.objects.documents import read_documents

PODS = objects_resource("pods", "/api/v1/pods", "v1", "Pod")
POD = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web", "namespace": "shop"}}


def plugin(build: Callable[[Given[NoSettings]], Any], **fields: Any) -> ControllerPlugin[NoSettings]:
    return ControllerPlugin(settings=NoSettings, watches=(Watch(PODS),), build=build, **fields)


def test_a_pass_sees_its_cache_and_can_tell_of_what_it_did() -> None:
    def build(given: Given[NoSettings]) -> Any:
        def reconcile(key: str, context: Context, /) -> Outcome:
            found = given.caches["pods"].get(key)
            assert found is not None
            given.events.record(Reference("Pod", found["metadata"]["name"]), reason="Seen", action="See", note="seen")
            return Done()

        return reconcile

    with FakeApi() as api, Rehearsal(plugin(build), api) as rehearsal:
        api.objects.put(POD)

        assert rehearsal.run() == 1
        assert [told.reason for told in rehearsal.events] == ["Seen"]
        assert rehearsal.errors == []


@pytest.mark.parametrize("error", [ValueError("x"), SystemExit(1), KeyboardInterrupt()])
def test_whatever_a_pass_raises_comes_again(error: BaseException) -> None:
    def reconcile(key: str, context: Context, /) -> Outcome:
        raise error

    with FakeApi() as api, Rehearsal(plugin(lambda given: reconcile), api) as rehearsal:
        api.objects.put(POD)

        assert [rehearsal.run(), rehearsal.run()] == [1, 1]
        assert rehearsal.errors == [error, error]


def test_a_key_that_is_put_off_comes_again() -> None:
    with FakeApi() as api, Rehearsal(plugin(lambda given: lambda key, context: RequeueAfter(5.0)), api) as rehearsal:
        api.objects.put(POD)

        assert [rehearsal.run(), rehearsal.run()] == [1, 1]


@pytest.mark.parametrize("build", [lambda given: given.nothing, lambda given: None])
def test_a_controller_that_cannot_be_built_names_its_package(build: Callable[[Any], Any]) -> None:
    with FakeApi() as api, pytest.raises(PluginError, match=r"plug-in rehearsed \(package rehearsal 0"):
        Rehearsal(plugin(build), api)


def test_a_cache_of_theirs_does_not_pass_for_one_of_ours() -> None:
    with FakeApi() as api, Rehearsal(plugin(lambda given: print), api) as rehearsal:
        assert [informer.resource.name for informer in rehearsal._informers] == ["rehearsed/pods"]


def test_an_installation_has_the_rights_that_a_controller_asks_for(
    install: Install, tmp_path: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    rights = '({"apiGroups": [""], "resources": ["pods"], "verbs": ["list", "watch"]},)'
    install(CONTROLLER.replace("build=print", f"build=print, rights={rights}"), group=CONTROLLERS)
    (tmp_path / "g.yaml").write_text(f"{HEAD}{CERTIFICATE_LINES}\n{ELECTION_LINES}\nplugins: {{controllers: {{own: {{}}}}}}\n")

    assert main(["manifests", "--all", "--config", str(tmp_path / "g.yaml")]) == 0
    found = [document.value for document in read_documents(capsys.readouterr().out, "out")]

    role, binding = (item for item in found if item["metadata"]["name"] == "gatehouse-own")
    assert role["rules"] == [{"apiGroups": [""], "resources": ["pods"], "verbs": ["list", "watch"]}]
    assert binding["subjects"] == [{"kind": "ServiceAccount", "name": "gatehouse", "namespace": "kube-system"}]
    assert binding["roleRef"]["name"] == "gatehouse-own"
    assert [item["kind"] for item in found[-2:]] == ["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"]


def test_without_the_configuration_nobody_gets_rights(install: Install, capsys: pytest.CaptureFixture[str]) -> None:
    install(CONTROLLER, group=CONTROLLERS)

    assert main(["manifests", "--all"]) == 0

    assert "gatehouse-own" not in capsys.readouterr().out
