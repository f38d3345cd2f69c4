"""Strict reading of a configuration document into frozen attrs classes, with every fault found in one pass.

    @attrs.frozen
    class Election:
        lease_duration_s: float = setting(15.0, duration(at_least_s=1))       # read from `leaseDuration`
        renew_deadline_s: float = setting(10.0, duration(at_least_s=1))
        rules = (Rule(("lease_duration_s", "renew_deadline_s"), lambda it, given: …, "must be above renewDeadline"),)

Our own decoder and not cattrs: cattrs structures a value without its place, so that file, line and the key as it was written
are lost; it coerces (`"5"` to 5) unless every type gets a hook; and what holds between fields is checked by the class's
constructor, which stops at the first fault and never runs when any field is wrong. Here a rule runs whenever the fields that it
is about are sound. Pure; any thread.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Any, Final, TypeVar

import attrs

from controllers.config.address import Address
from controllers.config.unknown_keys import told
from webhook.objects.durations import format_duration_s, parse_duration_s
from webhook.objects.faults import Faults, Path, dotted, json_type, shown
from webhook.objects.selectors import Selector
from webhook.objects.sources import Document

Reader = Callable[[Any], Any]  # the value of a key -> the setting; raises ValueError saying what is wrong

_READER: Final = "reader"
_KEY: Final = "key"
_SECTION: Final = "section"

T = TypeVar("T")
R = TypeVar("R", bound=Reader)


@attrs.frozen(order=True)
class Fault:
    """One thing that is wrong with a configuration."""

    line: int  # 0 for a flag
    column: int
    file: str  # or the flag's name
    path: str  # "" for the whole document
    message: str

    def __str__(self) -> str:
        where = f"{self.file}:{self.line}:{self.column}" if self.line else self.file
        return f"{where}: {self.path}: {self.message}" if self.path else f"{where}: {self.message}"


class ConfigurationError(ValueError):
    """A configuration that nothing may be started with. Its text has one line for each of `faults`."""

    def __init__(self, faults: Iterable[Fault]) -> None:
        self.faults = tuple(sorted(set(faults)))
        super().__init__("\n".join(map(str, self.faults)))


@attrs.frozen
class Override:
    """A value from the command line that takes the place of the document's."""

    flag: str
    value: Any  # as it could stand in the document


@attrs.frozen
class Rule:
    """What must hold between settings. Checked when all *fields* were read without fault; the first is to blame."""

    fields: tuple[str, ...]  # attribute names
    is_broken: Callable[[Any, frozenset[str]], bool]  # (section, names of the attributes that were given)
    message: str


def setting(default: Any, read: Reader, *, key: str = "") -> Any:
    """An attribute read from *key* (its name in camelCase, a duration's without the unit)."""
    return attrs.field(default=default, metadata={_READER: read, _KEY: key})


def section(kind: type[T], *, key: str = "") -> T:
    """An attribute that is an object of its own, read into *kind*."""
    made: T = attrs.field(factory=kind, metadata={_SECTION: kind, _KEY: key})
    return made


def takes(shape: str, *, items: type | None = None) -> Callable[[R], R]:
    """Says of a reader what it takes, in the words of docs/reference/configuration.md; *items*: the class of what is inside."""

    def mark(read: R) -> R:
        read.shape, read.items = shape, items  # type: ignore[attr-defined]
        return read

    return mark


class Decoder:
    """Reads one document. `faults` grows; the caller raises."""

    def __init__(self, document: Document | None, overrides: Mapping[Path, Override] | None = None) -> None:
        self.faults: list[Fault] = []
        self._document = document
        self._overrides = overrides or {}
        self._known: dict[str, list[str]] = {}  # the sections of the document, and those in each

    def read(self, kind: type[T], value: Any, path: Path = (), ignored: Sequence[str] = ()) -> T:
        """*value* as a *kind*, with defaults where a part is missing or wrong; *ignored* keys are someone else's.

        The result may only be used when `faults` stayed empty.
        """
        if value is None:
            value = {}
        if not isinstance(value, dict):
            self.fault(path, f"must be an object, not {json_type(value)}")
            value = {}
        fields = _fields(kind)
        if not path:
            self._known = {key: list(_sections(_fields(inner))) for key, inner in _sections(fields).items()}
        for key in value:
            if key not in fields and key not in ignored:
                self.fault((*path, key), told((*path, key), fields, self._known))
        found: dict[str, Any] = {}
        broken: set[str] = set()
        given: set[str] = set()
        for key, field in fields.items():
            before = len(self.faults)
            here = (*path, key)
            override = self._overrides.get(here)
            raw = override.value if override else value.get(key)
            if _SECTION in field.metadata:
                found[field.name] = self.read(field.metadata[_SECTION], raw, here)
            elif raw is not None:
                given.add(field.name)
                self._set(found, field, raw, here)
            if len(self.faults) > before:
                broken.add(field.name)
        made = kind(**found)
        keys = {field.name: key for key, field in fields.items()}
        for rule in getattr(kind, "rules", ()):
            if not broken.intersection(rule.fields) and rule.is_broken(made, frozenset(given)):
                self.fault((*path, keys[rule.fields[0]]), rule.message)
        return made

    def fault(self, path: Path, message: str) -> None:
        """Note that the value at *path* is wrong."""
        override = next((self._overrides[path[:end]] for end in range(len(path), 0, -1) if path[:end] in self._overrides), None)
        if override is not None:
            self.faults.append(Fault(0, 0, override.flag, "", message))
            return
        line, column = self._document.position(path) if self._document else (0, 0)
        file = self._document.file if self._document else "configuration"
        self.faults.append(Fault(line, column, file, dotted(path), message))

    def _set(self, found: dict[str, Any], field: Any, raw: Any, path: Path) -> None:
        try:
            found[field.name] = field.metadata[_READER](raw)
        except Faults as error:
            for inside, message in error.faults:
                self.fault((*path, *inside), message)
        except ValueError as error:
            self.fault(path, str(error))


def key_of(field: Any) -> str:
    """The key in the document of *field*, an attribute made by `setting` or `section`."""
    if field.metadata[_KEY]:
        return str(field.metadata[_KEY])
    name = field.name.removesuffix("_s") if getattr(field.metadata.get(_READER), "is_duration", False) else field.name
    first, *others = name.split("_")
    return "".join([first, *(word.capitalize() for word in others)])


def _fields(kind: type[Any]) -> dict[str, Any]:
    """The attributes of *kind* by their keys."""
    return {key_of(field): field for field in attrs.fields(kind)}


def _sections(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Those of *fields* that are objects of their own: key -> their class."""
    return {key: field.metadata[_SECTION] for key, field in fields.items() if _SECTION in field.metadata}


def shape_of(field: Any) -> tuple[str, type | None]:
    """What the key of *field* takes, in words, and the class of the objects in it.

    Raises AttributeError for a reader that does not say so by `takes`.
    """
    if _SECTION in field.metadata:
        return "object", field.metadata[_SECTION]
    read = field.metadata[_READER]
    return read.shape, read.items


# -- readers -----------------------------------------------------------------------------------------------------------


def text(*, at_least: int = 0, check: Callable[[str], str | None] = lambda value: None) -> Reader:
    """A string; *check* says what is wrong with it."""

    @takes("string")
    def read(value: Any) -> str:
        if not isinstance(value, str):
            raise ValueError(f"must be a string, not {json_type(value)}{_quote_hint(value)}")
        if len(value) < at_least:
            raise ValueError("must not be empty")
        if fault := check(value):
            raise ValueError(fault)
        return value

    return read


def texts(*, check: Callable[[str], str | None] = lambda value: None) -> Reader:
    """A list of strings that are not empty, as a tuple."""
    one = text(at_least=1, check=check)

    @takes("list of strings")
    def read(value: Any) -> tuple[str, ...]:
        if not isinstance(value, list):
            raise ValueError(f"must be a list of strings, not {json_type(value)}")
        faults: list[tuple[Path, str]] = []
        found = []
        for index, item in enumerate(value):
            try:
                found.append(one(item))
            except ValueError as error:
                faults.append(((index,), str(error)))
        if faults:
            raise Faults(*faults)
        return tuple(found)

    return read


def flag() -> Reader:
    """A boolean, and nothing that looks like one."""

    @takes("true or false")
    def read(value: Any) -> bool:
        if not isinstance(value, bool):
            raise ValueError(f"must be true or false, not {json_type(value)}")
        return value

    return read


def integer(*, at_least: int, at_most: int) -> Reader:
    """A whole number between two limits."""

    @takes(f"whole number, {at_least} to {at_most}")
    def read(value: Any) -> int:
        is_large = isinstance(value, float) and abs(value) >= 2**63  # more than 64 bits come as a float, as Go reads them
        if isinstance(value, bool) or not (isinstance(value, int) or is_large):
            raise ValueError(f"must be a whole number, not {shown(value)}")
        if is_large or not at_least <= value <= at_most:
            raise ValueError(f"must be from {at_least} to {at_most}, not {value}")
        return int(value)

    return read


def number(*, at_least: float, at_most: float) -> Reader:
    """A number between two limits."""

    @takes(f"number, {at_least:g} to {at_most:g}")
    def read(value: Any) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise ValueError(f"must be a number, not {json_type(value)}")
        if not at_least <= value <= at_most:
            raise ValueError(f"must be from {at_least:g} to {at_most:g}, not {value:g}")
        return float(value)

    return read


def duration(*, at_least_s: float = 0.0, at_most_s: float = 365 * 24 * 3600.0) -> Reader:
    """A Go duration ("1m30s") between two limits, as seconds."""

    @takes(f"duration, {format_duration_s(at_least_s)} to {format_duration_s(at_most_s)}")
    def read(value: Any) -> float:
        if not isinstance(value, str):
            raise ValueError(f'must be a duration such as "15s" or "1m30s", not {shown(value)}')
        seconds = parse_duration_s(value)
        if not at_least_s <= seconds <= at_most_s:
            low, high = format_duration_s(at_least_s), format_duration_s(at_most_s)
            raise ValueError(f"must be from {low} to {high}, not {value}")
        return seconds

    read.is_duration = True  # type: ignore[attr-defined]
    return read


def choice(kind: type[StrEnum]) -> Reader:
    """One word of an enumeration."""

    @takes(" or ".join(f"`{member.value}`" for member in kind))
    def read(value: Any) -> StrEnum:
        words = [member.value for member in kind]
        if value not in words:
            close = difflib.get_close_matches(str(value), words, n=1)
            hint = f": did you mean {close[0]}?" if close else ""
            raise ValueError(f"must be one of {', '.join(words)}, not {shown(value)}{hint}")
        return kind(value)

    return read


def address() -> Reader:
    """A bind address."""

    @takes("address: `HOST:PORT`, `:PORT`, `0` is off")
    def read(value: Any) -> Address:
        if value == 0 and not isinstance(value, bool):
            return Address.parse("0")  # YAML makes a number of `bindAddress: 0`, and it can only mean one thing
        if not isinstance(value, str):
            raise ValueError(f'must be an address such as ":9443" or "0" (off), not {shown(value)}')
        return Address.parse(value)

    return read


def selector() -> Reader:
    """A LabelSelector object, or its string form."""

    @takes("label selector, as an object or as a string")
    def read(value: Any) -> Selector:
        return Selector.parse(value) if isinstance(value, str) else Selector.from_object(value)

    return read


def sections(kind: type[T], *, name: str = "") -> Reader:
    """A list of objects, each read into a *kind*, as a tuple. *name*: the attribute that no two of them may share."""

    @takes("list of objects", items=kind)
    def read(value: Any) -> tuple[T, ...]:
        if not isinstance(value, list):
            raise ValueError(f"must be a list of objects, not {json_type(value)}")
        inner = _Inside()
        found = [inner.item(kind, item, (index,)) for index, item in enumerate(value)]
        names = [getattr(one, name) for one in found] if name else []
        for index, one in enumerate(names):
            if one and one in names[:index]:
                inner.fault((index, name), f'"{one}" stands there twice')
        return inner.checked(tuple(found))

    return read


def sections_by(kind: type[T], check: Callable[[str], str | None] = lambda key: None) -> Reader:
    """An object whose values are each read into a *kind*; *check* says what is wrong with a key."""

    @takes("object of objects by name", items=kind)
    def read(value: Any) -> dict[str, T]:
        if not isinstance(value, dict):
            raise ValueError(f"must be an object, not {json_type(value)}")
        inner = _Inside()
        for key in value:
            if fault := check(key):
                inner.fault((key,), fault)
        return inner.checked({key: inner.item(kind, item, (key,)) for key, item in value.items()})

    return read


class _Inside(Decoder):
    """Reads the items of one setting: faults are placed from there."""

    def __init__(self) -> None:
        super().__init__(None)
        self._found: list[tuple[Path, str]] = []

    def item(self, kind: type[T], value: Any, path: Path) -> T:
        """One item, which may not be null."""
        if value is None:
            self.fault(path, "must be an object, not null")
            return kind()
        return self.read(kind, value, path)

    def fault(self, path: Path, message: str) -> None:
        self.faults.append(Fault(0, 0, "", dotted(path), message))
        self._found.append((path, message))

    def checked(self, found: T) -> T:
        """*found*; raises Faults with every fault."""
        if self._found:
            raise Faults(*self._found)
        return found


def _quote_hint(value: Any) -> str:
    # The usual mistake: `healthyValue: true` is a boolean to YAML.
    return f' (write "{shown(value)}" with quotes)' if isinstance(value, bool | int | float) else ""
