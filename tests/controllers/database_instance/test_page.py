"""docs/database-instance.md shows what the example folder applies, and names all conditions and all that deletions wait for."""

from __future__ import annotations

from pathlib import Path

from controllers.database_instance import status
from controllers.database_instance.values import Wait
from webhook.objects.documents import read_documents

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "database-instance.md").read_text()
EXAMPLE = ROOT / "examples" / "database-instance"
CRD = ROOT / "manifests" / "base" / "10-crd-databaseinstances.yaml"
CONDITIONS = sorted(
    value for name, value in vars(status).items() if name.isupper() and not name.startswith("_") and isinstance(value, str)
)


def test_every_condition_stands_on_the_page_and_in_the_crd() -> None:
    assert [one for one in CONDITIONS if f"| `{one}` |" not in PAGE] == []
    assert [one for one in CONDITIONS if one not in CRD.read_text()] == []


def test_everything_that_holds_up_a_deletion_has_its_row_in_the_runbook() -> None:
    waits = set(Wait) - {Wait.NOTHING}  # that lasts one pass

    assert sorted(one.value for one in waits if f"| `{one.value}` |" not in PAGE) == []


def test_the_smallest_example_is_what_the_folder_applies() -> None:
    shown = PAGE.split("```yaml\n")[1].split("```")[0]
    names = ("0-namespace.yaml", "1-claim.yaml", "2-instance.yaml")

    files = [document.value for name in names for document in read_documents((EXAMPLE / name).read_bytes(), name)]
    assert [document.value for document in read_documents(shown.encode(), "the page")] == files


def test_what_is_applied_together_needs_no_namespace_that_it_does_not_bring() -> None:
    objects = [one.value for path in sorted(EXAMPLE.glob("*.yaml")) for one in read_documents(path.read_bytes(), path.name)]

    brought = {one["metadata"]["name"] for one in objects if one["kind"] == "Namespace"}
    assert objects[0]["kind"] == "Namespace"  # kubectl applies the files of a folder in this order
    assert {one["metadata"]["namespace"] for one in objects if one["kind"] != "Namespace"} == brought
