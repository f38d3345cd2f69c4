"""The settings of somebody else's rule or controller: a typed attrs class, read from the configuration as strictly as our own.

    @attrs.frozen
    class Settings:
        label: str = "owner"                                              # `label`
        grace_s: float = 30.0                                             # `grace`, a Go duration such as "30s"
        sizes: tuple[int, ...] = attrs.field(default=(), validator=attrs.validators.max_len(9))

The types say how a value is read: str, bool, int, float, a StrEnum, `tuple[X, ...]`, `Mapping[str, X]`, `X | None`, another
attrs class. Keys are the names in camelCase; a float whose name ends in `_s` is a duration, without the unit in its key. A
field without a default must be given. Validators of attrs and `__attrs_post_init__` say no by ValueError or TypeError.
Pure. Errors: Unreadable for a class that this cannot read (its author's fault); Faults for a value (the operator's).
"""

from __future__ import annotations

import difflib
import json
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from typing import Any, Final, TypeVar

import attrs

from webhook.objects.durations import parse_duration_s
from webhook.objects.faults import Faults, Path, json_type, shown

T = TypeVar("T")
_Faults = list[tuple[Path, str]]
_Reader = Callable[[Any, Path, _Faults], Any]  # value, where it stands, where faults go; the result counts only without any

_DURATION: Final = "_s"
_UNIONS: Final = (typing.Union, types.UnionType)


class Unreadable(TypeError):
    """A class whose fields have types that no configuration can hold. The message names the field."""


@attrs.frozen
class NoSettings:
    """The settings of what has none."""


def check(kind: type) -> None:
    """Raises Unreadable when values of *kind* could not be read."""
    _section(kind)


def read(kind: type[T], value: Any) -> T:
    """*value*, an object as the configuration has it (None: empty), as a *kind*. Raises Faults with every fault."""
    faults: _Faults = []
    found: T = _section(kind)({} if value is None else value, (), faults)
    if faults:
        raise Faults(*faults)
    return found


def _section(kind: type) -> _Reader:
    if not (isinstance(kind, type) and attrs.has(kind)):
        raise Unreadable(f"{getattr(kind, '__name__', kind)}: settings are an attrs class")
    try:
        hints = typing.get_type_hints(kind)
    except Exception as error:  # whatever an annotation of a stranger does when it is evaluated
        raise Unreadable(f"{kind.__name__}: the types of its fields cannot be found: {error}") from error
    fields = {_key(field.name, hints.get(field.name)): field for field in attrs.fields(kind) if field.init}
    readers = {key: _of(hints.get(field.name), field.name, f"{kind.__name__}.{field.name}") for key, field in fields.items()}

    def section(value: Any, path: Path, faults: _Faults) -> Any:
        if not isinstance(value, dict):
            faults.append((path, f"must be an object, not {json_type(value)}"))
            return None
        before = len(faults)
        faults += [((*path, key), _unknown(key, fields)) for key in value if key not in fields]
        given: dict[str, Any] = {}
        for key, field in fields.items():
            if value.get(key) is not None:
                given[key] = readers[key](value[key], (*path, key), faults)
            elif field.default is attrs.NOTHING:
                faults.append(((*path, key), "must be given"))
        return _made(kind, fields, given, path, faults) if len(faults) == before else None

    return section


def _made(kind: type, fields: Mapping[str, Any], given: Mapping[str, Any], path: Path, faults: _Faults) -> Any:
    """The value; or a fault at each key whose own validator says no, one at the section when its parts do not agree."""
    try:
        return kind(**{fields[key].alias: value for key, value in given.items()})
    except (Exception, SystemExit) as error:  # whatever a validator or a converter of a stranger does
        blamed = [((*path, key), told) for key, value in given.items() if (told := _objection(fields[key], value))]
        faults += blamed or [(path, _told(error))]
        return None


def _objection(field: Any, value: Any) -> str:
    if field.validator is None:
        return ""
    try:
        field.validator(None, field, value)
    except (TypeError, ValueError) as error:
        return _told(error)
    except (Exception, SystemExit):  # a validator that wants to see the whole: then the section is to blame
        return ""
    return ""


def _told(error: BaseException) -> str:
    """In one line. What validators are not meant to raise is told with its type."""
    said = " ".join(str(error.args[0]).split()) if error.args else ""
    if isinstance(error, (TypeError, ValueError)):
        return said or type(error).__name__
    return f"its validator failed: {type(error).__name__}: {said}" if said else f"its validator failed: {type(error).__name__}"


def _of(hint: Any, name: str, where: str) -> _Reader:
    """How a value of type *hint* is read. *where* is for the error."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in _UNIONS and len(arguments) == 2 and type(None) in arguments:
        return _of(next(one for one in arguments if one is not type(None)), name, where)
    if origin is tuple and len(arguments) == 2 and arguments[1] is ...:
        return _list(_of(arguments[0], "", where))
    if origin in (dict, Mapping) and arguments[0] is str:
        return _map(_of(arguments[1], "", where))
    if hint is float and name.endswith(_DURATION):
        return _duration
    if hint in _SCALARS:
        return _scalar(*_SCALARS[hint])
    if isinstance(hint, type) and issubclass(hint, StrEnum):
        return _word(hint)
    if isinstance(hint, type) and attrs.has(hint):
        return _section(hint)
    raise Unreadable(
        f"{where}: {getattr(hint, '__name__', hint)} cannot be configured: take str, bool, int, float, a StrEnum, "
        "tuple[X, ...], Mapping[str, X], X | None or an attrs class"
    )


# Type -> what JSON may bring, and what it is called. `isinstance(True, int)` holds, so that bool is told apart below.
_SCALARS: Final[Mapping[Any, tuple[tuple[type, ...], str]]] = {
    str: ((str,), "a string"),
    bool: ((bool,), "true or false"),
    int: ((int,), "a whole number"),
    float: ((int, float), "a number"),
}


def _scalar(kinds: tuple[type, ...], called: str) -> _Reader:
    def scalar(value: Any, path: Path, faults: _Faults) -> Any:
        if type(value) in kinds:
            return float(value) if float in kinds else value
        if kinds == (int,) and type(value) is float and abs(value) >= 2**63:  # how a larger one is read, as Go does
            faults.append((path, f"must be a whole number of at most 64 bits, not {shown(value)}"))
            return None
        hint = f" (write {json.dumps(str(shown(value)))})" if kinds == (str,) and type(value) in (bool, int, float) else ""
        faults.append((path, f"must be {called}, not {shown(value)}{hint}"))
        return None

    return scalar


def _duration(value: Any, path: Path, faults: _Faults) -> Any:
    if isinstance(value, str):
        try:
            return parse_duration_s(value)
        except ValueError as error:
            faults.append((path, str(error)))
            return None
    faults.append((path, f'must be a duration such as "15s" or "1m30s", not {shown(value)}'))
    return None


def _word(kind: type[StrEnum]) -> _Reader:
    words = [member.value for member in kind]

    def word(value: Any, path: Path, faults: _Faults) -> Any:
        if value in words:
            return kind(value)
        faults.append((path, f"must be one of {', '.join(words)}, not {shown(value)}"))
        return None

    return word


def _list(one: _Reader) -> _Reader:
    def items(value: Any, path: Path, faults: _Faults) -> Any:
        if not isinstance(value, list):
            faults.append((path, f"must be a list, not {json_type(value)}"))
            return None
        return tuple(one(item, (*path, index), faults) for index, item in enumerate(value))

    return items


def _map(one: _Reader) -> _Reader:
    def members(value: Any, path: Path, faults: _Faults) -> Any:
        if not isinstance(value, dict):
            faults.append((path, f"must be an object, not {json_type(value)}"))
            return None
        return {key: one(item, (*path, key), faults) for key, item in value.items()}

    return members


def _key(name: str, hint: Any) -> str:
    first, *others = (name.removesuffix(_DURATION) if _may_be_float(hint) else name).strip("_").split("_")
    return "".join([first, *(word.capitalize() for word in others)])


def _may_be_float(hint: Any) -> bool:
    return hint is float or (typing.get_origin(hint) in _UNIONS and float in typing.get_args(hint))


def _unknown(key: str, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(key, list(known), n=1, cutoff=0.6)
    if close:
        return f"unknown key: did you mean {close[0]}?"
    return f"unknown key (known: {', '.join(sorted(known)) or 'none'})"
