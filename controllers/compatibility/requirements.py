"""Which Kubernetes each part needs, and what of a configuration an API server is too old for. Pure.

The one place that says so: docs/installation.md has the same table, which a test holds against this one. What guards
availability needs the least, and is never switched off for anything here: a version is told, not enforced.

Source: kubernetes.io/docs: feature gates, deprecated API migration guide; apiserver pkg/cel/environment (a library of CEL may
be used in new rules from the release after the one that brings it).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import attrs

from controllers.config.document import Configuration
from webhook.objects.versions import Minor, minor_of

MOST_CHARACTERS: Final = 64  # of a version; the longest that is known has 30
TESTED: Final[tuple[Minor, Minor]] = ((1, 34), (1, 37))  # every release from the first to the last


@attrs.frozen
class Requirement:
    """What a part of Gatehouse needs of the API server."""

    part: str
    minimum: Minor
    why: str
    effect: str  # on an older one


WEBHOOKS: Final = Requirement(
    "webhooks",
    (1, 30),
    "matchConditions, which keep reviews from being asked for that are nobody's business",
    "they are asked about every change of a pod's status, and, with creatorPolicy, about the control plane's own writes",
)
POD_IP: Final = Requirement(
    "features.podIP",
    (1, 32),
    "rules of its kinds that check addresses (CEL: ip, cidr, format)",
    "its kinds cannot be installed: pods that ask for an address are refused until then",
)
DATABASES: Final = Requirement(
    "controllers.databaseInstance",
    (1, 32),
    "rules of its kind that check names and selectors (CEL: format)",
    "its kind cannot be installed: no database is guarded",
)
REQUIREMENTS: Final = (WEBHOOKS, POD_IP, DATABASES)


def requirements_of(config: Configuration) -> list[Requirement]:
    """What *config* asks for."""
    found = [WEBHOOKS]
    if config.features.pod_ip.enabled:
        found.append(POD_IP)
    if config.controllers.database_instance.enabled:
        found.append(DATABASES)
    return found


def read_version(answer: object) -> tuple[str, Minor]:
    """The version as the API server's /version writes it, and as numbers; (0, 0) when no number can be read.

    Builds write what they like: gitVersion "v1.34.2-eks-1a2b3c", minor "33+". It is cut to a length that fits into a line.
    """
    told = answer if isinstance(answer, dict) else {}
    parts = [told.get(key) for key in ("gitVersion", "major", "minor")]
    git, major, minor = (part[:MOST_CHARACTERS] if isinstance(part, str) else "" for part in parts)
    return git or f"{major}.{minor}".strip("."), minor_of(git) if minor_of(git) != (0, 0) else minor_of(f"{major}.{minor}")


def unmet(version: Minor, asked: Iterable[Requirement]) -> list[Requirement]:
    """Those of *asked* that *version* is too old for; none of a version that could not be read."""
    return [] if version == (0, 0) else [one for one in asked if version < one.minimum]


def is_tested(version: Minor) -> bool:
    """Whether the tests run against it."""
    return TESTED[0] <= version <= TESTED[1]


def told(version: str, requirement: Requirement) -> str:
    """What an operator is told."""
    minimum = text(requirement.minimum)
    return f"{requirement.part} needs Kubernetes {minimum}, and the API server is {version}: {requirement.effect}"


def text(version: Sequence[int]) -> str:
    """As people write it: 1.32."""
    return ".".join(map(str, version))
