"""Whether contenders decide alike: what the patches make of the object, whether it is allowed, not in which words.

Two patches are equal when they make equal objects, where null, {} and [] are as good as absent: Go's types write them.
Errors: MeasureError with the first difference. One thread; a connection for each question.
"""

from __future__ import annotations

import base64
import http.client
import json
import ssl
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

import jsonpatch

from tests.bench import reviews
from tests.bench.contenders import Place, Server
from tests.bench.measure import MeasureError
from tests.bench.reviews import Review

WITHIN_S = 30.0
_VARIANTS = (0, reviews.BODIES - 1)  # the first and the last of what is sent


def check(servers: Sequence[Server], place: Place, cases: Sequence[str]) -> int:
    """Ask all for all of *cases*, and for some more that are not timed; how many answers were compared. Raises MeasureError."""
    context = ssl.create_default_context(cafile=str(place.ca_file))
    compared = 0
    for review in [*(reviews.CASES[case](variant) for case in cases for variant in _VARIANTS), *reviews.beside()]:
        answers = {
            server.contender.name: decision(ask(server, review, context), review)
            for server in servers
            if server.contender.decides
            and (review.name in server.contender.cases or review.name not in reviews.CASES)
            # What is beside the cases is for those that have all rules.
            and (review.name in reviews.CASES or len(server.contender.cases) == len(reviews.CASES))
        }
        first, *others = answers or ("",)
        for other in others:
            compared += 1
            if answers[other] != answers[first]:
                where, was, instead = difference(answers[first], answers[other])
                raise MeasureError(f"{review.name}: at {where or '/'} {first} has {was}, {other} has {instead}")
    return compared


def ask(server: Server, review: Review, context: ssl.SSLContext) -> Any:
    """The `response` of the answer. Raises MeasureError when it is none."""
    where = urlsplit(server.base)
    connection = http.client.HTTPSConnection(where.hostname or "", where.port, context=context, timeout=WITHIN_S)
    try:
        headers = {"Content-Type": "application/json", "Accept": "application/json, */*"}
        connection.request("POST", f"{review.path}?timeout=10s", review.body, headers)
        reply = connection.getresponse()
        text = reply.read()
    finally:
        connection.close()
    if reply.status != 200:
        raise MeasureError(f"{server.contender.name}: {review.name}: status {reply.status}: {text[:500]!r}")
    return json.loads(text)["response"]


def decision(response: Any, review: Review) -> Any:
    """What is compared: whether it is allowed, the object as it is afterwards, whether there are warnings."""
    sent = json.loads(review.body)["request"]["object"]
    patch = json.loads(base64.b64decode(response["patch"])) if response.get("patch") else []
    changed = jsonpatch.apply_patch(sent, patch) if patch else sent
    return {"allowed": response["allowed"], "object": _without_nothing(changed), "warned": bool(response.get("warnings"))}


def difference(one: Any, other: Any, path: str = "") -> tuple[str, str, str]:
    """Where two values begin to differ, and what is there of each."""
    if isinstance(one, dict) and isinstance(other, dict) and one.keys() == other.keys():
        return next(difference(one[key], other[key], f"{path}/{key}") for key in one if one[key] != other[key])
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        return next(
            difference(*pair, f"{path}/{at}") for at, pair in enumerate(zip(one, other, strict=True)) if pair[0] != pair[1]
        )
    return path, json.dumps(one)[:500], json.dumps(other)[:500]


def _without_nothing(value: Any) -> Any:
    """*value* without null, {} and [] at any depth."""
    if isinstance(value, dict):
        kept = {key: _without_nothing(one) for key, one in value.items()}
        return {key: one for key, one in kept.items() if one not in (None, {}, [])}
    if isinstance(value, list):
        return [_without_nothing(one) for one in value]
    return value
