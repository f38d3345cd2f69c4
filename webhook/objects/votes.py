"""Votes of a node's peers: how they are read, how long they count, and what they make of a node that went silent.

Pure. Two dialects: an annotation with two values (superedge/superedge#46), and released SuperEdge's `nodeunhealth`, whose
absence means healthy. A vote that cannot be read, or is too old, is UNKNOWN, and unknown means stock Kubernetes.
Age never comes from managedFields: rewriting the same value is a no-op there (seen on a real 1.37 API server).
Source: superedge pkg/edge-health (main) and pull request 46: two incompatible annotations.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

import attrs
import msgspec

from webhook.cluster import NodeFacts, Status, Vote
from webhook.names import SUPEREDGE_UNHEALTHY_ANNOTATION, VOTE_ANNOTATION, Reason
from webhook.objects.meta import parse_time_s
from webhook.objects.selectors import Selector


class Protocol(StrEnum):
    """How peers write their vote."""

    ANNOTATION = "annotation"  # healthyValue / unhealthyValue
    SUPEREDGE = "superedge"  # absent = healthy, "yes" = unhealthy


@attrs.frozen
class VotePolicy:
    """How votes are read and aged. Field for field the configuration's `votes` section."""

    protocol: Protocol = Protocol.ANNOTATION
    annotation: str = VOTE_ANNOTATION  # with protocol superedge the default is `nodeunhealth`
    healthy_value: str = "true"
    unhealthy_value: str = "false"
    time_annotation: str = ""  # RFC 3339 moment at which the vote was written; "" = votes carry no time
    max_age_s: float = 0.0  # a healthy vote older than this no longer counts; 0 = see max_guard_s. Needs time_annotation
    max_guard_s: float = 24 * 3600.0  # where max_age_s cannot tell: how long after Ready's change a guard ends; 0 = never
    node_selector: Selector = Selector()  # nodes that may be guarded; others behave as stock
    always_reachable: bool = False  # drop the taint whatever the vote says (endpoints still need the vote)

    def read(self, annotations: Mapping[str, str]) -> tuple[Vote, float | None]:
        """The vote in a node's *annotations* and the time it was written (None: no usable time)."""
        written = annotations.get(self.time_annotation) if self.time_annotation else None
        if written is None:
            return self._value(annotations.get(self._key())), None
        written_s = parse_time_s(written)
        # A time that cannot be read is no licence to count for longer than maxAge: the vote is as good as none.
        return (Vote.UNKNOWN, None) if written_s is None else (self._value(annotations.get(self._key())), written_s)

    def annotation_keys(self) -> frozenset[str]:
        """The annotations that `read` looks at; the caches keep only these."""
        return frozenset(key for key in (self._key(), self.time_annotation) if key)

    def _key(self) -> str:
        if self.protocol is Protocol.SUPEREDGE and self.annotation == VOTE_ANNOTATION:
            return SUPEREDGE_UNHEALTHY_ANNOTATION
        return self.annotation

    def _value(self, value: str | None) -> Vote:
        if self.protocol is Protocol.SUPEREDGE:
            return {None: Vote.HEALTHY, "yes": Vote.UNHEALTHY}.get(value, Vote.UNKNOWN)
        if value is None:
            return Vote.UNKNOWN
        return {self.healthy_value: Vote.HEALTHY, self.unhealthy_value: Vote.UNHEALTHY}.get(value, Vote.UNKNOWN)


class Guard(msgspec.Struct, frozen=True, gc=False):
    """Whether a node is kept alive by its peers' word, and why (or why not)."""

    active: bool
    reason: Reason
    age_s: float | None = None  # of the vote, or since Ready's change when votes carry no time
    changes_in_s: float | None = None  # until time alone turns `active` over; None = only a write can


# A vote from the future is a clock that is wrong; this much skew between nodes is ordinary (Kubernetes assumes synchronised
# clocks, but edge nodes without NTP drift by minutes). Beyond it the vote has no usable age.
CLOCK_SKEW_S = 300.0


def guard(node: NodeFacts | None, policy: VotePolicy, now_s: float) -> Guard:
    """Whether *node* is silent (Ready Unknown) while its peers, recently enough, say that it is healthy.

    now_s: seconds since the epoch. Pure, O(selector).
    """
    if node is None:
        return Guard(False, Reason.NODE_UNKNOWN)
    if node.ready is not Status.UNKNOWN:
        return Guard(False, Reason.NODE_NOT_SILENT)
    if not policy.node_selector.matches(node.labels):
        return Guard(False, Reason.NODE_NOT_SELECTED)
    return _vouched(node, policy, now_s)


def vouched(node: NodeFacts | None, policy: VotePolicy) -> bool:
    """Whether *node* could be guarded if it were silent: it is selected and its peers say that it is healthy."""
    return node is not None and node.vote is Vote.HEALTHY and policy.node_selector.matches(node.labels)


def _vouched(node: NodeFacts, policy: VotePolicy, now_s: float) -> Guard:
    if node.vote is not Vote.HEALTHY:
        return Guard(False, Reason.VOTE_UNHEALTHY if node.vote is Vote.UNHEALTHY else Reason.VOTE_MISSING)
    timed = policy.max_age_s > 0 and node.vote_time_s is not None
    since_s = node.vote_time_s if timed else node.ready_since_s
    limit_s = policy.max_age_s if timed else policy.max_guard_s
    if since_s is None:
        # Neither a vote time nor a transition time: nothing could ever end this guard, so it only counts without a limit.
        return Guard(limit_s == 0, Reason.GUARDED if limit_s == 0 else Reason.VOTE_EXPIRED)
    age_s = now_s - since_s
    if limit_s and age_s > limit_s:
        return Guard(False, Reason.VOTE_EXPIRED, age_s)
    # Only a vote can come from a wrong clock: a transition in the future, which the API server's own controller wrote, means
    # that ours is slow, and a slow clock is no reason to let a node go.
    if timed and age_s < -CLOCK_SKEW_S:
        return Guard(False, Reason.VOTE_EXPIRED, age_s, -CLOCK_SKEW_S - age_s)
    return Guard(True, Reason.GUARDED, max(0.0, age_s), limit_s - age_s if limit_s else None)
