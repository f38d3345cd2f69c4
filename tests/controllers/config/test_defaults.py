"""The settings of defaults and tuning: what they mean, and what is told of them before anything starts."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, TypeVar

import pytest

from controllers.config.decoder import ConfigurationError, Decoder
from controllers.config.defaults import PodDefaultsSection, ResourceTuningSection
from webhook.defaults.sets import ContainerDefaults, DefaultSet, PodDefaults
from webhook.defaults.tuning import DEFAULT_STEPS, Scale, Step, Tuning
from webhook.objects.documents import read_documents
from webhook.objects.quantity import parse
from webhook.objects.selectors import Selector

T = TypeVar("T")


def read(kind: type[T], body: str) -> T:
    (document,) = read_documents(body, "gatehouse.yaml", positions=True)
    decoder = Decoder(document)
    found = decoder.read(kind, document.value)
    if decoder.faults:
        raise ConfigurationError(decoder.faults)
    return found


def faults(kind: type, body: str) -> str:
    with pytest.raises(ConfigurationError) as caught:
        read(kind, body)
    return str(caught.value)


def test_nothing_is_set_and_nothing_is_scaled_unless_told() -> None:
    assert PodDefaultsSection().value() == PodDefaults()
    assert ResourceTuningSection().value() == Tuning({"cpu": Scale(min=parse("10m"))})


def test_sets_are_what_the_file_says() -> None:
    body = """
sets:
- name: base
  namespaceSelector: "team in (a,b)"
  podSelector: {matchLabels: {app: web}}
  labels: {version: "${image.tag}"}
  annotations: {created: "${now}"}
  resources:
    app: {requests: {cpu: 0.1, memory: 64Mi}, limits: {memory: 128Mi}}
    init: {requests: {cpu: 50m}}
  containers: {proxy: {limits: {cpu: 1}}}
"""
    assert read(PodDefaultsSection, body).value().sets == (
        DefaultSet(
            "base",
            Selector.parse("team in (a,b)"),
            Selector.parse("app=web"),
            {"version": "${image.tag}"},
            {"created": "${now}"},
            ContainerDefaults({"cpu": parse("100m"), "memory": parse("64Mi")}, {"memory": parse("128Mi")}),
            ContainerDefaults({"cpu": parse("50m")}),
            {"proxy": ContainerDefaults(limits={"cpu": parse("1")})},
        ),
    )


def test_an_amount_or_text_that_is_null_is_none_and_not_zero() -> None:
    body = "sets: [{name: a, labels: {x: null}, resources: {app: {requests: {cpu: 1}, limits: {cpu: null}}}}]"

    (only,) = read(PodDefaultsSection, body).value().sets

    assert (only.labels, only.app) == ({}, ContainerDefaults({"cpu": parse("1")}))


def test_scales_are_what_the_file_says() -> None:
    body = """
enabled: true
podSelector: tune=yes
cpu: {min: 50m, max: 2, steps: [{atPercent: 0, factorPercent: 150}, {atPercent: 60}, {atPercent: 85, factorPercent: 50}]}
memory: {enabled: true}
"""
    assert read(ResourceTuningSection, body).value() == Tuning(
        {
            "cpu": Scale((Step(0, 150), Step(60, 100), Step(85, 50)), parse("50m"), parse("2")),
            "memory": Scale(DEFAULT_STEPS, parse("32Mi")),
        },
        pod_selector=Selector.parse("tune=yes"),
        enabled=True,
    )


DEFAULT_FAULTS = [
    ("sets: {}", "sets: must be a list of objects, not an object"),
    ("sets: [{labels: {a: b}}]", "sets[0].name: must be set"),
    ("sets: [{name: a}, {name: a}]", 'sets[1].name: "a" stands there twice'),
    ("sets: [{name: a, label: {}}]", "sets[0].label: unknown key: did you mean labels?"),
    ("sets: [{name: a, labels: {x: true}}]", 'sets[0].labels.x: must be a string, not a boolean (write "true" with quotes)'),
    ("sets: [{name: a, labels: {x: 'a b'}}]", "sets[0].labels.x: label value"),
    ("sets: [{name: a, annotations: {x: '${pod.phase}'}}]", "sets[0].annotations.x: ${pod.phase} is not a placeholder"),
    (
        "sets: [{name: a, resources: {app: {requests: {cpu: 1K}}}}]",
        'sets[0].resources.app.requests.cpu: "1K" is not a quantity',
    ),
    ("sets: [{name: a, resources: {app: {requests: {gpu: 1}}}}]", 'sets[0].resources.app.requests.gpu: "gpu" is no resource'),
    ("sets: [{name: a, resources: {init: {requests: {cpu: 2}, limits: {cpu: 1}}}}]", "is above the limit of 1"),
    ("sets: [{name: a, containers: {A_b: {}}}]", "sets[0].containers.A_b: must be a DNS label"),
    ("sets: [{name: a, podSelector: 'x in'}]", "sets[0].podSelector"),
]


@pytest.mark.parametrize(("body", "message"), DEFAULT_FAULTS, ids=[body for body, _ in DEFAULT_FAULTS])
def test_a_fault_of_a_set_is_told_with_its_place(body: str, message: str) -> None:
    found = faults(PodDefaultsSection, body)

    assert found.startswith("gatehouse.yaml:1:")
    assert message in found


TUNING_FAULTS = [
    ("{enabled: true, cpu: {enabled: false}}", "enabled: scales nothing"),
    ("{cpu: {min: 2, max: 1}}", "cpu.min: must not be above max"),
    ("{cpu: {min: -1}}", "cpu.min: must not be negative"),
    ("{cpu: {steps: [{atPercent: 80}, {atPercent: 80}]}}", "cpu.steps: must stand in the order of atPercent"),
    ("{memory: {steps: [{factorPercent: 0}]}}", "memory.steps[0].factorPercent: must be from 1 to 1000, not 0"),
]


@pytest.mark.parametrize(("body", "message"), TUNING_FAULTS, ids=[body for body, _ in TUNING_FAULTS])
def test_a_fault_of_a_scale_is_told_with_its_place(body: str, message: str) -> None:
    assert message in faults(ResourceTuningSection, body)


PAGE = (Path(__file__).parents[3] / "docs" / "pod-defaults.md").read_text()
EXAMPLES = [block for block in re.findall(r"```yaml\n(.*?)```", PAGE, re.S) if block.startswith("features:")]
SECTIONS = {"podDefaults": PodDefaultsSection, "resourceTuning": ResourceTuningSection}


def test_the_page_has_an_example_of_each() -> None:
    assert [next(iter(_features(example))) for example in EXAMPLES] == list(SECTIONS)


@pytest.mark.parametrize("example", EXAMPLES)
def test_the_examples_of_the_page_are_sound(example: str) -> None:
    ((name, value),) = _features(example).items()
    decoder = Decoder(None)

    decoder.read(SECTIONS[name], value)

    assert decoder.faults == []


def _features(example: str) -> dict[str, Any]:
    (document,) = read_documents(example, "docs/pod-defaults.md")
    found: dict[str, Any] = document.value["features"]
    return found


def test_the_page_shows_the_steps_that_apply() -> None:
    assert ", ".join(f"{step.at_percent} → {step.factor_percent}" for step in DEFAULT_STEPS) in PAGE
