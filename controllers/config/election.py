"""The sections `leaderElection` and `clientConnection`: who leads, and how the API server is spoken to."""

from __future__ import annotations

import re
from typing import ClassVar, Final

import attrs

from controllers.config.decoder import Rule, duration, flag, integer, number, setting, text

JITTER: Final = 1.2  # client-go's JitterFactor: a retry waits up to this many retry periods

_DNS_LABEL: Final = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")


def _name_fault(value: str) -> str | None:
    labels_fit = all(_DNS_LABEL.fullmatch(label) for label in value.split("."))
    return None if labels_fit and len(value) <= 253 else "must be a name of lower case letters, digits, '-' and '.'"


def _namespace_fault(value: str) -> str | None:
    return None if not value or _DNS_LABEL.fullmatch(value) else "must be the name of a namespace"


@attrs.frozen
class LeaderElectionSection:
    """leaderElection: of several replicas one does the led work"""

    enabled: bool = setting(False, flag())
    name: str = setting("gatehouse", text(at_least=1, check=_name_fault))  # of the Lease
    namespace: str = setting("", text(check=_namespace_fault))  # "" = the one that this process runs in
    lease_duration_s: float = setting(15.0, duration(at_least_s=1))
    renew_deadline_s: float = setting(10.0, duration(at_least_s=1))
    retry_period_s: float = setting(2.0, duration(at_least_s=1))

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            ("lease_duration_s", "renew_deadline_s"),
            lambda it, given: it.lease_duration_s <= it.renew_deadline_s,
            "must be above renewDeadline: else another replica leads before this one has given up",
        ),
        Rule(
            ("renew_deadline_s", "retry_period_s"),
            lambda it, given: it.renew_deadline_s <= JITTER * it.retry_period_s,
            f"must be above {JITTER} times retryPeriod: else there is no time for a second try",
        ),
    )


@attrs.frozen
class ClientConnectionSection:
    """clientConnection"""

    kubeconfig: str = setting("", text())  # "" = $KUBECONFIG, else in-cluster, else ~/.kube/config
    qps: float = setting(50.0, number(at_least=1, at_most=100_000))
    burst: int = setting(100, integer(at_least=1, at_most=100_000))
