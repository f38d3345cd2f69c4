"""`gatehouse check` reads the configuration in the installation's ConfigMap, and passes over no slip in our own kinds."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from controllers.checking.files import Report, check
from controllers.cli.main import main
from webhook.objects.documents import read_documents, write_yaml

ROOT = Path(__file__).parents[3]
INSTALLED = (ROOT / "manifests" / "base" / "30-configuration.yaml").read_text()
HEAD = "apiVersion: gatehouse.dev/v1alpha1\nkind: GatehouseConfiguration\n"


def found(text: str) -> Report:
    return check([("f.yaml", text.encode())], "default")


def lines(text: str) -> list[str]:
    return [str(remark) for remark in found(text).remarks]


def broken() -> str:
    text = INSTALLED.replace("leaderElection: {enabled: true}", "leaderElektion: {enabled: true}")
    assert text != INSTALLED
    return text


def test_the_installations_configmap_is_a_configuration() -> None:
    report = found(INSTALLED)

    assert (report.configurations, report.passed_over, report.remarks) == (1, 0, ())


def test_a_fault_in_it_stands_at_its_line_of_the_file() -> None:
    line = next(number for number, text in enumerate(broken().splitlines(), 1) if "leaderElektion" in text)

    (told,) = lines(broken())

    assert told.startswith(f"f.yaml:{line}:5: data.configuration.yaml: leaderElektion: ")


def test_a_fault_in_it_stands_at_its_line_as_kubectl_prints_it() -> None:
    (document,) = read_documents(broken(), "")
    text = write_yaml({"apiVersion": "v1", "items": [document.value], "kind": "List"})
    line = next(number for number, one in enumerate(text.splitlines(), 1) if "leaderElektion" in one)

    (told,) = lines(text)

    assert told.startswith(f"f.yaml:{line}:")


def test_where_the_text_has_no_lines_of_the_file_the_key_is_told_and_the_line_inside() -> None:
    (document,) = read_documents(broken(), "")

    (told,) = lines(json.dumps(document.value))

    assert told.startswith("f.yaml:1:")
    assert "data.configuration.yaml: leaderElektion: " in told
    assert told.endswith("(line 5 of the text)")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("a: [\n", "data.configuration.yaml: "),
        ("# nothing\n", "is empty: expected a GatehouseConfiguration"),
        (f"{HEAD}---\n{HEAD}", "a second document: expected one"),
        (
            "apiVersion: gatehouse.dev/v1alpha1\nkind: GatehouseConfig\n",
            "must be GatehouseConfiguration, not 'GatehouseConfig'",
        ),
    ],
)
def test_what_serve_would_refuse_in_it_is_a_fault(text: str, why: str) -> None:
    config_map = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "gatehouse"}}

    report = found(write_yaml({**config_map, "data": {"configuration.yaml": text}}))

    assert why in str(report.faults[0])
    assert report.configurations == 1


def test_a_configmap_of_another_name_that_carries_a_configuration_is_checked_too() -> None:
    config_map = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "gatehouse-x7f"}}

    report = found(write_yaml({**config_map, "data": {"g.yaml": f"{HEAD}webhok: {{}}\n"}}))

    assert [remark.path for remark in report.faults] == ["data.g.yaml: webhok"]


def carrying(text: str) -> Report:
    """What is said about a ConfigMap of another name that holds *text*."""
    config_map = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "mine"}, "data": {"g.json": text}}
    return found(write_yaml(config_map))


@pytest.mark.parametrize(
    "text",
    [
        '{"apiVersion":"gatehouse.dev/v1alpha1","kind":"GatehouseConfiguration","webhok":{}}',
        "{apiVersion: gatehouse.dev/v1alpha1, kind: GatehouseConfiguration, webhok: {}}",
        '{"webhok": {}, "kind" : "GatehouseConfiguration", "apiVersion": "gatehouse.dev/v1alpha1"}',
    ],
)
def test_a_configuration_in_one_line_is_one(text: str) -> None:
    report = carrying(text)

    assert report.configurations == 1
    assert [remark.path for remark in report.faults] == ["data.g.json: webhok"]


@pytest.mark.parametrize("text", [f"{HEAD}a: [\n", '{"apiVersion":"gatehouse.dev/v1alpha1","kind":"GatehouseConfiguration",'])
def test_a_configuration_that_cannot_be_read_is_a_fault(text: str) -> None:
    report = carrying(text)

    assert (report.configurations, len(report.faults)) == (1, 1)


@pytest.mark.parametrize("text", ["see: [kind GatehouseConfiguration", "shown: |\n  kind: GatehouseConfiguration\n"])
def test_a_text_that_only_speaks_of_configurations_is_none(text: str) -> None:
    report = carrying(text)

    assert (report.configurations, report.passed_over, report.remarks) == (0, 1, ())


def test_a_doubt_about_it_stands_in_it() -> None:
    text = f"{HEAD}features: {{sidecar: {{enabled: true, default: [gone]}}}}\n"
    config_map = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "gatehouse"},
        "data": {"configuration.yaml": text},
    }
    entries = ROOT / "examples" / "sidecars" / "2-envoy.yaml"

    report = check([("f.yaml", write_yaml(config_map).encode()), ("e.yaml", entries.read_bytes())], "default")

    assert "data.configuration.yaml: features.sidecar.default[0]" in [remark.path for remark in report.warnings]


@pytest.mark.parametrize(
    ("kind", "hint"),
    [
        ("GatehouseConfig", "did you mean GatehouseConfiguration?"),
        ("addresspool", "did you mean AddressPool?"),
        ("Xyz", "it has GatehouseConfiguration, AddressPool, AddressReservation"),
    ],
)
def test_a_kind_that_our_group_does_not_have_is_a_fault_with_a_suggestion(kind: str, hint: str) -> None:
    assert lines(f"apiVersion: gatehouse.dev/v1alpha1\nkind: {kind}\n") == [
        f"f.yaml:2:1: kind: gatehouse.dev has no kind {kind}: {hint}"
    ]


def test_kinds_of_our_group_that_others_read_are_passed_over_but_not_of_another_version() -> None:
    assert lines("apiVersion: gatehouse.dev/v1alpha1\nkind: AddressPool\n") == []
    assert lines("apiVersion: gatehouse.dev/v1\nkind: AddressPool\n") == [
        "f.yaml:1:1: apiVersion: AddressPool is of gatehouse.dev/v1alpha1, not of gatehouse.dev/v1"
    ]


def test_an_empty_file_that_is_named_is_a_fault_and_one_in_a_folder_is_not(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "empty.yaml").write_text("# nothing yet\n")

    assert main(["check", str(tmp_path / "empty.yaml")]) == 1
    assert "empty.yaml:1:1: is empty: there is nothing to check" in capsys.readouterr().out
    assert main(["check", str(tmp_path)]) == 0
