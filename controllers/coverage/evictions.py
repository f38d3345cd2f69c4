"""Which bare pod may be evicted now, so that its owner makes another one, which then comes through admission.

Only by explicit opt-in, and with care, since a pod that runs bare is better than none:

- only pods with a controlling owner that makes a new one: never a Job's (its work would be lost), never a bare Pod,
  never in the control plane's namespaces;
- through the Eviction subresource, so that disruption budgets decide;
- one of an owner at a time, and no next one before every other pod of the owner is Ready, all of them are back, and PAUSE_S
  have passed;
- never again once it was of no use: a pod that came after an eviction and is bare as well means that admission still does not
  reach it, or cannot serve it, and evicting on would go round for ever. Only another revision of the entry, or pods that ask
  for something else, are worth another try; an owner whose template changes makes new pods by itself.

Pure. Source: kubernetes docs, API-initiated eviction.
"""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from controllers.coverage.plan import Survey
from webhook.cluster import PodFacts, Status
from webhook.objects.pods import FINISHED
from webhook.sidecars.wish import SYSTEM_NAMESPACES, Wish

PAUSE_S = 60.0  # between two pods of one owner
BACK_WITHIN_S = 600.0  # an owner that has not replaced a pod by then was scaled down
# A Job's pods carry work that does not survive them. A Node owns what mirrors its static pods.
_NEVER = ("Job", "Node")


@attrs.frozen
class Limits:
    """How fast pods may go, over all owners."""

    per_minute: float = 10.0
    at_once: int = 5  # evicted and not gone yet


@attrs.frozen
class Evicted:
    """The last eviction of an owner."""

    at_s: float  # monotonic
    uids: frozenset[str]  # of every pod that it had then
    live: int  # how many of them were alive, the evicted one among them
    lacking: frozenset[tuple[str, str]] = frozenset()  # the entries that it was for, with their revisions


@attrs.frozen
class Hopeless:
    """What an eviction has not helped with."""

    lacking: frozenset[tuple[str, str]]  # entries, with their revisions
    wishes: frozenset[Wish]  # of the bare pods

    def covers(self, found: Survey) -> bool:
        """Whether nothing has changed since, for the bare pods of *found*."""
        return self.lacking >= found.lacking and self.wishes >= _wishes(found)


def hopeless(found: Survey) -> Hopeless:
    """What to remember of *found* when an eviction was in vain."""
    return Hopeless(found.lacking, _wishes(found))


def _wishes(found: Survey) -> frozenset[Wish]:
    return frozenset(pod.wish for pod in found.bare)


@attrs.frozen
class Evict:
    """This one may go."""

    pod: PodFacts


@attrs.frozen
class Wait:
    """None may go now. *seconds*: until time alone changes that; None = only an event can."""

    seconds: float | None = None


@attrs.frozen
class InVain:
    """*pod* came after the last eviction and is bare, too."""

    pod: PodFacts


Choice = Evict | Wait | InVain


def choose(
    pods: Sequence[PodFacts], found: Survey, last: Evicted | None, now_s: float, given_up: Hopeless | None = None
) -> Choice:
    """The pod of *pods*, all those of one owner, that may be evicted. now_s: monotonic.

    given_up: what an earlier eviction of the owner has not helped with.
    """
    candidates = [pod for pod in found.bare if may_ever_go(pod)]
    if not candidates or (given_up is not None and given_up.covers(found)):
        return Wait()
    live = [pod for pod in pods if pod.phase not in FINISHED and not pod.deleting]
    if last is not None:
        since_s = now_s - last.at_s
        newcomer = next((pod for pod in found.bare if pod.uid not in last.uids), None)
        # A change of the entry since means that the newcomer may be of the time before it.
        if newcomer is not None and last.lacking >= found.lacking:
            return InVain(newcomer)
        rest_s = PAUSE_S - since_s
        if len(live) < last.live:
            rest_s = max(rest_s, BACK_WITHIN_S - since_s)
        if rest_s > 0:
            return Wait(rest_s)
    if any(pod.deleting for pod in pods):
        return Wait()
    unwell = [pod for pod in live if pod.ready is not Status.TRUE]
    bare = {pod.uid for pod in candidates}
    if any(pod.uid not in bare for pod in unwell) or len(unwell) > 1:
        return Wait()
    # A bare pod that is not Ready serves nobody: it goes first.
    return Evict(min(candidates, key=lambda pod: (pod.ready is Status.TRUE, pod.name)))


def may_ever_go(pod: PodFacts) -> bool:
    """Whether somebody makes another one in place of *pod*, and nothing is lost with it."""
    return bool(pod.owner) and pod.owner.partition("/")[0] not in _NEVER and pod.namespace not in SYSTEM_NAMESPACES


def is_over(pods: Sequence[PodFacts], found: Survey, last: Evicted) -> bool:
    """Whether *last* has helped: all pods of the owner are back, and none is bare. Later ones tell nothing of it."""
    live = sum(pod.phase not in FINISHED and not pod.deleting for pod in pods)
    return not found.bare and found.young_s is None and live >= last.live


def taken(pods: Sequence[PodFacts], found: Survey, now_s: float) -> Evicted:
    """What to remember of an eviction among *pods*."""
    live = sum(pod.phase not in FINISHED and not pod.deleting for pod in pods)
    return Evicted(now_s, frozenset(pod.uid for pod in pods), live, found.lacking)
