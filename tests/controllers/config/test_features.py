"""The settings of sidecars and of their coverage."""

from __future__ import annotations

import argparse

import pytest

from controllers.cli.usage import configuration
from controllers.config.document import Configuration, ConfigurationError, Override, parse
from controllers.config.environment import SIDECAR_DEFAULT, overrides_in
from webhook.sidecars.selection import Missing, Policy

HEAD = "apiVersion: gatehouse.dev/v1alpha1\nkind: GatehouseConfiguration\n"


def read(body: str, environment: dict[str, str] | None = None) -> Configuration:
    return parse(HEAD + body, "gatehouse.yaml", overrides_in(environment or {}))


def faults(body: str, environment: dict[str, str] | None = None) -> str:
    with pytest.raises(ConfigurationError) as caught:
        read(body, environment)
    return str(caught.value)


def test_true_means_the_articles_entry_unless_told_otherwise() -> None:
    assert Configuration().settings().sidecars == Policy(("envoy-initializer",), "kube-system", Missing.DENY_NAMED)


def test_the_policy_is_what_the_file_says() -> None:
    body = "features: {sidecar: {default: [mesh, logs], onMissingEntry: Warn, namespace: platform}}"

    assert read(body).settings("ours").sidecars == Policy(("mesh", "logs"), "platform", Missing.WARN)


def test_the_home_is_our_own_namespace_where_none_is_set() -> None:
    assert read("").settings("ours").sidecars.home == "ours"


def test_the_environment_names_the_default_entries() -> None:
    found = read("features: {sidecar: {default: [mesh]}}", {SIDECAR_DEFAULT: "logs, trace,"})

    assert found.features.sidecar.default == ("logs", "trace")


def test_every_command_reads_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SIDECAR_DEFAULT, "mesh")

    assert configuration(argparse.Namespace(config="")).features.sidecar.default == ("mesh",)


@pytest.mark.parametrize("value", ["", " ", ","])
def test_an_empty_variable_is_not_set(value: str) -> None:
    assert read("features: {sidecar: {default: [mesh]}}", {SIDECAR_DEFAULT: value}).features.sidecar.default == ("mesh",)


def test_a_flag_stands_above_the_environment() -> None:
    path = ("features", "sidecar", "default")
    found = parse("", "", {**overrides_in({SIDECAR_DEFAULT: "logs"}), path: Override("--default", ["mesh"])})

    assert found.features.sidecar.default == ("mesh",)


def test_a_fault_of_the_environment_names_the_variable() -> None:
    assert faults("", {SIDECAR_DEFAULT: "Mesh"}).startswith(f"{SIDECAR_DEFAULT}: must be a DNS label")


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("features: {sidecar: {default: []}}", "features.sidecar.default: must name an entry"),
        ("features: {sidecar: {default: [a, a]}}", "features.sidecar.default: names an entry twice"),
        ("features: {sidecar: {default: [A_b]}}", "features.sidecar.default[0]: must be a DNS label"),
        ("features: {sidecar: {onMissingEntry: denyNamed}}", "did you mean DenyNamed?"),
        ("features: {sidecar: {namespace: a.b}}", "features.sidecar.namespace: must be a DNS label"),
        ("controllers: {coverage: {grace: 30}}", "controllers.coverage.grace: must be a duration"),
        ("controllers: {coverage: {evict: yes please}}", "controllers.coverage.evict: must be true or false"),
    ],
)
def test_what_cannot_be_meant_is_refused(body: str, message: str) -> None:
    assert message in faults(body)


def test_a_feature_that_is_off_takes_its_service_along() -> None:
    body = "features: {sidecar: {enabled: false}, workloadWarnings: {enabled: false}}"

    assert read(body).settings().disabled == {"mutate", "workload-warnings"}
    assert not read(body).features.injects()
