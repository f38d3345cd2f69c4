"""Versions of kubelets, as far as a decision needs them: major and minor. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable

Minor = tuple[int, int]  # (1, 33)

# "v1.33.2", "v1.33.2-eks-1a2b3c", "1.33+": what builds of Kubernetes report in status.nodeInfo.kubeletVersion.
_VERSION = re.compile(r"v?(\d{1,5})\.(\d{1,5})(?!\d)", re.ASCII)


def minor_of(version: str) -> Minor:
    """Major and minor of a kubelet's version; (0, 0) of what is none, since nothing can be relied on there."""
    found = _VERSION.match(version)
    return (int(found[1]), int(found[2])) if found else (0, 0)


def index_value(version: str) -> str:
    """The same as "major.minor", to file nodes by."""
    return "{}.{}".format(*minor_of(version))


def oldest(versions: Iterable[str]) -> Minor | None:
    """The oldest of *versions*; None when there are none."""
    return min(map(minor_of, versions), default=None)
