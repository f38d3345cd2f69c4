"""The section `votes`: how the word of a node's peers is read, and how long it counts."""

from __future__ import annotations

from typing import ClassVar

import attrs

from controllers.config.decoder import Rule, choice, duration, flag, selector, setting, text
from webhook.objects.selectors import Selector, key_fault
from webhook.objects.votes import Protocol, VotePolicy

_DEFAULT = VotePolicy()


def _optional_key(value: str) -> str | None:
    return key_fault(value) if value else None


@attrs.frozen
class VotesSection:
    """votes: what a node's peers say of it (docs/edge-health.md)"""

    #: `annotation`: healthyValue or unhealthyValue; `superedge`: absent is healthy, "yes" is unhealthy
    protocol: Protocol = setting(_DEFAULT.protocol, choice(Protocol))
    #: of the Node that bears the vote; with protocol `superedge` the default means `nodeunhealth`
    annotation: str = setting(_DEFAULT.annotation, text(at_least=1, check=key_fault))
    # An empty value could not be told from an absent annotation, and silence must never mean healthy.
    #: only with protocol `annotation`
    healthy_value: str = setting(_DEFAULT.healthy_value, text(at_least=1))
    #: only with protocol `annotation`
    unhealthy_value: str = setting(_DEFAULT.unhealthy_value, text(at_least=1))
    #: of the Node: the RFC 3339 moment at which the vote was written; empty: votes carry no time
    time_annotation: str = setting(_DEFAULT.time_annotation, text(check=_optional_key))
    #: a healthy vote older than this no longer counts; 0s: no limit
    max_age_s: float = setting(_DEFAULT.max_age_s, duration())
    #: without a vote's time: how long after Ready's change a node is guarded; 0s: no limit
    max_guard_s: float = setting(_DEFAULT.max_guard_s, duration())
    #: the nodes that may be guarded, `zone=plant-7,!gpu` or an object; empty: all
    node_selector: Selector = setting(_DEFAULT.node_selector, selector())
    #: drop the unreachable taint whatever the vote says
    always_reachable: bool = setting(_DEFAULT.always_reachable, flag())

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            ("max_age_s", "time_annotation"),
            lambda it, given: it.max_age_s > 0 and not it.time_annotation,
            "needs timeAnnotation: without it nobody knows how old a vote is (maxGuard limits such votes)",
        ),
        Rule(
            ("max_guard_s", "max_age_s"),
            lambda it, given: it.max_age_s > 0 and it.max_guard_s == 0,
            "must not be 0s with maxAge: a vote that carries no time would count for ever",
        ),
        Rule(
            ("time_annotation", "max_age_s"),
            lambda it, given: bool(it.time_annotation) and it.max_age_s == 0,
            "needs maxAge: without it the time of a vote says nothing",
        ),
        Rule(
            ("time_annotation", "annotation"),
            lambda it, given: bool(it.time_annotation) and it.time_annotation == it.annotation,
            "must not be the annotation that holds the vote itself",
        ),
        Rule(
            ("unhealthy_value", "healthy_value"),
            lambda it, given: it.healthy_value == it.unhealthy_value,
            "must differ from healthyValue",
        ),
        Rule(
            ("healthy_value", "protocol"),
            lambda it, given: it.protocol is Protocol.SUPEREDGE and "healthy_value" in given,
            "has no meaning with protocol superedge, where a missing annotation is a healthy vote",
        ),
        Rule(
            ("unhealthy_value", "protocol"),
            lambda it, given: it.protocol is Protocol.SUPEREDGE and "unhealthy_value" in given,
            'has no meaning with protocol superedge, where "yes" is an unhealthy vote',
        ),
    )

    def policy(self) -> VotePolicy:
        """The same for `webhook`."""
        return VotePolicy(**attrs.asdict(self, recurse=False))
