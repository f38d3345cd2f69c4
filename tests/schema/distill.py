"""OpenAPI schemas to the compact form that webhook.objects.schema reads: names and types, no descriptions."""

from __future__ import annotations

from webhook.objects.meta import Json

ROOT = "io.k8s.api.core.v1.PodSpec"
# Types that decode themselves: the schema of a Quantity says "string or number", of a FieldsV1 "object".
SPECIAL = {
    "io.k8s.apimachinery.pkg.api.resource.Quantity": "quantity",
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": "int-or-string",
    "io.k8s.apimachinery.pkg.apis.meta.v1.Time": "date-time",
    "io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1": "any",
}


def distill(schemas: Json, version: str) -> Json:
    """Every type that ROOT reaches. Raises ValueError on a shape that has no short form, and on two types of one name."""
    types: Json = {}
    origin: dict[str, str] = {}
    todo = [ROOT]
    while todo:
        full = todo.pop()
        name = short(full)
        if origin.setdefault(name, full) != full:
            raise ValueError(f"{full} and {origin[name]} have one short name")
        if name in types:
            continue
        found = schemas[full]
        types[name] = {"fields": {key: code(field, todo) for key, field in found.get("properties", {}).items()}}
        if found.get("required"):
            types[name]["required"] = sorted(found["required"])
    return {"kubernetes": version, "types": types}


def code(field: Json, todo: list[str]) -> str:
    """The short form of *field*; the types that it names are added to *todo*."""
    reference = field.get("$ref") or next((part["$ref"] for part in field.get("allOf", ()) if "$ref" in part), None)
    if reference:
        full = reference.rsplit("/", 1)[1]
        if full in SPECIAL:
            return SPECIAL[full]
        todo.append(full)
        return short(full)
    match field.get("type"):
        case "array":
            return "[]" + code(field["items"], todo)
        case "object" if "additionalProperties" in field:
            return "{}" + code(field["additionalProperties"], todo)
        case "string" if "enum" in field:
            return "=" + "|".join(sorted(value for value in field["enum"] if value))
        case "integer":
            return str(field["format"])
        case "string" | "boolean" | "number" as plain if "format" not in field:
            return plain
    raise ValueError(f"no short form for {field}")


def short(full: str) -> str:
    return full.rsplit(".", 1)[1]
