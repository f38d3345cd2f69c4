"""What watches over Gatehouse asks for what there is, and says what to do."""

from __future__ import annotations

import math
import re

import pytest

from controllers.status import answers
from controllers.status.web import features, sections
from tests.manifests.alerts import alerts, dashboard, metrics
from tests.manifests.files import ROOT
from webhook.serving import tls

RUNBOOKS = (ROOT / "docs" / "runbooks.md").read_text()
SOURCES = "".join(path.read_text() for folder in ("webhook", "controllers") for path in (ROOT / folder).rglob("*.py"))
# Names that the code puts together from a beginning and a word.
MADE_OF = {"gatehouse_address_pool_": "gatehouse_address_pool_{word}", "controller_runtime_reconcile": '"reconcile'}


@pytest.mark.parametrize("name", sorted(metrics()))
def test_a_metric_that_is_asked_for_exists(name: str) -> None:
    made_of = next((text for beginning, text in MADE_OF.items() if name.startswith(beginning)), f'"{name}"')

    assert made_of in SOURCES


def test_there_is_a_section_for_each_alert_and_an_alert_for_each_section() -> None:
    assert [rule["alert"] for rule in alerts()] == re.findall(r"^### (\w+)$", RUNBOOKS, re.M)


@pytest.mark.parametrize("rule", alerts(), ids=lambda rule: rule["alert"])
def test_an_alert_leads_to_its_runbook_and_says_how_bad_it_is(rule: dict) -> None:
    assert rule["annotations"]["runbook_url"] == f"docs/runbooks.md#{rule['alert'].lower()}"
    assert rule["labels"]["severity"] in ("critical", "warning")
    assert rule["annotations"]["summary"]
    assert rule["annotations"]["description"]


# What else says "soon", "old" or "scarce": the alert that has the same threshold, the end of its expression, and the number.
THRESHOLDS = [
    ("GatehouseCertificateExpiresSoon", r'kind="leaf"\}\) < ([\d* ]+)', answers.LEAF_SOON_S),
    ("GatehouseCertificateExpiresSoon", r'kind="leaf"\}\) < ([\d* ]+)', tls.EXPIRES_SOON_S),
    ("GatehouseCertificateExpiresSoon", r'kind="ca"\}\) < ([\d* ]+)', answers.CA_SOON_S),
    ("GatehouseGuardOld", r"> ([\d* ]+)$", answers.GUARD_OLD_S),
    ("GatehouseCacheSilent", r"> ([\d* ]+)$", sections.SILENT_LONG_S),
    ("GatehouseAddressesScarce", r"< ([\d.]+)$", 1 - features.SCARCE),  # the alert has the free share, the page the used one
]


@pytest.mark.parametrize(("alert", "pattern", "constant"), THRESHOLDS)
def test_what_the_status_and_the_log_call_grave_is_what_the_alert_does(alert: str, pattern: str, constant: float) -> None:
    (expression,) = (rule["expr"] for rule in alerts() if rule["alert"] == alert)
    found = re.search(pattern, expression)
    assert found is not None, expression

    assert math.prod(map(float, found[1].split("*"))) == pytest.approx(constant)


def test_panels_have_names_units_and_places_of_their_own() -> None:
    panels = dashboard()["panels"]
    graphs = [panel for panel in panels if panel["type"] != "row"]

    assert len({panel["id"] for panel in panels}) == len(panels)
    assert len({(panel["gridPos"]["x"], panel["gridPos"]["y"]) for panel in graphs}) == len(graphs)
    assert all(panel["title"] and panel["targets"] and panel["fieldConfig"]["defaults"]["unit"] for panel in graphs)
