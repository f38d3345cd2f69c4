"""Whether a configuration can be that of an installation: several replicas behind one Service, with a certificate for its name.

Refused rather than filled in: what is installed is the operator's file as it is written. Pure; any thread.
"""

from __future__ import annotations

from typing import Final

import attrs

from controllers.config.decoder import key_of
from controllers.config.document import DEFAULT_HOME, Configuration
from controllers.config.webhook import CertificateOrigin
from webhook.names import PROJECT

NAME: Final = f"{PROJECT}.{DEFAULT_HOME}.svc"  # what the API server asks the certificate for

CERTIFICATE_LINES: Final = f"webhook:\n  certificate: {{source: self, secretName: {PROJECT}-tls, serviceName: {PROJECT}}}"
ELECTION_LINES: Final = "leaderElection: {enabled: true}"
EDGE_ONLY: Final = "edge-only"  # the overlay whose rights are those of these features alone
_OF_THE_EDGE: Final = frozenset({"node_taint", "endpoint", "pod_status"})


def faults(config: Configuration, replicas: int) -> list[str]:
    """What such an installation lacks, a sentence each, with the lines to add; [] = nothing."""
    found = []
    certificate = config.webhook.certificate
    if certificate.source is CertificateOrigin.SELF:
        wanted = certificate.wanted(DEFAULT_HOME)
        if wanted is None:
            found.append(
                "webhook.certificate has no secretName: each replica would serve a certificate of its own, which no API server "
                f"trusts for {NAME}; add\n{CERTIFICATE_LINES}"
            )
        elif NAME not in wanted.names:
            found.append(
                f"webhook.certificate is for {', '.join(wanted.names)} and not for {NAME}, which the API server asks for; "
                f"say\n{CERTIFICATE_LINES}"
            )
    if replicas > 1 and not config.leader_election.enabled:
        found.append(
            f"leaderElection is not enabled: {replicas} replicas would each run the led controllers, unguarded; "
            f"add\n{ELECTION_LINES}"
        )
    return found


def beyond_the_edge(config: Configuration) -> list[str]:
    """What is on in *config* and has no rights in the overlay `edge-only`, a sentence with the lines to add; [] = nothing."""
    features = [one for one in attrs.fields(type(config.features)) if one.name not in _OF_THE_EDGE]
    on = [key_of(one) for one in features if getattr(config.features, one.name).enabled]
    controllers = {
        "coverage": config.controllers.coverage.enabled,
        "databaseInstance": config.controllers.database_instance.enabled,
    }
    led = [key for key, enabled in controllers.items() if enabled]
    lines = [
        f"{section}:\n" + "\n".join(f"  {key}: {{enabled: false}}" for key in keys)
        for section, keys in (("features", on), ("controllers", led))
        if keys
    ]
    if not lines:
        return []
    switched_off = "\n".join(lines)
    return [f"{', '.join([*on, *led])}: on, and the overlay {EDGE_ONLY} has no rights for it; add\n{switched_off}"]
