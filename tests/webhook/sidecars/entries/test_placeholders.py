"""Placeholders: what they mean, what they leave alone, and what cannot be filled in."""

from __future__ import annotations

import json
import re
from typing import Any

import attrs
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from webhook.cluster import NamespaceFacts
from webhook.errors import MalformedObject
from webhook.objects.schema import Text, named
from webhook.sidecars.entries import source
from webhook.sidecars.entries.placeholders import (
    Scope,
    as_literal,
    faults,
    has_placeholders,
    image_name,
    image_tag,
    openness,
    substitute,
)
from webhook.sidecars.injection import Scene, plan

CALM = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])

POD: dict[str, Any] = {
    "metadata": {
        "generateName": "web-7d9c-",
        "labels": {"app": "web", "empty": "", "port": "8080", "debug": "true"},
        "annotations": {"a/b": 'say "hi"\nand: {x: [', "cpu": "100m", "secret": "$(TOKEN) $$ $5"},
    },
    "spec": {"serviceAccountName": "runner"},
}
APP = {"name": "main", "image": "registry:5000/team/web:1.4"}
FACTS = NamespaceFacts("shop", "uid", {"team": "red"}, {"owner": "anna"}, False)
SCOPE = Scope(POD, "shop", FACTS, 1_764_441_000.9, APP)

VALUES = [
    ("plain", "plain"),
    ("${pod.name}", "web-7d9c"),
    ("${pod.namespace}", "shop"),
    ("${pod.serviceAccount}", "runner"),
    ("${pod.labels['app']}", "web"),
    ('${pod.labels["app"]}', "web"),
    ("${pod.annotations['a/b']}", 'say "hi"\nand: {x: ['),
    ("${namespace.labels['team']}", "red"),
    ("${namespace.annotations['owner']}", "anna"),
    ("${app.name}", "main"),
    ("${app.image}", "registry:5000/team/web:1.4"),
    ("${app.image.tag}", "1.4"),
    ("${now}", "2025-11-29T18:30:00Z"),
    ("${pod.labels['none']:-text}", "text"),
    ("${pod.labels['none']:-}", ""),
    ("${pod.labels['empty']:-text}", "text"),
    ("${pod.labels['empty']}", ""),
    ("${pod.labels['app']:-text}", "web"),
    ("a-${pod.labels['app']}-${app.name}.", "a-web-main."),
    ("$${pod.name}", "${pod.name}"),
    ("$$${pod.name}", "$${pod.name}"),
    ("$${HOME}", "${HOME}"),
    ("${HOME} ${x:-y} ${podium} ${pod_name} ${pod-x} $pod ${}", "${HOME} ${x:-y} ${podium} ${pod_name} ${pod-x} $pod ${}"),
]


@pytest.mark.parametrize(("text", "value"), VALUES, ids=[text for text, _ in VALUES])
def test_a_placeholder_becomes_its_value(text: str, value: str) -> None:
    made = substitute(text, named("string"), SCOPE)

    assert (made.value, made.unresolved) == (value, ())
    assert list(faults(text, in_app=True)) == []
    assert has_placeholders(text) is (value != text)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("${pod}", "is not a placeholder: known are pod.name"),
        ("${pod.nam}", "is not a placeholder: known are pod.name"),
        ("${pod%x}", "is not a placeholder: known are pod.name"),
        ("${now:-}${app:-x}", "${app:-x} is not a placeholder"),
        ("${pod.labels}", "needs a key, as in ${pod.labels['app']}"),
        ("${pod.labels[app]}", "is not a placeholder"),
        ("${pod.labels['a b']}", "a name has"),
        ("${pod.name['x']}", "pod.name takes no key"),
        ("${pod.name", "the closing brace is missing"),
        ("${pod.labels['a']:-${pod.name}}", "a default is plain text"),
    ],
)
def test_a_placeholder_that_means_nothing_is_told_when_the_entry_is_read(text: str, why: str) -> None:
    ((path, message),) = faults({"a": [text]}, ("env",), in_app=True)

    assert path == ("env", "a", 0)
    assert why in message


def test_app_means_nothing_outside_of_app() -> None:
    ((_, message),) = faults("${app.name}")

    assert "only inside app" in message


@pytest.mark.parametrize(
    ("text", "code", "value"),
    [
        ("${pod.labels['port']}", "int32", 8080),
        ("${pod.labels['port']}", "int-or-string", 8080),
        ("${pod.labels['app']}", "int-or-string", "web"),
        ("${pod.labels['port']}", "string", "8080"),
        ("${pod.labels['debug']}", "boolean", True),
        ("${pod.labels['none']:-false}", "boolean", False),
        ("${pod.labels['none']:--1}", "int64", -1),
        ("${pod.annotations['cpu']}", "quantity", "100m"),
        ("${pod.labels['none']:-TCP}", "=TCP|UDP", "TCP"),
    ],
)
def test_a_whole_string_becomes_what_the_api_wants_there(text: str, code: str, value: object) -> None:
    made = substitute(text, named(code), SCOPE)

    assert made.value == value
    assert type(made.value) is type(value)
    assert made.unresolved == ()


@pytest.mark.parametrize(
    ("text", "code", "why"),
    [
        ("${pod.labels['app']}", "int32", 'the value must be an integer, not the string "web"'),
        ("${pod.labels['none']:-99999999999}", "int32", "the value must fit 32 bits"),
        ("${pod.labels['none']:-" + "9" * 5000 + "}", "int32", "the value must be an integer"),
        ("${pod.labels['none']:-True}", "boolean", "the value must be true or false"),
        ("${pod.labels['app']}", "quantity", '"web" is not a quantity'),
        ("${pod.labels['app']}", "=TCP|UDP", "the value must be one of TCP, UDP"),
        ("${pod.labels['none']}", "string", "the pod has no label none, and the placeholder has no default"),
        ("${pod.annotations['none']}", "string", "the pod has no annotation none"),
        ("${namespace.labels['none']}", "string", 'namespace "shop" has no label none'),
    ],
)
def test_what_cannot_be_filled_in_is_told_with_its_path(text: str, code: str, why: str) -> None:
    (unresolved,) = substitute([text], named(f"[]{code}"), SCOPE, ("args",)).unresolved

    assert unresolved.path == ("args", 0)
    assert unresolved.message.startswith(text[:20])
    assert why in unresolved.message


def test_everything_that_cannot_be_filled_in_is_told_at_once() -> None:
    env = [{"name": "A", "value": "${pod.labels['x']}"}, {"name": "B", "value": "${pod.labels['y']} ${pod.labels['z']}"}]

    made = substitute(env, named("[]EnvVar"), SCOPE, ("app", "env"))

    assert [unresolved.path for unresolved in made.unresolved] == [("app", "env", 0, "value"), ("app", "env", 1, "value")]


def test_of_a_namespace_that_is_not_known_nothing_is_taken_not_even_a_default() -> None:
    scope = attrs.evolve(SCOPE, facts=None)

    (unresolved,) = substitute("${namespace.labels['team']:-red}", named("string"), scope).unresolved

    assert 'namespace "shop" is not known' in unresolved.message


def test_a_value_never_names_a_variable_that_the_kubelet_expands() -> None:
    text = "${pod.annotations['secret']}"
    probe, hook = {"exec": {"command": [text]}}, {"preStop": {"exec": {"command": [text]}}}
    container = {"name": "a", "args": [text], "env": [{"name": "A", "value": text}], "workingDir": text}
    container |= {"livenessProbe": probe, "lifecycle": hook}

    made = substitute(container, named("Container"), SCOPE).value

    assert made["args"] == ["$$(TOKEN) $$$$ $$5"]  # the kubelet writes $ for $$
    assert made["env"][0]["value"] == "$$(TOKEN) $$$$ $$5"
    assert made["livenessProbe"]["exec"]["command"] == ["$$(TOKEN) $$$$ $$5"]
    assert made["lifecycle"]["preStop"]["exec"]["command"] == ["$(TOKEN) $$ $5"]  # the kubelet expands none here
    assert made["workingDir"] == "$(TOKEN) $$ $5"


def test_what_the_entry_itself_says_to_the_kubelet_stays() -> None:
    container = {"name": "a", "args": ["$(TOKEN) ${pod.name}"]}

    assert substitute(container, named("Container"), SCOPE).value["args"] == ["$(TOKEN) web-7d9c"]


def test_nothing_of_the_entry_is_shared_with_what_was_made() -> None:
    container = {"name": "a", "args": ["x"], "resources": {"limits": {"cpu": 1}}}

    made = substitute(container, named("Container"), SCOPE).value
    made["args"].append("y")
    made["resources"]["limits"]["cpu"] = 2

    assert container == {"name": "a", "args": ["x"], "resources": {"limits": {"cpu": 1}}}


@pytest.mark.parametrize(
    ("image", "tag"),
    [
        ("web", "latest"),
        ("web:1", "1"),
        ("host:5000/web", "latest"),
        ("host:5000/web:1@sha256:abc", "1"),
        ("web:1@sha256:abc", "1"),
        ("web@sha256:abc", None),
        ("@sha256:abc", None),
        ("", None),
    ],
)
def test_the_tag_of_an_image(image: str, tag: str | None) -> None:
    assert image_tag(image) == tag


@pytest.mark.parametrize(
    ("image", "name"),
    [
        ("web", "web"),
        ("library/web:1", "web"),
        ("docker.io/web", "web"),
        ("localhost:5000/shop/web:1@sha256:abc", "web"),
        ("web@sha256:abc", "web"),
        ("host:5000/", None),
        ("", None),
    ],
)
def test_the_name_of_an_image(image: str, name: str | None) -> None:
    assert image_name(image) == name


def test_a_pod_without_a_service_account_gets_the_default_one_and_its_name_wins_over_generate_name() -> None:
    scope = Scope({"metadata": {"name": "db-0", "generateName": "x-"}}, "shop", FACTS, 0.0)

    made = substitute("${pod.name} ${pod.serviceAccount} ${now}", named("string"), scope)

    assert made.value == "db-0 default 1970-01-01T00:00:00Z"


def test_a_pod_with_labels_of_a_wrong_type_is_the_callers_fault() -> None:
    with pytest.raises(MalformedObject):
        substitute("${pod.labels['app']}", named("string"), Scope({"metadata": {"labels": {"app": 1}}}, "shop", None, 0.0))


@pytest.mark.parametrize("text", ["${app.image}", "${app.image.name}", "${app.image.tag}"])
@pytest.mark.parametrize("kind", ["containers", "initContainers"])
def test_a_container_with_a_field_of_a_wrong_type_is_named_by_its_place(text: str, kind: str) -> None:
    app = {"name": "b", "image": True}
    scope = Scope({"spec": {kind: [{"name": "a", "image": "a"}, app]}}, "shop", None, 0.0, app)

    with pytest.raises(MalformedObject, match=re.escape(f"spec.{kind}[1].image: expected a string, found a boolean")):
        substitute(text, named("string"), scope)


@pytest.mark.parametrize(
    ("text", "how"),
    [("x ${HOME}", Text.FINAL), ("$${pod.name}", Text.FINAL), ("${now}", Text.OPEN), ("a${now}", Text.PARTLY_OPEN)],
)
def test_how_much_of_a_string_is_known(text: str, how: Text) -> None:
    assert openness(text) is how


@CALM
@given(
    st.lists(st.sampled_from(["$", "{", "}", "pod", ".", "name", "labels", "['a']", ":-", "now", "app", "x", " "]), max_size=12)
)
def test_any_text_is_a_fault_or_can_be_substituted(parts: list[str]) -> None:
    text = "".join(parts)

    if not list(faults(text, in_app=True)):
        made = substitute(text, named("string"), SCOPE)
        assert made.unresolved or type(made.value) is str
        assert made.value == text or has_placeholders(text) or made.unresolved


@CALM
@given(st.text())
def test_any_value_stays_one_string_of_the_same_characters(value: str) -> None:
    pod = {"metadata": {"annotations": {"a": value}}}

    made = substitute({"name": "A", "value": "${pod.annotations['a']}"}, named("EnvVar"), Scope(pod, "shop", None, 0.0))

    assert json.loads(json.dumps(made.value)) == {"name": "A", "value": value.replace("$", "$$")}


@pytest.mark.parametrize(
    "written", ["9999-12-31T23:59:59-23:59", "0001-01-01T00:00:00+23:59", "2026-13-01T00:00:00Z", "now" * 9]
)
def test_a_forged_time_of_an_earlier_call_counts_for_nothing(written: str) -> None:
    (entry,) = source.read("shop", "tools", {"gatehouse.dev/sidecars": "true"}, {"e": 'annotations: {since: "${now}"}'}).entries
    stamp = json.dumps([{"entry": "e", "now": written}])
    sent = {
        "metadata": {"annotations": {"gatehouse.dev/injected": stamp}},
        "spec": {"containers": [{"name": "app", "image": "a"}]},
    }

    planned = plan(sent, [entry], Scene("shop", None, 0.0))

    assert planned.annotations["since"] == "1970-01-01T00:00:00Z"


@CALM
@given(
    st.lists(st.sampled_from(["$", "{", "}", "${now}", "${pod.name}", "${x}", "$${", "a", "${pod.", "'"]), max_size=8).map(
        "".join
    )
)
def test_what_is_written_as_a_literal_is_filled_in_as_itself(text: str) -> None:
    written = as_literal({"a": [text]})

    assert openness(written["a"][0]) is Text.FINAL
    assert substitute(written, named("{}string"), SCOPE).value == {"a": [text]}
