"""Amounts in the words in which a person reads them: seconds, rates, latencies; texts of others as part of a line. Pure."""

from __future__ import annotations

import re
from typing import Final

from webhook.telemetry import LATENCY_BUCKETS_S

# What str.splitlines, a terminal or a pager takes for the end of a line.
_BREAKS: Final = re.compile("[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")


def one_line(text: str) -> str:
    r"""*text* with its line breaks written out, as \n or \u2028: what strangers named must not look like a line of ours."""
    return text if text.isprintable() else _BREAKS.sub(lambda found: ascii(found[0])[1:-1], text)


def span(seconds: float | None) -> str:
    """A length of time: "45 s", "12 min", "3.5 h", "40 days"; "unknown" for None."""
    if seconds is None:
        return "unknown"
    if seconds < 120:
        return f"{seconds:.0f} s"
    if seconds < 7200:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h" if seconds < 172800 else f"{seconds / 86400:.0f} days"


def expiry(seconds: float | None) -> str:
    """When something expires: "in 40 days", "EXPIRED 3 min ago"; "at an unknown time" for None."""
    if seconds is None:
        return "at an unknown time"
    return f"in {span(seconds)}" if seconds > 0 else f"EXPIRED {span(abs(seconds))} ago"


def latency(seconds: float | None) -> str:
    """A percentile estimated from buckets: "< 1 ms", "3.2 ms", "1.5 s", "≥ 10 s" (only a bound is known), a dash for None."""
    if seconds is None:
        return "–"
    if seconds >= LATENCY_BUCKETS_S[-1]:
        return f"≥ {LATENCY_BUCKETS_S[-1]:.0f} s"
    if seconds < LATENCY_BUCKETS_S[0]:
        return f"< {LATENCY_BUCKETS_S[0] * 1000:.0f} ms"
    return f"{seconds:.1f} s" if seconds >= 1 else f"{seconds * 1000:.{1 if seconds < 0.01 else 0}f} ms"


def rate(per_second: float | None) -> str:
    """Requests a second: "1,250/s", "12.0/s", "0.05/s", "0"; a dash for None."""
    if per_second is None:
        return "–"
    if per_second <= 0:
        return "0"
    if per_second < 1:
        return "< 0.01/s" if per_second < 0.01 else f"{per_second:.2f}/s"
    return f"{per_second:.1f}/s" if per_second < 100 else f"{per_second:,.0f}/s"


def a(noun: str) -> str:
    """*noun* with its article: "a dict", "an EnumType"."""
    return f"{'an' if noun[:1].lower() in frozenset('aeiou') else 'a'} {noun}"


def count(number: int, one: str, many: str = "") -> str:
    """A number and its noun: "1 node", "2 nodes"; *many* where an s does not do it."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"
