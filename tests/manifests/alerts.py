"""The alerts and the dashboard of manifests/components/monitoring, and which metrics they name."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from tests.manifests.files import MANIFESTS, documents

MONITORING = MANIFESTS / "components" / "monitoring"
_METRIC = re.compile(r"\b(?:gatehouse|controller_runtime|leader_election|workqueue|rest_client)_[a-z_]+")
_SUFFIX = re.compile(r"_(?:total|bucket|count|sum)$")  # that Prometheus's text format adds to what the code calls it


def rule_groups() -> list[dict[str, Any]]:
    """The groups of the PrometheusRule, as a file of rules has them."""
    (found,) = documents(MONITORING / "alerts.yaml")
    groups: list[dict[str, Any]] = found["spec"]["groups"]
    return groups


def alerts() -> list[dict[str, Any]]:
    """Every rule."""
    return [rule for group in rule_groups() for rule in group["rules"]]


def dashboard() -> dict[str, Any]:
    """The dashboard."""
    (found,) = documents(MONITORING / "dashboard.yaml")
    (text,) = found["data"].values()
    board: dict[str, Any] = json.loads(text)
    return board


def expressions() -> Iterator[str]:
    """What alerts and panels ask for."""
    for rule in alerts():
        yield rule["expr"]
    for panel in dashboard()["panels"]:
        for target in panel.get("targets", ()):
            yield target["expr"]


def metrics() -> set[str]:
    """The metrics that they name, as the code calls them."""
    return {_SUFFIX.sub("", name) for expression in expressions() for name in _METRIC.findall(expression)}
