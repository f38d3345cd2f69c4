"""Durations as Go writes them: `1h30m`, `300ms`, `1.5s`.

Pure. The grammar, the rounding and the range (a signed 64-bit count of nanoseconds, some 292 years) are those of
Go's time.ParseDuration and Duration.String, so that a value means the same here as in any other Kubernetes file.
"""

from __future__ import annotations

from typing import Final

from webhook.objects.faults import quoted

_UNITS_NS: Final = {
    "ns": 1,
    "us": 1_000,
    "µs": 1_000,  # U+00B5, the micro sign
    "μs": 1_000,  # U+03BC, the Greek letter
    "ms": 1_000_000,
    "s": 1_000_000_000,
    "m": 60 * 1_000_000_000,
    "h": 3_600 * 1_000_000_000,
}
_DIGITS: Final = "0123456789"
_LARGEST_NS: Final = 2**63 - 1


def parse_duration_ns(text: str) -> int:
    """The nanoseconds of *text*; a fraction of a nanosecond is cut off.

    text: an optional sign, then numbers with units ("1h30m", "-1.5s"), or "0".
    Raises ValueError saying what is wrong: no unit, an unknown one, out of range, not a duration at all.
    """
    rest = text[1:] if text[:1] in ("+", "-") else text
    if rest == "0":
        return 0
    if not rest:
        raise _invalid(text)
    total_ns = 0
    while rest:
        value_ns, rest = _leading_term(text, rest)
        total_ns += value_ns
        if total_ns > _LARGEST_NS + 1:
            raise _invalid(text, ": longer than 292 years")
    if text[0] == "-":
        return -total_ns
    if total_ns > _LARGEST_NS:
        raise _invalid(text, ": longer than 292 years")
    return total_ns


def parse_duration_s(text: str) -> float:
    """The seconds of *text*. Raises ValueError as `parse_duration_ns` does."""
    return parse_duration_ns(text) / 1e9


def format_duration_ns(nanoseconds: int) -> str:
    """*nanoseconds* in Go's words: "0s", "1.5s", "300ms", "1h30m0s". `parse_duration_ns` reads it back exactly."""
    sign = "-" if nanoseconds < 0 else ""
    left_ns = abs(nanoseconds)
    if left_ns == 0:
        return "0s"
    if left_ns < _UNITS_NS["s"]:
        for unit in ("ms", "µs", "ns"):
            if left_ns >= _UNITS_NS[unit]:
                return f"{sign}{_decimal(left_ns, _UNITS_NS[unit])}{unit}"
    hours, left_ns = divmod(left_ns, _UNITS_NS["h"])
    minutes, left_ns = divmod(left_ns, _UNITS_NS["m"])
    seconds = f"{_decimal(left_ns, _UNITS_NS['s'])}s"
    if hours:
        return f"{sign}{hours}h{minutes}m{seconds}"
    return f"{sign}{minutes}m{seconds}" if minutes else f"{sign}{seconds}"


def format_duration_s(seconds: float) -> str:
    """*seconds*, rounded to nanoseconds, in Go's words."""
    return format_duration_ns(round(seconds * 1e9))


def _leading_term(text: str, rest: str) -> tuple[int, str]:
    """The nanoseconds of the first number and unit of *rest*, and what comes after them."""
    whole, rest = _split_digits(rest)
    fraction = ""
    if rest[:1] == ".":
        fraction, rest = _split_digits(rest[1:])
    if not whole and not fraction:
        raise _invalid(text)
    unit, rest = _split_unit(rest)
    if not unit:
        raise ValueError(f'missing unit in duration {quoted(text)} (units: "ms", "s", "m", "h")')
    if unit not in _UNITS_NS:
        raise ValueError(f'unknown unit {quoted(unit)} in duration {quoted(text)} (units: "ms", "s", "m", "h")')
    unit_ns = _UNITS_NS[unit]
    # More than 19 significant digits cannot be in range, and Python would count a megabyte of them in quadratic time.
    if len(whole.lstrip("0")) > len(str(_LARGEST_NS)):
        raise _invalid(text, ": longer than 292 years")
    return int(whole or "0") * unit_ns + _fraction_ns(fraction, unit_ns), rest


def _fraction_ns(digits: str, unit_ns: int) -> int:
    # Go does this step in floating point; so do we, or the last nanosecond would differ.
    value, scale = 0, 1.0
    for digit in digits:
        if value > _LARGEST_NS // 10:
            break  # Go too ignores what no longer fits into 63 bits
        value, scale = value * 10 + int(digit), scale * 10
    return int(float(value) * (float(unit_ns) / scale))


def _decimal(value: int, unit: int) -> str:
    """Value / unit as the shortest decimal; unit is a power of ten."""
    whole, fraction = divmod(value, unit)
    if not fraction:
        return str(whole)
    return f"{whole}.{str(fraction).zfill(len(str(unit)) - 1).rstrip('0')}"


def _split_digits(text: str) -> tuple[str, str]:
    rest = text.lstrip(_DIGITS)
    return text[: len(text) - len(rest)], rest


def _split_unit(text: str) -> tuple[str, str]:
    end = 0
    while end < len(text) and text[end] != "." and text[end] not in _DIGITS:
        end += 1
    return text[:end], text[end:]


def _invalid(text: str, why: str = "") -> ValueError:
    return ValueError(f"invalid duration {quoted(text)}{why}")
