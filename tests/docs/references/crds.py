"""docs/reference/crds.md: the kinds of our own, from manifests/base/10-crd-*.yaml."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from tests.docs.pages import ROOT
from tests.docs.references.tables import code, page, table
from webhook.objects.documents import read_documents

INTRODUCTION = """
Kinds that Gatehouse brings, field by field; `kubectl explain` says the same on a cluster. How they are used:
[pod-ip.md](../pod-ip.md), [database-instance.md](../database-instance.md).
"""
_BOUNDS = ("pattern", "format", "minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems", "maxProperties")


def markdown() -> str:
    """The whole page."""
    files = sorted((ROOT / "manifests" / "base").glob("10-crd-*.yaml"))
    kinds = [document.value for file in files for document in read_documents(file.read_bytes(), file.name)]
    return page("Kinds", "manifests/base/10-crd-*.yaml", INTRODUCTION, [part for kind in kinds for part in _kind(kind)])


def _kind(crd: dict[str, Any]) -> Iterator[str]:
    spec = crd["spec"]
    for version in spec["versions"]:
        schema = version["schema"]["openAPIV3Schema"]
        short = ", ".join(f"`{name}`" for name in spec["names"].get("shortNames", ()))
        yield f"## {spec['names']['kind']}\n"
        place = "of the whole cluster" if spec["scope"] == "Cluster" else "in a namespace"
        named = f"`{spec['group']}/{version['name']}`, {place}{f', short {short}' if short else ''}"
        yield f"{named}. {schema.get('description', '')}\n"
        yield table(("field", "type", "meaning"), _fields(schema, ""))
        if rules := list(_rules(schema)):
            yield "\n".join(["Rules that the API server holds it to:", "", *rules]) + "\n"


def _fields(schema: dict[str, Any], path: str) -> Iterator[tuple[str, str, str]]:
    for name, field in schema.get("properties", {}).items():
        here = f"{path}.{name}" if path else name
        if here == "metadata":
            continue
        needed = " (required)" if name in schema.get("required", ()) else ""
        yield code(here) + needed, _type(field), _meaning(field)
        items = field.get("items", {})
        yield from _fields(items if items.get("properties") else field, f"{here}[]" if items.get("properties") else here)


def _type(field: dict[str, Any]) -> str:
    inner = field.get("items") or (
        field.get("additionalProperties") if isinstance(field.get("additionalProperties"), dict) else None
    )
    name = field.get("type", "any")
    if field.get("x-kubernetes-int-or-string"):
        name = "integer or string"
    return f"{name} of {inner.get('type', 'any')}" if inner else name


def _meaning(field: dict[str, Any]) -> str:
    parts = [field.get("description", "").strip()]
    if "enum" in field:
        parts.append("One of " + ", ".join(code(value) for value in field["enum"]) + ".")
    bounds = [f"{bound} {code(field[bound])}" for bound in _BOUNDS if bound in field]
    if bounds:
        parts.append(f"({', '.join(bounds)})")
    if "default" in field:
        parts.append(f"Default {code(json.dumps(field['default']))}.")
    return " ".join(part for part in parts if part)


def _rules(schema: Any) -> Iterator[str]:
    """The message of each rule below *schema*, once."""
    if isinstance(schema, dict):
        for rule in schema.get("x-kubernetes-validations", ()):
            if message := rule.get("message"):
                yield f"- {message}"
        for value in schema.values():
            yield from _rules(value)
