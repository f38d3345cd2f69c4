"""What is done when, from certificates' dates alone."""

from __future__ import annotations

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from controllers.certificates.plan import (
    LOOK_AGAIN_S,
    MOST_AUTHORITIES,
    Decision,
    DropAuthorities,
    Held,
    NewAuthority,
    NewLeaf,
    Seen,
    decide,
    renewal_s,
    serves,
)
from controllers.certificates.wanted import OVERLAP_S, Timing
from controllers.config.webhook import CertificateSection
from tests.controllers.certificates.builders import DAY_S, NAMES, NOW_S, TIMING, authority, held, pair, seen

OLD, NEW, OTHER = authority("old"), authority("new"), authority("other")
MID_ROTATION = held(NEW, OLD, signer=1)


def at(what: Seen, now_s: float = NOW_S, timing: Timing = TIMING, names: tuple[str, ...] = NAMES) -> Decision:
    return decide(what, names, timing, now_s)


def test_a_sound_secret_needs_nothing() -> None:
    assert at(seen(held())) == Decision(None, LOOK_AGAIN_S)


@pytest.mark.parametrize(
    ("host", "name"),
    [("Hook.Example.com", "hook.example.com"), ("fd00:0::1", "fd00::1"), ("FD00::1", "fd00::1"), ("10.0.0.1", "10.0.0.1")],
)
def test_a_host_that_is_written_in_another_way_than_in_the_certificate_needs_no_new_leaf(host: str, name: str) -> None:
    wanted = CertificateSection(secret_name="tls", hosts=(host, name)).wanted("kube-system")
    assert wanted is not None
    assert wanted.names == (*NAMES, name)

    assert at(seen(held(leaf=pair(names=(*NAMES, name)))), names=wanted.names).step is None


@given(st.sets(st.sampled_from((*NAMES, "hook.example.com", "fd00::1", "Hook"))), st.booleans())
def test_what_does_not_serve_always_has_a_next_step_where_nothing_is_served(names: set[str], expired: bool) -> None:
    secret = held(leaf=pair(issued_s=NOW_S - 91 * DAY_S * expired))

    step = at(seen(secret), names=tuple(names)).step

    assert (step is None) == serves(secret.pair, names, NOW_S)


def test_without_a_secret_everything_is_made() -> None:
    step = at(seen(None)).step

    assert isinstance(step, NewAuthority)
    assert (step.keep, step.old) == (None, ())


def test_what_the_configurations_trust_stays_trusted_beside_a_first_ca() -> None:
    step = at(seen(None, None, OTHER)).step

    assert isinstance(step, NewAuthority)
    assert step.old == (OTHER,)


def test_the_pair_that_is_served_goes_back_into_a_secret_that_was_deleted_and_its_ca_stays_trusted() -> None:
    serving = held(OLD)

    step = at(seen(None, serving, OLD, OTHER)).step

    assert isinstance(step, NewAuthority)
    assert (step.keep, step.old) == (serving.pair, (OLD, OTHER))


def test_a_served_pair_that_has_expired_does_not_go_back() -> None:
    serving = held(OLD, leaf=pair(issued_s=NOW_S - 91 * DAY_S))

    step = at(seen(None, serving)).step

    assert isinstance(step, NewAuthority)
    assert step.keep is None


def test_a_served_pair_for_another_name_does_not_go_back() -> None:
    step = at(seen(None, held(OLD)), names=("other.kube-system.svc",)).step

    assert isinstance(step, NewAuthority)
    assert step.keep is None


def test_the_cas_of_a_bundle_that_grows_by_deletions_are_bounded_and_the_signer_stays() -> None:
    many = [authority(str(number)) for number in range(9)]

    step = at(seen(None, Held(pair(), tuple(many), 8, b"key"))).step

    assert isinstance(step, NewAuthority)
    assert len(step.old) == MOST_AUTHORITIES - 1
    assert step.old[0] == many[8]


@pytest.mark.parametrize("ca_key", [b""])
def test_a_ca_without_its_key_is_followed_by_another_one_while_the_pair_stays(ca_key: bytes) -> None:
    secret = held(OLD, ca_key=ca_key)

    step = at(seen(secret)).step

    assert isinstance(step, NewAuthority)
    assert (step.keep, step.old) == (secret.pair, (OLD,))


def test_an_expired_ca_is_trusted_no_more() -> None:
    gone = authority("gone", NOW_S - 366 * DAY_S)

    step = at(seen(held(gone, leaf=pair(issued_s=NOW_S - 80 * DAY_S)))).step

    assert isinstance(step, NewAuthority)
    assert (step.keep, step.old) == (None, ())


def test_a_leaf_is_renewed_at_two_thirds_of_its_life_and_not_before() -> None:
    ca = authority(issued_s=NOW_S)
    secret = held(ca, leaf=pair(life_s=90 * DAY_S))

    assert at(seen(secret), NOW_S + 60 * DAY_S - 1).step is None
    assert isinstance(at(seen(secret), NOW_S + 60 * DAY_S).step, NewLeaf)


def test_the_next_look_is_when_the_leaf_is_due() -> None:
    assert at(seen(held()), NOW_S + 60 * DAY_S - 100).wait_s == pytest.approx(100)


def test_a_leaf_of_the_newest_ca_is_renewed_though_the_bundles_are_not_known() -> None:
    secret = held(leaf=pair(issued_s=NOW_S - 70 * DAY_S))

    assert isinstance(at(seen(secret, secret, for_s=None)).step, NewLeaf)


@pytest.mark.parametrize(
    ("leaf", "why"),
    [
        (pair(issued_s=NOW_S - 91 * DAY_S), "expired"),
        (pair(skew_s=2 * 3600.0), "not valid yet"),
        (pair(names=("other.svc",)), "not valid for gatehouse.kube-system.svc"),
    ],
)
def test_a_leaf_that_nobody_would_believe_is_replaced_at_once(leaf: object, why: str) -> None:
    step = at(seen(attrs.evolve(held(), pair=leaf))).step

    assert isinstance(step, NewLeaf)
    assert why in step.why


def test_a_torn_pair_is_replaced_at_once_by_one_of_the_same_ca() -> None:
    torn = Held(None, (OLD,), None, b"key", fault="the key does not belong to the certificate")

    assert at(seen(torn, held(OLD))).step == NewLeaf("the key does not belong to the certificate")


def test_a_pair_that_none_of_the_cas_has_signed_is_replaced() -> None:
    assert isinstance(at(seen(held(signer=None))).step, NewLeaf)


def test_a_ca_is_followed_by_another_one_at_two_thirds_of_its_life_which_signs_nothing_yet() -> None:
    ca = authority("old", NOW_S, 366 * DAY_S)
    fresh = pair(issued_s=NOW_S + 240 * DAY_S)
    secret = held(ca, leaf=fresh)

    assert at(seen(secret), NOW_S + 244 * DAY_S - 1).step is None
    step = at(seen(secret), NOW_S + 244 * DAY_S).step
    assert isinstance(step, NewAuthority)
    assert (step.keep, step.old) == (fresh, (ca,))


def test_nothing_is_signed_by_a_new_ca_before_everybody_trusts_it() -> None:
    assert at(seen(MID_ROTATION, MID_ROTATION, OLD, for_s=None)) == Decision(None, TIMING.grace_s)


def test_nothing_is_signed_by_a_new_ca_before_the_grace_is_over() -> None:
    assert at(seen(MID_ROTATION, MID_ROTATION, OLD, NEW, for_s=10.0)) == Decision(None, 20.0)


def test_after_the_grace_the_new_ca_signs() -> None:
    assert isinstance(at(seen(MID_ROTATION, MID_ROTATION, OLD, NEW, for_s=30.0)).step, NewLeaf)


def test_a_ca_that_is_not_trusted_everywhere_signs_when_the_old_leaf_is_about_to_end() -> None:
    def step(age_days: float) -> object:
        late = held(NEW, OLD, signer=1, leaf=pair(issued_s=NOW_S - age_days * DAY_S))
        return at(seen(late, late, for_s=None)).step

    assert step(80.9) is None
    assert isinstance(step(81.1), NewLeaf)


def test_a_torn_pair_in_the_middle_of_a_rotation_waits_while_the_old_one_is_served() -> None:
    torn = Held(None, (NEW, OLD), None, b"key")

    assert at(seen(torn, held(OLD), OLD, for_s=None)).step is None


def test_no_third_ca_comes_while_a_second_one_is_not_used_yet() -> None:
    secret = held(authority("new", NOW_S - 300 * DAY_S), OLD, signer=1)

    assert at(seen(secret, secret, for_s=0.0)).step is None


def test_the_old_ca_goes_when_the_new_leaf_has_been_there_for_an_hour() -> None:
    secret = held(NEW, OLD, signer=0)

    assert at(seen(secret), NOW_S + OVERLAP_S - 60) == Decision(None, 60.0)
    assert at(seen(secret), NOW_S + OVERLAP_S).step == DropAuthorities((NEW,))


def test_a_leader_whose_clock_is_behind_makes_a_leaf_that_all_believe_and_keeps_the_ca() -> None:
    behind_s = NOW_S - 2 * 3600.0

    step = at(seen(held()), behind_s).step

    assert isinstance(step, NewLeaf)  # by the same CA, which is trusted; backdated from a clock that is behind


def test_a_clock_that_is_an_hour_behind_notices_nothing() -> None:
    assert at(seen(held()), NOW_S - 3600.0).step is None


@given(st.floats(0, 400 * DAY_S), st.floats(1, 400 * DAY_S), st.floats(0, 100 * DAY_S))
def test_what_is_valid_is_renewed_within_its_life(begin_s: float, life_s: float, age_s: float) -> None:
    at_s = renewal_s(begin_s, begin_s + life_s)

    assert begin_s <= at_s <= begin_s + life_s


@given(
    st.sampled_from([None, held(), MID_ROTATION, held(NEW, OLD), Held(None), Held(None, (OLD,), None, b"key")]),
    st.sampled_from([None, held(OLD), MID_ROTATION]),
    st.sampled_from([(), (OLD,), (OLD, NEW)]),
    st.none() | st.floats(0, 100),
    st.floats(-2 * DAY_S, 400 * DAY_S),
)
def test_who_has_nothing_to_serve_is_never_kept_waiting(
    secret: Held | None, serving: Held | None, trusted: tuple[object, ...], for_s: float | None, age_s: float
) -> None:
    now_s = NOW_S + age_s

    decision = decide(Seen(secret, serving, trusted, for_s), NAMES, TIMING, now_s)  # type: ignore[arg-type]

    served = [one for one in (secret, serving) if one is not None and serves(one.pair, NAMES, now_s)]
    assert decision.step is not None or served
    assert 0 < decision.wait_s <= LOOK_AGAIN_S
