"""Run by pytest: each case proves the answer, that its patch applies, and that a second pass changes nothing."""

from pathlib import Path

import pytest
from own_rule import plugin

from webhook.testing import golden_cases, run_golden_case


@pytest.mark.parametrize("case", golden_cases(Path(__file__).parents[1] / "cases"), ids=lambda case: case.stem)
def test_golden_case(case: Path) -> None:
    run_golden_case(case, rules={"inherit-owner": plugin})
