"""What an unquoted YAML word means to the Go API machinery: a null, a boolean, a number or just a string.

Pure. YAML 1.1 words (`yes`, `off`), octals as `017` and `0o17`, `08` is 8, `1e3` is 1000; no dates, no sexagesimals.
Source: sigs.k8s.io/yaml 1.6 and the go-yaml v2 below it (resolve.go); tests/oracles/yaml compares with both.
"""

from __future__ import annotations

import base64
import binascii
import math
import re
import struct
from typing import Final

Scalar = None | bool | int | float | str

_TRUE: Final = ("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON")
_FALSE: Final = ("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF")
_NULL: Final = ("", "~", "null", "Null", "NULL")
_NAN: Final = (".nan", ".NaN", ".NAN")
_INFINITY: Final = (".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF")
_MINUS_INFINITY: Final = ("-.inf", "-.Inf", "-.INF")
_WORDS: Final[dict[str, Scalar]] = {
    **dict.fromkeys(_TRUE, True),
    **dict.fromkeys(_FALSE, False),
    **dict.fromkeys(_NULL, None),
    **dict.fromkeys(_NAN, math.nan),
    **dict.fromkeys(_INFINITY, math.inf),
    **dict.fromkeys(_MINUS_INFINITY, -math.inf),
}
# A word that starts otherwise is a string; most do, so this one look-up decides for them.
_SPECIAL_START: Final = frozenset("+-0123456789.yYnNtTfFoO~")

# Go's strconv.ParseInt with base 0.
_INTEGER: Final = re.compile(r"([-+]?)(?:0[xX]([0-9a-fA-F]+)|0[bB]([01]+)|0[oO]?([0-7]+)|(0|[1-9][0-9]*))")
_BASES: Final = (16, 2, 8, 10)
_FLOAT: Final = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
# A word that starts with a point keeps its underscores; Go allows them between digits there.
_POINT_FLOAT: Final = re.compile(r"\.[0-9]+(_[0-9]+)*([eE][-+]?[0-9]+(_[0-9]+)*)?")

_TAG: Final = "tag:yaml.org,2002:"
_RESOLVABLE: Final = frozenset(("str", "bool", "int", "float", "null", "timestamp"))


def resolve_plain(word: str) -> Scalar:
    """The value of the unquoted, untagged *word*. Floats may be infinite or NaN; they are not made integers yet."""
    if not word:
        return None
    first = word[0]
    if first not in _SPECIAL_START:
        return word
    if word in _WORDS:
        return _WORDS[word]
    if first == ".":
        return _float(word, word.replace("_", "")) if _POINT_FLOAT.fullmatch(word) else word
    return _number(word) if first in "+-0123456789" else word


def resolve_tagged(tag: str, word: str) -> Scalar:
    """The value of a scalar that carries *tag*; unknown tags leave a string, as in Go.

    Raises ValueError when the word is not of that type (`!!int x`), or binary data that is not text.
    """
    kind = tag.removeprefix(_TAG) if tag.startswith(_TAG) else ""
    if kind == "binary":
        return _binary(word)
    if kind not in _RESOLVABLE or kind == "str":
        return word
    value = resolve_plain(word)
    if kind == "float" and _is_int(value):
        return float(value)  # type: ignore[arg-type]
    if kind == "timestamp" and re.match(r"[0-9]{4}-", word):
        return word
    if not _has_type(value, kind):
        raise ValueError(f"cannot read {word[:64]!r} as a !!{kind}")
    return value


def json_number(value: float) -> int | float:
    """*value* as it arrives behind Go's JSON: an integer when it is one and fits 64 bits (1e3 -> 1000, -0.0 -> 0).

    Raises ValueError for NaN and infinity, which JSON cannot hold.
    """
    if not math.isfinite(value):
        raise ValueError(f"{value} is not a number that JSON can hold")
    return int(value) if value.is_integer() and -(2**63) <= value < 2**63 else value


def key_text(value: Scalar) -> str:
    """The string that a mapping key becomes in JSON. Raises ValueError where sigs.k8s.io/yaml refuses one."""
    match value:
        case str():
            return value
        case bool():
            return "true" if value else "false"
        case int() if value < 2**63:
            return str(value)
        case float():
            return _float32_text(value)
        case None:
            raise ValueError("a key is missing or null (write it in quotes when it is meant as text)")
    raise ValueError(f"the key {value} is out of range (write it in quotes when it is meant as text)")


def _number(word: str) -> Scalar:
    plain = word.replace("_", "")
    match = _INTEGER.fullmatch(plain)
    if match:
        sign = match[1]
        digits, base = next((found, base) for found, base in zip(match.groups()[1:], _BASES, strict=True) if found)
        # 64 bits are at most 64 digits; the check keeps a megabyte of digits from being counted.
        if len(digits.lstrip("0")) <= 64:
            value = -int(digits, base) if sign == "-" else int(digits, base)
            if -(2**63) <= value < (2**63 if sign else 2**64):
                return value
    return _float(word, plain) if _FLOAT.fullmatch(plain) else word


def _float(word: str, plain: str) -> float | str:
    value = float(plain)
    return value if math.isfinite(value) else word  # out of range: Go leaves the string


def _has_type(value: Scalar, kind: str) -> bool:
    match kind:
        case "bool":
            return isinstance(value, bool)
        case "int":
            return _is_int(value)
        case "float":
            return isinstance(value, float)
        case "null":
            return value is None
    return False


def _is_int(value: Scalar) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _binary(word: str) -> str:
    try:
        return base64.b64decode(word.replace("\n", "").replace("\r", ""), validate=True).decode()
    except (binascii.Error, ValueError) as error:
        raise ValueError("!!binary needs base64 of UTF-8 text here; leave the tag out to keep the base64") from error


def _float32_text(value: float) -> str:
    """Go's FormatFloat(value, 'g', -1, 32), with YAML's words for what is not finite."""
    if math.isnan(value):
        return ".nan"
    try:
        single: float = struct.unpack("f", struct.pack("f", value))[0]
    except OverflowError:
        single = math.copysign(math.inf, value)
    if math.isinf(single):
        return ".inf" if single > 0 else "-.inf"
    for precision in range(9):
        text = f"{single:.{precision}e}"
        if struct.unpack("f", struct.pack("f", float(text)))[0] == single:
            break
    mantissa, _, exponent = text.partition("e")
    power = int(exponent)
    if power < -4 or power >= 6:
        return f"{mantissa}e{'-' if power < 0 else '+'}{abs(power):02d}"
    return f"{single:.{max(0, len(mantissa.partition('.')[2]) - power)}f}"
