"""What a pod has beside containers: volumes, pull secrets, host aliases, labels, annotations. Used by one call of `plan`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from webhook.names import Reason
from webhook.objects import meta, pods
from webhook.objects.meta import Json
from webhook.sidecars.entry import Entry
from webhook.sidecars.merging import KeyedList
from webhook.sidecars.planned import ListEdit
from webhook.sidecars.verdicts import Verdicts


class Belongings:
    """The lists and maps of one pod while entries add to them."""

    def __init__(self, pod: Json, verdicts: Verdicts) -> None:
        self._spec = pods.spec(pod)
        self._verdicts = verdicts
        self._lists: dict[str, KeyedList] = {}
        self._own = {"labels": meta.labels_of(pod), "annotations": meta.annotations_of(pod)}
        self._to_set: dict[str, dict[str, str]] = {"labels": {}, "annotations": {}}
        self._claimed: dict[str, set[str]] = {"labels": set(), "annotations": set()}  # as in KeyedList

    def add(self, entry: Entry, volumes: Sequence[Json], *, is_settled: bool) -> tuple[Json, ...]:
        """Give the pod what *entry* says, and *volumes*; those of them that it did not have.

        is_settled: an earlier call gave it already, with values that may have changed since: what is there stays, unsaid.
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
            if self._put(entry, "volumes", "name", volume, Reason.VOLUME_CONFLICT, "volume", is_settled)
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
                keyed.claimed.add(name)
                return False
            thing, where, is_free = f'{kind} "{name}"', keyed.field(name), name not in keyed.claimed
            kept = "stays as it is, also for what mounts it" if field == "volumes" else "stays as it is"
            if not self._verdicts.clash(entry, reason, thing, where, replaceable=is_free, kept=kept):
                return False
        keyed.put(name, item)
        return True

    def _set(self, entry: Entry, field: str, kind: str, wanted: Mapping[str, str], is_settled: bool) -> None:
        own, to_set, claimed = self._own[field], self._to_set[field], self._claimed[field]
        for key, value in wanted.items():
            before = to_set.get(key, own.get(key))
            if before is not None and not is_settled and before != value:
                thing, where = f"{kind} {key}", f"metadata.{field}[{key}]"
                if not self._verdicts.clash(entry, Reason.METADATA_CONFLICT, thing, where, replaceable=key not in claimed):
                    continue
                before = None
            if before is None:
                to_set[key] = value
            claimed.add(key)

    def _keyed(self, field: str, key: str) -> KeyedList:
        found = self._lists.get(field)
        if found is None:
            found = self._lists[field] = KeyedList(self._spec, ("spec", field), key)
        return found
