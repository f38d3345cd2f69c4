"""What tests of controllers need: a clock that only moves when told to, and an API server that does what it is told to.

Public: authors of controllers use both.

    FakeClock  webhook.clock.Clock without waiting
    FakeApi    a Kubernetes API server over real HTTP on 127.0.0.1, with faults on demand
    Objects    its content, usable without sockets
"""

from controllers.testing.api import FakeApi
from controllers.testing.clock import FakeClock
from controllers.testing.objects import Objects

__all__ = ["FakeApi", "FakeClock", "Objects"]
