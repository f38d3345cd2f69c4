"""Null in a workload means what it means to the API server."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from webhook.objects.nulls import without_nulls


@pytest.mark.parametrize(
    ("written", "decoded"),
    [
        ({"spec": {"nodeName": None, "containers": [{"name": "a", "env": None}]}}, {"spec": {"containers": [{"name": "a"}]}}),
        ({"metadata": {"creationTimestamp": None, "labels": {"a": None}}}, {"metadata": {"labels": {"a": ""}}}),
        ({"metadata": {"annotations": None}}, {"metadata": {}}),
        ({"resources": {"limits": {"cpu": None, "memory": "1Gi"}}}, {"resources": {"limits": {"cpu": "0", "memory": "1Gi"}}}),
        ({"spec": {"nodeSelector": {"disk": None}}}, {"spec": {"nodeSelector": {"disk": ""}}}),
        ({"args": ["a", None], "command": [None]}, {"args": ["a", ""], "command": [""]}),
        ({"tolerations": [None]}, {"tolerations": [None]}),
        (
            {"value": 0, "flag": False, "text": "", "list": [], "map": {}},
            {"value": 0, "flag": False, "text": "", "list": [], "map": {}},
        ),
    ],
)
def test_nulls_are_dropped_where_the_api_drops_them(written: Any, decoded: Any) -> None:
    before = copy.deepcopy(written)

    assert without_nulls(written) == decoded
    assert written == before
