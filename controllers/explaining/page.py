"""POST /explain on the metrics port: what this replica would answer about an object, with what it believes.

Never on the admission port, and never in the way of an admission: one at a time, the next is told to come again; a body of at
most BODY_BYTES, decided within `explainer.BUDGET_S`. It only reads: every review is a dry run. Who may ask is decided before
(probes, authorization): what /statusz tells, this may tell. A page of a browser cannot ask: it must say application/json, which
browsers send to strangers only after they have agreed (Fetch standard, CORS-safelisted request-header).
Threads: any; one lock.
"""

from __future__ import annotations

import json
import threading
from typing import Any

from controllers.explaining.explainer import Explainer, Unknown
from controllers.explaining.late import BODY_BYTES
from controllers.explaining.wire import answer, from_body
from webhook.errors import MalformedObject
from webhook.logs import get_log

log = get_log("explain")


class ExplainPage:
    """The page, over what explains."""

    def __init__(self, explainer: Explainer) -> None:
        self._explainer = explainer
        self._busy = threading.Lock()  # held while one is explained

    def respond(self, environ: dict[str, Any]) -> tuple[str, bytes]:
        """Status line and JSON of the answer to a request."""
        if environ["REQUEST_METHOD"] != "POST":
            return _failure("405 Method Not Allowed", "what is explained is sent by POST: gatehouse explain --from-replica")
        if environ.get("CONTENT_TYPE", "").partition(";")[0].strip().lower() != "application/json":
            return _failure("415 Unsupported Media Type", "only JSON is read: send the header Content-Type: application/json")
        if not self._busy.acquire(blocking=False):
            return _failure("503 Service Unavailable", "another one is being explained: try again")
        try:
            # One byte more than is taken tells a body that is too large.
            body = environ["wsgi.input"].read(BODY_BYTES + 1)
            if len(body) > BODY_BYTES:
                what = f"at most {BODY_BYTES} bytes are explained: leave out metadata.managedFields, and a Node's status.images"
                return _failure("413 Content Too Large", what)
            return self._explained(body)
        finally:
            self._busy.release()

    def _explained(self, body: bytes) -> tuple[str, bytes]:
        try:
            return "200 OK", json.dumps(answer(self._explainer.explain(from_body(body)))).encode()
        except Unknown as error:
            return _failure("404 Not Found", str(error))
        except (MalformedObject, ValueError) as error:
            return _failure("400 Bad Request", str(error))
        except RecursionError:
            return _failure("400 Bad Request", "the object is nested too deeply")
        except Exception as error:
            log.error("an explanation failed", exc_info=error)
            return _failure("500 Internal Server Error", "internal error, see the log")


def _failure(status: str, message: str) -> tuple[str, bytes]:
    return status, json.dumps({"error": message}).encode()
