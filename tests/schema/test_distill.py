"""OpenAPI in, the compact form out."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.schema.__main__ import FILE, render
from tests.schema.distill import ROOT, distill

CORE = "io.k8s.api.core.v1."
QUANTITY = {"$ref": "#/components/schemas/io.k8s.apimachinery.pkg.api.resource.Quantity"}


def pod_spec(**properties: Any) -> dict[str, Any]:
    return {ROOT: {"type": "object", "properties": properties}, f"{CORE}Port": {"properties": {}, "required": ["b", "a"]}}


@pytest.mark.parametrize(
    ("field", "code"),
    [
        ({"type": "string", "description": "long"}, "string"),
        ({"type": "boolean", "default": False}, "boolean"),
        ({"type": "integer", "format": "int64"}, "int64"),
        ({"type": "string", "enum": ["UDP", "TCP", ""]}, "=TCP|UDP"),
        ({"type": "array", "items": {"type": "string", "default": ""}}, "[]string"),
        ({"type": "object", "additionalProperties": QUANTITY}, "{}quantity"),
        ({"allOf": [{"$ref": f"#/components/schemas/{CORE}Port"}], "default": {}}, "Port"),
        ({"type": "array", "items": {"$ref": f"#/components/schemas/{CORE}Port"}}, "[]Port"),
    ],
)
def test_a_field_has_a_short_form(field: dict[str, Any], code: str) -> None:
    types = distill(pod_spec(a=field), "1.37.2")["types"]

    assert types["PodSpec"] == {"fields": {"a": code}}


def test_only_types_that_are_reached_are_kept_and_required_fields_are_sorted() -> None:
    reached = distill(pod_spec(a={"$ref": f"#/components/schemas/{CORE}Port"}), "1.37.2")["types"]

    assert reached["Port"] == {"fields": {}, "required": ["a", "b"]}
    assert "Port" not in distill(pod_spec(a={"type": "string"}), "1.37.2")["types"]


def test_a_shape_that_has_no_short_form_is_refused() -> None:
    with pytest.raises(ValueError, match="no short form"):
        distill(pod_spec(a={"type": "string", "format": "ipv4"}), "1.37.2")


def test_two_types_of_one_name_are_refused() -> None:
    schemas = pod_spec(a={"$ref": "#/components/schemas/other.Port"}, b={"$ref": f"#/components/schemas/{CORE}Port"})

    with pytest.raises(ValueError, match="one short name"):
        distill({**schemas, "other.Port": {}}, "1.37.2")


def test_the_stored_file_is_as_this_program_writes_it() -> None:
    assert render(json.loads(FILE.read_text())) == FILE.read_text()
