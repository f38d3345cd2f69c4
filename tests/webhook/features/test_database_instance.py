"""No claim belongs to two DatabaseInstances, and who deletes one is told what goes."""

from __future__ import annotations

from typing import Any

import attrs
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
from webhook.testing.facts import StatefulSet
from webhook.testing.facts import StaticDatabases as Known

UID = "uid-web"


def other(namespace: str = "shop", name: str = "other", **volumes: Any) -> InstanceFacts:
    return InstanceFacts(namespace, name, f"uid-{name}", VolumesSpec(**volumes), None)


def claim(name: str = "data", labels: Json | None = None, owner: str = "") -> ClaimFacts:
    owners = (Owner(owner, "DatabaseInstance", "x"),) if owner else ()
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


def owned_set(owner: str = "uid-other", *more: Owner, name: str = "db", templates: tuple[str, ...] = ("data",)) -> Known:
    """One StatefulSet, of the instance *owner*, beside the instance `other`."""
    made = StatefulSet(name, f"uid-set-{name}", (Owner(owner, "DatabaseInstance", "x"), *more), templates)
    return Known([other()], sets={"shop": [made]})


def refused(obj: Json, known: Known) -> bool:
    verdict = asked(obj, known)
    assert verdict.denial is None or verdict.denial.reason == "ClaimTaken"
    return verdict.denial is not None


@pytest.mark.parametrize("volumes", [{"claimNames": ["data-db-0"]}, SELECTED], ids=["by name", "by label"])
def test_a_claim_of_a_stateful_set_belongs_to_the_instance_that_owns_the_set(volumes: Json) -> None:
    known = attrs.evolve(owned_set(), claims=[claim("data-db-0", labels={"app": "db"})])

    verdict = asked(instance(volumes), known)

    assert verdict.denial is not None
    assert verdict.denial.message.startswith('DatabaseInstance "web": claim "data-db-0" belongs to DatabaseInstance "other"')


@pytest.mark.parametrize(
    ("name", "taken"), [("data-db-7", True), ("data-db-x", False), ("logs-db-7", False), ("data-7", False)]
)
def test_a_claim_that_a_set_has_yet_to_make_is_its_instances_too(name: str, taken: bool) -> None:
    assert refused(instance({"claimNames": [name]}), owned_set()) is taken


def test_an_instance_takes_the_claims_of_its_own_set_and_none_that_another_names() -> None:
    mine = attrs.evolve(owned_set(UID), claims=[claim("data-db-0")])
    named = [other(names=frozenset({"data-db-0"}))]
    awaited = [other(names=frozenset({"data-db-1"}))]

    assert not refused(instance({"claimNames": ["data-db-0"]}), mine)
    assert refused(instance({}), attrs.evolve(mine, instances=named))
    assert refused(instance({}), attrs.evolve(mine, instances=awaited))


def test_the_claims_of_a_set_that_an_instance_does_not_take_are_free() -> None:
    known = attrs.evolve(owned_set(), instances=[other(owned=False)], claims=[claim("data-db-0")])

    assert not refused(instance({"claimNames": ["data-db-0"]}), known)


def test_what_an_instance_owns_together_with_others_no_other_instance_may_take() -> None:
    team = Owner("uid-team", "Team", "x")
    owned = attrs.evolve(claim("both", owner="uid-other"), owners=(Owner("uid-other", "DatabaseInstance", "x"), team))

    assert refused(instance({"claimNames": ["data-db-0"]}), owned_set("uid-other", team))
    assert refused(instance({"claimNames": ["both"]}), Known([other()], [owned]))


def test_who_deletes_is_not_told_of_what_others_own_too() -> None:
    team = Owner("uid-team", "Team", "x")
    owned = attrs.evolve(claim("both", owner=UID), owners=(Owner(UID, "DatabaseInstance", "x"), team))
    known = attrs.evolve(owned_set(UID, team), claims=[owned, claim("data-db-0"), claim("own", owner=UID)])

    assert [one.split('"')[3] for one in asked(None, known, instance(), "DELETE").warnings] == ["own"]


def test_a_claim_that_bears_my_uid_is_mine_whatever_set_has_its_name() -> None:
    known = attrs.evolve(owned_set(), claims=[claim("data-db-0", labels={UID_LABEL: UID})])

    assert not refused(instance({"claimNames": ["data-db-0"]}), known)


def test_what_was_shared_before_keeps_nobody_from_mending_the_rest() -> None:
    known = Known([other(names=frozenset({"data", "logs"}))])
    both = instance({"claimNames": ["data", "logs"]})

    assert asked(instance({"claimNames": ["data"]}), known, both, "UPDATE").denial is None
    verdict = asked(instance({"claimNames": ["data", "logs"]}), known, instance({"claimNames": ["data"]}), "UPDATE")
    assert verdict.denial is not None
    assert '"data"' not in verdict.denial.message


def test_who_deletes_is_not_told_of_what_a_living_instance_shares() -> None:
    named = other(names=frozenset({"data"}))
    leaving = attrs.evolve(named, deleting_s=1.0)

    assert asked(None, Known([named], [claim("data")]), instance({"claimNames": ["data"]}), "DELETE").warnings == ()
    assert asked(None, Known([leaving], [claim("data")]), instance({"claimNames": ["data"]}), "DELETE").warnings != ()


def test_a_claim_that_bears_a_third_ones_uid_is_not_made_by_my_set_whatever_its_name() -> None:
    third = claim("data-db-0", labels={UID_LABEL: "uid-third"})
    named = [other(names=frozenset({"data-db-0"}))]

    assert not refused(instance({}), attrs.evolve(owned_set(UID), instances=named, claims=[third]))


def test_instances_that_have_no_uid_yet_own_nothing_together() -> None:
    unborn = attrs.evolve(other(), uid="")

    assert not refused(instance(NAMED), Known([unborn], [claim("data"), claim("logs")]))


def test_who_deletes_is_told_of_the_claims_of_its_sets() -> None:
    known = attrs.evolve(owned_set(UID), claims=[claim("data-db-0"), claim("data-other-0")])

    warnings = asked(None, known, instance(), "DELETE").warnings

    assert [one.split('"')[3] for one in warnings] == ["data-db-0"]


@pytest.mark.parametrize("policy", list(DeletionPolicy))
@pytest.mark.parametrize("claims", [[], [claim("data")]])
def test_who_deletes_is_told_that_nothing_is_deleted_while_the_selector_cannot_be_read(
    policy: DeletionPolicy, claims: list[ClaimFacts]
) -> None:
    old = instance({**NAMED, "selector": {"matchLabels": {"not a key": "x"}}}, deletionPolicy=policy.value)

    verdict = asked(None, Known(claims=claims), old, "DELETE")

    assert (verdict.denial, verdict.reason.value, len(verdict.warnings)) == (None, "SpecInvalid", 1)
    told = 'DatabaseInstance "web": nothing is deleted while the spec cannot be read: spec.volumes.selector: '
    assert verdict.warnings[0].startswith(told)


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
