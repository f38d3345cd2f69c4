"""What is asked of the API server about a caller, and what its answers mean. Pure.

Source: RFC 6750 (bearer tokens); kubernetes.io/docs: Authenticating, Authorization (nonResourceAttributes); API reference
of TokenReview and SubjectAccessReview.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Any, Final

import attrs

from webhook.objects.meta import Json

TOKEN_REVIEWS: Final = "/apis/authentication.k8s.io/v1/tokenreviews"
ACCESS_REVIEWS: Final = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
# HEAD answers less than GET, and whoever may read may ask how much there is.
VERBS: Final = {"GET": "get", "HEAD": "get", "POST": "post"}  # POST: /explain alone

PAGES: Final = frozenset(("/metrics", "/status", "/statusz", "/explain"))  # of the metrics port; nobody is asked about others

# RFC 6750, section 2.1. A ServiceAccount's token is about 1 KiB, one of an OIDC provider with many groups a few of them.
_BEARER: Final = re.compile(r"[Bb][Ee][Aa][Rr][Ee][Rr] +([A-Za-z0-9._~+/-]{1,16384}={0,2})")


class Unusable(ValueError):
    """An answer of the API server that is none."""


class Outcome(StrEnum):
    """What becomes of a request; the label of the counter."""

    ALLOWED = "allowed"
    UNAUTHENTICATED = "unauthenticated"  # no token, or none that the API server knows
    FORBIDDEN = "forbidden"
    UNAVAILABLE = "unavailable"  # could not decide: the API server did not answer


@attrs.frozen
class Caller:
    """Who the API server says that the bearer of a token is."""

    user: str
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: tuple[tuple[str, tuple[str, ...]], ...] = ()


@attrs.frozen
class Verdict:
    """What to answer. retry_after_s: with UNAVAILABLE, seconds; user: with FORBIDDEN."""

    outcome: Outcome
    user: str = ""
    retry_after_s: int = 1


def bearer_token(header: str) -> str | None:
    """The token of an Authorization *header*; None when there is none, or not one token."""
    found = _BEARER.fullmatch(header.strip())
    return found[1] if found else None


def token_review(token: str) -> Json:
    """The question who the bearer of *token* is."""
    return {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": token}}


def caller_of(answer: Json) -> Caller | None:
    """Who it is; None for a token that is not good. Raises Unusable."""
    status = _object(answer, "status")
    if status.get("authenticated") is not True:
        return None
    user = _object(status, "user")
    name = user.get("username")
    if not isinstance(name, str) or not name:
        raise Unusable("a TokenReview without status.user.username")
    extra = _object(user, "extra")
    return Caller(name, _text(user.get("uid")), _texts(user.get("groups")), tuple((key, _texts(extra[key])) for key in extra))


def access_review(caller: Caller, verb: str, path: str) -> Json:
    """The question whether *caller* may *verb* the URL path *path*."""
    return {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "spec": {
            "nonResourceAttributes": {"path": path, "verb": verb},
            "user": caller.user,
            "uid": caller.uid,
            "groups": list(caller.groups),
            "extra": {key: list(values) for key, values in caller.extra},
        },
    }


def is_allowed(answer: Json) -> bool:
    """What a SubjectAccessReview says. Raises Unusable."""
    status = _object(answer, "status")
    return status.get("allowed") is True and status.get("denied") is not True


def _object(holder: Json, key: str) -> dict[str, Any]:
    value = holder.get(key)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise Unusable(f"{key} of a review is no object")
    return value


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _texts(value: Any) -> tuple[str, ...]:
    if value is None:
        return ()
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise Unusable("groups or extra of a TokenReview are no lists of strings")
    return tuple(value)
