"""One review in, one review out. What is in `__all__` is public: a rule of your own needs nothing else (docs/own-rule.md).

Inside: `review` bytes to request and answer to bytes · `draft` the recorded view that rules edit · `service` what a row of the
table is · `registry` the table · `plugin` a row that somebody else has written, `sections` its settings, `strangers` its calls,
`sealed` its facts, `places` its share of the threads · `configurations` the registrations as the API server reads them · `call`
what transport and gate say to each other · `interceptors` what comes before every service · `gate` the table bound to facts ·
`settings` what an operator decides · `timeouts` the caller's · `verify` jsonpatch as the second opinion.

The public names are imported on first use: importing a module in here must not import all of it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from webhook.admission.draft import Draft
    from webhook.admission.plugin import Decide, Facts, RulePlugin
    from webhook.admission.review import (
        FORBIDDEN,
        UNPROCESSABLE,
        AdmissionRequest,
        Denial,
        GroupVersionResource,
        Operations,
        User,
    )
    from webhook.admission.sections import NoSettings
    from webhook.admission.service import (
        LIMIT_RANGES_CACHE,
        NAMESPACES_CACHE,
        NODES_CACHE,
        PODS_CACHE,
        QUOTAS_CACHE,
        Context,
        Entry,
        Match,
        Verdict,
    )
    from webhook.clock import Deadline
    from webhook.cluster import NamespaceFacts, NodeFacts, PodFacts
    from webhook.errors import BadRequest, MalformedObject, Unavailable
    from webhook.names import Reason
    from webhook.objects import meta

__all__ = [
    "FORBIDDEN",
    "LIMIT_RANGES_CACHE",
    "NAMESPACES_CACHE",
    "NODES_CACHE",
    "PODS_CACHE",
    "QUOTAS_CACHE",
    "UNPROCESSABLE",
    "AdmissionRequest",
    "BadRequest",
    "Context",
    "Deadline",
    "Decide",
    "Denial",
    "Draft",
    "Entry",
    "Facts",
    "GroupVersionResource",
    "MalformedObject",
    "Match",
    "NamespaceFacts",
    "NoSettings",
    "NodeFacts",
    "Operations",
    "PodFacts",
    "Reason",
    "RulePlugin",
    "Unavailable",
    "User",
    "Verdict",
    "meta",
]

_HOMES = {
    **dict.fromkeys(("Draft",), "webhook.admission.draft"),
    **dict.fromkeys(("Decide", "Facts", "RulePlugin"), "webhook.admission.plugin"),
    **dict.fromkeys(("NoSettings",), "webhook.admission.sections"),
    **dict.fromkeys(
        ("FORBIDDEN", "UNPROCESSABLE", "AdmissionRequest", "Denial", "GroupVersionResource", "Operations", "User"),
        "webhook.admission.review",
    ),
    **dict.fromkeys(("Deadline",), "webhook.clock"),
    **dict.fromkeys(("NamespaceFacts", "NodeFacts", "PodFacts"), "webhook.cluster"),
    **dict.fromkeys(("BadRequest", "MalformedObject", "Unavailable"), "webhook.errors"),
    **dict.fromkeys(("Reason",), "webhook.names"),
    **dict.fromkeys(("meta",), "webhook.objects"),
}
_HOME_OF_THE_REST = "webhook.admission.service"


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = _HOMES.get(name, _HOME_OF_THE_REST)
    return import_module(f"{home}.{name}") if name == "meta" else getattr(import_module(home), name)


def __dir__() -> list[str]:
    return sorted(__all__)
