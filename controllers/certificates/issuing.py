"""A step of the plan becomes the bytes that the Secret is to hold.

cryptography is imported inside, the first time that something is issued: most replicas never do.
Threads: any. Errors: none; what the plan asks for can be made.
"""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from typing import Final

from controllers.certificates.plan import DropAuthorities, Held, NewAuthority, NewLeaf, Step
from controllers.certificates.secret import Content
from controllers.certificates.wanted import Timing
from webhook.serving.chains import Authority

_NOTHING: Final = Held(None)


def carry_out(step: Step, held: Held | None, names: Sequence[str], timing: Timing, now_s: float) -> Content:
    """What the Secret holds after *step*. names: DNS names and IP literals. now_s: seconds since the epoch."""
    match step:
        case NewAuthority():
            return _new_authority(step, names, timing, now_s)
        case NewLeaf():
            return _new_leaf(held or _NOTHING, names, timing, now_s)
        case DropAuthorities(kept):
            pair = (held or _NOTHING).pair
            assert held is not None and pair is not None, "nothing is dropped of a Secret without a pair"
            return Content(pair.certificate, pair.key, _joined(kept), held.ca_key)


def _new_authority(step: NewAuthority, names: Sequence[str], timing: Timing, now_s: float) -> Content:
    from webhook.serving.selfsigned import issue, make_authority

    # The name is for people who look at a bundle with several.
    moment = datetime.datetime.fromtimestamp(now_s, datetime.UTC)
    made = make_authority(now_s=now_s, lifetime_s=timing.ca_s, name=f"gatehouse CA {moment:%Y-%m-%d %H:%M:%S}")
    pair = step.keep or issue(made, names, now_s=now_s, lifetime_s=timing.leaf_s)
    return Content(pair.certificate, pair.key, made.certificate + _joined(step.old), made.key)


def _new_leaf(held: Held, names: Sequence[str], timing: Timing, now_s: float) -> Content:
    from webhook.serving.selfsigned import Issued, issue

    authority = Issued(held.authorities[0].pem, held.ca_key)
    leaf = issue(authority, names, now_s=now_s, lifetime_s=timing.leaf_s)
    return Content(leaf.certificate, leaf.key, held.bundle(), held.ca_key)


def _joined(authorities: Sequence[Authority]) -> bytes:
    return b"".join(authority.pem for authority in authorities)
