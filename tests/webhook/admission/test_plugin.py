"""A rule of somebody else's is a service like ours, and harms nothing but itself."""

from __future__ import annotations

import base64
import sys
from collections.abc import Callable
from typing import Any

import attrs
import msgspec
import pytest

from webhook.admission import (
    NAMESPACES_CACHE,
    AdmissionRequest,
    Context,
    Denial,
    Draft,
    Entry,
    Match,
    NoSettings,
    Operations,
    Reason,
    RulePlugin,
    Verdict,
)
from webhook.admission.call import Call, Reply
from webhook.admission.configurations import ClientConfig, configurations
from webhook.admission.gate import Gate
from webhook.admission.plugin import service_of
from webhook.admission.registry import SERVICES, paths_for, services_with, taken
from webhook.admission.service import Service
from webhook.admission.settings import Settings
from webhook.clock import SystemClock
from webhook.errors import PluginError
from webhook.telemetry import Telemetry
from webhook.testing import facts

PODS = Match("", "v1", "pods", (Operations.CREATE,), "Namespaced")
ORIGIN = "plug-in own (package own 1.0, entry point own:plugin)"
FINE = Verdict(Reason.NOTHING_TO_DO)

Decide = Callable[[AdmissionRequest, Draft, Context], Any]


def service(decide: Decide = lambda *_: FINE, name: str = "own", entry: Entry = Entry((PODS,)), **fields: Any) -> Service:
    plugin = RulePlugin(settings=NoSettings, build=lambda settings, facts: decide, entries=(entry,), **fields)
    return service_of(name, plugin, NoSettings(), ORIGIN, taken())


def settings(*services: Service) -> Settings:
    return Settings(plugins=services)


def gate_of(*services: Service, **options: Any) -> Gate:
    return Gate(settings(*services), facts.cluster(), Telemetry(), SystemClock(), **options)


def ask(gate: Gate, path: str = "/rules/own") -> Reply:
    request = {
        "uid": "u",
        "operation": "CREATE",
        "resource": {"group": "", "version": "v1", "resource": "pods"},
        "namespace": "shop",
        "name": "web",
        "object": {"metadata": {"name": "web", "namespace": "shop"}},
    }
    review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}
    return gate.answer(
        Call("POST", path, "timeout=5s", "application/json", msgspec.json.encode(review), SystemClock().monotonic_s())
    )


def raising(error: BaseException) -> Decide:
    def decide(*_: Any) -> Any:
        raise error

    return decide


def editing(request: AdmissionRequest, draft: Draft, context: Context) -> Verdict:
    draft.set(("metadata", "labels", "owner"), "a")
    return FINE


def test_what_it_decides_is_answered_under_its_path() -> None:
    reply = ask(gate_of(service(editing, mutating=True)))

    response = msgspec.json.decode(reply.body)["response"]
    assert response["auditAnnotations"] == {"own": "NothingToDo"}
    assert b"/metadata/labels" in base64.b64decode(response["patch"])


@pytest.mark.parametrize("error", [ValueError("x"), SystemExit(1), KeyboardInterrupt(), GeneratorExit(), RecursionError()])
def test_whatever_it_raises_is_not_decided_so_that_its_failure_policy_rules(error: BaseException) -> None:
    gate = gate_of(service(raising(error)), service(name="other"))

    assert ask(gate).status == 500
    assert ask(gate, "/rules/other").status == 200


@pytest.mark.parametrize(
    "answer",
    [
        None,
        True,
        Verdict("Reason"),  # type: ignore[arg-type]
        Verdict(Reason.GUARDED, None),  # type: ignore[arg-type]
        Verdict(Reason.GUARDED, warnings="text"),  # type: ignore[arg-type]
        Verdict(Reason.GUARDED, warnings=(1,)),  # type: ignore[arg-type]
        Verdict(Reason.GUARDED, denial=Denial(200, "Fine", "")),
        Verdict(Reason.GUARDED, denial=Denial(403, "Fine", None)),  # type: ignore[arg-type]
        Verdict(Reason.GUARDED, denial="no"),  # type: ignore[arg-type]
    ],
)
def test_an_answer_that_is_none_names_the_package_and_is_not_decided(answer: Any) -> None:
    reply = ask(gate_of(service(lambda *_: answer)))

    assert reply.status == 500
    assert ORIGIN in reply.body.decode()


def test_a_rule_that_is_not_registered_as_mutating_may_not_edit() -> None:
    reply = ask(gate_of(service(editing)))

    assert reply.status == 500
    assert b"is not registered as mutating" in reply.body


def test_an_edit_that_is_impossible_is_not_decided() -> None:
    def decide(request: AdmissionRequest, draft: Draft, context: Context) -> Verdict:
        draft.remove(("spec", "nothing"))
        return FINE

    assert ask(gate_of(service(decide, mutating=True))).status == 500


def test_it_waits_for_the_caches_that_it_names() -> None:
    gate = gate_of(service(caches=frozenset({NAMESPACES_CACHE})), synced=lambda cache: cache != NAMESPACES_CACHE)

    assert ask(gate).status == 503


def test_rules_of_others_share_one_limit_so_that_hanging_ones_leave_threads_for_ours() -> None:
    inside: list[int] = []

    def asks_again(*_: Any) -> Verdict:
        inside.append(ask(gate, "/rules/other").status)
        return FINE

    own = settings(service(asks_again), service(name="other"))
    gate = Gate(attrs.evolve(own, max_in_flight=1), facts.cluster(), Telemetry(), SystemClock())

    assert ask(gate).status == 200
    assert inside == [503]
    assert ask(gate, "/rules/other").status == 200


def test_it_is_asked_before_the_last_that_changes_pods_and_stands_in_the_registrations() -> None:
    own = settings(service(mutating=True))

    names = [one.name for one in services_with(own)]
    mutating, _ = configurations(services_with(own), ClientConfig.url("https://h"), own)

    assert names.index("own") == names.index("pod-ip") - 1
    assert names == [*(name for name in names if name != "own")][: names.index("own")] + names[names.index("own") :]
    assert "own.gatehouse.dev" in [webhook["name"] for webhook in mutating["webhooks"]]
    assert "/rules/own" in paths_for("", "pods", "", Operations.CREATE, own)
    assert services_with(Settings()) == SERVICES


def test_our_own_objects_and_the_namespaces_of_the_system_are_never_held_up() -> None:
    asked = {"matchLabels": {"a": "b"}, "matchExpressions": [{"key": "c", "operator": "Exists"}]}
    failing = service(entry=Entry((PODS,), namespace_selector=asked)).entries_with(Settings())[0]
    ignoring = service(entry=Entry((PODS,), namespace_selector=asked, failure_policy="Ignore")).entries_with(Settings())[0]

    assert failing.object_selector["matchExpressions"][0]["values"] == ["gatehouse"]
    assert failing.namespace_selector["matchLabels"] == {"a": "b"}
    assert failing.namespace_selector["matchExpressions"][0] == {"key": "c", "operator": "Exists"}
    assert "kube-system" in failing.namespace_selector["matchExpressions"][1]["values"]
    assert ignoring.namespace_selector == asked


@pytest.mark.parametrize(
    ("entry", "told"),
    [
        (Entry(()), "matches nothing"),
        (Entry((Match("", "v1", "pods", ()),)), "a tuple of Operations"),
        (Entry((Match("", "v1", "pods", ("CREATE",)),)), "a tuple of Operations"),  # type: ignore[arg-type]
        (Entry((PODS,), failure_policy="Maybe"), "failure_policy 'Maybe': must be Fail or Ignore"),
        (Entry((PODS,), timeout_s=31), "timeout_s 31: must be from 1 to 30"),
        (Entry((PODS,), side_effects="Some"), "side_effects 'Some'"),
        (Entry((PODS,), suffix="Odd"), 'suffix "Odd"'),
        ("entry", "is a str, not a webhook.admission.Entry"),
    ],
)
def test_a_registration_that_the_api_server_would_refuse_is_told_before(entry: Any, told: str) -> None:
    with pytest.raises(PluginError) as caught:
        service(entry=entry)

    assert ORIGIN in str(caught.value)
    assert told in str(caught.value)


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"name": "Own"}, "lower-case letters"),
        ({"name": "mutate"}, "the name mutate is taken by Gatehouse's own mutate"),
        ({"path": "/webhook/mutating"}, "the path /webhook/mutating is taken by Gatehouse's own pod-ip"),
        *(({"path": path}, "must be such as /rules/own") for path in ("own", "/a/../mutate", "/./a", "//a", "/a/", "/%2e")),
        ({"advice": ["label it"]}, "advice is a list"),
        ({"advice": {Reason.GUARDED: 1}}, "expected a mapping of reasons"),
        ({"mutating": "yes"}, "mutating is a str"),
        ({"caches": "nodes"}, "caches is a str"),
        ({"caches": frozenset({"secrets"})}, "no cache is called secrets"),
    ],
)
def test_names_paths_and_caches_are_checked(fields: dict[str, Any], told: str) -> None:
    with pytest.raises(PluginError, match=told):
        service(**fields)


def test_a_rule_that_cannot_be_built_is_told_of_when_the_process_starts() -> None:
    def build(settings: NoSettings, facts: Any) -> Any:
        return facts.nothing

    plugin = RulePlugin(settings=NoSettings, build=build, entries=(Entry((PODS,)),))

    with pytest.raises(PluginError, match=r"^plugins\.rules\.own: .*the rule cannot be built: AttributeError"):
        gate_of(service_of("own", plugin, NoSettings(), ORIGIN, taken()))


@pytest.mark.parametrize(
    ("build", "told"), [(lambda *_: sys.exit(0), "cannot be built: SystemExit: 0"), (lambda *_: None, "build gave a NoneType")]
)
def test_a_build_that_ends_or_gives_nothing_is_an_error_like_others(build: Any, told: str) -> None:
    plugin = RulePlugin(settings=NoSettings, build=build, entries=(Entry((PODS,)),))

    with pytest.raises(PluginError, match=rf"^plugins\.rules\.own: .*{told}"):
        gate_of(service_of("own", plugin, NoSettings(), ORIGIN, taken()))


def test_an_interrupt_while_it_is_built_is_the_operators() -> None:
    def build(*_: Any) -> Any:
        raise KeyboardInterrupt

    plugin = RulePlugin(settings=NoSettings, build=build, entries=(Entry((PODS,)),))

    with pytest.raises(KeyboardInterrupt):
        gate_of(service_of("own", plugin, NoSettings(), ORIGIN, taken()))
