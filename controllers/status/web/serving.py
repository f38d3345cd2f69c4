"""What goes with the page over HTTP: the query that it understands, and the headers that keep it to itself.

The policy lets in one style sheet, by its hash, and the icon, which is in the page; nothing is fetched, no script runs, nobody
may frame it. Pure. Source: Content Security Policy 3; Fetch (Cross-Origin-Resource-Policy); OWASP HTTP headers cheat sheet.
"""

from __future__ import annotations

from typing import Final
from urllib.parse import parse_qs

from controllers.status.web.style import CSS_HASH

CONTENT_TYPE: Final = "text/html; charset=utf-8"
LEAST_REFRESH_S: Final = 2  # the page costs milliseconds, and a reader needs a moment
MOST_REFRESH_S: Final = 3600
POLICY: Final = (
    f"default-src 'none'; style-src '{CSS_HASH}'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS: Final = (
    ("Content-Security-Policy", POLICY),
    ("X-Frame-Options", "DENY"),
    ("Referrer-Policy", "no-referrer"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
    ("Cross-Origin-Opener-Policy", "same-origin"),
)


def refresh_s(query: str) -> int | None:
    """The seconds of `refresh=30` in *query*, within LEAST_REFRESH_S and MOST_REFRESH_S; None where nobody asks for it.

    Raises ValueError on a query with too many fields.
    """
    wanted = parse_qs(query, max_num_fields=32).get("refresh", [""])[-1]
    if not (wanted.isascii() and wanted.isdecimal() and len(wanted) < 9):
        return None
    return min(MOST_REFRESH_S, max(LEAST_REFRESH_S, int(wanted)))
