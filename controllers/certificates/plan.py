"""What is to be done about the certificate of the Secret, as a pure function of what is known and of the time.

At every moment each replica serves a leaf whose CA every API server trusts. So a CA is replaced in this order:

    new CA          ca.crt is new + old, the leaf stays as it is           at two thirds of the old CA's life
    trusted         both are in the caBundle of every configuration       by `bundles`
    new leaf        signed by the new CA                                   when that has been so for `grace_s`
    old CA goes     from ca.crt, and so from every caBundle                when the new leaf has been there for an hour

A Secret that was deleted is made anew in the same way: the pair that is served goes back into it beside a new CA, for only the
old CA's lost key could sign another one that is trusted at once.

Times are seconds since the epoch and come in; all of it is a function of certificates' dates, so that the next leader goes on
where the last one stopped. A clock that is behind by less than an hour does no harm: what we issue is backdated.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import attrs

from controllers.certificates.wanted import Timing
from webhook.serving.chains import BACKDATE_S, Authority, Leaf

RENEW_AT: Final = 2 / 3  # of a life, as cert-manager and the kubelet do
LAST_CALL: Final = 0.9  # of a leaf's life: from then on a CA that not everybody trusts yet is better than none
MOST_AUTHORITIES: Final = 4  # in ca.crt: whoever deletes the Secret again and again must not make it grow
LOOK_AGAIN_S: Final = 3600.0  # the wall clock may be set, and a suspended machine's timers stand still
LEAST_WAIT_S: Final = 0.2


@attrs.frozen
class Pair:
    """A certificate that can be served, its key, and what it says. PEM bytes."""

    certificate: bytes
    key: bytes = attrs.field(repr=False)
    leaf: Leaf


@attrs.frozen
class Held:
    """What a Secret holds, as far as it is sound."""

    pair: Pair | None  # None: absent, torn, or nothing that OpenSSL would serve
    authorities: tuple[Authority, ...] = ()  # of ca.crt, the newest first
    signer: int | None = None  # which of them has signed the pair
    ca_key: bytes = attrs.field(default=b"", repr=False)  # of authorities[0]; b"" when it is missing or another's
    version: str = ""  # metadata.resourceVersion
    uid: str = ""  # of the Secret, for Events about it
    fault: str = ""  # why there is no pair

    def signed_by(self) -> Authority | None:
        """The CA that has signed the pair."""
        return None if self.signer is None else self.authorities[self.signer]

    def bundle(self) -> bytes:
        """What the API server is to trust."""
        return b"".join(authority.pem for authority in self.authorities)


@attrs.frozen
class Seen:
    """What is known of the cluster, and of this replica."""

    secret: Held | None  # None: there is none
    serving: Held | None  # what this replica serves, whatever the Secret says now
    trusted: tuple[Authority, ...]  # every CA in a caBundle of ours
    trusted_for_s: float | None  # how long every configuration has trusted the Secret's newest CA; None = not (known) yet


@attrs.frozen
class NewAuthority:
    """Make a CA and put it before *old*. keep: the pair that stays in the Secret; None = a new leaf of the new CA, at once."""

    keep: Pair | None
    old: tuple[Authority, ...]
    why: str


@attrs.frozen
class NewLeaf:
    """Make a leaf, signed by the newest CA."""

    why: str


@attrs.frozen
class DropAuthorities:
    """Leave only *kept* in ca.crt."""

    kept: tuple[Authority, ...]
    why: str = "nothing is served any more that the old one has signed"


Step = NewAuthority | NewLeaf | DropAuthorities


@attrs.frozen
class Decision:
    """The one step to take now, None when all is well, and after how many seconds to look again."""

    step: Step | None
    wait_s: float = LOOK_AGAIN_S


def decide(seen: Seen, names: Iterable[str], timing: Timing, now_s: float) -> Decision:
    """What to do now about a certificate for *names*, each as `chains.canonical_name` writes it. Pure."""
    wanted = frozenset(names)
    held = seen.secret
    if held is None or not can_sign(held, now_s):
        return Decision(_begin_anew(seen, wanted, now_s))
    step: Step | None
    step, waits_s = _leaf_step(held, seen, wanted, timing, now_s)
    if step is None:
        step, more_s = _authority_step(held, timing, now_s)
        waits_s += more_s
    return Decision(step, min(max(min(waits_s, default=LOOK_AGAIN_S), LEAST_WAIT_S), LOOK_AGAIN_S))


def serves(pair: Pair | None, names: Iterable[str], now_s: float) -> bool:
    """Whether *pair* is valid now, for every one of *names*."""
    return pair is not None and pair.leaf.not_before_s <= now_s < pair.leaf.not_after_s and set(names) <= pair.leaf.names


def can_sign(held: Held, now_s: float) -> bool:
    """Whether the newest CA has not expired and its key is at hand."""
    return bool(held.authorities) and bool(held.ca_key) and not held.authorities[0].is_over(now_s)


def renewal_s(begin_s: float, end_s: float) -> float:
    """When what is valid from *begin_s* to *end_s* is to be replaced: at two thirds of its life after it was issued."""
    return _at_share(begin_s, end_s, RENEW_AT)


def _at_share(begin_s: float, end_s: float, share: float) -> float:
    issued_s = min(begin_s + BACKDATE_S, end_s)
    return issued_s + share * (end_s - issued_s)


def _begin_anew(seen: Seen, wanted: frozenset[str], now_s: float) -> NewAuthority:
    """There is no Secret, or none that anything can be signed with."""
    why = "there is no Secret" if seen.secret is None else "its CA has expired, or has no key"
    candidates = [held for held in (seen.secret, seen.serving) if held is not None]
    known = [*(one for held in candidates for one in held.authorities), *seen.trusted]
    for held in candidates:
        signer = held.signed_by()
        if signer is not None and not signer.is_over(now_s) and serves(held.pair, wanted, now_s):
            return NewAuthority(held.pair, _still_valid([signer, *known], now_s), why)
    return NewAuthority(None, _still_valid(known, now_s), why)


def _leaf_step(
    held: Held, seen: Seen, wanted: frozenset[str], timing: Timing, now_s: float
) -> tuple[NewLeaf | None, list[float]]:
    """A new leaf, if it is time for one; else in how many seconds it may be."""
    sound = serves(held.pair, wanted, now_s)
    if sound and held.pair is not None and held.signer == 0:
        leaf = held.pair.leaf
        left_s = renewal_s(leaf.not_before_s, leaf.not_after_s) - now_s
        return (NewLeaf("two thirds of its life are over"), []) if left_s <= 0 else (None, [left_s])
    why = "the newest CA is trusted everywhere" if sound else _fault(held, wanted, now_s)
    # The pair that is served until a new CA is trusted: the Secret's, or the one that this replica took from it before.
    candidates = [one for one in (held, seen.serving) if one is not None and serves(one.pair, wanted, now_s)]
    trusted = [one for one in candidates if one.signed_by() in held.authorities]
    serving = trusted[0].pair if trusted else None
    if serving is None or trusted[0].signed_by() == held.authorities[0]:
        return NewLeaf(why), []  # nothing could be lost, or the CA stays the same
    grace_left_s = timing.grace_s if seen.trusted_for_s is None else timing.grace_s - seen.trusted_for_s
    if seen.trusted_for_s is not None and grace_left_s <= 0:
        return NewLeaf(why), []
    last_call_s = _at_share(serving.leaf.not_before_s, serving.leaf.not_after_s, LAST_CALL) - now_s
    if last_call_s <= 0:
        return NewLeaf("the old one expires, though the new CA is not trusted everywhere"), []
    return None, [last_call_s, grace_left_s]


def _authority_step(held: Held, timing: Timing, now_s: float) -> tuple[NewAuthority | DropAuthorities | None, list[float]]:
    """A new CA, or an old one less, if it is time; else in how many seconds it may be. The leaf needs nothing now."""
    pair = held.pair
    if held.signer != 0 or pair is None:
        return None, []  # one thing at a time: the leaf waits for the newest CA to be trusted
    newest, *old = held.authorities
    left_s = renewal_s(newest.not_before_s, newest.not_after_s) - now_s
    if left_s <= 0:
        return NewAuthority(pair, _still_valid(held.authorities, now_s), "two thirds of the CA's life are over"), []
    waits_s = [left_s]
    if old:
        overlap_left_s = pair.leaf.not_before_s + BACKDATE_S + timing.overlap_s - now_s
        if overlap_left_s <= 0:
            return DropAuthorities((newest,)), []
        waits_s.append(overlap_left_s)
    return None, waits_s


def _still_valid(authorities: Iterable[Authority], now_s: float) -> tuple[Authority, ...]:
    """Each of *authorities* once, the first ones where there are too many; one more will stand before them."""
    return tuple(dict.fromkeys(one for one in authorities if not one.is_over(now_s)))[: MOST_AUTHORITIES - 1]


def _fault(held: Held, wanted: frozenset[str], now_s: float) -> str:
    pair = held.pair
    if pair is None:
        return held.fault or "it has no certificate"
    if now_s >= pair.leaf.not_after_s:
        return "it has expired"
    if now_s < pair.leaf.not_before_s:
        return "it is not valid yet"
    if missing := sorted(wanted - pair.leaf.names):
        return f"it is not valid for {', '.join(missing)}"
    return "none of its CAs has signed it"
