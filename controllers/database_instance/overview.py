"""What the process knows of DatabaseInstances: the section `databases` of the status page.

How many there are, how many bear our finalizer, and which are being deleted, comes from the cache: any replica knows it. What
deletions wait for, and which instances fail, is memory of the leader (`deletions`).
Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from controllers.database_instance.values import Wait
from controllers.runtime.reconcile import Key
from webhook.objects.databases import FINALIZER, InstanceFacts
from webhook.objects.meta import Json

LISTED: Final = 100  # of more, the page has the number and the first of them


def overview(instances: Iterable[InstanceFacts], errors: Mapping[Key, str], waits: Mapping[Key, Wait], now_s: float) -> Json:
    """The section; deletions oldest first. Pure, O(instances).

    errors, waits: as `Deletions` of the leader has them; others have none.
    """
    count = protected = unreadable = 0
    deletions: list[tuple[float, Key]] = []
    for one in instances:
        count += 1
        protected += FINALIZER in one.finalizers
        unreadable += bool(one.fault)
        if one.deleting_s is not None:
            deletions.append((one.deleting_s, one.key))
    deletions.sort()
    return {
        "count": count,
        "protected": protected,
        "unreadable": unreadable,
        "deleting": len(deletions),
        "oldestDeletionSeconds": _age_s(deletions[0][0], now_s) if deletions else None,
        "failing": len(errors),
        "deletions": [
            {"instance": key, "ageSeconds": _age_s(since_s, now_s), "waitsFor": waits[key].value if key in waits else None}
            for since_s, key in deletions[:LISTED]
        ],
        "failures": [{"instance": key, "error": errors[key]} for key in sorted(errors)[:LISTED]],
    }


def _age_s(since_s: float, now_s: float) -> float:
    return round(max(0.0, now_s - since_s), 1)
