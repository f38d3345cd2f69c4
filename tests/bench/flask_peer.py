"""Flask on gunicorn's threads, the usual way in Python: `python -m tests.bench.flask_peer CERTIFICATE KEY RULES`.

It injects the sidecar and says yes to everything else. As for `bare`, two settings are not the defaults, for without them an
ordinary Go client brings it down: threads enough for its connections, and connections that are kept. Needs the extra `bench`.
"""

from __future__ import annotations

import base64
import json
import sys
from pathlib import Path
from typing import Any

import flask
from gunicorn.app.base import BaseApplication

from tests.bench.bare import THREADS
from tests.bench.injecting import injected, patch

KEPT_S = 120


def application(rules: dict[str, Any]) -> flask.Flask:
    """The webhook."""
    app = flask.Flask(__name__)

    @app.post("/mutate")
    def mutate() -> flask.Response:
        request = flask.request.get_json()["request"]
        pod = request["object"]
        text = patch(pod, injected(pod, rules))
        return _answer(request, patchType="JSONPatch", patch=base64.b64encode(text.encode()).decode())

    @app.post("/endpoint")
    def endpoint() -> flask.Response:
        return _answer(flask.request.get_json()["request"])

    return app


def _answer(request: dict[str, Any], **more: str) -> flask.Response:
    response = {"uid": request["uid"], "allowed": True, **more}
    return flask.jsonify({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response})


class _Server(BaseApplication):  # type: ignore[misc]  # it has no types
    def __init__(self, app: flask.Flask, certificate: str, key: str) -> None:
        self._app, self._certificate, self._key = app, certificate, key
        super().__init__()

    def load_config(self) -> None:
        settings: dict[str, Any] = {
            "bind": "127.0.0.1:0",
            "worker_class": "gthread",
            "threads": THREADS,
            "keepalive": KEPT_S,
            "certfile": self._certificate,
            "keyfile": self._key,
            "when_ready": _say,
            "control_socket_disable": True,
        }
        for name, value in settings.items():
            if name in self.cfg.settings:
                self.cfg.set(name, value)

    def load(self) -> flask.Flask:
        return self._app


def _say(arbiter: Any) -> None:
    host, port = arbiter.LISTENERS[0].sock.getsockname()[:2]
    print(json.dumps({"webhook": f"{host}:{port}"}), flush=True)


def main(certificate: str, key: str, rules: str) -> None:
    """Serve until killed."""
    _Server(application(json.loads(Path(rules).read_text())), certificate, key).run()


if __name__ == "__main__":
    main(*sys.argv[1:])
