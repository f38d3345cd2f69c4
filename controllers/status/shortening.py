"""Names and texts of a status, each in one line as long as a terminal and a page bear: users name as they like. Pure."""

from __future__ import annotations

from typing import Any, Final

from controllers.wording import one_line
from webhook.objects.dns_names import SUBDOMAIN_LIMIT
from webhook.objects.meta import Json

NAME_LIMIT: Final = SUBDOMAIN_LIMIT  # characters; kubernetes.io/docs, "Object Names and IDs": no name of an object is longer
TEXT_LIMIT: Final = 1000  # of sentences, which have names in them
_TEXTS: Final = frozenset({"message", "error", "lastError", "trouble", "fault", "obstacle", "waitsFor", "checks"})


def shortened(status: Json) -> Json:
    """*status* with every name of at most NAME_LIMIT characters, every sentence of at most TEXT_LIMIT; a cut one ends in ….

    Line breaks are written out then, two characters or more for each.
    """
    return {cut(key, NAME_LIMIT): _value(value, key) for key, value in status.items()}


def cut(text: str, limit: int) -> str:
    """*text* in one line, of which at most *limit* characters are left before "…"."""
    return one_line(text if len(text) <= limit else f"{text[:limit]}…")


def _value(value: Any, key: str) -> Any:
    if isinstance(value, str):
        return cut(value, TEXT_LIMIT if key in _TEXTS else NAME_LIMIT)
    if isinstance(value, dict):
        inside = key if key in _TEXTS else ""
        return {cut(str(inner), NAME_LIMIT): _value(one, inside or str(inner)) for inner, one in value.items()}
    return [_value(one, key) for one in value] if isinstance(value, (list, tuple)) else value
