"""50 creates a second, as users bring them, while something happens to what judges them.

Nine of ten are pods that must come back with their sidecar, and are read back when all is over; the tenth asks for too much
and must be refused by name. Pods name a scheduler that does not exist: they are stored, and no node has to run thousands
of them. Who fails tries until he succeeds. Threads run inside the `with` block of `Creating`.
"""

from __future__ import annotations

import itertools
import re
import threading
import time
from collections.abc import Callable
from types import TracebackType

import attrs

from tests.apiserver.waiting import wait_for
from tests.apiserver.workloads import create_namespace, pods_path
from tests.cluster import Api, ApiError, Json
from tests.e2e import pods
from tests.e2e.grounds import Ground

RATE = 50.0
CALLERS = 24
OFFENDER_EVERY = 10
TOO_MUCH = "exceeds the maximum of 1"
TRIES_FOR_S = 60.0
PAUSE_S = 0.2  # before the next try
PAGE = 500
BEFORE_S = 1.0  # of creates alone
AFTER_S = 3.0


@attrs.frozen
class Refusal:
    """A create that was not answered as it should have been. Moments are monotonic."""

    began_s: float
    ended_s: float
    what: str


@attrs.define
class Told:
    """What the creators saw. Lists are appended to by the threads, which is atomic."""

    created: list[float] = attrs.field(factory=list)  # when each pod was there
    refused: list[Refusal] = attrs.field(factory=list)
    held: list[float] = attrs.field(factory=list)  # when each offender was refused by name
    passed: list[str] = attrs.field(factory=list)  # offenders that were not
    bare: list[str] = attrs.field(factory=list)  # pods that came back without the sidecar, or were stored so
    given_up: list[str] = attrs.field(factory=list)
    tried_again_s: list[float] = attrs.field(factory=list)  # from a pod's first refusal to its success
    stored: int = 0
    seconds: float = 0.0  # from the first create to the last

    def rate(self) -> float:
        """Calls a second: what the machine carries where that is less than RATE."""
        return (len(self.created) + len(self.held) + len(self.refused)) / max(self.seconds, 1e-9)

    def outside(self, *windows: tuple[float, float]) -> list[Refusal]:
        """The refusals of calls that were open in none of *windows*."""
        return [one for one in self.refused if not any(begin <= one.ended_s and one.began_s <= end for begin, end in windows)]

    def summary(self) -> str:
        """One line: how many, refused, and how long the longest had to try."""
        longest = f", the longest for {max(self.tried_again_s):.1f} s" if self.tried_again_s else ""
        calls = len(self.created) + len(self.held) + len(self.refused)
        return f"{len(self.refused)} of {calls} calls, {self.rate():.0f}/s{longest}"

    def show(self) -> None:
        """For whoever looks into a failure: what was said, how often, and from when to when."""
        kinds: dict[str, list[float]] = {}
        for one in self.refused:
            kinds.setdefault(re.sub(r"[^ ]*chaos-[^ ]*", "", one.what), []).append(one.began_s)
        for what, moments in kinds.items():
            print(f"{len(moments)} from {min(moments):.1f} to {max(moments):.1f} s: {what}")


def under_load(ground: Ground, name: str, deed: Callable[[], object]) -> Told:
    """What creators saw before, during and after a *deed*. Fails the test when a pod was not mutated, or refused for good."""
    with Creating(ground.api, f"chaos-{name}") as told:
        wait_for(lambda: len(told.created) >= BEFORE_S * RATE / 2, TRIES_FOR_S, "creates that succeed")
        deed()
        done_s = time.monotonic()
        wait_for(lambda: time.monotonic() > done_s + AFTER_S, TRIES_FOR_S, "time to notice")
    told.show()
    assert told.bare == []
    assert told.passed == []
    assert told.given_up == []
    assert told.stored == len(told.created)
    return told


class Creating:
    """Creates in a namespace of its own, made by `__enter__`; after the block every pod has been read back."""

    def __init__(self, api_of: Callable[[], Api], namespace: str) -> None:
        self._api_of = api_of
        self.namespace = namespace
        self.told = Told()
        self._over = threading.Event()
        self._numbers = itertools.count()  # next() is atomic
        self._begin_s = 0.0
        self._threads = [threading.Thread(target=self._run, name=f"e2e/creator-{number}") for number in range(CALLERS)]

    def __enter__(self) -> Told:
        with self._api_of() as api:
            create_namespace(api, self.namespace, pods.EVERY_POD)
        self._begin_s = time.monotonic()
        for thread in self._threads:
            thread.start()
        return self.told

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join(TRIES_FOR_S)
        self.told.seconds = time.monotonic() - self._begin_s
        if error is None:
            self._read_back()

    def _run(self) -> None:
        with self._api_of() as api:
            while True:
                number = next(self._numbers)
                due_s = self._begin_s + number / RATE
                if self._over.wait(max(0.0, due_s - time.monotonic())):
                    return
                self._until_it_succeeds(api, number)

    def _until_it_succeeds(self, api: Api, number: int) -> None:
        body, first_s = _body(number), time.monotonic()
        while True:
            began_s = time.monotonic()
            fault = self._once(api, number, body)
            now_s = time.monotonic()
            if fault is None:
                if began_s > first_s + PAUSE_S / 2:
                    self.told.tried_again_s.append(now_s - first_s)
                return
            self.told.refused.append(Refusal(began_s, now_s, fault))
            if now_s > first_s + TRIES_FOR_S:
                self.told.given_up.append(fault)
                return
            time.sleep(PAUSE_S)

    def _once(self, api: Api, number: int, body: Json) -> str | None:
        """What went wrong; None when the call was answered as it should be."""
        offends = number % OFFENDER_EVERY == 0
        try:
            made = api.create(pods_path(self.namespace), body)
        except ApiError as refused:
            if offends and TOO_MUCH in str(refused):
                self.told.held.append(time.monotonic())
                return None
            if refused.status == 409:  # an answer that was lost on its way: the pod is there
                self.told.created.append(time.monotonic())
                return None
            return str(refused)
        except Exception as fault:  # no answer
            return repr(fault)
        if offends:
            self.told.passed.append(made["metadata"]["name"])
        elif not is_whole(made):
            self.told.bare.append(made["metadata"]["name"])
        self.told.created.append(time.monotonic())
        return None

    def _read_back(self) -> None:
        """Every pod that is stored, whoever was told of it."""
        token = ""
        with self._api_of() as api:
            while True:
                page = api.get(f"{pods_path(self.namespace)}?limit={PAGE}&continue={token}")
                self.told.stored += len(page["items"])
                self.told.bare += [one["metadata"]["name"] for one in page["items"] if not is_whole(one)]
                self.told.passed += [one["metadata"]["name"] for one in page["items"] if "offender" in one["metadata"]["name"]]
                token = page["metadata"].get("continue", "")
                if not token:
                    return


def is_whole(pod: Json) -> bool:
    """Whether the pod carries everything that it was to be given: sidecar, status, default label and requests."""
    meta = pod["metadata"]
    (app,) = (one for one in pod["spec"]["containers"] if one["name"] == "app")
    return (
        "reader" in pods.names(pod, "initContainers")
        and pods.STATUS in meta.get("annotations", {})
        and meta["labels"].get("version") == "1.37"
        and "cpu" in app.get("resources", {}).get("requests", {})
    )


def _body(number: int) -> Json:
    if number % OFFENDER_EVERY == 0:
        greedy = pods.container("app", "true", resources={"requests": {"cpu": "3"}})
        return pods.pod(f"offender-{number}", greedy, schedulerName="nobody")
    return pods.pod(f"pod-{number}", pods.container("app", "true"), schedulerName="nobody")
