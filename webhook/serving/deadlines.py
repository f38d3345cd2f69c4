"""How long the caller of a request will wait: the `timeout` of its query. Pure.

Source: apiserver pkg/util/webhook (POST path?timeout=10s), Go time.ParseDuration (grammar).
"""

from __future__ import annotations

import re
from urllib.parse import parse_qs

_UNITS_S = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ns": 1e-9}
_PART = r"(\d+(?:\.\d*)?|\.\d+)(h|ms|m|s|us|µs|μs|ns)"
_PARTS = re.compile(_PART, re.ASCII)
_DURATION = re.compile(rf"\+?(?:{_PART})+", re.ASCII)


def caller_timeout_s(query: str) -> float | None:
    """Seconds that `timeout=` in *query* allows (Go duration: `10s`, `1m30s`); None when absent or not above zero."""
    if "timeout=" not in query or len(query) > 1024:
        return None
    value = parse_qs(query).get("timeout", [""])[0]
    if not _DURATION.fullmatch(value):
        return None
    seconds = sum(float(number) * _UNITS_S[unit] for number, unit in _PARTS.findall(value))
    return seconds if seconds > 0 else None
