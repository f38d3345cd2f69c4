"""The registration of `mutate-defaults`: pods of namespaces that take no part in injection, where anything is to be done.

Those that do take part come to `mutate`, whose rules are the same ones after the sidecars: no pod comes to both. A pod without
its defaults is better than none: an outage refuses nothing (failurePolicy Ignore). Pure.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from webhook.admission.review import Operations
from webhook.admission.service import Entry, Match
from webhook.admission.settings import Settings
from webhook.admission.spared import NOT_OF_THE_SYSTEM, NOT_OURS, NOT_SWITCHED_OFF
from webhook.names import ENABLED, INJECTED_NAMESPACE_LABEL, OPT_IN_NAMESPACE_LABEL
from webhook.objects.selectors import Selector

INJECTS: Final = "mutate"  # the service that is switched off with the sidecars


def sets_defaults(settings: Settings) -> bool:
    """Whether the rule pod-defaults has anything to do."""
    return settings.defaults.enabled and bool(settings.defaults.sets)


def tunes(settings: Settings) -> bool:
    """Whether the rule resource-tuning has anything to do."""
    return settings.tuning.enabled and bool(settings.tuning.scales)


def default_entries(settings: Settings) -> tuple[Entry, ...]:
    """The one registration; () when nothing is configured."""
    if not sets_defaults(settings) and not tunes(settings):
        return ()
    expressions = [*_not_injected(settings), NOT_SWITCHED_OFF, NOT_OF_THE_SYSTEM]
    selectors = set(_selectors(settings))
    if len(selectors) == 1:
        expressions += _expressions(selectors.pop())
    return (
        Entry(
            (Match("", "v1", "pods", (Operations.CREATE,), "Namespaced"),),
            namespace_selector={"matchExpressions": expressions},
            object_selector=NOT_OURS,
            failure_policy="Ignore",
            timeout_s=3,
        ),
    )


def _not_injected(settings: Settings) -> list[dict[str, Any]]:
    if INJECTS in settings.disabled:
        return []
    labels = (OPT_IN_NAMESPACE_LABEL, INJECTED_NAMESPACE_LABEL)
    return [{"key": key, "operator": "NotIn", "values": [ENABLED]} for key in labels]


def _expressions(selector: Selector) -> list[dict[str, Any]]:
    """*selector* as the API server reads it; [] when it cannot say that (Gt, Lt): the rules ask again."""
    try:
        found: list[dict[str, Any]] = selector.to_object().get("matchExpressions", [])
    except ValueError:
        return []
    return found


def _selectors(settings: Settings) -> Iterator[Selector]:
    """Of namespaces, of all that is configured."""
    if sets_defaults(settings):
        yield from (one.namespace_selector for one in settings.defaults.sets)
    if tunes(settings):
        yield settings.tuning.namespace_selector
