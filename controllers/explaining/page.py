"""POST /explain on the metrics port: what this replica would answer about an object, with what it believes.

Never on the admission port, and never in the way of an admission: one at a time, the next is told to come again; a body of at
most BODY_BYTES. It only reads: every review is a dry run. Who may ask is decided before (probes, authorization): what /statusz
tells, this may tell. A page of a browser cannot ask: it must say application/json, which browsers send to strangers only after
they have agreed (Fetch standard, CORS-safelisted request-header).

Our rules decide within `explainer.BUDGET_S`. A plug-in's rule may hang: then the answer after ANSWER_WITHIN_S is 503 with its
name, its thread is left behind, and the next is explained without that rule until it returns (`calls`). If it enters the rule
later than that, it gives up its place to the next that asks.
Threads: any; an explanation has a daemon thread of its own, which holds up neither the server's threads nor the process's end.
"""

from __future__ import annotations

import json
import threading
from typing import Any, Final

import attrs

from controllers.explaining.calls import Calls
from controllers.explaining.explainer import BUDGET_S, Explainer, Unknown
from controllers.explaining.late import BODY_BYTES
from controllers.explaining.wire import answer, from_body
from webhook.clock import Clock, SystemClock
from webhook.errors import MalformedObject
from webhook.logs import get_log

log = get_log("explain")

ANSWER_WITHIN_S: Final = BUDGET_S + 1.0  # what is shown must be made, too; the command waits for 10 s

Response = tuple[str, bytes]  # status line, JSON


@attrs.define(eq=False)
class _Run:
    """One explanation under way."""

    since_s: float  # monotonic
    done: threading.Event = attrs.field(factory=threading.Event)
    response: Response | None = None  # once done
    thread: threading.Thread | None = None


class ExplainPage:
    """The page, over what explains."""

    def __init__(self, explainer: Explainer, clock: Clock | None = None) -> None:
        """clock: that the answer is waited for with; the explainer's may stand still."""
        self._clock = clock or SystemClock()
        self._calls = Calls(explainer.gate.shared, self._clock)
        self._explainer = attrs.evolve(explainer, inside=self._calls.inside)
        self._lock = threading.Lock()  # guards _current
        self._current: _Run | None = None  # None: the next may come

    def respond(self, environ: dict[str, Any]) -> Response:
        """Status line and JSON of the answer to a request."""
        if environ["REQUEST_METHOD"] != "POST":
            return _failure("405 Method Not Allowed", "what is explained is sent by POST: gatehouse explain --from-replica")
        if environ.get("CONTENT_TYPE", "").partition(";")[0].strip().lower() != "application/json":
            return _failure("415 Unsupported Media Type", "only JSON is read: send the header Content-Type: application/json")
        run = _Run(self._clock.monotonic_s())
        current = self._take_place(run)
        if current is not None and self._gave_up(current):
            current = self._take_place(run)
        if current is not None:
            return _failure("503 Service Unavailable", self._busy(current))
        try:
            # One byte more than is taken tells a body that is too large.
            body = environ["wsgi.input"].read(BODY_BYTES + 1)
            if len(body) > BODY_BYTES:
                what = f"at most {BODY_BYTES} bytes are explained: leave out metadata.managedFields, and a Node's status.images"
                return _failure("413 Content Too Large", what)
            run.thread = threading.Thread(target=self._work, args=(run, body), name="explain", daemon=True)
            run.thread.start()
        finally:
            if run.thread is None or run.thread.ident is None:
                self._free(run)
        return self._awaited(run)

    def _work(self, run: _Run, body: bytes) -> None:
        try:
            run.response = self._explained(body)
        finally:
            self._free(run)
            run.done.set()

    def _awaited(self, run: _Run) -> Response:
        self._clock.wait(run.done, ANSWER_WITHIN_S)
        if run.response is not None:
            return run.response
        found = self._left_behind(run)
        if found is None:  # what is ours has its bounds, and ends: until then, or until it is in a rule, nobody else may ask
            return _failure("503 Service Unavailable", f"not decided within {ANSWER_WITHIN_S:.0f} s: try again")
        name, since_s = found
        what = f"the rule {name} has not answered for {since_s:.0f} s; until it does, explanations leave it out: ask again"
        return _failure("503 Service Unavailable", what)

    def _gave_up(self, current: _Run) -> bool:
        """Whether *current* has given up its place: it went on after its time, and is in a rule that it entered since."""
        is_late = self._clock.monotonic_s() - current.since_s > ANSWER_WITHIN_S
        return is_late and self._left_behind(current) is not None

    def _left_behind(self, run: _Run) -> tuple[str, float] | None:
        """Leave *run* behind in the rule that it is in: the rule, and for how many seconds; None when it is in none."""
        found = self._rule(run)
        if found is not None and self._free(run):
            log.warning("an explanation was left behind in a rule", rule=found[0], seconds=round(found[1], 1))
        return found

    def _busy(self, current: _Run) -> str:
        since_s = self._clock.monotonic_s() - current.since_s
        found = self._rule(current)
        where = f", and has been in the rule {found[0]} for {found[1]:.0f} s" if found is not None else ""
        return f"another one is being explained, for {since_s:.0f} s{where}: try again"

    def _rule(self, run: _Run) -> tuple[str, float] | None:
        return self._calls.of(run.thread.ident) if run.thread is not None and run.thread.ident is not None else None

    def _take_place(self, run: _Run) -> _Run | None:
        """Make *run* the current one, if there is none; else the one that there is."""
        with self._lock:
            if self._current is None:
                self._current = run
                return None
            return self._current

    def _free(self, run: _Run) -> bool:
        """Let the next come; whether *run* was in its way."""
        with self._lock:
            was = self._current is run
            if was:
                self._current = None
            return was

    def _explained(self, body: bytes) -> Response:
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


def _failure(status: str, message: str) -> Response:
    return status, json.dumps({"error": message}).encode()
