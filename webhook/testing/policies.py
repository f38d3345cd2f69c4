"""Policies of golden cases, read from YAML into the frozen values that rules take.

    {name: article, container: {cpu: {requests: {max: "1"}}}}     read(ResourcePolicy, …)

Keys are the attributes in camelCase, amounts are quantities, selectors are strings. It is no configuration: nothing is checked
but keys and types.
Raises AssertionError on unknown keys, ValueError on values that cannot be read.
"""

from __future__ import annotations

import types
from collections.abc import Mapping
from enum import Enum
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

import attrs

from webhook.objects import quantity
from webhook.objects.quantity import Quantity
from webhook.objects.selectors import Selector

T = TypeVar("T")


def read(kind: type[T], value: Mapping[str, Any]) -> T:
    """*value* as a *kind*, an attrs class; what is absent has its default."""
    found: T = _read(kind, value)
    return found


def _read(kind: Any, value: Any) -> Any:
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        return None if value is None else _read(next(one for one in inner if one is not type(None)), value)
    if origin in (tuple, frozenset):
        return origin(_read(inner[0], item) for item in value)
    if origin is Mapping:
        return {key: _read(inner[1], item) for key, item in value.items()}
    if kind is Quantity:
        return quantity.read(value)
    if kind is Selector:
        return Selector.parse(value)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return kind(value)
    if attrs.has(kind):
        hints = get_type_hints(kind)
        names = {_camel(field.name): field.name for field in attrs.fields(kind)}
        assert set(value) <= set(names), f"unknown keys {set(value) - set(names)}"
        return kind(**{names[key]: _read(hints[names[key]], item) for key, item in value.items()})
    assert type(value) is kind, f"expected {kind.__name__}, found {value!r}"
    return value


def _camel(name: str) -> str:
    first, *others = name.split("_")
    return "".join([first, *(word.capitalize() for word in others)])
