"""docs/own-rule.md shows what the examples are, and its commands print what it says."""

from __future__ import annotations

from pathlib import Path

import attrs
import pytest

from tests.docs.pages import Block, blocks
from tests.docs.running import Desk, is_printed
from tests.examples.packages import PACKAGES, ROOT, environment, install

PAGE = ROOT / "docs" / "own-rule.md"
EXAMPLES = ROOT / "examples"
SOURCES = "\n".join(path.read_text() for name in PACKAGES for path in sorted((EXAMPLES / name).rglob("*.py")))
CONTROLLER_LINES = 60


def found(info: str, beginning: str) -> Block:
    (block,) = (block for block in blocks(PAGE) if block.info == info and block.text.startswith(beginning))
    return block


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Desk:
    """A repository in whose environment the examples are installed."""
    site = install(tmp_path_factory.mktemp("packages"))
    made = Desk(tmp_path_factory.mktemp("desk") / "copy")
    program = made.folder / ".venv" / "bin" / "gatehouse"
    text = program.read_text()
    program.write_text(text.replace("exec ", f"PYTHONPATH={environment(site)['PYTHONPATH']} exec ", 1))
    assert program.read_text() != text
    return made


def test_the_review_prints_what_the_page_says(desk: Desk) -> None:
    assert is_printed(found("text", "examples/own-rule/review.yaml:2").text, desk.run(found("sh", "gatehouse review")))


def test_explain_ends_as_the_page_says(desk: Desk) -> None:
    assert "OwnerMissing" in desk.run(found("sh", "gatehouse explain pod"))


def test_the_configuration_of_the_page_can_be_installed_and_registers_the_rule(desk: Desk) -> None:
    block = found("yaml", "# gatehouse.yaml")
    (desk.folder / "gatehouse.yaml").write_text(block.text)
    command = "gatehouse manifests --all --config gatehouse.yaml --image registry.example.com/gatehouse:1.0-own"

    assert "name: inherit-owner.gatehouse.dev" in desk.run(attrs.evolve(block, info="sh", text=command))


@pytest.mark.parametrize(
    ("beginning", "file"),
    [
        ("# examples/own-rule/gatehouse.yaml", "own-rule/gatehouse.yaml"),
        ("# examples/own-rule/cluster", "own-rule/cluster/namespaces.yaml"),
        ("# cases/inherits", "own-rule/cases/inherits_the_owner_of_its_namespace.yaml"),
        ("# cases/refuses", "own-rule/cases/refuses_a_pod_that_nobody_owns.yaml"),
    ],
)
def test_the_files_are_those_of_the_example(beginning: str, file: str) -> None:
    _, _, shown = found("yaml", beginning).text.partition("\n")

    assert shown.strip() == (EXAMPLES / file).read_text().strip()


@pytest.mark.parametrize("block", [block for block in blocks(PAGE) if block.info == "python"], ids=str)
def test_every_line_of_python_is_one_of_the_examples(block: Block) -> None:
    known = {line.strip() for line in SOURCES.splitlines()}
    lines = [line.partition("  # ")[0].strip() for line in block.text.splitlines() if line.strip() not in ("", "...")]

    assert [line for line in lines if not any(one.startswith(line) for one in known)] == []


def test_the_whole_rule_is_shown_without_gaps() -> None:
    assert found("python", '"""Every pod').text.strip() == (EXAMPLES / "own-rule" / "own_rule.py").read_text().strip()


def test_a_whole_controller_has_less_than_sixty_lines_blank_ones_included() -> None:
    assert len((EXAMPLES / "second-controller" / "buckets.py").read_text().splitlines()) < CONTROLLER_LINES


def test_the_name_in_pyproject_is_the_one_of_the_page() -> None:
    (block,) = (block for block in blocks(PAGE) if block.info == "toml")

    assert block.text.strip() == (EXAMPLES / "own-rule" / "pyproject.toml").read_text().strip()
    assert Path(EXAMPLES / "own-rule" / "own_rule.py").exists()
