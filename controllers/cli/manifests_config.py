"""Whether a configuration can be that of an installation: several replicas behind one Service, with a certificate for its name.

Refused rather than filled in: what is installed is the operator's file as it is written. Pure; any thread.
"""

from __future__ import annotations

from typing import Final

from controllers.config.document import DEFAULT_HOME, Configuration
from controllers.config.webhook import CertificateOrigin
from webhook.names import PROJECT

NAME: Final = f"{PROJECT}.{DEFAULT_HOME}.svc"  # what the API server asks the certificate for

CERTIFICATE_LINES: Final = f"webhook:\n  certificate: {{source: self, secretName: {PROJECT}-tls, serviceName: {PROJECT}}}"
ELECTION_LINES: Final = "leaderElection: {enabled: true}"


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
