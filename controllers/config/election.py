"""The sections `leaderElection` and `clientConnection`: who leads, and how the API server is spoken to."""

from __future__ import annotations

from typing import ClassVar, Final

import attrs

from controllers.config.decoder import Rule, duration, flag, integer, number, setting, text
from webhook.objects.dns_names import is_dns_label, is_dns_subdomain

JITTER: Final = 1.2  # client-go's JitterFactor: a retry waits up to this many retry periods


def _name_fault(value: str) -> str | None:
    return None if is_dns_subdomain(value) else "must be a name of lower case letters, digits, '-' and '.'"


def _namespace_fault(value: str) -> str | None:
    return None if not value or is_dns_label(value) else "must be the name of a namespace"


@attrs.frozen
class LeaderElectionSection:
    """leaderElection: of several replicas one does the led work"""

    #: needed as soon as there are two replicas
    enabled: bool = setting(False, flag())
    #: of the Lease
    name: str = setting("gatehouse", text(at_least=1, check=_name_fault))
    #: of the Lease; empty: the one that this process runs in
    namespace: str = setting("", text(check=_namespace_fault))
    #: how long the others wait for a leader that says nothing
    lease_duration_s: float = setting(15.0, duration(at_least_s=1))
    #: after which a leader that cannot renew stops its led work
    renew_deadline_s: float = setting(10.0, duration(at_least_s=1))
    #: between two tries to take or renew the Lease
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
    """clientConnection: how the API server is spoken to"""

    #: empty: `$KUBECONFIG`, else the pod's service account, else `~/.kube/config`
    kubeconfig: str = setting("", text())
    #: requests a second of each API client (one for caches, one for led writes)
    qps: float = setting(50.0, number(at_least=1, at_most=100_000))
    #: requests of one client that may go at once
    burst: int = setting(100, integer(at_least=1, at_most=100_000))
