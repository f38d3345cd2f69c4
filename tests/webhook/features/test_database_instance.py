"""No claim belongs to two DatabaseInstances, and who deletes one is told what goes."""

from __future__ import annotations

from typing import Any

import pytest

from tests.webhook.features.asking import Asked
from webhook.admission.databases import database_entries
from webhook.admission.review import Operations
from webhook.admission.service import Verdict
from webhook.admission.settings import Settings
from webhook.errors import MalformedObject, Unavailable
from webhook.features.database_instance import GuardClaims
from webhook.objects.databases import UID_LABEL, ClaimFacts, DeletionPolicy, InstanceFacts, Owner, VolumesSpec
from webhook.objects.meta import Json
from webhook.objects.selectors import Selector
from webhook.testing.facts import StaticDatabases as Known

UID = "uid-web"


def other(namespace: str = "shop", name: str = "other", **volumes: Any) -> InstanceFacts:
    return InstanceFacts(namespace, name, f"uid-{name}", VolumesSpec(**volumes), None)


def claim(name: str = "data", labels: Json | None = None, owner: str = "") -> ClaimFacts:
    owners = (Owner(owner, "DatabaseInstance", "x", True),) if owner else ()
    return ClaimFacts("shop", name, f"uid-{name}", labels or {}, owners, f"pv-{name}")


def instance(volumes: Any = None, **spec: Any) -> Json:
    metadata = {"name": "web", "namespace": "shop", "uid": UID}
    return {"metadata": metadata, "spec": {"volumes": volumes or {}, **spec}}


def asked(obj: Json | None, known: Known = Known(), old: Json | None = None, operation: str = "CREATE") -> Verdict:
    rule = GuardClaims(DeletionPolicy.DELETE, known)
    return Asked(operation=Operations(operation), namespace="shop", object=obj, old_object=old).of(rule)


NAMED = {"claimNames": ["data", "logs"]}
SELECTED = {"selector": {"matchLabels": {"app": "db"}}}
BY_LABEL = Selector.parse("app=db")


@pytest.mark.parametrize(
    ("volumes", "known", "taken"),
    [
        (NAMED, Known(), []),
        (NAMED, Known([other(names=frozenset({"data"}))]), ["data"]),
        (NAMED, Known([other(namespace="elsewhere", names=frozenset({"data"}))]), []),
        (NAMED, Known([other(name="web", names=frozenset({"data"}))]), []),
        (NAMED, Known([other(selector=BY_LABEL)], [claim(labels={"app": "db"})]), ["data"]),
        (NAMED, Known([other(selector=BY_LABEL)], [claim(labels={"app": "web"})]), []),
        (NAMED, Known([other()], [claim(owner="uid-other")]), ["data"]),
        (NAMED, Known([other()], [claim(labels={UID_LABEL: "uid-other"})]), ["data"]),
        (SELECTED, Known([other(names=frozenset({"data"}))], [claim(labels={"app": "db"})]), ["data"]),
        (SELECTED, Known([other(selector=BY_LABEL)], [claim(labels={"app": "db"})]), ["data"]),
        (SELECTED, Known([other(selector=BY_LABEL)]), []),
        (SELECTED, Known([other()], [claim(labels={"app": "db", UID_LABEL: "uid-other"})]), []),
        ({}, Known([other(names=frozenset({"data"}))], [claim(owner=UID)]), ["data"]),
    ],
)
def test_a_claim_belongs_to_one_instance_only(volumes: Json, known: Known, taken: list[str]) -> None:
    verdict = asked(instance(volumes), known)

    told = [] if verdict.denial is None else [name for name in ("data", "logs") if f'claim "{name}"' in verdict.denial.message]
    assert told == taken


def test_the_refusal_names_claim_and_owner() -> None:
    verdict = asked(instance(NAMED), Known([other(names=frozenset({"data", "logs"}))]))

    assert verdict.denial is not None
    assert (verdict.denial.code, verdict.denial.reason) == (422, "ClaimTaken")
    assert verdict.denial.message == (
        'DatabaseInstance "web": claim "data" belongs to DatabaseInstance "other", '
        'claim "logs" belongs to DatabaseInstance "other"; a claim has one instance only'
    )


def test_an_update_that_leaves_the_volumes_as_they_were_passes_whatever_others_say() -> None:
    known = Known([other(names=frozenset({"data"}))], ready=False)

    verdict = asked(instance(NAMED, deletionPolicy="Retain"), known, instance(NAMED), "UPDATE")

    assert verdict.denial is None


def test_an_update_that_takes_a_claim_is_refused() -> None:
    known = Known([other(names=frozenset({"data"}))])

    assert asked(instance(NAMED), known, instance({"claimNames": ["logs"]}), "UPDATE").denial is not None


def test_nothing_is_decided_before_the_caches_have_synced() -> None:
    with pytest.raises(Unavailable):
        asked(instance(NAMED), Known(ready=False))


def test_a_selector_that_is_none_is_refused() -> None:
    verdict = asked(instance({"selector": {"matchLabels": {"not a key": "x"}}}))

    assert verdict.denial is not None
    assert "not a key" in verdict.denial.message


def test_a_field_of_the_wrong_type_is_malformed() -> None:
    with pytest.raises(MalformedObject):
        asked(instance({"claimNames": "data"}))


@pytest.mark.parametrize(
    ("policy", "fate"), [(None, "is deleted with"), ("Retain", "stays"), ("Snapshot", "is snapshotted, then deleted")]
)
def test_who_deletes_is_told_of_each_claim(policy: str | None, fate: str) -> None:
    old = instance(NAMED, **({"deletionPolicy": policy} if policy else {}))
    old["status"] = {"volumes": [{"claimName": "data-db-0"}]}

    verdict = asked(None, Known(claims=[claim(), claim("mine", owner=UID), claim("theirs")]), old, "DELETE")

    assert verdict.denial is None
    assert [one.split('"')[3] for one in verdict.warnings] == ["data", "data-db-0", "mine"]
    assert all(fate in one and len(one) < 256 for one in verdict.warnings)


def test_of_many_claims_the_first_are_told_and_the_rest_are_counted() -> None:
    known = Known(claims=[claim(f"c{number:02}", owner=UID) for number in range(25)])

    warnings = asked(None, known, instance(), "DELETE").warnings

    assert len(warnings) == 11
    assert warnings[-1] == 'DatabaseInstance "web": and 15 more claims'


def test_nothing_is_registered_while_the_controller_is_off() -> None:
    assert database_entries(Settings()) == ()


def test_a_deletion_is_never_held_up_by_us() -> None:
    _, deleted = database_entries(Settings(database_policy=DeletionPolicy.DELETE))

    assert (deleted.failure_policy, deleted.matches[0].operations) == ("Ignore", (Operations.DELETE,))
