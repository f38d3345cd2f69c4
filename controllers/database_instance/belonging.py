"""Which claims, workloads and pods are an instance's. By uid where there is one: a name may have been somebody else's before.

To have a say about a claim is one thing, to take it on deletion another. What somebody else has a say about, too, is left
alone: another instance (`shared`), another owner, or a StatefulSet that is not the instance's own (`co_owned`). As for the
garbage collector, an object goes when no owner is left. Under Retain and Snapshot the volumes of all three are kept.

    the spec names or selects it          a say
    an owner reference, the label, a set  a say; not taken when a set that is not the instance's own would make it
    either                                taken when every owner is the instance or a workload that it alone owns

Of two instances the one that lives on keeps a claim; of two that are being deleted the one with the more careful policy
decides, and of equals the one that was deleted last: the other one has left it alone before. The status remembers what one
with a more careful policy had a say about, too: what that one has kept, and is gone itself, is not there to be taken then.

*A deletion takes what it found when it began*: what its status does not name is not taken, unless it was made later for a
workload of the instance. So nothing that is created again under an old name is taken, and nothing that somebody let go of
meanwhile.
Pure. Source: kubernetes.io/docs: Garbage Collection; kubernetes/pkg/controller/statefulset (claims are a set's by their names).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

import attrs

from controllers.database_instance.values import FOREGROUND, ORPHAN, Instance, Pod, Situation, Wait, Workload
from webhook.objects.databases import (
    FINALIZER,
    ClaimFacts,
    DeletionPolicy,
    InstanceFacts,
    Say,
    is_wholly_owned,
    makes,
    says,
    says_is_its_own,
)

_CARE: Final = (DeletionPolicy.DELETE, DeletionPolicy.SNAPSHOT, DeletionPolicy.RETAIN)  # the more careful, the further back
# While a deletion waits for one of these it has not begun to look at claims.
_UNDECIDED: Final = frozenset({Wait.INVALID_SPEC, Wait.GARBAGE_COLLECTOR, Wait.FAILING})


@attrs.frozen
class Belongings:
    """The claims of an instance."""

    own: tuple[ClaimFacts, ...] = ()
    shared: tuple[ClaimFacts, ...] = ()  # another instance has a say about them
    co_owned: tuple[ClaimFacts, ...] = ()  # something else owns them, too
    via: Mapping[str, str] = attrs.field(factory=dict)  # uid of a claim -> uid of the workload that it was made for
    remembered_shared: tuple[str, ...] = ()  # uids for the status: shared with a more careful one, now or during the deletion
    later: tuple[ClaimFacts, ...] = ()  # nobody's: the spec names or selects them, but the deletion began without them

    @property
    def known(self) -> tuple[ClaimFacts, ...]:
        """All that the instance has a say about."""
        return (*self.own, *self.shared, *self.co_owned)


def owned_workloads(instance: InstanceFacts, workloads: Iterable[Workload]) -> tuple[Workload, ...]:
    """Those that the instance alone owns, by uid."""
    return tuple(one for one in workloads if is_wholly_owned(one.owners, {instance.uid}))


def owned_pods(instance: InstanceFacts, workloads: Iterable[Workload], pods: Iterable[Pod]) -> tuple[Pod, ...]:
    """Those that the instance, or a workload of *workloads*, its own ones, alone owns."""
    uids = {instance.uid, *(one.uid for one in workloads)}
    return tuple(one for one in pods if is_wholly_owned(one.owners, uids))


def belongings(situation: Situation, default: DeletionPolicy = DeletionPolicy.DELETE) -> Belongings:
    """The instance's claims among all those of its namespace; neither pods nor volumes are looked at. O(all of the rest)."""
    sayings = _Sayings(situation, default)
    own: list[ClaimFacts] = []
    shared: list[ClaimFacts] = []
    co_owned: list[ClaimFacts] = []
    later: list[ClaimFacts] = []
    via: dict[str, str] = {}
    for claim in situation.claims:
        if not sayings.has_say(claim):
            continue
        if sayings.came_later(claim) and not sayings.was_shared(claim):
            if sayings.spec_says(claim) and not sayings.is_shared(claim):
                later.append(claim)
            continue
        if sayings.is_shared(claim):
            shared.append(claim)
        elif not sayings.deletes(claim):
            co_owned.append(claim)
        else:
            own.append(claim)
            if workload_uid := sayings.workload_of(claim):
                via[claim.uid] = workload_uid
    remembered = sayings.remembered_shared(shared)
    return Belongings(tuple(own), tuple(shared), tuple(co_owned), via, remembered, tuple(later))


def mounted_only(situation: Situation) -> tuple[str, ...]:
    """Claims that its workloads or pods use and about which no instance has a say: each with its user, in words."""
    facts, workloads = situation.instance.facts, situation.workloads
    users = [(f"{one.kind} {one.name}", one.mounts) for one in owned_workloads(facts, workloads)]
    users += [(f"pod {one.name}", one.claims) for one in situation.pods if is_wholly_owned(one.owners, {facts.uid})]
    used = [claim for claim in situation.claims if any(claim.name in mounts for _, mounts in users)]
    strange = {claim.name for claim in unclaimed(used, (facts, *situation.around.instances), workloads)}
    return tuple(sorted(f"{name} ({user})" for user, mounts in users for name in mounts & strange))


def unclaimed(
    claims: Iterable[ClaimFacts], instances: Iterable[InstanceFacts], workloads: Iterable[Workload]
) -> Iterator[ClaimFacts]:
    """Those of *claims* about which none of *instances*, of the same namespace, has a say."""
    saying = [say for _, say in says(instances, workloads)]
    return (claim for claim in claims if not any(say.about(claim) for say in saying))


def may_be_orphaned(instance: Instance, workloads: Iterable[Workload], claims: Iterable[ClaimFacts]) -> bool:
    """Whether a deletion that nobody has seen begin may have been to orphan dependents, and its claims have to stay therefore.

    The garbage collector takes off owner references first, and its finalizer then, after which nothing tells of it. So what
    has a reference still was not orphaned. A claim that bears the label instead, which is ours, says nothing.
    """
    facts, waiting = instance.facts, instance.status.waiting
    seen = waiting is not None and waiting.reason is not Wait.FAILING  # a pass has come to it, and decided
    if facts.deleting_s is None or seen or not {ORPHAN, FOREGROUND}.isdisjoint(facts.finalizers):
        return False
    claims = tuple(claims)
    owners = [*(one.owners for one in workloads), *(one.owners for one in claims)]
    owned = any(owner.uid == facts.uid for some in owners for owner in some)
    return not owned and any(claim.instance_uid == facts.uid for claim in claims)


class _Sayings:
    """Who has a say about a claim, as one instance sees it."""

    def __init__(self, situation: Situation, default: DeletionPolicy) -> None:
        instance, workloads = situation.instance, situation.workloads
        self._facts = facts = instance.facts
        self._policy = facts.policy or default
        self._default = default
        self._spec = attrs.evolve(facts.volumes, owned=False)
        self._recorded = {one.claim_uid: one for one in instance.status.volumes}
        waiting = instance.status.waiting
        self._decided = facts.deleting_s is not None and waiting is not None and waiting.reason not in _UNDECIDED
        self._orphaned = situation.orphaned
        self._say = Say.of(facts.volumes, facts.uid, workloads)
        self._were_shared = frozenset(instance.status.shared if facts.deleting_s is not None else ())
        others = [one for one in situation.around.instances if one.uid != facts.uid and not _has_let_go(one)]
        self._others = [say for _, say in says([one for one in others if self._goes_before(one)], workloads)]
        careful = [one for one in others if self._care(one.policy) > self._care(self._policy)]
        self._careful = [say for _, say in says(careful, workloads)]
        self._owned = owned_workloads(facts, workloads)
        self._owned_uids = {one.uid for one in self._owned}
        self._foreign_sets = [one for one in workloads if one.templates and one.uid not in self._owned_uids]
        self._living = {one.uid for one in workloads}

    def has_say(self, claim: ClaimFacts) -> bool:
        """Whether the instance has a say about *claim*."""
        if self.spec_says(claim):
            return True
        if self._facts.fault and claim.uid in self._recorded:
            return True  # what a selector said that cannot be read any more
        return not self._orphaned and (self._say.owns(claim) or bool(self.workload_of(claim)))

    def came_later(self, claim: ClaimFacts) -> bool:
        """Whether the deletion of the instance does not concern *claim*: it began without it."""
        deleting_s = self._facts.deleting_s
        if deleting_s is None or claim.uid in self._recorded:
            return False
        if claim.created_s < deleting_s:
            return self._decided
        # Times have whole seconds: what came in that of the deletion counts as later, too.
        return self._orphaned or not (self._say.owns(claim) or bool(self.workload_of(claim)))

    def is_shared(self, claim: ClaimFacts) -> bool:
        """Whether another instance has a say about *claim* that goes before ours, or had one and is gone."""
        return any(say.about(claim) for say in self._others) or self.was_shared(claim)

    def was_shared(self, claim: ClaimFacts) -> bool:
        """Whether *claim* was shared with a more careful one when the deletion began, or since then."""
        return claim.uid in self._were_shared and claim.uid not in self._recorded

    def remembered_shared(self, shared: Iterable[ClaimFacts]) -> tuple[str, ...]:
        """The uids that the status remembers, given what is shared now."""
        now = {claim.uid for claim in shared if any(say.about(claim) for say in self._careful)}
        return tuple(sorted(self._were_shared | now))

    def deletes(self, claim: ClaimFacts) -> bool:
        """Whether *claim* goes with the instance when its policy says so."""
        ours = {self._facts.uid, *self._owned_uids, self.workload_of(claim)}
        if any(owner.uid not in ours for owner in claim.owners):
            return False  # also without a reference to the instance, which may have been replaced by the label
        return self.spec_says(claim) or not any(makes(one, claim.name) for one in self._foreign_sets)

    def workload_of(self, claim: ClaimFacts) -> str:
        """The uid of the instance's own workload that *claim* was made for; "" when there is none."""
        if self._orphaned or not self._facts.volumes.owned or claim.instance_uid not in ("", self._facts.uid):
            return ""
        for workload in self._owned:
            if any(owner.uid == workload.uid for owner in claim.owners) or makes(workload, claim.name):
                return workload.uid
        before = self._recorded.get(claim.uid)
        # A workload that lives on without its owner reference has taken with it what is its own.
        return "" if before is None or before.workload_uid in self._living else before.workload_uid

    def spec_says(self, claim: ClaimFacts) -> bool:
        """Whether the spec names or selects *claim*."""
        return says_is_its_own(self._spec, self._facts.uid, claim)

    # -- inside

    def _goes_before(self, other: InstanceFacts) -> bool:
        mine_s = self._facts.deleting_s
        if mine_s is None or other.deleting_s is None:
            return other.deleting_s is None
        theirs, ours = self._care(other.policy), self._care(self._policy)
        return (theirs, other.deleting_s, other.uid) > (ours, mine_s, self._facts.uid)

    def _care(self, policy: DeletionPolicy | None) -> int:
        return _CARE.index(policy or self._default)


def _has_let_go(instance: InstanceFacts) -> bool:
    return instance.deleting_s is not None and FINALIZER not in instance.finalizers
