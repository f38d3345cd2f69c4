"""Which claims are an instance's own, and what its spec.volumes says."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webhook.objects.databases import (
    UID_LABEL,
    ClaimFacts,
    DeletionPolicy,
    InstanceFacts,
    Owner,
    Say,
    VolumesSpec,
    is_wholly_owned,
    makes,
    says,
    says_is_its_own,
)
from webhook.objects.meta import Json
from webhook.objects.selectors import Selector
from webhook.testing.facts import StatefulSet

UID = "uid-db"


def owner(uid: str = UID) -> Owner:
    return Owner(uid, "DatabaseInstance", uid)


def claim(name: str = "data", *owners: Owner, labels: dict[str, str] | None = None) -> ClaimFacts:
    return ClaimFacts("shop", name, f"uid-{name}", labels or {}, owners, f"pv-{name}")


# -- owner references


@pytest.mark.parametrize(
    ("owners", "own"),
    [
        ((), False),
        ((owner(),), True),
        ((owner(), owner()), True),
        ((owner(), owner("uid-other")), False),
        ((owner("uid-other"), owner()), False),
        ((owner("uid-other"),), False),
    ],
)
def test_what_others_own_too_is_nobodys_own(owners: tuple[Owner, ...], own: bool) -> None:
    found = claim("data", *owners)

    assert is_wholly_owned(owners, {UID}) is own
    assert says_is_its_own(VolumesSpec(), UID, found) is own
    assert Say.of(VolumesSpec(), UID, ()).about(found) is any(one.uid == UID for one in owners)


def test_owners_that_are_all_ones_own_are_like_one() -> None:
    assert is_wholly_owned((owner(), owner("uid-set")), {UID, "uid-set"})


def test_an_owner_without_uid_owns_nothing() -> None:
    assert not is_wholly_owned((owner(""),), {""})


def test_the_label_makes_a_claim_ones_own_whoever_owns_it() -> None:
    found = claim("data", owner("uid-a"), owner("uid-b"), labels={UID_LABEL: UID})

    assert says_is_its_own(VolumesSpec(), UID, found)


# -- StatefulSets


@pytest.mark.parametrize(
    ("name", "made"),
    [
        ("data-db-0", True),
        ("data-db-12", True),
        ("data-db-2147483647", True),
        ("data-db-2147483648", False),
        ("data-db-20240101120000", False),
        ("data-db-007", False),
        ("data-db-00", False),
        ("data-db-", False),
        ("data-db-0x", False),
        ("data-db-\u0663", False),
        ("logs-db-0", False),
        ("data-dbs-0", False),
        ("xdata-db-0", False),
    ],
)
def test_a_set_makes_claims_of_template_name_and_ordinal(name: str, made: bool) -> None:
    assert makes(StatefulSet("db", "uid-set", templates=("wal", "data")), name) is made


def test_a_claim_of_a_set_is_told_by_its_owner_reference_too_and_never_with_another_uid() -> None:
    say = Say.of(VolumesSpec(), UID, [StatefulSet("db", "uid-set", (owner(),))])

    assert say.made(claim("adopted", owner("uid-set")))
    assert not say.made(claim("strange", owner("uid-pod")))
    assert not say.made(claim("data-db-0", labels={UID_LABEL: "uid-other"}))


@pytest.mark.parametrize(
    ("volumes", "uid", "owners", "counts"),
    [
        (VolumesSpec(), UID, (owner(),), True),
        (VolumesSpec(), UID, (owner(), owner("uid-other")), True),
        (VolumesSpec(owned=False), UID, (owner(),), False),
        (VolumesSpec(), UID, (owner("uid-other"),), False),
        (VolumesSpec(), "", (owner(""),), False),
    ],
)
def test_a_set_makes_claims_for_the_instances_that_own_it(
    volumes: VolumesSpec, uid: str, owners: tuple[Owner, ...], counts: bool
) -> None:
    assert bool(Say.of(volumes, uid, [StatefulSet("db", "uid-set", owners)]).makers) is counts


@pytest.mark.parametrize(
    ("volumes", "found", "say"),
    [
        (VolumesSpec(frozenset({"data"})), claim(), True),
        (VolumesSpec(owned=False), claim(labels={UID_LABEL: UID}), True),
        (VolumesSpec(owned=False), claim("data", owner(), owner("uid-other")), False),
        (VolumesSpec(), claim("data", owner(), owner("uid-other"), labels={UID_LABEL: "uid-third"}), False),
        (VolumesSpec(), claim("data-db-0"), True),
        (VolumesSpec(), claim("other"), False),
    ],
)
def test_an_instance_has_a_say_about_its_own_and_about_what_it_owns_with_others(
    volumes: VolumesSpec, found: ClaimFacts, say: bool
) -> None:
    makers = (StatefulSet("db", "uid-set", (owner(),)),)

    assert Say.of(volumes, UID, makers).about(found) is say


# -- says


UIDS = ("uid-a", "uid-b", "")
OWNERS = st.lists(st.sampled_from(("uid-a", "uid-b", "uid-set-x", "uid-set-y", "")).map(owner), max_size=2).map(tuple)
SETS = st.builds(StatefulSet, st.sampled_from("xy"), st.sampled_from(("uid-set-x", "uid-set-y")), OWNERS)
SPECS = st.builds(
    VolumesSpec,
    st.sampled_from((frozenset(), frozenset({"data-x-0"}))),
    st.sampled_from((None, Selector.parse("app=db"))),
    st.booleans(),
)
CLAIMS = st.builds(
    lambda name, label, app, owners: claim(name, *owners, labels={**label, **app}),
    st.sampled_from(("data", "data-x-0", "data-y-1")),
    st.sampled_from(({}, {UID_LABEL: "uid-a"}, {UID_LABEL: "uid-b"})),
    st.sampled_from(({}, {"app": "db"})),
    OWNERS,
)


def instance(name: str, uid: str, volumes: VolumesSpec) -> InstanceFacts:
    return InstanceFacts("shop", name, uid, volumes, DeletionPolicy.DELETE)


@given(SPECS, st.sampled_from(UIDS), st.lists(SETS, max_size=3), CLAIMS)
def test_a_say_is_one_of_name_selector_label_owner_or_set(
    volumes: VolumesSpec, uid: str, sets: list[StatefulSet], found: ClaimFacts
) -> None:
    free = found.instance_uid in ("", uid)
    owners = {one.uid for one in found.owners} - {""}
    dependents = [one for one in sets if uid and uid in {by.uid for by in one.owners}]
    through = any(one.uid in owners or makes(one, found.name) for one in dependents)
    selected = volumes.selector is not None and volumes.selector.matches(found.labels)
    labelled = bool(uid) and found.instance_uid == uid
    owned = volumes.owned and free and bool(uid) and (uid in owners or through)

    say = Say.of(volumes, uid, sets)

    assert say.about(found) == (found.name in volumes.names or (selected and free) or labelled or owned)
    assert say.owns(found) == (owned or (volumes.owned and labelled))


@given(st.lists(SPECS, max_size=3), st.lists(SETS, max_size=3), CLAIMS)
def test_the_says_of_many_instances_are_those_of_each(
    specs: list[VolumesSpec], sets: list[StatefulSet], found: ClaimFacts
) -> None:
    instances = [instance(f"i{uid}", uid, volumes) for uid, volumes in zip(UIDS, specs, strict=False)]

    told = says(instances, sets)

    assert [one for one, _ in told] == instances
    assert [say.about(found) for _, say in told] == [Say.of(one.volumes, one.uid, sets).about(found) for one in instances]


def test_an_instance_that_has_no_uid_yet_has_no_say_but_about_what_it_names_or_selects() -> None:
    say = Say.of(VolumesSpec(frozenset({"named"})), "", [StatefulSet("db", "uid-set", (owner(""),))])

    assert [say.about(claim(name)) for name in ("named", "data", "data-db-0")] == [True, False, False]


def test_each_set_is_looked_at_once_however_many_instances_there_are() -> None:
    looks: list[str] = []

    class Looked(StatefulSet):
        def __getattribute__(self, name: str) -> Any:
            if name == "owners":
                looks.append(name)
            return super().__getattribute__(name)

    sets = [Looked(f"s{number}", f"uid-s{number}", (owner("uid-elsewhere"),)) for number in range(3)]

    says([instance(f"i{number}", f"uid-i{number}", VolumesSpec()) for number in range(50)], sets)

    assert len(looks) == len(sets)


# -- spec.volumes


@pytest.mark.parametrize(
    ("selector", "fault"),
    [
        ({"matchLabels": {"not a key": "x"}}, "spec.volumes.selector: matchLabels"),
        ({"matchExpressions": [{"key": "a", "operator": "Like"}]}, "spec.volumes.selector: matchExpressions"),
        ({}, "spec.volumes.selector: must not be empty"),
        ("app=db", "spec.volumes.selector: must be an object"),
    ],
)
def test_a_selector_that_cannot_be_read_is_told_and_takes_no_names_with_it(selector: Any, fault: str) -> None:
    read = VolumesSpec.of({"claimNames": ["data"], "selector": selector, "owned": False})

    assert read.fault.startswith(fault)
    assert (read.names, read.selector, read.owned) == (frozenset({"data"}), None, False)
    assert says_is_its_own(read, UID, claim("data"))
    assert not says_is_its_own(read, UID, claim("other", labels={"app": "db"}))


@pytest.mark.parametrize("said", [None, {}, {"claimNames": None, "selector": None, "owned": None}, {"claimNames": "data"}])
def test_what_is_absent_names_and_selects_nothing(said: Json | None) -> None:
    assert VolumesSpec.of(said) == VolumesSpec()
