"""A bearer token becomes a verdict: who is it (TokenReview), and may they (SubjectAccessReview).

Times as in kube-apiserver's own delegated authorization and controller-runtime: an identity stands for a minute, a right for
five, a refusal for half a minute. Nobody is let in on an answer that is older, also when the API server is away: then the
verdict is UNAVAILABLE. Tokens are known by a keyed hash; no token is kept, logged or part of a metric.

What is asked is shared among those who cause it: tokens that were not good before count for the address that shows them, the
others for their user. So whoever invents tokens, or collects good ones, uses up a share of their own.

Threads: any. A verdict takes at most Bounds.total_s. Errors: none.
Source:  apiserver pkg/authentication/authenticatorfactory, pkg/authorization/authorizerfactory (DelegatingAuthorizerConfig).
"""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Callable
from typing import Final

import attrs
import msgspec

from controllers.authorization import decision
from controllers.authorization.asking import Answer, Asking, Unanswered
from controllers.authorization.decision import Caller, Outcome, Verdict
from controllers.authorization.kept import Kept
from controllers.authorization.sharing import Allowances, Seats, party_at
from controllers.runtime.api import Creates
from controllers.runtime.rate import RateLimit
from controllers.runtime.resource import Json
from webhook.clock import Clock, Deadline
from webhook.logs import Throttle, get_log
from webhook.telemetry import Telemetry

log = get_log("authorization")

_LINES: Final = 5  # of each kind in ten seconds
_KNOWN_S: Final = 3600.0  # for how long a token that was good is told from one that never was


@attrs.frozen
class Bounds:
    """How long answers stand, and what asking may cost. Seconds, but for the last six."""

    identity_s: float = 60.0
    stranger_s: float = 30.0  # a token that is not good
    allow_s: float = 300.0
    deny_s: float = 30.0
    call_s: float = 3.0
    total_s: float = 5.0
    at_once: int = 4
    at_once_each: int = 2  # so that one address, or one user, leaves room for others
    kept: int = 1024  # answers of each kind; a cluster has a few that scrape
    address_per_s: float = 0.5  # tokens that were not good before, by address; ten seconds of it at once, as all of these
    strangers_per_s: float = 4.0  # the same over all addresses
    user_per_s: float = 1.0


class Authorizer:
    """Verdicts about callers of the metrics port."""

    def __init__(self, api: Creates, telemetry: Telemetry, clock: Clock, bounds: Bounds = Bounds()) -> None:
        self._api = api
        self._clock = clock
        self._bounds = bounds
        self._salt = os.urandom(32)
        seats = Seats(bounds.at_once, bounds.at_once_each)
        self._identities: Asking[Caller | None] = Asking(clock, seats, kept=bounds.kept, call_s=bounds.call_s)
        self._rights: Asking[bool] = Asking(clock, seats, kept=bounds.kept, call_s=bounds.call_s)
        self._addresses, self._users = (
            Allowances(per_s, _burst(per_s), clock, kept=bounds.kept) for per_s in (bounds.address_per_s, bounds.user_per_s)
        )
        self._strangers = RateLimit(bounds.strangers_per_s, _burst(bounds.strangers_per_s), clock)
        self._lines = Throttle(_LINES)
        self._lock = threading.Lock()  # guards both below
        self._known: Kept[bytes] = Kept(bounds.kept)  # the users of tokens that were good
        self._away = False
        self._verdicts = telemetry.counter(
            "gatehouse_metrics_requests",
            "Requests to the metrics port, by what was decided: allowed, unauthenticated, forbidden, unavailable.",
            ("outcome",),
        )

    def authorize(self, header: str, verb: str, path: str, peer: str) -> Verdict:
        """May whoever sends the Authorization *header* ("" = none) from the IP address *peer* *verb* the URL *path*?"""
        verdict = self._verdict(header, verb, path, peer)
        self._verdicts.labels(verdict.outcome.value).inc()
        return verdict

    def _verdict(self, header: str, verb: str, path: str, peer: str) -> Verdict:
        token = decision.bearer_token(header)
        if token is None:
            return Verdict(Outcome.UNAUTHENTICATED)
        deadline = Deadline.after(self._bounds.total_s, self._clock)
        key = self._digest(token.encode())
        with self._lock:
            user = self._known.get(key, self._clock.monotonic_s())
        try:
            party = party_at(peer) if user is None else user
            caller = self._identities.ask(key, self._who(key, token, party, known=user is not None), deadline, party)
            if caller is None:
                return Verdict(Outcome.UNAUTHENTICATED)
            right = self._digest(msgspec.json.encode((attrs.astuple(caller, recurse=False), verb, path)))
            allowed = self._rights.ask(right, self._may(caller, verb, path), deadline, self._party_of(caller))
        except Unanswered as error:
            if error.asked:
                self._note_away(str(error))
            return Verdict(Outcome.UNAVAILABLE, retry_after_s=int(error.retry_after_s))
        return Verdict(Outcome.ALLOWED if allowed else Outcome.FORBIDDEN, caller.user)

    def _who(self, key: bytes, token: str, party: bytes, *, known: bool) -> Callable[[float], Answer[Caller | None]]:
        def question(timeout_s: float) -> Answer[Caller | None]:
            if known and not self._users.take(party):
                raise Unanswered("too many questions about one user")
            if not known and not (self._addresses.take(party) and self._strangers.reserve(0.0) is not None):
                raise Unanswered("too many tokens that were not good before")
            caller = decision.caller_of(self._create(decision.TOKEN_REVIEWS, decision.token_review(token), timeout_s))
            if caller is None:
                return Answer(None, self._bounds.stranger_s)
            with self._lock:
                self._known.put(key, self._party_of(caller), self._clock.monotonic_s() + _KNOWN_S)
            return Answer(caller, self._bounds.identity_s)

        return question

    def _may(self, caller: Caller, verb: str, path: str) -> Callable[[float], Answer[bool]]:
        def question(timeout_s: float) -> Answer[bool]:
            if not self._users.take(self._party_of(caller)):
                raise Unanswered("too many questions about one user")
            body = decision.access_review(caller, verb, path)
            allowed = decision.is_allowed(self._create(decision.ACCESS_REVIEWS, body, timeout_s))
            if not allowed:
                self._note_denied(caller, verb, path)
            return Answer(allowed, self._bounds.allow_s if allowed else self._bounds.deny_s)

        return question

    def _create(self, path: str, body: Json, timeout_s: float) -> Json:
        answer = self._api.create(path, body, timeout_s=timeout_s)
        self._note_away("")
        return answer

    def _party_of(self, caller: Caller) -> bytes:
        return self._digest(caller.user.encode())

    def _digest(self, what: bytes) -> bytes:
        return hashlib.blake2b(what, key=self._salt, digest_size=32).digest()

    def _note_denied(self, caller: Caller, verb: str, path: str) -> None:
        admitted, before = self._lines.admits("denied", self._clock.monotonic_s())
        if admitted:
            log.info("not allowed to read", user=caller.user, verb=verb, path=path, alike_before=before)

    def _note_away(self, why: str) -> None:
        with self._lock:
            changed, self._away = self._away != bool(why), bool(why)
        if not changed or not self._lines.admits("away" if why else "back", self._clock.monotonic_s())[0]:
            return
        if why:
            log.warning("the API server says nothing about who may read the metrics port", why=why)
        else:
            log.info("the API server says again who may read the metrics port")


def _burst(per_second: float) -> int:
    return max(1, int(per_second * 10))
