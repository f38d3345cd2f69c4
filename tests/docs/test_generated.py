"""What is generated of the documentation is as the code is now (`make docs`), and says something of everything."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import attrs
import pytest

from controllers.config.decoder import key_of
from controllers.config.document import Configuration
from tests.docs.diagrams import sections
from tests.docs.generated import FILES
from tests.docs.pages import ROOT, name_of
from tests.docs.references import comments, configuration, metrics, reasons
from webhook.admission.registry import SERVICES
from webhook.names import Reason


@pytest.mark.parametrize(("file", "made"), FILES.items(), ids=[name_of(file) for file in FILES])
def test_it_is_fresh(file: Path, made: Callable[[], str]) -> None:
    assert file.read_text() == made(), f"{file.relative_to(ROOT)} is stale: make docs"


def test_every_section_of_the_configuration_has_its_own() -> None:
    page = configuration.markdown()

    assert [key for field in attrs.fields(Configuration) if f"`{(key := key_of(field))}`" not in page] == []


def test_every_reason_has_a_meaning() -> None:
    page = reasons.markdown()

    assert [reason for reason in Reason if f"| `{reason.value}` | " not in page] == []


def test_a_metric_without_a_help_text_is_none_to_document(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics, "registered", lambda: {"gatehouse_mute_total": ("counter", (), " ")})
    monkeypatch.setattr(metrics, "written", dict)

    with pytest.raises(ValueError, match="gatehouse_mute_total: no help text"):
        metrics.markdown()


def test_every_service_is_in_the_diagram_and_in_the_table() -> None:
    drawn = sections()

    for service in SERVICES:
        assert f'["{service.path}"]' in drawn["services"]
        assert f"| `{service.path}` | " in drawn["table of services"]


def test_a_comment_behind_an_attribute_or_marked_above_it_is_its_meaning() -> None:
    said = comments.of_class(Example)

    assert said == {"behind": "what is behind", "above": "what is above, in two lines", "why": ""}


class Example:
    """Attributes, each with a comment."""

    behind = 1  # what is behind
    #: what is above,
    #: in two lines
    above = 2
    # why it is so, which is nobody's business but ours
    why = 3
