"""Durations mean what they mean to Go: the values are those of time.ParseDuration and Duration.String."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from webhook.objects.durations import format_duration_ns, format_duration_s, parse_duration_ns, parse_duration_s

# A busy machine is no fault of the code.
CALM = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])

MINUTE_NS = 60 * 10**9
NANOSECONDS = st.integers(-(2**63), 2**63 - 1)


def attempt(text: str) -> tuple[str, int]:
    try:
        return "", parse_duration_ns(text)
    except ValueError as error:
        return str(error), 2**63


@pytest.mark.parametrize(
    ("text", "nanoseconds"),
    [
        ("0", 0),
        ("+0", 0),
        ("-0", 0),
        ("0s", 0),
        ("5s", 5 * 10**9),
        ("-5s", -5 * 10**9),
        ("+5s", 5 * 10**9),
        ("5.0s", 5 * 10**9),
        ("5.s", 5 * 10**9),
        (".5s", 5 * 10**8),
        ("1.004s", 1_004_000_000),
        ("100.00100s", 100_001_000_000),
        ("10ns", 10),
        ("11us", 11_000),
        ("12µs", 12_000),
        ("12μs", 12_000),
        ("13ms", 13_000_000),
        ("1h30m", 90 * MINUTE_NS),
        ("-1.5h", -90 * MINUTE_NS),
        ("1h15m30.918273645s", 4_530_918_273_645),
        ("0.3333333333333333333h", 20 * MINUTE_NS),
        ("0.100000000000000000000h", 6 * MINUTE_NS),
        ("0.830103483285477580700h", 49 * MINUTE_NS + 48_372_539_827),
        ("9223372036854775807ns", 2**63 - 1),
        ("-9223372036854775808ns", -(2**63)),
        ("-2562047h47m16.854775808s", -(2**63)),
        ("3s1s", 4 * 10**9),
    ],
)
def test_a_duration_is_read_as_go_reads_it(text: str, nanoseconds: int) -> None:
    assert parse_duration_ns(text) == nanoseconds


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", 'invalid duration ""'),
        ("-", 'invalid duration "-"'),
        ("s", 'invalid duration "s"'),
        (".", 'invalid duration "."'),
        (".s", 'invalid duration ".s"'),
        ("+.s", 'invalid duration "+.s"'),
        ("3", 'missing unit in duration "3"'),
        ("1.5", 'missing unit in duration "1.5"'),
        ("1h30", 'missing unit in duration "1h30"'),
        ("1d", 'unknown unit "d" in duration "1d"'),
        ("1e3s", 'unknown unit "e" in duration "1e3s"'),
        ("5 s", 'unknown unit " s" in duration "5 s"'),
        ("1h-1m", 'unknown unit "h-" in duration "1h-1m"'),
        ("1_000s", 'unknown unit "_" in duration "1_000s"'),
        ("١s", 'invalid duration "١s"'),
        ("9223372036854775808ns", 'invalid duration "9223372036854775808ns": longer than 292 years'),
        ("3000000h", 'invalid duration "3000000h": longer than 292 years'),
        ("-9223372036854775809ns", 'invalid duration "-9223372036854775809ns": longer than 292 years'),
    ],
)
def test_what_go_refuses_is_refused_with_the_reason(text: str, message: str) -> None:
    with pytest.raises(ValueError, match="duration") as refusal:
        parse_duration_ns(text)

    assert str(refusal.value).startswith(message)


def test_a_million_digits_are_refused_at_once() -> None:
    with pytest.raises(ValueError, match="292 years") as refusal:
        parse_duration_ns("9" * 1_000_000 + "s")

    assert len(str(refusal.value)) < 200


@pytest.mark.parametrize(
    ("nanoseconds", "text"),
    [
        (0, "0s"),
        (1, "1ns"),
        (1100, "1.1µs"),
        (2_200_000, "2.2ms"),
        (3_300_000_000, "3.3s"),
        (90 * MINUTE_NS, "1h30m0s"),
        (4 * MINUTE_NS + 5 * 10**9, "4m5s"),
        (4 * MINUTE_NS + 5_001_000_000, "4m5.001s"),
        (5 * 60 * MINUTE_NS + 6 * MINUTE_NS + 7_001_000_000, "5h6m7.001s"),
        (-(2**63), "-2562047h47m16.854775808s"),
    ],
)
def test_a_duration_is_written_as_go_writes_it(nanoseconds: int, text: str) -> None:
    assert format_duration_ns(nanoseconds) == text


@CALM
@given(NANOSECONDS)
def test_what_was_written_reads_back_the_same(nanoseconds: int) -> None:
    assert parse_duration_ns(format_duration_ns(nanoseconds)) == nanoseconds


@CALM
@given(st.text("0123456789.hmsunµ-+ ", max_size=12))
def test_every_text_is_a_duration_or_a_clear_error(text: str) -> None:
    fault, nanoseconds = attempt(text)

    assert "duration" in fault or -(2**63) <= nanoseconds < 2**63


def test_seconds_are_floats() -> None:
    assert parse_duration_s("1m30.5s") == 90.5
    assert format_duration_s(90.5) == "1m30.5s"
