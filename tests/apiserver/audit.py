"""What the API server's audit log says. Level Metadata: who asked for what, the answer, which webhook changed the object.

Source: kubernetes.io/docs: Auditing; audit.k8s.io/v1 Event.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import attrs

from tests.cluster import Json


@attrs.frozen
class AuditLog:
    """The log at *path*, from the byte *start* on."""

    path: Path
    start: int = 0

    def from_now(self) -> AuditLog:
        """The same log without what is in it already."""
        return attrs.evolve(self, start=self.path.stat().st_size)

    def events(self, user: str = "") -> list[Json]:
        """The events of *user* (all users without one), in the order of the log."""
        return [event for event in self._read() if not user or event["user"].get("username") == user]

    def forbidden(self, user: str) -> list[str]:
        """What *user* was refused for want of rights or of a valid token, as "verb URI: code"."""
        return [
            f"{event['verb']} {event['requestURI']}: {event['responseStatus']['code']}"
            for event in self.events(user)
            if event.get("responseStatus", {}).get("code") in (401, 403)
        ]

    def requests(self, user: str) -> list[Json]:
        """One event for each request of *user* (a watch has two: started and complete)."""
        return list({event["auditID"]: event for event in self.events(user)}.values())

    def mutations(self, webhook: str) -> list[Json]:
        """The requests whose object *webhook* changed."""
        return [event for event in self._read() if any(_mutated(note, webhook) for note in _notes(event))]

    def failed_open(self) -> list[str]:
        """The calls that failed and were ignored (failurePolicy Ignore), as the API server tells them."""
        return [
            value
            for event in self._read()
            for key, value in event.get("annotations", {}).items()
            if key.startswith("failed-open.mutation.webhook.admission.k8s.io/")
        ]

    def _read(self) -> Iterator[Json]:
        with self.path.open("rb") as log:
            log.seek(self.start)
            for line in log:
                if line.endswith(b"\n"):  # the last one may be half written
                    yield json.loads(line)


def _notes(event: Json) -> Iterator[Json]:
    for key, value in event.get("annotations", {}).items():
        if key.startswith("mutation.webhook.admission.k8s.io/"):
            yield json.loads(value)


def _mutated(note: Json, webhook: str) -> bool:
    return note.get("webhook") == webhook and bool(note.get("mutated"))
