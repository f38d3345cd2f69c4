"""Reviews that each replica is sent all the time, whoever leads: an election must never be felt by admission."""

from __future__ import annotations

import http.client
import json
import threading
import time

import attrs

from tests.apiserver.replicas import Seat
from tests.controllers.served import EXAMPLE
from webhook.objects.documents import read_documents

EVERY_S = 0.2
PATH = "/endpoint?timeout=5s"
_REVIEW = EXAMPLE / "reviews" / "3-endpointslice.yaml"


@attrs.frozen
class Answer:
    """One review. at_s: seconds since the epoch; fault: "" when it was answered and allowed."""

    seat: str
    at_s: float
    fault: str


class Callers:
    """One thread for each seat inside the block. What happens to a call while its seat is away is not counted."""

    def __init__(self, seats: list[Seat]) -> None:
        (document,) = read_documents(_REVIEW.read_bytes(), _REVIEW.name)
        self._body = json.dumps(document.value).encode()
        self._stop = threading.Event()
        self._threads = [
            threading.Thread(target=self._run, args=(seat,), name=f"test/calls-{seat.name}", daemon=True) for seat in seats
        ]
        self.answers: list[Answer] = []  # appended by the threads, which is atomic

    def __enter__(self) -> Callers:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join(timeout=40.0)

    def faults(self) -> list[str]:
        """The calls that were not answered as they should."""
        return [f"{answer.seat}: {answer.fault}" for answer in self.answers if answer.fault]

    def answered(self, seat: str, begin_s: float, end_s: float) -> int:
        """How many reviews the seat answered between two moments."""
        return sum(a.seat == seat and not a.fault and begin_s <= a.at_s <= end_s for a in self.answers)

    def _run(self, seat: Seat) -> None:
        while not self._stop.wait(EVERY_S):
            replica = seat.replica
            with replica.reviews() as connections:
                while not self._stop.wait(EVERY_S) and seat.replica is replica:
                    absences, fault = seat.absences, ""
                    if seat.away.is_set():
                        break
                    try:
                        reply = connections.call("POST", PATH, self._body, {"Content-Type": "application/json"})
                        allowed = reply.status == 200 and json.loads(reply.body)["response"]["allowed"]
                        fault = "" if allowed else f"{reply.status} {reply.body[:300]!r}"
                    except (OSError, http.client.HTTPException) as error:
                        fault = repr(error)
                    # Stopped in the middle of it and let go on, a replica answers after the deadline, when it is back.
                    if seat.absences == absences and seat.replica is replica:
                        self.answers.append(Answer(seat.name, time.time(), fault))
