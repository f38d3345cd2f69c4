"""docs/reference/configuration.md: every key, from the classes that read it (controllers/config)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import Enum
from typing import Any

import attrs

from controllers.config.address import Address
from controllers.config.decoder import key_of, shape_of
from controllers.config.document import Configuration
from tests.docs.references import comments
from tests.docs.references.tables import code, page, sentence, table
from webhook.addresses.ranges import AddressSet
from webhook.objects.durations import format_duration_s
from webhook.objects.quantity import Quantity
from webhook.objects.selectors import Selector

INTRODUCTION = """
Every key of a `GatehouseConfiguration`, with what it takes and its default. How the file is read, and what stands above it:
[configuration.md](../configuration.md). What must hold between keys is told in the words of the fault that `gatehouse check`
and `gatehouse serve` would name.
"""


def markdown() -> str:
    """The whole page."""
    return page("Configuration: every key", "controllers/config", INTRODUCTION, _sections(Configuration, "", 2))


def _sections(kind: type, path: str, depth: int) -> Iterator[str]:
    """The section of *kind* at *path*, then those inside it."""
    said, example = comments.of_class(kind), kind()
    rows, inside = [], []
    for field in attrs.fields(kind):
        shape, items = shape_of(field)
        key = key_of(field)
        here = f"{path}.{key}" if path else key
        if shape == "object" and items is not None:
            inside.append((items, here))
            continue
        if items is not None:
            inside.append((items, here + ("[]" if shape.startswith("list") else ".NAME")))
        if not said.get(field.name):
            raise ValueError(f"{kind.__name__}.{field.name} ({here}): say what it means, in a `#:` comment above it")
        rows.append((code(key), _short(shape), _default(getattr(example, field.name), shape), said[field.name]))
    if path:
        about = (kind.__doc__ or "").splitlines()[0]
        yield f"{'#' * min(depth, 4)} `{path}`\n"
        yield sentence(about.partition(": ")[2] or about).rstrip(".") + ".\n"
    if rows:
        yield table(("key", "takes", "default", "meaning"), rows)
    keys = {field.name: key_of(field) for field in attrs.fields(kind)}
    if rules := [f"- `{keys[rule.fields[0]]}`: {rule.message}" for rule in getattr(kind, "rules", ())]:
        yield "\n".join(["What is a fault:", "", *dict.fromkeys(rules)]) + "\n"
    for one, here in inside:
        yield from _sections(one, here, depth + 1)


def _short(text: str) -> str:
    """*text* with its durations without their zeros: 8760h0m0s is 8760h."""
    return re.sub(r"(?<=\dh)0m(?:0s)?|(?<=\dm)0s", "", text)


def _default(value: Any, shape: str) -> str:
    """A default as the document would have it."""
    match value:
        case None:
            return "`null`"
        case Enum():
            return code(value.value)
        case bool():
            return code(str(value).lower())
        case Address():
            return code(f'"{value.host}:{value.port}"')
        case Quantity():
            return code(value.text)
        case AddressSet():
            return "`[]`"
        case Selector():
            return '`""`'
        case float() if shape.startswith("duration"):
            return code(_short(format_duration_s(value)))
        case float() | int():
            return code(f"{value:g}" if isinstance(value, float) else value)
        case str():
            return code(f'"{value}"')
        case () if shape.startswith("object"):
            return "`{}`"
        case tuple() if value and attrs.has(type(value[0])):
            items = (
                "{" + ", ".join(f"{key_of(f)}: {getattr(one, f.name)}" for f in attrs.fields(type(one))) + "}" for one in value
            )
            return code(f"[{', '.join(items)}]")
        case tuple():
            return "`{}`" if shape.startswith("object") else code(f"[{', '.join(value)}]")
        case dict():
            return "`{}`"
    raise TypeError(f"no way to write {value!r}")
