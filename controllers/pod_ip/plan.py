"""What has to be done about one address: facts and the time in, ordered idempotent actions out.

    a live pod carries it       its reservation is Bound to that pod's uid; a reservation that was lost is made again
    several live pods do        everybody is told, nobody is killed
    another's pod carries it    it becomes its own once nobody else can come for it
    nobody does                 a StatefulSet's ordinal keeps its own; the others go, at once or when their time has passed

*Live* is a pod that exists and has not finished. A deleting pod is live until its object is gone (spiderpool#2967). That a
pod's status has no address proves nothing (calico#5044). The pod that a reservation is bound to holds it whatever its
annotations have become: the network read them when the pod started. So does a pod of the name that it was made for, if that
asks for an address, or ends. One that runs and never asked has stopped asking: its ordinal is not waited for. Finished pods
hold nothing, but those of StatefulSets, whose successor has their name; an address goes back only when no other live pod
carries it, either (ovn-kubernetes#3919).

*Who may be on the way.* A new reservation, or one that was claimed (a pod's name came back, admission was called again), may
belong to a create that has not ended (kubernetes#37488): nobody releases it within the expiry after that, as the clock goes
that we have watched it by; what others have dated only makes it longer. A claim is a write, so that a claim and a release never
both succeed.

*An ordinal that is not wanted any more*, and what a key's live pod has left behind for another address (kube-ovn#5654), cools
for the expiry at least: a set that is scaled down and up again finds its addresses.

*Before a delete* everything is read once more from the API server, and planned anew (`Release.live`): reservation first, pods
second (whereabouts#207). The delete names uid and version, so that it never hits a successor (whereabouts#75).
Pure; any thread. Times are seconds since the epoch.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Final

import attrs

from controllers.pod_ip.actions import Action, Bind, Cause, Cool, Keep, LookAgain, Release, ReportConflict, Restore
from webhook.addresses.address import Address
from webhook.addresses.facts import Phase, PodOwner, PoolFacts, ReservationFacts
from webhook.addresses.keys import STATEFUL_SET, key_of, key_of_request, ordinal_of
from webhook.addresses.marks import Carrier
from webhook.addresses.policy import AddressPolicy
from webhook.addresses.words import whose
from webhook.objects.pods import FINISHED

KEY_LIMIT: Final = 63  # of a reservation's key; a longer annotation is not ours
# A pod and its reservation come by two watches, in either order: a young pod's reservation is not lost, only late.
SETTLES_S: Final = 5.0
# For so long what may be on its way is watched by our own clock at least, or for the expiry if that is less: the clocks of
# replicas and of the API server may be behind ours by anything. No create is worked on for longer (kube-apiserver
# --request-timeout is a minute unless somebody raised it).
WATCHED_S: Final = 600.0
# The wall clock may be set, and a suspended machine's timers stand still: no wait is trusted for longer than this.
LOOK_AGAIN_WITHIN_S: Final = 3600.0


@attrs.frozen
class StatefulSetFacts:
    """What says which ordinals of a StatefulSet keep their addresses while they have no pod."""

    namespace: str
    name: str
    uid: str
    replicas: int
    start: int = 0  # spec.ordinals.start
    deleting: bool = False

    def wants(self, ordinal: int) -> bool:
        """Whether there is to be a pod of this number."""
        return not self.deleting and self.start <= ordinal < self.start + self.replicas


@attrs.frozen
class Situation:
    """All that a plan for *address* looks at, as the caches or (live) the API server has it. Reservations are read first.

    carriers: the pods that carry the address (`carries`), finished and deleting ones too.
    kin:      the pods that bear the reservation's key.
    bound:    the pod named by the reservation's `bound_uid`, whatever it says of itself (then with empty marks); None when no
              pod of this very uid exists.
    stateful_set: the one that the reservation's owner names, whatever its uid; None when there is none of this name.
    pool:     the reservation's; of an address without reservation the pool that has it.
    namesake: the live pod that has the name and the owner which the reservation was made for, whatever it says of itself.
    known_s:  for how long this process has known the reservation in its phase; claim_known_s: with its latest claim.
    """

    address: Address
    reservation: ReservationFacts | None = None
    carriers: tuple[Carrier, ...] = ()
    kin: tuple[Carrier, ...] = ()
    bound: Carrier | None = None
    stateful_set: StatefulSetFacts | None = None
    pool: PoolFacts | None = None
    known_s: float = math.inf
    namesake: Carrier | None = None
    claim_known_s: float = math.inf


def situation_of(
    address: Address,
    reservation: ReservationFacts | None,
    pods: Iterable[Carrier],
    *,
    stateful_set: StatefulSetFacts | None,
    pool: PoolFacts | None,
    known_s: float = math.inf,
    claim_known_s: float = math.inf,
) -> Situation:
    """What *pods*, in any order, are to *address*. Those that are nothing to it are left out, doubles are not."""
    found = tuple(pods)
    carriers = tuple(pod for pod in found if carries(pod, address))
    if reservation is None:
        return Situation(address, None, carriers, pool=pool)
    kin = tuple(pod for pod in found if reservation.key and pod.marks.key == reservation.key)
    bound = next((pod for pod in found if reservation.bound_uid and pod.uid == reservation.bound_uid), None)
    namesake = next((pod for pod in found if is_live(pod) and _is_namesake(pod, reservation)), None)
    return Situation(address, reservation, carriers, kin, bound, stateful_set, pool, known_s, namesake, claim_known_s)


def pool_for(address: Address, reservation: ReservationFacts | None, pools: Iterable[PoolFacts]) -> PoolFacts | None:
    """The one whose terms count: which the reservation names, whatever it has by now; else the first by name that has it."""
    if reservation is not None and reservation.pool:
        return next((pool for pool in pools if pool.name == reservation.pool), None)
    return min((pool for pool in pools if address in pool.addresses), key=lambda pool: pool.name, default=None)


def users_of(situation: Situation) -> tuple[Carrier, ...]:
    """The live pods that may use the address: who says so, who is bound to it, who has its key, or
    the name that it was made for, and says nothing else.
    """
    reservation, bound, namesake = situation.reservation, situation.bound, situation.namesake
    silent = () if reservation is None else _silent(situation, reservation)
    named = (namesake,) if namesake is not None and _may_use(namesake) else ()
    found = {pod.uid: pod for pod in (*situation.carriers, *((bound,) if bound is not None else ()), *silent, *named)}
    return tuple(sorted(filter(is_live, found.values()), key=_age))


def plan(situation: Situation, now_s: float, policy: AddressPolicy) -> tuple[Action, ...]:
    """What to do. Each action may be done again, or left off; the next plan goes on from there. At most one of them writes."""
    live = sorted(filter(is_live, situation.carriers), key=_age)
    reservation = situation.reservation
    if reservation is None:
        return _unreserved(situation, live, now_s)
    holder = _holder(situation, reservation, live)
    others = tuple(carrier for carrier in live if holder is None or carrier.uid != holder.uid)
    conflict = _conflict(situation.address, holder, others, whose(reservation), now_s)
    if holder is not None:
        return (*_held(reservation, holder), *conflict)
    unheld = _unheld(situation, reservation, now_s, policy)
    if not others:
        return unheld
    # Of another key, but live: never freed while it is carried. What nobody else will come for is the oldest's from now on.
    heir = others[0]
    if heir.namespace != reservation.namespace or _young_s(heir, now_s) > 0:
        return conflict
    if any(isinstance(one, Release | Cool) for one in unheld):
        return (Bind(reservation, heir), *_conflict(situation.address, heir, others[1:], whose(reservation), now_s))
    return (*conflict, *(one for one in unheld if isinstance(one, LookAgain)))


def is_live(carrier: Carrier) -> bool:
    """Whether the pod may use what it carries: it exists and has not finished."""
    return carrier.phase not in FINISHED


def carries(carrier: Carrier, address: Address) -> bool:
    """Whether *carrier* says that it has *address*. The network reads the annotation; a label alone may be a copy of anything,
    unless our key is beside it: then somebody took the annotation off a pod that may use the address all the same.
    """
    marks = carrier.marks
    return address in marks.addresses or (not marks.addresses and bool(marks.key) and marks.label == address.name)


def belongs(carrier: Carrier, reservation: ReservationFacts) -> bool:
    """Whether *reservation* was made for *carrier*. A pod without a key has the one that adoption gave it."""
    return carrier.namespace == reservation.namespace and reservation.key == restored_key(carrier)[0]


def is_wanted(reservation: ReservationFacts, stateful_set: StatefulSetFacts | None) -> bool:
    """Whether a StatefulSet's ordinal is to find its address again. Who only names the set as its owner is none of it."""
    if stateful_set is None or stateful_set.uid != reservation.owner.uid:
        return False
    ordinal = ordinal_of(reservation.owner, reservation.pod_name)
    return ordinal is not None and ordinal == reservation.ordinal and stateful_set.wants(ordinal)


def restored_key(carrier: Carrier) -> tuple[str, str]:
    """Key and pod name of the reservation that is made for a pod without one; the name is "" unless the key stands for it."""
    named = key_of(carrier.namespace, carrier.owner.uid, carrier.name)
    if 0 < len(carrier.marks.key) <= KEY_LIMIT:
        return carrier.marks.key, carrier.name if carrier.marks.key == named else ""
    if _comes_back(carrier.owner):
        return named, carrier.name
    return key_of_request(carrier.uid), ""


# -- nobody has reserved it


def _unreserved(situation: Situation, live: Sequence[Carrier], now_s: float) -> tuple[Action, ...]:
    ours = [carrier for carrier in live if situation.pool is not None or _is_ours(carrier)]
    if not ours:
        return ()
    first, others = ours[0], tuple(live_one for live_one in live if live_one.uid != ours[0].uid)
    young_s = _young_s(first, now_s)
    if young_s > 0:
        return (LookAgain(young_s),)
    key, pod_name = restored_key(first)
    pool = situation.pool.name if situation.pool is not None else ""
    ordinal = ordinal_of(first.owner, first.name)
    restore = Restore(situation.address, first, key, pod_name, ordinal, pool)
    return (restore, *_conflict(situation.address, first, others, "", now_s))


def _is_ours(carrier: Carrier) -> bool:
    """Whether a pod that carries an address outside every pool is one of those that asked us for it."""
    return bool(carrier.marks.key) or carrier.marks.asks


def _comes_back(owner: PodOwner) -> bool:
    """Whether pods of *owner* are followed by others of the same name: a StatefulSet's are, and bare ones may be."""
    return owner.kind in (STATEFUL_SET, "")


# -- somebody has


def _holder(situation: Situation, reservation: ReservationFacts, live: Sequence[Carrier]) -> Carrier | None:
    """The live pod whose address it is: the one that it is bound to goes before others of its key."""
    if situation.bound is not None and is_live(situation.bound):
        return situation.bound
    for carrier in live:
        if belongs(carrier, reservation):
            return carrier
    return min(filter(is_live, _silent(situation, reservation)), key=_age, default=None)


def _silent(situation: Situation, reservation: ReservationFacts) -> tuple[Carrier, ...]:
    """The pods whose annotation is gone or unreadable, but which have our key: they may well use the address."""
    silent = (pod for pod in situation.kin if not pod.marks.addresses and not pod.marks.gated)
    return tuple(pod for pod in silent if belongs(pod, reservation))


def _is_namesake(carrier: Carrier, reservation: ReservationFacts) -> bool:
    """Whether *carrier* bears the name that *reservation* was made for. Pods of other owners have other keys."""
    made_for = (reservation.namespace, reservation.pod_name, reservation.owner.uid)
    return bool(reservation.pod_name) and (carrier.namespace, carrier.name, carrier.owner.uid) == made_for


def _may_use(namesake: Carrier) -> bool:
    """Whether the pod for whose name the address is may use it although it says nothing of it any more: it asks for one, or
    it ends, and somebody took its marks off. One that runs and never asked has stopped asking.
    """
    marks = namesake.marks
    return not marks.addresses and not marks.gated and (marks.asks or namesake.deleting)


def _conflict(
    address: Address, holder: Carrier | None, others: Sequence[Carrier], reserved_for: str, now_s: float
) -> tuple[Action, ...]:
    """Tell of *others*, but of young ones only later: their own reservation may be on its way to our cache."""
    settled = tuple(one for one in others if _young_s(one, now_s) <= 0)
    young_s = max((_young_s(one, now_s) for one in others), default=0.0)
    told = (ReportConflict(address, holder, settled, reserved_for),) if settled else ()
    return (*told, LookAgain(young_s)) if young_s > 0 else told


def _young_s(carrier: Carrier, now_s: float) -> float:
    """Seconds until its reservation must have reached us; 0 when it must have by now, or the clocks differ."""
    left_s = SETTLES_S - (now_s - carrier.created_s)
    return left_s if 0 < left_s <= SETTLES_S else 0.0


def _held(reservation: ReservationFacts, holder: Carrier) -> tuple[Action, ...]:
    if reservation.phase is Phase.BOUND and reservation.bound_uid == holder.uid:
        return ()
    return (Bind(reservation, holder),)


def _unheld(situation: Situation, reservation: ReservationFacts, now_s: float, policy: AddressPolicy) -> tuple[Action, ...]:
    if reservation.deleting or (situation.namesake is not None and _may_use(situation.namesake)):
        return ()  # its end, or the pod's, brings it up again
    superseded = any(is_live(one) and one.marks.addresses and belongs(one, reservation) for one in situation.kin)
    stopped = situation.namesake is not None and not situation.namesake.marks.gated
    if not superseded and not stopped and is_wanted(reservation, situation.stateful_set):
        waits = reservation.phase is Phase.RESERVED and not reservation.bound_uid
        return () if waits else (Keep(reservation),)

    def ago_s(moment_s: float) -> float:
        return now_s - moment_s if moment_s <= now_s else situation.known_s  # clocks differ, and are set

    def unseen_s(moment_s: float, known_s: float) -> float:
        """How much longer a create since then may be on its way. No clock but ours, which only we set, makes it less."""
        left_s = expiry_s - (now_s - moment_s) if moment_s <= now_s else expiry_s - known_s
        return max(left_s, min(expiry_s, WATCHED_S) - known_s)

    expiry_s, cooldown_s = _terms(situation.pool, policy)
    lingers = superseded or reservation.ordinal is not None
    cools_s = max(cooldown_s, expiry_s) if lingers else cooldown_s
    claimed = bool(reservation.claim) or reservation.claimed_s > 0
    wait_s = unseen_s(reservation.claimed_s, situation.claim_known_s) if claimed else 0.0
    if reservation.phase is Phase.COOLING:
        released_s = reservation.released_s
        if released_s is None or released_s > now_s + cools_s:
            return (Cool(reservation, Cause.COOLED),)
        return _after(max(wait_s, cools_s - ago_s(released_s)), Release(reservation, Cause.COOLED))
    used = reservation.phase is Phase.BOUND or any(_came_for(one, reservation) for one in situation.carriers)
    if not used:
        wait_s = max(wait_s, unseen_s(reservation.created_s, situation.known_s))
    cause = _cause(situation, used, lingers)
    cools = cools_s > 0 and (used or lingers or claimed)
    return _after(wait_s, Cool(reservation, cause) if cools else Release(reservation, cause))


def _came_for(carrier: Carrier, reservation: ReservationFacts) -> bool:
    """Whether *carrier* is the pod that *reservation* was made for, and no earlier one of its name, which a cache may still
    have. Both times are the API server's.
    """
    return belongs(carrier, reservation) and carrier.created_s >= reservation.created_s


def _terms(pool: PoolFacts | None, policy: AddressPolicy) -> tuple[float, float]:
    """Expiry and cooldown."""
    return (policy.expiry_s, policy.cooldown_s) if pool is None else (pool.expiry_s, pool.cooldown_s)


def _after(wait_s: float, action: Action) -> tuple[Action, ...]:
    return (LookAgain(min(wait_s, LOOK_AGAIN_WITHIN_S)),) if wait_s > 0 else (action,)


def _cause(situation: Situation, used: bool, lingers: bool) -> Cause:
    if lingers:
        return Cause.NOT_WANTED
    if not used:
        return Cause.NEVER_BOUND
    return Cause.POD_FINISHED if situation.bound is not None or situation.carriers else Cause.POD_GONE


def _age(carrier: Carrier) -> tuple[float, str]:
    return (carrier.created_s, carrier.uid)
