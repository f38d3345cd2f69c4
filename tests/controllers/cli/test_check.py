"""`gatehouse check` finds every fault of configuration and entries, at the line where it stands."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path
from typing import Any

import pytest

from controllers.checking.files import Report, check
from controllers.cli.main import main
from webhook.objects.documents import write_yaml

ROOT = Path(__file__).parents[3]
EXAMPLE = ROOT / "examples" / "sidecars"
PAGE = (ROOT / "docs" / "sidecars.md").read_text()

HEAD = "apiVersion: gatehouse.dev/v1alpha1\nkind: GatehouseConfiguration\n"
GOOD = "containers: [{name: envoy, image: envoy:1}]\n"
# Line 9 of the file is line 1 of the entry; its indentation is 4.
BROKEN = """\
apiVersion: v1
kind: ConfigMap
metadata:
  name: sidecars
  namespace: shop
  labels: {gatehouse.dev/sidecars: "true"}
data:
  proxy: |
    containers:
      - name: proxy
        image: proxy:1
        ports:
          - containerPort: "80"
    positon: {}
"""


def config_map(name: str = "envoy-initializer", namespace: str | None = "shop", **data: str) -> dict[str, Any]:
    """A ConfigMap of entries."""
    metadata: dict[str, Any] = {"name": name, "labels": {"gatehouse.dev/sidecars": "true"}}
    if namespace is not None:
        metadata["namespace"] = namespace
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data or {"config": GOOD}}


def namespace(name: str = "shop", **labels: str) -> dict[str, Any]:
    labels = {key.replace("__", "/").replace("_", "-"): value for key, value in labels.items()}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}


def found(*contents: str | dict[str, Any], config_file: str = "") -> Report:
    """What is said about files named 1.yaml, 2.yaml, … with these contents."""
    texts = [content if isinstance(content, str) else write_yaml(content) for content in contents]
    return check([(f"{number}.yaml", text.encode()) for number, text in enumerate(texts, 1)], "default", config_file)


def lines(report: Report) -> list[str]:
    return [str(remark) for remark in report.remarks]


# -- where a fault stands


def test_faults_of_an_entry_stand_at_their_lines_of_the_file() -> None:
    told = lines(found(BROKEN))

    assert any(line.startswith("1.yaml:13:13: data.proxy: containers[0].ports[0].containerPort: ") for line in told), told
    assert any(line.startswith("1.yaml:14:5: data.proxy: positon: ") for line in told), told


def test_a_list_and_a_second_document_shift_no_line() -> None:
    item = "".join(f"  {line}\n" for line in BROKEN.splitlines())
    listed = "# first\n---\napiVersion: v1\nkind: List\nitems:\n- " + item[2:]

    assert any(
        line.startswith("1.yaml:18:15: data.proxy: containers[0].ports[0].containerPort: ") for line in lines(found(listed))
    )


# -- what is checked


def test_a_configuration_is_read_as_at_start_and_every_fault_told() -> None:
    told = lines(found(f"{HEAD}webhok: {{}}\nwebhook: {{limits: {{threads: x}}}}\n"))

    assert told == [
        "1.yaml:3:1: webhok: unknown key: did you mean webhook?",
        '1.yaml:4:20: webhook.limits.threads: must be a whole number, not "x"',
    ]


def test_a_configuration_may_stand_beside_other_documents() -> None:
    report = found(f"{write_yaml(config_map())}---\n{HEAD}webhok: {{}}\n")

    assert [remark.path for remark in report.remarks] == ["webhok"]
    assert (report.configurations, report.config_maps, report.entries) == (1, 1, 1)


def test_the_article_form_needs_no_label() -> None:
    article = config_map(config=GOOD, other="not: {an entry")
    del article["metadata"]["labels"]

    report = found(article)

    assert lines(report) == []
    assert (report.config_maps, report.entries) == (1, 1)


def test_other_objects_are_counted_and_passed_over() -> None:
    ordinary = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}, "data": {"a": "b: ["}}

    report = found(ordinary, {"apiVersion": "apps/v1", "kind": "Deployment", "spec": 5}, "- 1\n- 2\n", "# nothing\n")

    assert lines(report) == []
    assert (report.files, report.passed_over) == (4, 3)


def test_a_file_that_cannot_be_read_as_yaml_is_a_fault_and_the_others_are_checked() -> None:
    report = found("a: [\n", BROKEN)

    assert lines(report)[0].startswith("1.yaml:2:1: ")
    assert len(report.faults) > 2


def test_an_object_of_the_wrong_shape_is_a_fault() -> None:
    odd = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "labels": ["b"]}}

    assert lines(found(odd)) == ["1.yaml:1:1: metadata.labels: expected an object, found a list"]


# -- doubts


def doubts(*contents: str | dict[str, Any]) -> list[str]:
    report = found(*contents)
    assert not report.faults
    return [remark.message for remark in report.warnings]


def test_a_namespace_that_the_api_server_would_not_take_is_a_fault_and_counts_for_nothing() -> None:
    report = found({**namespace(), "metadata": {"name": "shop", "labels": {"a": 1}}}, config_map())

    assert [str(fault).startswith('1.yaml:1:1: Namespace "shop": ') for fault in report.faults] == [True]
    assert report.warnings == ()


def test_an_entry_is_doubted_where_its_namespace_takes_no_part() -> None:
    assert doubts(config_map(), namespace()) == [
        'nobody can get entry "envoy-initializer": namespace shop has neither label that lets it take part'
    ]
    assert doubts(config_map(), namespace(sidecar_injector="enabled", gatehouse_dev__mutate="x")) == []
    assert doubts(config_map()) == []  # nobody knows what the namespace says


def test_an_entry_is_doubted_where_mutation_is_switched_off() -> None:
    off = namespace(sidecar_injector="enabled")
    off["metadata"]["labels"]["gatehouse.dev/mutate"] = "disabled"

    assert doubts(config_map(), off) == [
        'nobody can get entry "envoy-initializer": namespace shop bears gatehouse.dev/mutate=disabled'
    ]


def test_an_entry_is_doubted_in_a_system_namespace_that_is_not_ours() -> None:
    assert doubts(config_map(namespace="kube-public")) == [
        'nobody can get entry "envoy-initializer": pods of namespace kube-public are left alone (entries for every namespace '
        "stand in kube-system)"
    ]
    assert doubts(config_map(namespace="kube-system"), namespace("kube-system")) == []


def test_where_ours_is_says_the_configuration() -> None:
    ours = f"{HEAD}features: {{sidecar: {{namespace: kube-public}}}}\n"

    assert doubts(config_map(namespace="kube-public"), ours) == []


def test_of_two_entries_of_one_name_the_second_is_doubted() -> None:
    first, second = config_map("a", proxy=GOOD), config_map("b", proxy=GOOD, other=GOOD)

    report = found(second, first)

    assert [remark.message for remark in report.remarks] == [
        'nobody can get entry "proxy": ConfigMap shop/a gives it, too, and comes first'
    ]
    assert report.remarks[0].file == "1.yaml"
    assert doubts(first, config_map("b", "tools", proxy=GOOD)) == []  # each namespace its own


def test_a_config_map_that_stands_twice_is_doubted() -> None:
    assert doubts(config_map(), config_map()) == [
        "ConfigMap shop/envoy-initializer stands at 1.yaml:1, too: what is applied last counts"
    ]


def test_a_default_entry_that_nobody_defines_is_doubted_where_it_is_named() -> None:
    chosen = f"{HEAD}features:\n  sidecar:\n    default:\n    - proxy\n    - envoy-initializer\n"

    assert lines(found(chosen, config_map("sidecars", proxy=GOOD))) == [
        '1.yaml:7:7: warning: features.sidecar.default[1]: no ConfigMap here gives entry "envoy-initializer"'
    ]
    assert lines(found(chosen)) == []  # the entries stand elsewhere


def test_a_bound_that_is_probably_mistyped_is_doubted() -> None:
    config = """apiVersion: gatehouse.dev/v1alpha1
kind: GatehouseConfiguration
features:
  resourceLimits:
    policies:
      - name: small
        container: {memory: {limits: {max: 400m}}, cpu: {requests: {max: 1}}}
"""

    (said,) = found(config).warnings

    assert (said.line, said.path) == (7, "features.resourceLimits.policies[0].container.memory.limits.max")
    assert said.message.startswith("memory 400m means 0.4 bytes")


def test_a_label_that_is_nearly_right_is_doubted() -> None:
    nearly = config_map("sidecars", proxy=GOOD)
    nearly["metadata"]["labels"]["gatehouse.dev/sidecars"] = "yes"

    assert lines(found(nearly)) == [
        '1.yaml:6:5: warning: metadata.labels.gatehouse.dev/sidecars: must be "true" to make entries of the keys, not "yes": '
        "it gives none"
    ]


def test_objects_without_a_namespace_get_that_of_the_flag() -> None:
    unnamed = write_yaml(config_map(namespace=None)).encode()
    plain = write_yaml(namespace("tools")).encode()

    assert check([("a", unnamed), ("b", plain)], "tools").warnings
    assert not check([("a", unnamed), ("b", plain)], "shop").warnings


# -- the command


def written(folder: Path, *contents: str | dict[str, Any]) -> list[str]:
    files = []
    for number, content in enumerate(contents, 1):
        file = folder / f"{number}.yaml"
        file.write_text(content if isinstance(content, str) else write_yaml(content))
        files.append(str(file))
    return files


def test_the_exit_code_says_whether_there_are_faults(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good, broken = written(tmp_path, config_map(), BROKEN)

    assert main(["check", good]) == 0
    assert capsys.readouterr().out == (
        "1 file: 0 configurations, 1 entry in 1 sidecar ConfigMap; 0 faults, 0 warnings; 0 other objects passed over\n"
    )
    assert main(["check", good, broken]) == 1
    assert capsys.readouterr().out.startswith(f"{broken}:13:13: data.proxy: containers[0].ports[0].containerPort: ")


def test_a_warning_is_no_fault_unless_strict(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = written(tmp_path, config_map(), namespace())

    assert main(["check", *files]) == 0
    assert f"{files[0]}:9:3: warning: data.config: nobody can get entry" in capsys.readouterr().out
    assert main(["check", "--strict", *files]) == 1


def test_a_folder_is_checked_with_all_that_is_below_it_but_what_is_hidden(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / ".git").mkdir()
    (tmp_path / "deep" / "a.yml").write_text(BROKEN)
    (tmp_path / ".git" / "a.yml").write_text(BROKEN)
    (tmp_path / "notes.txt").write_text("a: [")

    assert main(["check", str(tmp_path)]) == 1

    out = capsys.readouterr().out
    assert f"{tmp_path}/deep/a.yml:13:13: " in out
    assert "\n1 file: " in out


def test_as_json_it_is_one_list(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = written(tmp_path, BROKEN, namespace(), config_map("other", other=GOOD))

    assert main(["check", "-o", "json", *files]) == 1

    remarks = json.loads(capsys.readouterr().out)
    assert {remark["severity"] for remark in remarks} == {"fault", "warning"}
    assert set(remarks[0]) == {"severity", "file", "line", "column", "path", "message"}
    assert (remarks[0]["file"], remarks[0]["line"]) == (files[0], 13)


def test_standard_input_is_checked(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(BROKEN.encode())))

    assert main(["check", "-"]) == 1

    assert capsys.readouterr().out.startswith("stdin:13:13: ")


def test_the_configuration_of_the_flag_is_checked_and_counts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one, two, entries = written(
        tmp_path,
        f"{HEAD}features: {{sidecar: {{default: [gone]}}}}\n",
        f"{HEAD}features: {{sidecar: {{default: [lost]}}}}\n",
        config_map(),
    )

    assert main(["check", "--config", two, one, entries]) == 0

    out = capsys.readouterr().out
    assert 'no ConfigMap here gives entry "lost"' in out
    assert "gone" not in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-n", "", "-"], 'gatehouse: --namespace "": expected a name'),
        (["gone.yaml"], "gatehouse: gone.yaml: cannot be read: No such file or directory"),
        (["--config", "gone.yaml", "-"], "gatehouse: gone.yaml: cannot be read: No such file or directory"),
    ],
)
def test_wrong_use_says_what_to_mend(
    arguments: list[str], message: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"")))

    assert main(["check", *arguments]) == 2

    assert capsys.readouterr().err.strip() == message


def test_a_folder_without_files_is_wrong_use(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(tmp_path)]) == 2

    assert "no file below it ends in .yaml, .yml, .json" in capsys.readouterr().err


# -- what we ship


def test_the_example_is_without_fault_and_without_doubt(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "--strict", str(EXAMPLE)]) == 0

    assert "0 faults, 0 warnings" in capsys.readouterr().out


def test_every_block_of_the_page_is_without_fault() -> None:
    blocks = re.findall(r"```yaml\n(.*?)```", PAGE, re.S)

    report = found(*blocks)

    assert lines(report) == []
    assert report.entries >= 2
    assert report.files == len(blocks) >= 5
