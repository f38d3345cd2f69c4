"""Resource quantities ("500m", "1.5Gi", "1e3"), read exactly as the Go API machinery reads them.

Same texts accepted, same amount to the nano unit (rounded away from zero), same order; no work that grows with an exponent.
Three deliberate differences, all far from any real amount: a text longer than `LONGEST_TEXT` is refused (Go takes megabytes of
digits), amounts from 10^2039 up are held to be equal (Go compares them, in time proportional to the exponent), and an
amount beyond the last suffix keeps its size when written (Go writes `2000E` as `2`).

Pure; any thread. Raises ValueError with a whole sentence.
Source: k8s.io/apimachinery v0.37.2, pkg/api/resource (quantity.go, suffix.go).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Context, Decimal
from enum import StrEnum
from functools import lru_cache

import attrs

LONGEST_TEXT = 1024
NANOS = 10**9  # in one unit
NANOS_OF_A_MILLI = 10**6
_MOST_DIGITS = 2048
_LONGEST_SHOWN = 48
_DIGITS_OF_A_RATIO = (6, 12, 24)  # the least of them that tell it from its bound
_MOST_NANOS: int = 10**_MOST_DIGITS
_MOST_BINARY_NANOS = (2**63 - 1) * NANOS  # Go caps what has a binary suffix at the largest int64
_INT64 = 2**63
_LAST_SUFFIX = 18  # E

_SHAPE = re.compile(r"([+-]?)([0-9]*)(?:\.([0-9]*))?([eEinumkKMGTP]*[+-]?[0-9]*)")
_EXPONENT = re.compile(r"[eE][+-]?[0-9]+")
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_DECIMAL_SUFFIX = {exponent: suffix for suffix, exponent in _DECIMAL.items()}
_MISTAKEN = re.compile(r"([0-9]+(?:\.[0-9]+)?) ?([A-Za-z]{1,3})")
_MEANT = {
    "k": "k Ki",
    "g": "G Gi",
    "t": "T Ti",
    "p": "P Pi",
    "ki": "Ki",
    "mi": "Mi",
    "gi": "Gi",
    "ti": "Ti",
    "pi": "Pi",
    "ei": "Ei",
}
_MEANT |= {f"{unit}b": f"{unit.upper()} {unit.upper()}i" for unit in "mgtpe"} | {
    f"{unit}ib": f"{unit.upper()}i" for unit in "kmgtpe"
}
_MEANT |= {"kb": "k Ki"}
_BINARY_SUFFIXES = ("", *_BINARY)
# What Go trims from a quantity in JSON, less what JSON text only holds escaped, which Go does not unescape here.
_TRIMMED = " \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000"


class Format(StrEnum):
    """How an amount is written."""

    DECIMAL_SI = "DecimalSI"  # 12M
    BINARY_SI = "BinarySI"  # 12Mi
    DECIMAL_EXPONENT = "DecimalExponent"  # 12e6


@attrs.frozen
class Quantity:
    """An amount, exact to a nano unit, which is the finest that the API keeps. Equality and order are those of the amount."""

    nanos: int  # 10^-9 of a core, a byte, a piece
    format: Format = attrs.field(default=Format.DECIMAL_SI, eq=False)
    written: str = attrs.field(default="", eq=False)  # as its author wrote it; "" when it was computed

    @property
    def text(self) -> str:
        """For messages: as it was written, else in canonical form."""
        return self.written or str(self)

    @property
    def shown(self) -> str:
        """`text`, cut where nobody reads on: a text has up to 1024 characters, a sum twice as many digits."""
        text = self.text
        return text if len(text) <= _LONGEST_SHOWN else f"{text[:20]}… ({len(text)} characters)"

    @property
    def units(self) -> int:
        """Whole units, rounded up (Go: Value, but without its overflow)."""
        return -(-self.nanos // NANOS)

    @property
    def millis(self) -> int:
        """Thousandths of a unit, rounded up (Go: MilliValue, but without its overflow)."""
        return -(-self.nanos // NANOS_OF_A_MILLI)

    def in_whole_millis(self) -> Quantity:
        """As the API server stores it in an object: rounded up to a thousandth (Go: SetDefaults_ResourceList)."""
        if self.nanos % NANOS_OF_A_MILLI == 0:
            return self
        nanos = -(-abs(self.nanos) // NANOS_OF_A_MILLI) * NANOS_OF_A_MILLI  # away from 0
        return Quantity(nanos if self.nanos > 0 else -nanos, self.format)

    def __bool__(self) -> bool:
        return self.nanos != 0

    # By hand: what attrs makes compares tuples, in ten times as long.
    def __lt__(self, other: Quantity) -> bool:
        return self.nanos < other.nanos

    def __le__(self, other: Quantity) -> bool:
        return self.nanos <= other.nanos

    def __gt__(self, other: Quantity) -> bool:
        return self.nanos > other.nanos

    def __ge__(self, other: Quantity) -> bool:
        return self.nanos >= other.nanos

    def __add__(self, other: Quantity) -> Quantity:
        return Quantity(_bounded(self.nanos + other.nanos), self.format if self.nanos else other.format)

    def __sub__(self, other: Quantity) -> Quantity:
        return Quantity(_bounded(self.nanos - other.nanos), self.format if self.nanos else other.format)

    def __neg__(self) -> Quantity:
        return Quantity(-self.nanos, self.format)

    def __str__(self) -> str:
        """The canonical form, as Go's CanonicalizeBytes: "1536Mi", "1181116006400m", "12e3"."""
        nanos = self.nanos
        if nanos == 0:
            return "0"
        if self.format is Format.BINARY_SI and abs(nanos) >= 1024 * NANOS and nanos % NANOS == 0:
            return _binary_text(nanos // NANOS)
        return _decimal_text(nanos, self.format is Format.DECIMAL_EXPONENT)


ZERO = Quantity(0)
Amounts = Mapping[str, Quantity]  # by the name of the resource: "cpu", "memory", "limits.cpu"


def parse(text: str) -> Quantity:
    """The amount that *text* means (Go: resource.ParseQuantity).

    Raises ValueError, with a sentence that shows *text*, on what Go refuses. O(len(text)).
    """
    if len(text) > LONGEST_TEXT:  # outside the cache, which would hash it
        raise ValueError(f"a quantity has at most {LONGEST_TEXT} characters, this one has {len(text)}: {text[:20]!a}…")
    return _parsed(text)


@lru_cache(maxsize=4096)  # a cluster writes few different amounts
def _parsed(text: str) -> Quantity:
    shape = _SHAPE.fullmatch(text) if text else None
    if shape is None:
        raise _refusal(text, "expected a number and a unit, such as 500m, 1.5, 64Mi or 2G")
    sign, whole, fraction, suffix = shape.groups("")
    digits, places = whole + fraction, len(fraction)
    if suffix in _BINARY:
        power = _BINARY[suffix]
        written_format = Format.BINARY_SI
        # Go takes a bare "Ki" for zero, but not a bare "Ei": its fast path, which needs no digit, ends at 15 decimal places.
        if not digits and power > 40:
            raise _refusal(text, "it has no digits")
        nanos = min(_shifted(int(digits or "0") * 2**power, 9 - places), _MOST_BINARY_NANOS)
        if 0 < nanos < NANOS:
            written_format = Format.DECIMAL_SI
    else:
        exponent, written_format = _decimal_exponent(text, suffix)
        if not digits and exponent < -9:
            raise _refusal(text, "it has no digits")
        nanos = _shifted(int(digits or "0"), 9 - _int32(places + _int32(-exponent)))
    return Quantity(-nanos if sign == "-" else nanos, written_format, text)


def read(value: object) -> Quantity:
    """The amount of a JSON *value* (Go: Quantity.UnmarshalJSON): a text, with blanks around it or not, or a number. null is 0.

    Raises ValueError as `parse`, and on every other type.
    """
    if type(value) is str:
        return parse(value.strip(_TRIMMED) if value[:1] in _TRIMMED or value[-1:] in _TRIMMED else value)
    if value is None:
        return ZERO
    if type(value) is int:
        # Only a number this long could make str() slow, or refuse (sys.set_int_max_str_digits).
        if value.bit_length() > LONGEST_TEXT * 4:
            raise ValueError(f"a quantity has at most {LONGEST_TEXT} characters, this number has more")
        return parse(str(value))
    if type(value) is float:
        return parse(repr(value).removesuffix(".0"))
    raise ValueError(f"expected a quantity (a text or a number), found {_kind(value)}")


def read_amounts(value: object, path: str) -> dict[str, Quantity]:
    """The amounts of a JSON object (requests, hard); {} when absent or null. *path* is its place, for the message.

    Raises ValueError that names the field.
    """
    if value is None:
        return {}
    if type(value) is not dict:
        raise ValueError(f"{path}: expected an object, found {_kind(value)}")
    amounts = {}
    for resource, amount in value.items():
        try:
            amounts[resource] = read(amount)
        except ValueError as error:
            raise ValueError(f"{field_of(path, resource)}: {error}") from None
    return amounts


def in_whole_millis(amounts: Amounts) -> Amounts:
    """*amounts* as the API server stores them; the same value when nothing changes."""
    if any(amount.nanos % NANOS_OF_A_MILLI for amount in amounts.values()):
        return {resource: amount.in_whole_millis() for resource, amount in amounts.items()}
    return amounts


def field_of(path: str, resource: str) -> str:
    """The path of a resource's amount: "spec.overhead.cpu", "spec.overhead[nvidia.com/gpu]"."""
    return f"{path}[{resource}]" if "/" in resource or "." in resource else f"{path}.{resource}"


def ratio(limit: Quantity, request: Quantity, most: Quantity) -> Quantity:
    """How many times *request*, which is not 0, *limit* is: rounded up to a billionth, and written so that it is seen to
    exceed *most*, in some thirty characters. No amount is too large.
    """
    nanos = -(-limit.nanos * NANOS // request.nanos)
    found, bound = Decimal(nanos).scaleb(-9), Decimal(most.nanos).scaleb(-9)
    for digits in _DIGITS_OF_A_RATIO:
        rounded = Context(prec=digits).create_decimal(found).normalize()
        if rounded > bound:
            return Quantity(nanos, written=f"{rounded:f}" if rounded.adjusted() < digits else f"{rounded:e}")
    return Quantity(nanos, written=f"more than {most.shown}")


# -- reading -------------------------------------------------------------------------------------------------------


def _decimal_exponent(text: str, suffix: str) -> tuple[int, Format]:
    exponent = _DECIMAL.get(suffix)
    if exponent is not None:
        return exponent, Format.DECIMAL_SI
    if not _EXPONENT.fullmatch(suffix):
        units = ", ".join((*filter(None, _DECIMAL), *_BINARY))
        raise _refusal(text, f'"{_shown(suffix)}" is no unit (there are {units} and exponents such as e3)')
    parsed = int(suffix[1:])
    if not -_INT64 <= parsed < _INT64:
        raise _refusal(text, "its exponent is out of range")
    return _int32(parsed), Format.DECIMAL_EXPONENT  # Go cuts it to 32 bits without looking


def _refusal(text: str, reason: str) -> ValueError:
    mistaken = _MISTAKEN.fullmatch(text)
    unit = _MEANT.get(mistaken[2].lower()) if mistaken else None
    meant = f"; did you mean {' or '.join(mistaken[1] + one for one in unit.split())}?" if mistaken and unit else ""
    return ValueError(f'"{_shown(text)}" is not a quantity: {reason}{meant}')


def _shifted(number: int, places: int) -> int:
    """*number* times 10^*places*, rounded up, at most _MOST_NANOS. Work is bounded by _MOST_DIGITS, not by *places*."""
    if number == 0 or places == 0:
        return number
    if places < 0:
        # A number of b bits is below 10^b, so that anything further right is a part of one nano.
        return 1 if -places > number.bit_length() else -(-number // _ten_to(-places))
    return _MOST_NANOS if places > _MOST_DIGITS else min(number * _ten_to(places), _MOST_NANOS)


def _ten_to(power: int) -> int:
    result: int = 10**power  # the type checker thinks that it may be a float
    return result


def _bounded(nanos: int) -> int:
    return nanos if -_MOST_NANOS < nanos < _MOST_NANOS else max(-_MOST_NANOS, min(nanos, _MOST_NANOS))


def _int32(number: int) -> int:
    return (number + 2**31) % 2**32 - 2**31


# -- writing -------------------------------------------------------------------------------------------------------


def _binary_text(units: int) -> str:
    power = 0
    while units % 1024 == 0 and power < len(_BINARY_SUFFIXES) - 1:
        units //= 1024
        power += 1
    return f"{units}{_BINARY_SUFFIXES[power]}"


def _decimal_text(nanos: int, as_exponent: bool) -> str:
    digits = str(nanos)
    mantissa = digits.rstrip("0")
    exponent = len(digits) - len(mantissa) - 9
    padding = exponent % 3
    mantissa += "0" * padding
    exponent -= padding
    if as_exponent or exponent > _LAST_SUFFIX:
        return f"{mantissa}e{exponent}" if exponent else mantissa
    return mantissa + _DECIMAL_SUFFIX[exponent]


def _shown(text: str) -> str:
    shown = text if text.isprintable() else ascii(text)[1:-1]
    return shown if len(shown) <= 40 else f"{shown[:40]}…"


def _kind(value: object) -> str:
    return {bool: "a boolean", int: "a number", float: "a number", str: "a string", dict: "an object", list: "a list"}.get(
        type(value), "something else"
    )


# -- advice --------------------------------------------------------------------------------------------------------

_MOST_CORES = 100  # few nodes have more, and hardly a container asks for so many
_MOST_BYTES = 2**50
_LEAST_MEMORY = 2**20  # no process fits into less
_LEAST_STORAGE = 2**10
_MANY = 10**18  # whose digits nobody counts


def hint(resource: str, text: str) -> str | None:
    """What *text* was probably meant to be, as a whole sentence; None when it looks right, or is no quantity at all.

    resource: as in requests and limits, or with the prefix of a quota: "cpu", "memory", "limits.memory".
    """
    try:
        amount = parse(text)
    except ValueError:
        return None
    resource = resource.removeprefix("requests.").removeprefix("limits.")
    if amount.nanos <= 0:
        return None
    if resource == "cpu":
        return _cpu_hint(amount)
    if resource in ("memory", "ephemeral-storage", "storage") or resource.startswith("hugepages-"):
        return _bytes_hint(resource, amount)
    return None


def _cpu_hint(amount: Quantity) -> str | None:
    text = amount.shown
    number = text.rstrip("eEinumkKMGTP")
    if amount.format is Format.BINARY_SI:
        return f"cpu {text} has a unit of bytes and means {_cores(amount)}: {number} or {number}m was probably meant"
    if amount.nanos >= _MOST_CORES * NANOS:
        meant = f"{number}m" if number == text and number.isdigit() else "a unit such as m"
        return f"cpu {text} means {_cores(amount)}: {meant} was probably meant"
    if amount.nanos % NANOS_OF_A_MILLI:
        return f"cpu {text} is finer than 1m, the least that counts: it is taken for {amount.millis}m"
    return None


def _bytes_hint(resource: str, amount: Quantity) -> str | None:
    text = amount.shown
    least = _LEAST_STORAGE if resource != "memory" else _LEAST_MEMORY
    number = text.rstrip("num")
    if amount.nanos < least * NANOS:
        if number != text:
            meant = f"{number}Mi or {number}M"
        elif text.isdigit():
            meant = f"{text}Mi"
        else:
            meant = "a larger unit"
        return f"{resource} {text} means {_bytes(amount)}: {meant} was probably meant"
    if amount.nanos % NANOS:
        stored = f", and is stored as {amount}" if number == text else ""
        return f"{resource} {text} means {_bytes(amount)}, no whole number{stored}: write {_whole(amount)}"
    if amount.nanos >= _MOST_BYTES * NANOS:
        return f"{resource} {text} means {_whole(amount)}, more than any node has"
    return None


def _cores(amount: Quantity) -> str:
    return f"{Quantity(amount.units * NANOS).shown} cores" if amount.units >= _MANY else f"{amount.units} cores"


def _bytes(amount: Quantity) -> str:
    whole, part = divmod(amount.nanos, NANOS)
    number = f"{whole}.{part:09d}".rstrip("0").rstrip(".")
    return f"{number} byte" if number == "1" else f"{number} bytes"


def _whole(amount: Quantity) -> str:
    """The nearest amount without parts of bytes, in the largest binary unit that leaves three digits or more."""
    units = amount.units
    for power in range(6, 0, -1):
        if units >= 100 * 1024**power:
            whole = -(-units // 1024**power)
            return f"{whole}{_BINARY_SUFFIXES[power]}" if whole < _MANY else f"{amount.shown} bytes"
    return str(units)
