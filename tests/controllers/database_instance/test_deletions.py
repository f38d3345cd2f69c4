"""What a leader remembers of deletions: which fail, and what they wait for."""

from __future__ import annotations

import pytest

from controllers.database_instance.deletions import Deletions
from controllers.database_instance.values import Wait
from controllers.runtime.errors import Cancelled, LeaseLost
from controllers.runtime.reconcile import Context, Done, Key, Outcome, Unguarded
from controllers.testing import FakeClock
from webhook.clock import Deadline
from webhook.logs import get_log
from webhook.objects.databases import FINALIZER, InstanceFacts, VolumesSpec
from webhook.telemetry import Telemetry

NOW_S = 10_000.0


def instance(name: str, *, deleting_s: float | None = None, protected: bool = True, fault: str = "") -> InstanceFacts:
    finalizers = (FINALIZER,) if protected else ()
    volumes = VolumesSpec(fault=fault)
    return InstanceFacts("shop", name, f"uid-{name}", volumes, None, finalizers=finalizers, deleting_s=deleting_s, fault=fault)


class Scripted:
    """A controller that does what the next of *script* says."""

    def __init__(self, *script: Exception | None) -> None:
        self._script = iter(script)

    def __call__(self, key: Key, context: Context, /) -> Outcome:
        if (error := next(self._script)) is not None:
            raise error
        return Done()


def deletions() -> Deletions:
    return Deletions(Telemetry(), FakeClock())


def passes(deletions: Deletions, *script: Exception | None, known: InstanceFacts | None = None) -> list[dict[str, str]]:
    """What is remembered after each pass."""
    clock = FakeClock()
    context = Context("database-instance", Deadline.after(5, clock), clock, Unguarded(), get_log("test"))
    watched = deletions.watching(Scripted(*script), lambda key: known)
    seen = []
    for error in script:
        if error is None:
            watched("shop/db", context)
        else:
            with pytest.raises(type(error)):
                watched("shop/db", context)
        seen.append(dict(deletions.errors()))
    return seen


def test_an_instance_fails_until_a_pass_succeeds() -> None:
    told = {"shop/db": "OSError: no route"}

    assert passes(deletions(), OSError("no route"), OSError("no route"), None) == [told, told, {}]


@pytest.mark.parametrize("error", [Cancelled("stopping"), LeaseLost("gone")])
def test_a_pass_that_had_to_end_is_no_failure(error: Exception) -> None:
    assert passes(deletions(), error) == [{}]


def test_a_replica_that_leads_no_more_knows_of_no_failures() -> None:
    led = deletions()
    passes(led, OSError("no route"), known=instance("db", deleting_s=9_400.0))

    led.clear()

    assert (led.errors(), led.waits()) == ({}, {})


@pytest.mark.parametrize(("deleting_s", "waits"), [(9_400.0, {"shop/db": Wait.FAILING}), (None, {})])
def test_a_deletion_that_fails_counts_as_such(deleting_s: float | None, waits: dict[str, Wait]) -> None:
    led = deletions()

    passes(led, OSError("no route"), known=instance("db", deleting_s=deleting_s))

    assert led.waits() == waits
