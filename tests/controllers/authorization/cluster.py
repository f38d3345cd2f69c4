"""An API server that answers reviews out of a table, and counts what it is asked. A double at the boundary of the network."""

from __future__ import annotations

import threading
from collections.abc import Callable

from controllers.authorization.decision import ACCESS_REVIEWS, TOKEN_REVIEWS
from controllers.runtime.errors import ApiError
from webhook.objects.meta import Json

READER, STRANGER = "reader-token", "no-such-token"
PROMETHEUS = "system:serviceaccount:monitoring:prometheus-k8s"


class Reviews:
    """Knows one token; its user may get /metrics."""

    def __init__(self) -> None:
        self.bodies: list[tuple[str, Json, float | None]] = []
        self.error: ApiError | None = None
        self.users: dict[str, Json] = {READER: {"username": PROMETHEUS, "uid": "u-1", "groups": ["system:authenticated"]}}
        self.may = {(PROMETHEUS, "get", "/metrics")}
        self.before: Callable[[], object] = lambda: None  # runs inside each request
        self._lock = threading.Lock()

    def create(self, path: str, body: Json, *, timeout_s: float | None = None) -> Json:
        with self._lock:
            self.bodies.append((path, body, timeout_s))
        self.before()
        if self.error is not None:
            raise self.error
        spec = body["spec"]
        if path == TOKEN_REVIEWS:
            user = self.users.get(spec["token"])
            return {"status": {"authenticated": True, "user": user} if user else {"error": "invalid bearer token"}}
        assert path == ACCESS_REVIEWS
        asked = spec["nonResourceAttributes"]
        return {"status": {"allowed": (spec["user"], asked["verb"], asked["path"]) in self.may}}

    def count(self, path: str) -> int:
        with self._lock:
            return sum(one == path for one, _, _ in self.bodies)
