"""What tests of controllers need: a clock that only moves when told to, and an API server that does what it is told to.

What is in `__all__` is public: authors of controllers use it (docs/own-rule.md).

    FakeClock  webhook.clock.Clock without waiting
    FakeApi    a Kubernetes API server over real HTTP on 127.0.0.1, with faults on demand
    Objects    its content, usable without sockets
    Rehearsal  a controller of one's own against it, without threads
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from controllers.testing.api import FakeApi
from controllers.testing.clock import FakeClock
from controllers.testing.objects import Objects

if TYPE_CHECKING:
    from controllers.testing.rehearsal import Rehearsal

__all__ = ["FakeApi", "FakeClock", "Objects", "Rehearsal"]


def __getattr__(name: str) -> Any:
    if name != "Rehearsal":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from controllers.testing.rehearsal import Rehearsal  # with all of a process's parts, which the others do without

    return Rehearsal
