"""Pod Security levels, and which one a namespace enforces. Pure; nothing here raises.

Source: kubernetes.io/docs/concepts/security/pod-security-admission; k8s.io/pod-security-admission api/helpers.go, v0.37.2.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import StrEnum

import attrs

ENFORCE_LABEL = "pod-security.kubernetes.io/enforce"
ENFORCE_VERSION_LABEL = "pod-security.kubernetes.io/enforce-version"

# The newest version of the policy that we know, v1.37; "latest" and every later one mean this.
LATEST = 37

_VERSION = re.compile(r"v1\.(0|[1-9][0-9]{0,8})")


class Profile(StrEnum):
    """The three Pod Security Standards, each stricter than the one before."""

    PRIVILEGED = "privileged"
    BASELINE = "baseline"
    RESTRICTED = "restricted"


@attrs.frozen
class Level:
    """A profile as one version of Kubernetes understands it."""

    profile: Profile
    minor: int = LATEST  # of the policy's version: 37 is v1.37

    def __str__(self) -> str:
        """For messages: "restricted:v1.24", "baseline:latest"."""
        version = "latest" if self.minor >= LATEST else f"v1.{self.minor}"
        return f"{self.profile.value}:{version}"


PRIVILEGED = Level(Profile.PRIVILEGED)
BASELINE = Level(Profile.BASELINE)
RESTRICTED = Level(Profile.RESTRICTED)


def level_of(namespace_labels: Mapping[str, str]) -> Level:
    """What the namespace enforces; privileged, the API server's default, when it says nothing.

    As in the API server an unknown profile counts as restricted, an unknown version as latest. A cluster whose
    administrator set other defaults (AdmissionConfiguration) does not tell anyone; labels do.
    """
    text = namespace_labels.get(ENFORCE_LABEL)
    if text is None:
        return PRIVILEGED
    profile = Profile(text) if text in set(Profile) else Profile.RESTRICTED
    version = _VERSION.fullmatch(namespace_labels.get(ENFORCE_VERSION_LABEL, ""))
    return Level(profile, min(int(version[1]), LATEST) if version else LATEST)
