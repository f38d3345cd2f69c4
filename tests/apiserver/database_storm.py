"""Many DatabaseInstances deleted at once, with two replicas whose leader is killed again and again: a run, and what came of it.

Every instance has one claim with a hostPath volume; of each pair one is under Delete, one under Retain.
"""

from __future__ import annotations

import signal
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import attrs

from tests.apiserver.audit import AuditLog
from tests.apiserver.databases import VOLUMES, Place, apply_crd, clean_volumes
from tests.apiserver.replicas import Seat, Timing
from tests.apiserver.waiting import wait_for
from tests.cluster import Cluster, Json

NAMESPACE: Final = "storm"
MORE: Final[Json] = {
    "controllers": {"databaseInstance": {"enabled": True}, "edgeHealth": {"enabled": False}, "coverage": {"enabled": False}},
    "clientConnection": {"qps": 200, "burst": 200},
}
PAUSE_S: Final = 4.0  # between two kills: a lease, and some work of the next leader


@attrs.frozen
class Storm:
    """What came of it."""

    count: int
    kills: int
    seconds: float
    left: list[str]  # instances that are still there
    claims: set[str]
    volumes: dict[str, tuple[str, str]]  # name -> reclaim policy, phase
    effects: Counter[tuple[str, str]]  # (verb, object) -> 2xx of both replicas
    forbidden: list[str]
    log: str  # of all processes

    def retained(self) -> set[str]:
        """The claims of the instances under Retain."""
        return {f"c{number}" for number in range(1, self.count, 2)}

    def repeated(self) -> list[tuple[str, str]]:
        """Effects that were had more than once. An instance is patched twice: its finalizer is added and dropped."""
        twice = ("patch", "databaseinstances/")
        return [
            (verb, about)
            for (verb, about), times in self.effects.items()
            if times > (2 if verb == twice[0] and about.startswith(twice[1]) else 1)
        ]


def run(cluster: Cluster, folder: Path, count: int, kills: int, within_s: float, say: Callable[[str], None]) -> Storm:
    """Create *count* instances, delete them all, kill *kills* leaders meanwhile; at most *within_s* until all are gone."""
    audit = AuditLog(cluster.audit_log).from_now()
    with cluster.api() as api, ExitStack() as stack:
        apply_crd(api)
        place = Place(api, NAMESPACE)
        seats = [Seat(cluster, folder, f"storm-{name}", 0, Timing(), more=MORE) for name in ("a", "b")]
        for seat in seats:
            stack.enter_context(seat)
            seat.start()
        names = [f"d{number}" for number in range(count)]
        for number, name in enumerate(names):
            place.claim(f"c{number}", reclaim="Retain" if number % 4 == 0 else "Delete")
            policy = "Delete" if number % 2 == 0 else "Retain"
            place.create_instance(name, guarded=False, volumes={"claimNames": [f"c{number}"]}, deletionPolicy=policy)
        wait_for(lambda: all(place.is_protected(name) for name in names), within_s, "all protected")
        say(f"{count} instances are protected")
        started_s = time.monotonic()
        api.delete(place.path("databaseinstances", group="/apis/example.com/v1"))
        for _ in range(kills):
            victim = _leader(seats)
            victim.signal(signal.SIGKILL)
            say(f"killed {victim.name}, {len(_left(place))} left")
            time.sleep(PAUSE_S)
            victim.start()
        wait_for(lambda: not _left(place), within_s, "all instances gone")
        seconds = time.monotonic() - started_s
        found = {one["metadata"]["name"]: _kept(one) for one in api.get(VOLUMES)["items"] if _is_ours(one)}
        users = [seat.user for seat in seats]
        log = "\n".join(life.log() for seat in seats for life in seat.lives)
        left, claims = _left(place), set(place.claims())
        clean_volumes()
        forbidden = [one for user in users for one in audit.forbidden(user)]
        return Storm(count, kills, seconds, left, claims, found, _effects(audit, users), forbidden, log)


def _leader(seats: list[Seat]) -> Seat:
    """Who leads, as soon as somebody does; looked for and taken in one look."""
    found: list[Seat] = []

    def met() -> bool:
        found[:] = [seat for seat in seats if seat.leads()]
        return bool(found)

    wait_for(met, 30.0, "a leader")
    return found[0]


def _left(place: Place) -> list[str]:
    items = place.api.get(place.path("databaseinstances", group="/apis/example.com/v1"))["items"]
    return [one["metadata"]["name"] for one in items]


def _kept(volume: Json) -> tuple[str, str]:
    return volume["spec"]["persistentVolumeReclaimPolicy"], volume["status"]["phase"]


def _is_ours(volume: Json) -> bool:
    return bool(volume["spec"]["claimRef"]["namespace"] == NAMESPACE)


def _effects(audit: AuditLog, users: list[str]) -> Counter[tuple[str, str]]:
    """The 2xx of writes of claims and volumes, and of instances without their status."""
    found: Counter[tuple[str, str]] = Counter()
    for user in users:
        for event in audit.requests(user):
            about = event.get("objectRef", {})
            written = event["verb"] in ("delete", "patch") and 200 <= event.get("responseStatus", {}).get("code", 0) < 300
            ours = NAMESPACE in (about.get("namespace"), about.get("name", "").partition("-")[0])
            if written and ours and not about.get("subresource"):
                found[event["verb"], f"{about['resource']}/{about['name']}"] += 1
    return found
