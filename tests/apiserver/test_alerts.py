"""Each alert fires when its trouble is there, alone and once, and not before or after: promtool's rule tests."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from tests.cluster import binaries
from tests.manifests.alert_worlds import TROUBLES, rule_tests
from tests.manifests.alerts import rule_groups


def promtool(*arguments: str, folder: Path) -> None:
    result = subprocess.run([binaries.promtool(), *arguments], cwd=folder, capture_output=True, text=True, timeout=200)
    assert result.returncode == 0, result.stdout + result.stderr


def test_the_rules_are_what_prometheus_takes(tmp_path: Path) -> None:
    (tmp_path / "rules.json").write_text(json.dumps({"groups": rule_groups()}))

    promtool("check", "rules", "rules.json", folder=tmp_path)


def test_each_alert_fires_once_and_only_in_its_trouble(tmp_path: Path) -> None:
    # Annotations are texts with figures in them, which would have to be written down again here.
    groups = [
        {**group, "rules": [{key: value for key, value in rule.items() if key != "annotations"} for rule in group["rules"]]}
        for group in rule_groups()
    ]
    rules = {rule["alert"]: rule for group in groups for rule in group["rules"]}
    assert {trouble.alert for trouble in TROUBLES} == set(rules)
    (tmp_path / "rules.json").write_text(json.dumps({"groups": groups}))
    tests = {"rule_files": ["rules.json"], "evaluation_interval": "1m", "tests": list(rule_tests(rules))}
    (tmp_path / "tests.json").write_text(json.dumps(tests))

    promtool("test", "rules", "tests.json", folder=tmp_path)
