"""What a process wants of its certificate in the cluster, as the configuration says it: values. Pure.

They stand apart from `plan`, so that a process whose certificate is its own imports nothing else of this package.
"""

from __future__ import annotations

from typing import Final

import attrs

OVERLAP_S: Final = 3600.0  # every replica has taken up the new leaf long before; a suspended one may have a while


@attrs.frozen
class Timing:
    """Lifetimes and waits, in seconds."""

    ca_s: float = 365 * 86400.0
    leaf_s: float = 90 * 86400.0
    grace_s: float = 30.0  # in which every API server, however many there are, has seen a caBundle that was written

    @property
    def overlap_s(self) -> float:
        """How long an old CA is trusted after nothing is signed by it any more; over before the new leaf is renewed."""
        return min(OVERLAP_S, self.leaf_s / 3)


@attrs.frozen
class Wanted:
    """The Secret that is to be there."""

    namespace: str
    name: str
    names: tuple[str, ...] = ()  # that its certificate is valid for, each as `chains.canonical_name` writes it
    timing: Timing = Timing()
    ours: bool = True  # whether we make it; False: somebody else does, and it is only waited for

    @property
    def key(self) -> str:
        """As in caches and messages."""
        return f"{self.namespace}/{self.name}"


@attrs.frozen
class Files:
    """The paths of a pair in files, and of the CA that callers are to trust for it."""

    certificate: str
    key: str
    ca: str


@attrs.frozen
class Followed:
    """What a process follows of its certificate in the cluster: a Secret, or only what the configurations should trust."""

    wanted: Wanted | None  # None: the pair comes from files
    files: Files | None
    keeps_bundle: bool  # whether caBundle is ours to write
