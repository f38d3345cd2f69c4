"""Before a replica listens: the Secret that all replicas share, found or made.

No election is asked: any number of replicas may start at once. Who creates the Secret, or writes it at the version that it
read, has made the certificate; the others read it again. So there are never two CAs in use.

Where the configurations already trust a CA and the Secret is gone, an installation is alive: whoever leads puts back the pair
that is served, beside a new CA (`plan`). That is waited for: a replica that comes has nothing but a CA that nobody trusts.

Blocks its caller until there is a pair, for START_WITHIN_S at the most. Main thread.
Errors:  OSError, with what an operator can mend.
"""

from __future__ import annotations

import threading
from typing import Final, Protocol

from controllers.certificates import bundles, secret
from controllers.certificates.issuing import carry_out
from controllers.certificates.plan import Held, Seen, decide, serves
from controllers.certificates.wanted import Wanted
from controllers.runtime.api import Creates, PatchesMerge, Reads, read_or_none
from controllers.runtime.errors import ApiError, Conflict, Forbidden, NotFound, UndecodableObject
from webhook.clock import Clock, Deadline
from webhook.logs import get_log
from webhook.serving.chains import Authority

log = get_log("certificates")

# Until then the process is unready and says why. A restart by the kubelet mends nothing, but shows that something is wrong.
START_WITHIN_S: Final = 60.0
LEADER_REPAIRS_WITHIN_S: Final = 5.0  # a leader that is there does it within milliseconds
REQUEST_TIMEOUT_S: Final = 5.0
_FIRST_WAIT_S, _LONGEST_WAIT_S = 0.2, 3.0
_CONFLICTS_AT_ONCE: Final = 5  # answered at once; a sixth one waits, as whatever else fails
_SAID_EVERY: Final = 5  # tries


class Api(Reads, Creates, PatchesMerge, Protocol):
    """What is needed of `rest.RestClient`."""


class NotYet(Exception):
    """Nothing has failed, but there is no pair yet. Says what is waited for."""


def ensure(api: Api, wanted: Wanted, clock: Clock, stopping: threading.Event) -> Held | None:
    """What the Secret holds, with a pair that can be served; None when *stopping* was set before. Raises OSError."""
    deadline = Deadline.after(START_WITHIN_S, clock)
    began_s, tries = clock.monotonic_s(), 0
    while not stopping.is_set():
        try:
            return _once(api, wanted, clock, patient=clock.monotonic_s() - began_s < LEADER_REPAIRS_WITHIN_S)
        except Conflict:
            if tries < _CONFLICTS_AT_ONCE:
                tries += 1
                continue  # another replica was first: what it wrote is there to be read
            why = "other writers are always first"
        except NotYet as reason:
            why = str(reason)
        except Forbidden as error:
            why = f"{error} (a Role gives get, list, watch, create and patch of it, see manifests/base/20-rbac.yaml)"
        except (ApiError, UndecodableObject) as error:
            why = str(error)
        if deadline.expired():
            raise OSError(f"no certificate in Secret {wanted.key} after {START_WITHIN_S:.0f} s: {why}")
        if tries % _SAID_EVERY == 0:
            log.warning("no certificate yet, trying again", secret=wanted.key, why=why)
        clock.wait(stopping, min(_FIRST_WAIT_S * 2 ** min(tries, 8), _LONGEST_WAIT_S, deadline.remaining_s()))
        tries += 1
    return None


def _once(api: Api, wanted: Wanted, clock: Clock, *, patient: bool) -> Held:
    """One try. Raises ApiError, UndecodableObject, NotYet; Conflict means that another one was first."""
    held = read(api, wanted)
    now_s = clock.wall_s()
    if held is not None and held.pair is not None and (not wanted.ours or serves(held.pair, wanted.names, now_s)):
        return held
    if not wanted.ours:
        raise NotYet("it is not there" if held is None else f"it has no pair that can be served: {held.fault}")
    trusted = () if held is not None else _trusted(api)
    if trusted and patient:
        raise NotYet("it was deleted, and the replica that leads will make it anew")
    step = decide(Seen(held, None, trusted, None), wanted.names, wanted.timing, now_s).step
    if step is None:
        raise NotYet(f"there is nothing to do about it, though what it has is not valid now for {', '.join(wanted.names)}")
    content = carry_out(step, held, wanted.names, wanted.timing, now_s)
    path = secret.path(wanted.namespace, wanted.name)
    try:
        if held is None:
            body = secret.new_body(wanted.namespace, wanted.name, content)
            written = api.create(secret.path(wanted.namespace), body, timeout_s=REQUEST_TIMEOUT_S)
        else:
            written = api.patch_merge(path, secret.change(held.version, content), timeout_s=REQUEST_TIMEOUT_S)
    except NotFound as error:  # deleted in between; for a create: there is no such namespace
        raise NotYet(str(error)) from error
    log.info("certificate made", secret=wanted.key, why=step.why)
    return secret.PROJECTION.convert(written).facts.held()


def read(api: Api, wanted: Wanted) -> Held | None:
    """What the Secret holds now; None when there is none. Raises ApiError, UndecodableObject."""
    found = read_or_none(api, secret.path(wanted.namespace, wanted.name), REQUEST_TIMEOUT_S)
    return None if found is None else secret.PROJECTION.convert(found).facts.held()


def _trusted(api: Api) -> tuple[Authority, ...]:
    """Every CA that our configurations trust now. Raises ApiError but for what is not there or not to be read."""
    found: list[Authority] = []
    for plural in bundles.KINDS:
        try:
            obj = api.get(f"{bundles.collection(plural)}/{bundles.NAME}", timeout_s=REQUEST_TIMEOUT_S)
            found += bundles.projection(plural).convert(obj).facts.trusted()
        except (NotFound, Forbidden, UndecodableObject):
            continue
    return tuple(dict.fromkeys(found))
