from __future__ import annotations

import pytest

from controllers.wording import a, count, expiry, latency, rate, span


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        (a("dict"), "a dict"),
        (a("EnumType"), "an EnumType"),
        (a(""), "a "),
        (span(None), "unknown"),
        (span(0.4), "0 s"),
        (span(119), "119 s"),
        (span(7199), "120 min"),
        (span(7200), "2.0 h"),
        (span(200000), "2 days"),
        (expiry(5 * 86400.0), "in 5 days"),
        (expiry(0.0), "EXPIRED 0 s ago"),
        (expiry(None), "at an unknown time"),
        (latency(None), "–"),
        (latency(0.0004), "< 1 ms"),
        (latency(0.00321), "3.2 ms"),
        (latency(0.25), "250 ms"),
        (latency(1.5), "1.5 s"),
        (latency(10.0), "≥ 10 s"),
        (rate(None), "–"),
        (rate(0.0), "0"),
        (rate(0.004), "< 0.01/s"),
        (rate(0.5), "0.50/s"),
        (rate(38.44), "38.4/s"),
        (rate(1250.4), "1,250/s"),
        (count(1, "node"), "1 node"),
        (count(1200, "entry", "entries"), "1,200 entries"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_amounts_are_in_words(told: str, expected: str) -> None:
    assert told == expected
