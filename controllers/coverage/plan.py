"""Which pods lack a sidecar that they should carry, and when their owner has to hear of it.

    covered         every entry that is asked for is recorded on the pod, in its present revision
    drifted         the same, but in another revision: the entry was edited since; counted, never told as a fault
    bare            an entry that is in force was not injected: nobody answered, or it came to be asked for later
    left_out        the same, but the status annotation says that the entry, in its present revision, was left out on purpose;
                    or the entry says `ifRefused: Skip`, so that it may have been
    entry_missing   an entry that nobody defines
    entry_broken    an entry that was never good

A pod with several of these counts once, as the gravest: bare, entry_missing, entry_broken, left_out, drifted, covered. Pods
that end, or that are left alone (mirror, own, system and Windows pods, hostNetwork unless the entry allows it, namespaces that
do not take part), count nowhere.

What a pod carries is read from its status annotation, the only trace that is cached. Who may create pods can forge it; such a
pod hides itself from here, and nothing else: no decision but this report is made from it. Validation is the place for force.

An owner hears once for all its pods, as soon as no pod of it is younger than the grace (at most SETTLE_S later), again when
there are more (not within an Event's series, whose note stays the first one's), and hourly, since Events are kept for an hour.
Pure. Source: kubernetes/pkg/apis/core/validation/events.go (an Event's note cannot be changed).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Any

import attrs

from controllers.runtime.event_series import SERIES_ENDS_AFTER_S
from webhook.cluster import NamespaceFacts, PodFacts
from webhook.names import Reason
from webhook.objects.meta import parse_time_s
from webhook.objects.pods import FINISHED
from webhook.sidecars.entries.catalog import Catalog
from webhook.sidecars.entries.entry import Unfit
from webhook.sidecars.selection import Policy, asked

# Admission is over when a pod exists. The grace only lets the pods of one rollout come together into one report.
GRACE_S = 5.0
SETTLE_S = 10.0
TELL_MORE_AFTER_S = SERIES_ENDS_AFTER_S + 1.0
TELL_AGAIN_AFTER_S = 3600.0  # kube-apiserver --event-ttl


class State(StrEnum):
    """How a pod counts; the gravest first."""

    BARE = "bare"
    ENTRY_MISSING = "entry_missing"
    ENTRY_BROKEN = "entry_broken"
    LEFT_OUT = "left_out"
    DRIFTED = "drifted"
    COVERED = "covered"


@attrs.frozen
class NotAsked:
    """The pod need not carry anything."""

    reason: Reason


@attrs.frozen
class TooYoung:
    """The pod lacks a sidecar, but has just been created."""

    wait_s: float


@attrs.frozen
class Judged:
    """How the pod counts. *names*: the entries that make it so."""

    state: State
    names: tuple[str, ...]


Verdict = NotAsked | TooYoung | Judged


@attrs.frozen
class Survey:
    """All pods of one owner."""

    counts: Mapping[State, int]
    names: Mapping[State, tuple[str, ...]]  # the entries that make it so, sorted
    bare: tuple[PodFacts, ...] = ()  # by name
    lacking: frozenset[tuple[str, str]] = frozenset()  # the entries that bare pods lack, with the revisions in force
    young_s: float | None = None  # until the next pod is old enough to count; None = there is none
    grace_s: float = GRACE_S  # the age from which bare pods count

    @property
    def missing(self) -> tuple[str, ...]:
        """The entries that bare pods lack."""
        return self.names.get(State.BARE, ())


@attrs.frozen
class Told:
    """What an owner has heard."""

    uids: frozenset[str]  # of bare pods
    names: frozenset[str]
    at_s: float  # monotonic


def judge(
    pod: PodFacts, namespace: NamespaceFacts | None, catalog: Catalog, policy: Policy, now_s: float, grace_s: float = GRACE_S
) -> Verdict:
    """What *pod* of *namespace* (None: the cache does not know it) lacks. now_s: seconds since the epoch."""
    return _of_age(pod, _ending(pod, namespace) or _standing(pod, namespace, catalog, policy), now_s, grace_s)


def is_left_alone(pod: PodFacts) -> bool:
    """Whether nothing is ever injected into *pod*, whoever asks for it."""
    return pod.obstacle not in (None, Reason.HOST_NETWORK)


def survey(
    pods: Iterable[PodFacts],
    namespace: NamespaceFacts | None,
    catalog: Catalog,
    policy: Policy,
    now_s: float,
    grace_s: float = GRACE_S,
) -> Survey:
    """How *pods*, all of one owner, count. As `judge`."""
    standings: dict[object, NotAsked | Judged] = {}  # of pods from one template, which are alike
    counts: Counter[State] = Counter()
    names: dict[State, set[str]] = {}
    bare: list[PodFacts] = []
    young_s: float | None = None
    for pod in pods:
        verdict: NotAsked | Judged | None = _ending(pod, namespace)
        if verdict is None:
            kind = (pod.wish, pod.obstacle, pod.injected, pod.revisions, pod.left_out)
            verdict = standings.get(kind) or standings.setdefault(kind, _standing(pod, namespace, catalog, policy))
        match _of_age(pod, verdict, now_s, grace_s):
            case TooYoung(wait_s):
                young_s = wait_s if young_s is None else min(young_s, wait_s)
            case Judged(state, found):
                counts[state] += 1
                names.setdefault(state, set()).update(found)
                if state is State.BARE:
                    bare.append(pod)
    bare.sort(key=lambda pod: pod.name)
    lacking = _in_force(names.get(State.BARE, ()), bare, catalog, policy)
    sorted_names = {state: tuple(sorted(found)) for state, found in names.items()}
    return Survey(counts, sorted_names, tuple(bare), lacking, young_s, grace_s)


def _in_force(names: Iterable[str], bare: Sequence[PodFacts], catalog: Catalog, policy: Policy) -> frozenset[tuple[str, str]]:
    """The entries *names* with their revisions; all of *bare* are of one namespace."""
    states = [(name, catalog.find(name, bare[0].namespace, policy.home)) for name in names] if bare else []
    return frozenset((name, state.entry.revision) for name, state in states if state is not None and state.entry is not None)


def tell_in_s(found: Survey, told: Told | None, wall_s: float, now_s: float) -> float | None:
    """Seconds until the owner has to hear of *found*: 0 = now, None = never.

    told: what it has heard last. wall_s: seconds since the epoch; now_s: monotonic.
    """
    if not found.bare:
        return None
    if told is None:
        waited_s = wall_s - min(pod.created_s for pod in found.bare)
        return 0.0 if found.young_s is None or waited_s >= found.grace_s + SETTLE_S else found.young_s
    grown = any(pod.uid not in told.uids for pod in found.bare) or not told.names.issuperset(found.missing)
    return max(0.0, told.at_s + (TELL_MORE_AFTER_S if grown else TELL_AGAIN_AFTER_S) - now_s)


def told_by(events: Sequence[Mapping[str, Any]], found: Survey, wall_s: float, now_s: float) -> Told | None:
    """What the owner has heard from another leader, whose *events* (events.k8s.io/v1, of one reason) are about it.

    Only pods that were old enough at that time, and entries that the note names, count as told.
    """
    times_s = {index: time_s for index, event in enumerate(events) if (time_s := _observed_s(event)) is not None}
    if not times_s:
        return None
    latest = max(times_s, key=lambda index: times_s[index])
    note, time_s = events[latest].get("note") or "", times_s[latest]
    uids = frozenset(pod.uid for pod in found.bare if pod.created_s + found.grace_s <= time_s)
    names = frozenset(name for name in found.missing if f'"{name}"' in note)
    return Told(uids, names, now_s - max(0.0, wall_s - time_s))


def _ending(pod: PodFacts, namespace: NamespaceFacts | None) -> NotAsked | None:
    """Why *pod* is not worth a judgement any more; None while it is."""
    if pod.deleting or (namespace is not None and namespace.deleting):
        return NotAsked(Reason.POD_TERMINATING)
    return NotAsked(Reason.POD_FINISHED) if pod.phase in FINISHED else None


def _standing(pod: PodFacts, namespace: NamespaceFacts | None, catalog: Catalog, policy: Policy) -> NotAsked | Judged:
    """How *pod* counts, whatever its age."""
    if is_left_alone(pod):
        return NotAsked(pod.obstacle or Reason.NOT_APPLICABLE)
    wanted = asked(pod.wish, namespace, policy)
    if not wanted.names:
        return NotAsked(wanted.reason)
    states = {name: state for name in wanted.names if (state := _state(name, pod, catalog, policy)) is not None}
    if not states:
        return NotAsked(Reason.HOST_NETWORK)
    gravest = next(state for state in State if state in states.values())
    return Judged(gravest, tuple(name for name, state in states.items() if state is gravest))


def _of_age(pod: PodFacts, verdict: NotAsked | Judged, now_s: float, grace_s: float) -> Verdict:
    if not isinstance(verdict, Judged) or verdict.state is not State.BARE:
        return verdict
    # The clocks may differ: a pod from the future is as young as one of this moment.
    young_s = min(grace_s, grace_s - (now_s - pod.created_s))
    return TooYoung(young_s) if young_s > 0 else verdict


def _state(name: str, pod: PodFacts, catalog: Catalog, policy: Policy) -> State | None:
    """What *name* is to *pod*; None when hostNetwork is in its way."""
    known = catalog.find(name, pod.namespace, policy.home)
    entry = known.entry if known is not None else None
    if name in pod.injected:
        revision = dict(zip(pod.injected, pod.revisions, strict=False)).get(name, "")
        return State.COVERED if entry is None or revision in ("", entry.revision) else State.DRIFTED
    if entry is None:
        return State.ENTRY_MISSING if known is None else State.ENTRY_BROKEN
    if pod.obstacle is Reason.HOST_NETWORK and not entry.allow_host_network:
        return None
    is_on_purpose = (name, entry.revision) in pod.left_out
    return State.LEFT_OUT if is_on_purpose or entry.if_refused is Unfit.SKIP else State.BARE


def _observed_s(event: Mapping[str, Any]) -> float | None:
    times = ((event.get("series") or {}).get("lastObservedTime"), event.get("eventTime"))
    return max((time_s for text in times if text and (time_s := parse_time_s(text)) is not None), default=None)
