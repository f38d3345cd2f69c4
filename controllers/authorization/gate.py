"""The WSGI application around the pages of the metrics port: only whom the cluster allows comes through.

No path is there but PAGES, and nobody is asked about another: else callers would choose how much is asked. What passes carries
AUTHORIZED in its environ; a page that is else for loopback only may be shown then. Any thread.
Source: PEP 3333; RFC 6750, section 3 (WWW-Authenticate); RFC 9110 (405, 503, Retry-After).
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final, Protocol

from controllers.authorization.decision import PAGES, VERBS, Outcome, Verdict

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

AUTHORIZED: Final = "gatehouse.authorized"  # str: the user; no header of a request can set it
_REALM: Final = 'Bearer realm="gatehouse"'


class Authorizes(Protocol):
    """Decides who may read. `authorizer.Authorizer` does."""

    def authorize(self, header: str, verb: str, path: str, peer: str) -> Verdict:
        """May whoever sends the Authorization *header* from the address *peer* *verb* the URL *path*?"""


def protected(pages: WSGIApplication, authorizer: Authorizes, *, trust_loopback: bool) -> WSGIApplication:
    """*pages*, for whom *authorizer* lets in. trust_loopback: who comes from 127.0.0.1 without a token sees what they show."""

    def respond(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        environ.pop(AUTHORIZED, None)
        header, verb = environ.get("HTTP_AUTHORIZATION", ""), VERBS.get(environ["REQUEST_METHOD"])
        if verb is None:
            return _refuse(environ, start_response, "405 Method Not Allowed", "only reading", ("Allow", ", ".join(VERBS)))
        if not header and trust_loopback and is_loopback(environ.get("REMOTE_ADDR", "")):
            return pages(environ, start_response)
        path = environ.get("PATH_INFO") or "/"
        if header and path not in PAGES:
            return _refuse(environ, start_response, "404 Not Found", f"have {', '.join(sorted(PAGES))}")
        verdict = authorizer.authorize(header, verb, path, environ.get("REMOTE_ADDR", ""))
        if verdict.outcome is Outcome.ALLOWED:
            environ[AUTHORIZED] = verdict.user
            return pages(environ, start_response)
        if verdict.outcome is Outcome.FORBIDDEN:
            role = f"{{nonResourceURLs: [{path}], verbs: [{verb}]}}"
            text = f"{verdict.user} may not {verb} {path}: bind it to a ClusterRole with {role}"
            return _refuse(environ, start_response, "403 Forbidden", text)
        if verdict.outcome is Outcome.UNAVAILABLE:
            retry = ("Retry-After", str(verdict.retry_after_s))
            return _refuse(environ, start_response, "503 Service Unavailable", "the API server does not say who you are", retry)
        challenge = f'{_REALM}, error="invalid_token"' if header else _REALM
        text = "a bearer token that the cluster knows is needed"
        return _refuse(environ, start_response, "401 Unauthorized", text, ("WWW-Authenticate", challenge))

    return respond


def is_loopback(address: str) -> bool:
    """Whether the peer's *address* is this machine's, or this pod's."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return False
    mapped = getattr(parsed, "ipv4_mapped", None)  # a dual-stack socket shows 127.0.0.1 as ::ffff:127.0.0.1
    return bool((mapped or parsed).is_loopback)


def _refuse(
    environ: WSGIEnvironment, start_response: StartResponse, status: str, text: str, *headers: tuple[str, str]
) -> Iterable[bytes]:
    body = f"{text}\n".encode()
    start_response(
        status,
        [
            ("Content-Type", "text/plain; charset=utf-8"),
            ("X-Content-Type-Options", "nosniff"),
            ("Cache-Control", "no-store"),
            *headers,
            ("Content-Length", str(len(body))),
        ],
    )
    return (b"" if environ["REQUEST_METHOD"] == "HEAD" else body,)
