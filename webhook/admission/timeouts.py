"""How long the caller of a request will wait: the `timeout` of its query. Pure.

Read by the server, for how long a body may take to arrive, and by the admission core, for how long a decision may.
Source: apiserver pkg/util/webhook (POST path?timeout=10s), Go time.ParseDuration, net/url (of several the first counts).
"""

from __future__ import annotations

from urllib.parse import parse_qs

from webhook.objects.durations import parse_duration_s

# The API server gives at most 30 s (timeoutSeconds of a registration).
LONGEST_TIMEOUT_S = 30.0


def caller_timeout_s(query: str) -> float | None:
    """Seconds that `timeout=` in *query* allows, at most 30; None when it is absent, unreadable or not above zero."""
    if "timeout=" not in query:
        return None
    try:
        seconds = parse_duration_s(parse_qs(query, max_num_fields=16).get("timeout", [""])[0])
    except ValueError:
        return None
    return min(seconds, LONGEST_TIMEOUT_S) if seconds > 0 else None
