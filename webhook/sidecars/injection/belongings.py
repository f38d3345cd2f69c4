"""What a pod has beside containers: volumes, pull secrets, host aliases, labels, annotations. Used by one call of `plan`."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from webhook.names import Reason
from webhook.objects import meta, pods
from webhook.objects.meta import Json
from webhook.sidecars.entries.entry import Entry
from webhook.sidecars.injection.merging import KeyedList, covers
from webhook.sidecars.injection.planned import ListEdit
from webhook.sidecars.injection.verdicts import Verdicts


class Belongings:
    """The lists and maps of one pod while entries add to them."""

    def __init__(self, pod: Json, verdicts: Verdicts) -> None:
        self._spec = pods.spec(pod)
        self._verdicts = verdicts
        self._lists: dict[str, KeyedList] = {}
        # By its labels a controller knows its pods: one that it does not know any more is replaced, and the next one, for ever.
        self._is_selected = any(owner.get("controller") is True for owner in _owners(pod))
        self._own = {"labels": meta.labels_of(pod), "annotations": meta.annotations_of(pod)}
        self._to_set: dict[str, dict[str, str]] = {"labels": {}, "annotations": {}}
        self._claimed: dict[str, set[str]] = {"labels": set(), "annotations": set()}  # as in KeyedList

    def add(
        self, entry: Entry, volumes: Sequence[Json], *, is_settled: bool, recorded: Collection[str] = ()
    ) -> tuple[Json, ...]:
        """Give the pod what *entry* says, and *volumes*; those of them that it did not have.

        is_settled: an earlier call gave it already, with values that may have changed since: what is there stays, unsaid.
        recorded: the names of volumes that an earlier call brought for *entry*, whatever has become of them since.
        Raises LeavesOut for a volume of the pod's own that stays: what mounts it would get that one.
        """
        for secret in entry.image_pull_secrets:
            secrets = self._keyed("imagePullSecrets", "name")
            if secrets.get(secret["name"]) is None:
                secrets.put(secret["name"], secret)
        for alias in entry.host_aliases:
            self._put(entry, "hostAliases", "ip", alias, Reason.HOST_ALIAS_CONFLICT, "hosts of address", is_settled)
        self._set(entry, "labels", "label", entry.labels, is_settled)
        self._set(entry, "annotations", "annotation", entry.annotations, is_settled)
        return tuple(
            volume
            for volume in volumes
            if self._put(
                entry, "volumes", "name", volume, Reason.VOLUME_CONFLICT, "volume", is_settled or volume["name"] in recorded
            )
        )

    def has_volume(self, name: str) -> bool:
        """Whether the pod has the volume, or will."""
        return self._keyed("volumes", "name").get(name) is not None

    def to_set(self, field: str) -> dict[str, str]:
        """The "labels" or "annotations" that the pod gets."""
        return self._to_set[field]

    def edits(self) -> Iterator[ListEdit]:
        """What is to be done with the lists."""
        for keyed in self._lists.values():
            edit = keyed.edit()
            if edit is not None:
                yield edit

    # -- inside

    def _put(self, entry: Entry, field: str, key: str, item: Json, reason: Reason, kind: str, is_settled: bool) -> bool:
        keyed = self._keyed(field, key)
        name = item[key]
        before = keyed.get(name)
        if before is not None:
            if is_settled or keyed.is_same(before, item):
                keyed.claim(name)
                return False
            thing, where, is_free = f'{kind} "{name}"', keyed.field(name), not keyed.is_claimed(name)
            clash = self._verdicts.clash_of_whole if field == "volumes" else self._verdicts.clash
            if not clash(entry, reason, thing, where, replaceable=is_free):
                return False
        keyed.put(name, item)
        return True

    def _set(self, entry: Entry, field: str, kind: str, wanted: Mapping[str, str], is_settled: bool) -> None:
        own, to_set, claimed = self._own[field], self._to_set[field], self._claimed[field]
        for key, value in wanted.items():
            before = to_set.get(key, own.get(key))
            if before is not None and not is_settled and before != value:
                thing, where = f"{kind} {key}", f"metadata.{field}[{key}]"
                is_selected = self._is_selected and field == "labels" and key in own
                kept = "stays as it is: the pod's controller may select it by that" if is_selected else "stays as it is"
                is_free = key not in claimed and not is_selected
                if not self._verdicts.clash(entry, Reason.METADATA_CONFLICT, thing, where, replaceable=is_free, kept=kept):
                    continue
                before = None
            if before is None:
                to_set[key] = value
            claimed.add(key)

    def _keyed(self, field: str, key: str) -> KeyedList:
        found = self._lists.get(field)
        if found is None:
            is_same = _is_same_volume if field == "volumes" else covers
            found = self._lists[field] = KeyedList(self._spec, ("spec", field), key, is_same)
        return found


def _is_same_volume(have: Json, want: Json) -> bool:
    """An emptyDir without any settings is no less a source than others."""
    return covers(have, want) and all(have.get(source) is not None for source, value in want.items() if value is not None)


def _owners(pod: Json) -> Sequence[Json]:
    return meta.objects(meta.metadata(pod), "ownerReferences", "metadata")
