"""Label selectors: the API's LabelSelector and the string form of `kubectl -l`.

    Selector.from_object({"matchLabels": {"a": "b"}, "matchExpressions": [...]})
    Selector.parse("a=b,c in (x,y),!d,e")

Pure and frozen: any thread may use one. The empty selector matches everything (the API's *absent* selector, which matches
nothing, is the caller's None). Errors: `Faults`, all that the API server would find.
Source: apimachinery pkg/labels/selector.go (grammar) and pkg/apis/meta/v1 (LabelSelector).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Any, Final

import attrs

from webhook.objects.faults import Faults, json_type, quoted


class Operator(StrEnum):
    """How a requirement compares, as LabelSelector spells it. Gt and Lt exist in the string form only."""

    IN = "In"
    NOT_IN = "NotIn"
    EXISTS = "Exists"
    DOES_NOT_EXIST = "DoesNotExist"
    GT = "Gt"
    LT = "Lt"


@attrs.frozen
class Requirement:
    """One condition on one label."""

    key: str
    operator: Operator
    values: tuple[str, ...] = ()  # sorted, no value twice

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether *labels* meet this condition. A label that is absent is "not in" any set."""
        value = labels.get(self.key)
        match self.operator:
            case Operator.IN:
                return value in self.values
            case Operator.NOT_IN:
                return value not in self.values
            case Operator.EXISTS:
                return value is not None
            case Operator.DOES_NOT_EXIST:
                return value is None
        number = _int64(value) if value is not None else None
        limit = _int64(self.values[0])
        if number is None or limit is None:
            return False
        return number > limit if self.operator is Operator.GT else number < limit

    def __str__(self) -> str:
        match self.operator:
            case Operator.EXISTS:
                return self.key
            case Operator.DOES_NOT_EXIST:
                return f"!{self.key}"
            case Operator.GT | Operator.LT:
                return f"{self.key}{'>' if self.operator is Operator.GT else '<'}{self.values[0]}"
        if self.operator is Operator.IN and len(self.values) == 1:
            return f"{self.key}={self.values[0]}"
        return f"{self.key} {'in' if self.operator is Operator.IN else 'notin'} ({','.join(self.values)})"


@attrs.frozen
class Selector:
    """Conditions that must all be met. `str()` gives the string form; `parse` reads it back."""

    requirements: tuple[Requirement, ...] = ()  # in key order, so that equal selectors compare equal

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether *labels* meet every condition; an empty selector matches everything. O(conditions)."""
        # Nearly always empty, and asked for every node: the generator would cost more than the conditions.
        return not self.requirements or all(requirement.matches(labels) for requirement in self.requirements)

    def __str__(self) -> str:
        return ",".join(map(str, self.requirements))

    def to_object(self) -> dict[str, Any]:
        """The API's LabelSelector. Raises ValueError when it holds Gt or Lt, which a LabelSelector cannot say."""
        expressions = []
        for requirement in self.requirements:
            if requirement.operator in (Operator.GT, Operator.LT):
                raise ValueError(f"a LabelSelector cannot say {requirement}")
            expression: dict[str, Any] = {"key": requirement.key, "operator": str(requirement.operator)}
            if requirement.values:
                expression["values"] = list(requirement.values)
            expressions.append(expression)
        return {"matchExpressions": expressions} if expressions else {}

    @classmethod
    def parse(cls, text: str) -> Selector:
        """The selector that *text* writes as `kubectl -l` takes it; blank text matches everything.

        Raises Faults naming what was found and what was expected.
        """
        return _selector(_Parser(text).requirements())

    @classmethod
    def from_object(cls, value: object) -> Selector:
        """The selector of a LabelSelector object {matchLabels, matchExpressions}, None counting as empty.

        Raises Faults with every fault, each with the path of the field inside *value*.
        """
        faults: list[tuple[tuple[str | int, ...], str]] = []
        found = list(_from_object(value, faults))
        if faults:
            raise Faults(*faults)
        return _selector(found)


_PREFIX: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_NAME: Final = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?")
_INT64: Final = re.compile(r"[-+]?0*[0-9]{1,19}", re.ASCII)
_NAME_LIMIT: Final = 63
_PREFIX_LIMIT: Final = 253


def key_fault(key: str) -> str | None:
    """What is wrong with *key* as the key of a label or annotation; None when nothing is."""
    prefix, slash, name = key.rpartition("/")
    if slash and (len(prefix) > _PREFIX_LIMIT or not _PREFIX.fullmatch(prefix)):
        return f"label key {quoted(key)}: the part before '/' must be a DNS name of at most {_PREFIX_LIMIT} characters"
    if len(name) > _NAME_LIMIT or not _NAME.fullmatch(name):
        return (
            f"label key {quoted(key)}: a name has 1 to {_NAME_LIMIT} letters, digits, '-', '_' or '.', "
            "and starts and ends with a letter or digit"
        )
    return None


def value_fault(value: str) -> str | None:
    """What is wrong with *value* as the value of a label; None when nothing is."""
    if value and (len(value) > _NAME_LIMIT or not _NAME.fullmatch(value)):
        return (
            f"label value {quoted(value)}: a value is empty or has up to {_NAME_LIMIT} letters, digits, '-', '_' or '.', "
            "and starts and ends with a letter or digit"
        )
    return None


def _selector(requirements: list[Requirement]) -> Selector:
    return Selector(tuple(sorted(requirements, key=lambda found: found.key)))


def _from_object(value: object, faults: list[tuple[tuple[str | int, ...], str]]) -> Iterator[Requirement]:
    if value is None:
        return
    if not isinstance(value, dict):
        faults.append(((), "must be an object with matchLabels and matchExpressions"))
        return
    for name in value:
        if name not in ("matchLabels", "matchExpressions"):
            faults.append(((name,), "unknown field (a label selector has matchLabels and matchExpressions)"))
    labels = value.get("matchLabels")
    if isinstance(labels, dict):
        for key, wanted in labels.items():
            path: tuple[str | int, ...] = ("matchLabels", key)
            if not isinstance(wanted, str):
                faults.append((path, f"must be a string, not {json_type(wanted)}"))
            elif fault := key_fault(key) or value_fault(wanted):
                faults.append((path, fault))
            else:
                yield Requirement(key, Operator.IN, (wanted,))
    elif labels is not None:
        faults.append((("matchLabels",), "must be an object of strings"))
    expressions = value.get("matchExpressions")
    if isinstance(expressions, list):
        for index, expression in enumerate(expressions):
            yield from _from_expression(expression, ("matchExpressions", index), faults)
    elif expressions is not None:
        faults.append((("matchExpressions",), "must be a list of {key, operator, values}"))


def _from_expression(
    value: object, path: tuple[str | int, ...], faults: list[tuple[tuple[str | int, ...], str]]
) -> Iterator[Requirement]:
    if not isinstance(value, dict):
        faults.append((path, "must be an object {key, operator, values}"))
        return
    before = len(faults)
    for name in value:
        if name not in ("key", "operator", "values"):
            faults.append(((*path, name), "unknown field (an expression has key, operator and values)"))
    key, operator, values = value.get("key"), value.get("operator"), value.get("values")
    if not isinstance(key, str):
        faults.append(((*path, "key"), "must be a string"))
    elif fault := key_fault(key):
        faults.append(((*path, "key"), fault))
    if operator not in _LABEL_SELECTOR_OPERATORS:
        faults.append(((*path, "operator"), f"must be one of {', '.join(_LABEL_SELECTOR_OPERATORS)}"))
    if values is not None and not isinstance(values, list):
        faults.append(((*path, "values"), "must be a list of strings"))
        return
    for index, wanted in enumerate(values or ()):
        if not isinstance(wanted, str):
            faults.append(((*path, "values", index), f"must be a string, not {json_type(wanted)}"))
        elif fault := value_fault(wanted):
            faults.append(((*path, "values", index), fault))
    if operator in (Operator.IN, Operator.NOT_IN) and not values:
        faults.append(((*path, "values"), f"must not be empty with operator {operator}"))
    if operator in (Operator.EXISTS, Operator.DOES_NOT_EXIST) and values:
        faults.append(((*path, "values"), f"must be empty with operator {operator}"))
    if len(faults) == before:
        yield Requirement(str(key), Operator(str(operator)), tuple(sorted(set(values or ()))))


_LABEL_SELECTOR_OPERATORS: Final = ("In", "NotIn", "Exists", "DoesNotExist")


# -- the string form -------------------------------------------------------------------------------------------------

_SPECIAL: Final = "=!(),<>"
_BLANK: Final = " \t\r\n"
_BINARY: Final = {
    "=": Operator.IN,
    "==": Operator.IN,
    "!=": Operator.NOT_IN,
    "in": Operator.IN,
    "notin": Operator.NOT_IN,
    ">": Operator.GT,
    "<": Operator.LT,
}
_TOKEN: Final = re.compile(r"[ \t\r\n]*(==|!=|[=!(),<>]|[^=!(),<> \t\r\n]+|$)")


class _Parser:
    """Recursive descent over `requirement {"," requirement}`; a word is any run without blanks and =!(),<>."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = [match.group(1) for match in _TOKEN.finditer(text)] or [""]
        self._next = 0

    def requirements(self) -> list[Requirement]:
        found: list[Requirement] = []
        if self._peek() == "":
            return found
        while True:
            found.append(self._requirement())
            token = self._take()
            if token == "":
                return found
            if token != ",":
                raise self._unexpected(token, "',' or the end")

    def _requirement(self) -> Requirement:
        absent = self._peek() == "!"
        if absent:
            self._take()
        key = self._take()
        if not _is_word(key):
            raise self._unexpected(key, "a label key")
        if fault := key_fault(key):
            raise Faults(((), fault))
        if self._peek() in ("", ","):
            return Requirement(key, Operator.DOES_NOT_EXIST if absent else Operator.EXISTS)
        if absent:
            raise self._unexpected(self._peek(), "',' or the end after '!key'")
        word = self._take()
        operator = _BINARY.get(word)
        if operator is None:
            raise self._unexpected(word, "one of =, ==, !=, in, notin, >, <")
        values = self._set() if word in ("in", "notin") else (self._one(),)
        for value in values:
            if fault := value_fault(value):
                raise Faults(((), fault))
        if operator in (Operator.GT, Operator.LT) and _int64(values[0]) is None:
            raise Faults(((), f"{key}{word}{values[0]}: the value must be an integer"))
        return Requirement(key, operator, tuple(sorted(set(values))))

    def _one(self) -> str:
        if self._peek() in ("", ","):
            return ""
        value = self._take()
        if not _is_word(value):
            raise self._unexpected(value, "a label value")
        return value

    def _set(self) -> tuple[str, ...]:
        """The values of `(x,y)`; a missing one is the empty string, as in `(x,)`."""
        if (token := self._take()) != "(":
            raise self._unexpected(token, "'('")
        values: list[str] = []
        while True:
            values.append(self._take() if _is_word(self._peek()) else "")
            token = self._take()
            if token == ")":
                return tuple(values)
            if token != ",":
                raise self._unexpected(token, "',' or ')'")

    def _peek(self) -> str:
        return self._tokens[self._next]

    def _take(self) -> str:
        token = self._tokens[self._next]
        self._next = min(self._next + 1, len(self._tokens) - 1)
        return token

    def _unexpected(self, found: str, expected: str) -> Faults:
        what = f"found {quoted(found)}" if found else "it ends"
        return Faults(((), f"label selector {quoted(self._text)}: {what} where {expected} is expected"))


def _is_word(token: str) -> bool:
    return bool(token) and token[0] not in _SPECIAL


def _int64(text: str) -> int | None:
    if not _INT64.fullmatch(text):
        return None
    number = int(text)
    return number if -(2**63) <= number < 2**63 else None
