"""What the API server can decode: the types of everything in a pod, and whether a value fits one.

    check(container, named("Container"), ("containers", 0))   ->   [Misfit(("containers", 0, "ports", 0, "containerPort"), …)]

The types come from the API server's own OpenAPI (`make schema`) and lie beside this module; they are read when first asked for.
A patch with a value that does not fit cannot be decoded there, and then the request fails even where failurePolicy is Ignore.
Pure; any thread may use it. Errors: KeyError for a type that is not reachable from PodSpec, which is a fault of the caller.
Source: /openapi/v3/api/v1; apimachinery's Quantity, IntOrString and Time decode as their UnmarshalJSON does.
"""

from __future__ import annotations

import difflib
import functools
import re
from collections.abc import Callable, Iterator, Mapping
from enum import Enum, StrEnum
from typing import Any, Final

import attrs
import msgspec

from webhook.objects import meta, quantity
from webhook.objects.faults import Path, json_type, quoted

DATA_FILE: Final = "pod_types.json"


class Kind(StrEnum):
    """What a single value is. The words are those of the data file."""

    STRING = "string"
    BOOLEAN = "boolean"
    INT32 = "int32"
    INT64 = "int64"
    NUMBER = "number"
    QUANTITY = "quantity"  # a number, or a string such as "1.5Gi"
    INT_OR_STRING = "int-or-string"
    TIME = "date-time"
    ANYTHING = "any"


@attrs.frozen
class Scalar:
    """A single value."""

    kind: Kind
    values: tuple[str, ...] = ()  # the only ones allowed; () = all


@attrs.frozen
class ListOf:
    """A list."""

    item: Type


@attrs.frozen
class MapOf:
    """A map with free keys."""

    value: Type


@attrs.frozen
class Struct:
    """An object with named fields."""

    name: str  # "Container"
    fields: Mapping[str, str]  # -> as `named` takes it
    required: tuple[str, ...]


Type = Scalar | ListOf | MapOf | Struct


@attrs.frozen
class Misfit:
    """A value that does not fit. *message* continues a sentence that begins with the path."""

    path: Path
    message: str


class Text(Enum):
    """How much of a string is known already."""

    FINAL = "final"
    PARTLY_OPEN = "partly open"  # something will be filled in
    OPEN = "open"  # the whole of it will be: it may become a number or a boolean


def version() -> str:
    """The Kubernetes version that the types were taken from: "1.37.2"."""
    found: str = _data()["kubernetes"]
    return found


@functools.cache
def named(code: str) -> Type:
    """The type *code*: "Container", "[]EnvVar", "{}quantity", "string", "=TCP|UDP"."""
    if code.startswith("[]"):
        return ListOf(named(code[2:]))
    if code.startswith("{}"):
        return MapOf(named(code[2:]))
    if code.startswith("="):
        return Scalar(Kind.STRING, tuple(code[1:].split("|")))
    if code[:1].isupper():
        found = _data()["types"][code]
        return Struct(code, found["fields"], tuple(found.get("required", ())))
    return Scalar(Kind(code))


def field(struct: Struct, name: str) -> Type | None:
    """The type of the field *name*; None when there is no such field."""
    code = struct.fields.get(name)
    return named(code) if code is not None else None


def check(
    value: Any, wanted: Type, path: Path = (), openness: Callable[[str], Text] = lambda _: Text.FINAL
) -> Iterator[Misfit]:
    """Everything in *value* that does not fit *wanted*, in the order of the value.

    path:     where *value* stands, put before every path.
    openness: how much of a string is known already. What is open fits wherever it may become something that fits.
    A member that is null counts as absent, as in Go. "" is taken for any enumeration: Go reads it as absent, too.
    """
    match wanted:
        case Struct():
            yield from _check_struct(value, wanted, path, openness)
        case ListOf():
            if type(value) is not list:
                yield _misfit(path, "a list", value)
                return
            for index, item in enumerate(value):
                yield from check(item, wanted.item, (*path, index), openness)
        case MapOf():
            if type(value) is not dict:
                yield _misfit(path, "an object", value)
                return
            for key, item in value.items():
                if item is not None:
                    yield from check(item, wanted.value, (*path, key), openness)
        case Scalar():
            text = openness(value) if type(value) is str else Text.FINAL
            fault = scalar_fault(value, wanted) if text is Text.FINAL else _open_fault(wanted, text)
            if fault:
                yield Misfit(path, fault)


def scalar_fault(value: Any, wanted: Scalar) -> str | None:
    """Why *value* does not fit *wanted*; None when it does."""
    kind = type(value)
    match wanted.kind:
        case Kind.ANYTHING:
            return None
        case Kind.STRING if kind is str:
            if wanted.values and value and value not in wanted.values:
                return f"must be one of {', '.join(wanted.values)}, not {quoted(value)}"
            return None
        case Kind.BOOLEAN if kind is bool:
            return None
        case Kind.INT32 | Kind.INT64 if kind is int:
            return _range_fault(value, 32 if wanted.kind is Kind.INT32 else 64)
        case Kind.INT_OR_STRING if kind is str:
            return None
        case Kind.INT_OR_STRING if kind is int:
            return _range_fault(value, 32)
        case Kind.NUMBER if kind in (int, float):
            return None
        case Kind.QUANTITY if kind in (str, int, float):
            return quantity_fault(value)
        case Kind.TIME if kind is str:
            return None if meta.parse_time_s(value) is not None else f"must be an RFC 3339 time, not {quoted(value)}"
    return f"must be {_PHRASES[wanted.kind]}, not {_shown(value)}"


def quantity_fault(value: Any) -> str | None:
    """Why *value* is not a quantity; None when it is."""
    try:
        quantity.read(value)
    except ValueError as error:
        return str(error)
    exponent = _EXPONENT.search(str(value))
    if exponent is not None and (len(exponent[1]) > 3 or int(exponent[1]) > _EXPONENT_LIMIT):
        return (
            f"{quoted(str(value))} has an exponent beyond {_EXPONENT_LIMIT}: the API server would write out all of its digits"
        )
    return None


_EXPONENT: Final = re.compile(r"[eE][+-]?([0-9]+)")
_EXPONENT_LIMIT: Final = 30  # no amount is as large, and 1e99999999 stops an API server for minutes


_PHRASES: Final = {
    Kind.STRING: "a string",
    Kind.BOOLEAN: "true or false",
    Kind.INT32: "an integer",
    Kind.INT64: "an integer",
    Kind.NUMBER: "a number",
    Kind.QUANTITY: "a quantity such as 500m or 64Mi",
    Kind.INT_OR_STRING: "an integer or a string",
    Kind.TIME: "an RFC 3339 time",
    Kind.ANYTHING: "anything",
}


def _check_struct(value: Any, wanted: Struct, path: Path, openness: Callable[[str], Text]) -> Iterator[Misfit]:
    if type(value) is not dict:
        yield _misfit(path, "an object", value)
        return
    for key, item in value.items():
        inside = field(wanted, key)
        if inside is None:
            yield Misfit((*path, key), unknown_field(key, wanted.fields))
        elif item is not None:
            yield from check(item, inside, (*path, key), openness)
    for key in wanted.required:
        if value.get(key) is None:
            yield Misfit((*path, key), "is required")


def unknown_field(key: str, known: Mapping[str, object]) -> str:
    """What to say of the field *key*, with the nearest of *known* when one is near."""
    near = difflib.get_close_matches(key, known, n=1) if len(key) <= _KEY_LIMIT else []
    return f"is not a field that exists here; {near[0]}?" if near else "is not a field that exists here"


_KEY_LIMIT: Final = 63  # no field's name is half as long; comparing takes time quadratic in the length


def _open_fault(wanted: Scalar, text: Text) -> str | None:
    if text is Text.PARTLY_OPEN and wanted.kind in (Kind.BOOLEAN, Kind.INT32, Kind.INT64, Kind.NUMBER):
        return f"must be {_PHRASES[wanted.kind]}: a placeholder gives one only when it is the whole value"
    return None


def _range_fault(value: int, bits: int) -> str | None:
    if -(1 << bits - 1) <= value < 1 << bits - 1:
        return None
    return f"must fit {bits} bits, which {_shown(value)} does not"


def _misfit(path: Path, expected: str, value: Any) -> Misfit:
    return Misfit(path, f"must be {expected}, not {_shown(value)}")


def _shown(value: Any) -> str:
    """*value*'s type, with the value where that helps: `the string "80"`."""
    match value:
        case str():
            return f"the string {quoted(value)}"
        case bool():
            return "true" if value else "false"
        case int() if value.bit_length() > 128:  # turning an integer of any size into digits takes quadratic time
            return "a number of more than 38 digits"
        case int() | float():
            return str(value)
    return json_type(value)


@functools.cache
def _data() -> dict[str, Any]:
    from importlib import resources  # only when types are needed: the import costs more than reading the file

    found: dict[str, Any] = msgspec.json.decode(resources.files(__package__).joinpath(DATA_FILE).read_bytes())
    return found
