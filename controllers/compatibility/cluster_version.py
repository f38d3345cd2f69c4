"""Which Kubernetes the API server is: asked once, beside everything else, and told if it is too old for what is configured.

Nothing waits for the answer: no admission, no probe, no controller. While the API server does not answer it is asked again,
ever more rarely.

Threads: one of its own, which ends with the answer; `status` by anyone.
Errors:  none.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Final, Protocol

from controllers.compatibility import requirements
from controllers.compatibility.requirements import Requirement
from controllers.runtime.api import Reads
from controllers.runtime.errors import ApiError, UndecodableAnswer
from controllers.runtime.resource import Json
from webhook.clock import Clock, Deadline
from webhook.logs import get_log
from webhook.objects.versions import Minor
from webhook.telemetry import Telemetry

log = get_log("kubernetes")

TIMEOUT_S: Final = 5.0
_FIRST_PAUSE_S: Final = 1.0
_LONGEST_PAUSE_S: Final = 60.0


class Api(Reads, Protocol):
    """What is needed of `rest.RestClient`."""

    def close(self) -> None:
        """Close the idle connections."""


class ClusterVersion:
    """The version, once it is known."""

    def __init__(self, api: Api, wanted: Sequence[Requirement], telemetry: Telemetry, clock: Clock) -> None:
        """wanted: what the configuration asks for, of `requirements.requirements_of`."""
        self._api = api
        self._wanted = wanted
        self._clock = clock
        self._stopping = threading.Event()
        self._puzzled = False  # whether it was told that an answer is none
        self._known: tuple[str, Minor] | None = None  # replaced as one value
        self._unmet = telemetry.gauge(
            "gatehouse_kubernetes_too_old",
            "1 for each part of the configuration that needs a newer Kubernetes than the API server is.",
            ("part", "minimum"),
        )
        self._thread = threading.Thread(target=self._run, name="kubernetes-version", daemon=True)

    # -- called by the supervisor

    def start(self) -> None:
        """Begin to ask."""
        self._thread.start()

    def signal_stop(self) -> None:
        """Ask no more."""
        self._stopping.set()

    def stop(self, deadline: Deadline) -> None:
        """The same, and end the thread; a question that is open ends by itself."""
        self.signal_stop()
        if self._thread.ident is not None:
            self._thread.join(min(deadline.remaining_s(), TIMEOUT_S + 1.0))

    # -- called by anyone

    def status(self) -> Json:
        """For the status page."""
        if self._known is None:
            return {"version": None, "tested": None, "tooOldFor": []}
        version, minor = self._known
        return {
            "version": version,
            "tested": requirements.is_tested(minor),
            "tooOldFor": [
                {"part": one.part, "minimum": requirements.text(one.minimum)} for one in requirements.unmet(minor, self._wanted)
            ],
        }

    # -- inside

    def _run(self) -> None:
        pause_s = _FIRST_PAUSE_S
        while not self._ask():
            if self._clock.wait(self._stopping, pause_s):
                return
            pause_s = min(pause_s * 2, _LONGEST_PAUSE_S)

    def _ask(self) -> bool:
        """Whether there is no more to ask."""
        try:
            answer = self._api.get("/version", timeout_s=TIMEOUT_S)
        except ApiError as error:
            if isinstance(error, UndecodableAnswer) and not self._puzzled:
                self._puzzled = True
                log.warning("the API server's version cannot be read, it is asked again", why=str(error))
            if error.retriable:
                log.debug("the API server does not say its version", why=str(error))
                return False
            why = str(error)  # a record that kept the exception would keep its frames, and with them the connection
            log.info("the API server does not say its version, so nothing is known of what it is too old for", why=why)
            return True
        finally:
            # Nothing else asks so early: a connection that lies idle until the first live read may be dead by then.
            self._api.close()
        self._tell(*requirements.read_version(answer))
        return True

    def _tell(self, version: str, minor: Minor) -> None:
        self._known = (version, minor)
        if minor == (0, 0):
            log.warning(
                "the API server's version cannot be read, so nothing is known of what it is too old for", version=version
            )
            return
        for one in requirements.unmet(minor, self._wanted):
            self._unmet.labels(one.part, requirements.text(one.minimum)).set(1)
            # An error, since only an upgrade or another configuration mends it; everything else goes on all the same.
            log.error(requirements.told(version, one), needs=one.why)
        first, last = map(requirements.text, requirements.TESTED)
        if requirements.is_tested(minor):
            log.info("connected", kubernetes=version)
        else:
            log.info("connected to a Kubernetes that no test runs against", kubernetes=version, tested=f"{first} to {last}")
