"""The public interface as text, a line for each name and parameter. `python -m tests.public_interface` renews the file.

Public are the names in `__all__` of four packages: what rules and controllers of others import (docs/own-rule.md). A line that
goes or changes breaks them; lines that come are welcome.
"""

from __future__ import annotations

import enum
import importlib
import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

PACKAGES = ("webhook.admission", "webhook.testing", "controllers.runtime", "controllers.testing")
FILE = Path(__file__).with_name("public_interface.txt")
# Words that Gatehouse itself uses: they come and go with its rules, and are nobody's to rely on.
OPEN = frozenset({"Reason"})
# What is made by Gatehouse, and read by rules and controllers: how it is made is nobody's to rely on.
RECEIVED = frozenset(
    {"AdmissionRequest", "Context", "Deadline", "GroupVersionResource", "User", "NamespaceFacts", "NodeFacts", "PodFacts"}
    | {"Addition", "Deletion", "Given", "Item", "Resource", "Update"}
)


def lines() -> list[str]:
    """The whole interface."""
    return [line for package in PACKAGES for line in of_package(package)]


def of_package(package: str) -> Iterator[str]:
    module = importlib.import_module(package)
    for name in module.__all__:
        yield from of(f"{package}.{name}", getattr(module, name))


def of(name: str, value: Any) -> Iterator[str]:
    match value:
        case ModuleType():
            for inner, found in vars(value).items():
                if isinstance(found, FunctionType) and not inner.startswith("_") and found.__module__ == value.__name__:
                    yield f"{name}.{inner}{signature(found)}"
        case type():
            yield from of_class(name, value)
        case FunctionType():
            yield f"{name}{signature(value)}"
        case _:
            yield f"{name} = {value!r}"


def of_class(name: str, kind: type) -> Iterator[str]:
    if issubclass(kind, enum.Enum):
        yield f"{name} is an enumeration"
        yield from (f"{name}.{member.name} = {member.value!r}" for member in kind if kind.__name__ not in OPEN)
        return
    if issubclass(kind, Exception):
        yield f"{name} is a {kind.__mro__[1].__name__}"
        return
    if kind.__name__ in RECEIVED:
        yield from (f"{name}.{field}: {annotation(text)}" for field, text in readable(kind).items())
    elif not getattr(kind, "_is_protocol", False):
        # A line for each parameter: another one behind them, with a default, breaks nobody.
        yield f"{name}()"
        yield from (f"{name}({number}: {one})" for number, one in enumerate(parameters(kind, of_fields(kind))))
    for inner, found in sorted(members(kind).items()):
        if inner.startswith("_"):
            continue
        if isinstance(found, FunctionType):
            yield f"{name}.{inner}{signature(found)}"
        elif isinstance(found, classmethod):
            yield f"{name}.{inner}{signature(found.__func__)}"
        elif isinstance(found, property) and found.fget is not None:
            yield f"{name}.{inner}: {annotation(inspect.signature(found.fget).return_annotation)}"


def members(kind: type) -> dict[str, Any]:
    """What *kind* has, be it from a base of ours: whose it is, is nobody's to rely on."""
    found: dict[str, Any] = {}
    for base in reversed(kind.__mro__):
        if base.__module__.partition(".")[0] in ("webhook", "controllers"):
            found |= vars(base)
    return found


def readable(kind: type) -> dict[str, Any]:
    """The fields of *kind* that are no business of its own."""
    found = {field: text for field, text in of_fields(kind).items() if not field.startswith("_")}
    properties = {name for name, value in vars(kind).items() if isinstance(value, property)}
    return {field: text for field, text in found.items() if field not in properties and "ClassVar" not in str(text)}


def of_fields(kind: type) -> dict[str, Any]:
    """The annotations as they are written, of whatever library makes the constructor."""
    found: dict[str, Any] = {}
    for base in reversed(kind.__mro__):
        found |= inspect.get_annotations(base)
    return found


def signature(value: Callable[..., Any]) -> str:
    returned = annotation(inspect.signature(value).return_annotation)
    return f"({', '.join(parameters(value))})" + (f" -> {returned}" if returned else "")


def parameters(value: Callable[..., Any], written: dict[str, Any] | None = None) -> list[str]:
    parts: list[str] = []
    star = False
    for one in inspect.signature(value).parameters.values():
        if one.kind is one.KEYWORD_ONLY and not star:
            parts.append("*")
            star = True
        kind = (written or {}).get(one.name, one.annotation)
        text = {one.VAR_POSITIONAL: "*", one.VAR_KEYWORD: "**"}.get(one.kind, "") + one.name
        text += f": {annotation(kind)}" if kind is not inspect.Parameter.empty else ""
        parts.append(text if one.default is inspect.Parameter.empty else f"{text} = {default(one.default)}")
    return parts


def annotation(kind: Any) -> str:
    if kind is inspect.Signature.empty:
        return ""
    return kind if isinstance(kind, str) else inspect.formatannotation(kind)


def default(value: Any) -> str:
    """As in the source, where that can be told: a factory, or an object without a text of its own, cannot."""
    text = repr(value)
    return "…" if "NOTHING" in text or "actory" in text or " at 0x" in text else text


if __name__ == "__main__":
    FILE.write_text("\n".join(lines()) + "\n")
