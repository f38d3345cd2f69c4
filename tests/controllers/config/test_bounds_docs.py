"""docs/pod-bounds.md shows every key of the policies, and what it shows can be written and does what it says."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import attrs
import pytest

from controllers.config import bounds, compliance
from controllers.config.decoder import key_of
from controllers.config.document import parse
from webhook.admission.registry import pod_bounds
from webhook.names import Reason

TEXT = (Path(__file__).parents[3] / "docs" / "pod-bounds.md").read_text()
HEAD = "apiVersion: gatehouse.dev/v1alpha1\nkind: GatehouseConfiguration\n"
BLOCKS = [block for block in re.findall(r"```yaml\n(.*?)```", TEXT, re.S) if "features:" in block]
SECTIONS = [
    one
    for module in (bounds, compliance)
    for one in vars(module).values()
    if isinstance(one, type) and one.__module__ == module.__name__
]


def keys() -> Iterator[str]:
    for section in SECTIONS:
        yield from (key_of(field) for field in attrs.fields(section))


@pytest.mark.parametrize("block", BLOCKS, ids=range(len(BLOCKS)))
def test_what_the_page_shows_can_be_written(block: str) -> None:
    parse(block if "apiVersion" in block else HEAD + block, "docs/pod-bounds.md")


def test_the_page_shows_every_key() -> None:
    shown = set(re.findall(r"([a-zA-Z]+):", "".join(re.findall(r"```yaml\n(.*?)```", TEXT, re.S))))

    assert len(SECTIONS) >= 15
    assert set(keys()) - {"enabled"} <= shown


def test_the_page_refuses_what_it_says_it_refuses() -> None:
    settings = parse(BLOCKS[0], "docs/pod-bounds.md").settings()
    pod = {"spec": {"initContainers": [{"name": "proxy", "resources": {"requests": {"cpu": "1500m"}}}]}}

    (said,) = (one for rule in pod_bounds(settings) for one in rule.complaints(pod, "shop"))

    assert said.reason is Reason.OUT_OF_LIMITS
    assert said.told() in TEXT


def test_the_reasons_that_the_page_names_exist() -> None:
    named = re.search(r"`gatehouse_admission_decisions_total`[^|]*", TEXT)

    assert named is not None
    assert set(re.findall(r"`([A-Z]\w+)`", named.group())) <= {reason.value for reason in Reason}
