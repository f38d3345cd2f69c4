"""client-go in miniature. What is in `__all__` is public: a controller of your own needs nothing else (docs/own-rule.md).

The noun decides, the doer does: `watch`, `backoff`, `store`, `projection`, `election`, `leases` and `event_series` are pure or
memory only; `rest`, `reflector`, `controller`, `elector` and `events` own the sockets and the threads.

    api        what is needed of an API server, a verb at a time (Protocols)
    access     where the API server is, and who we are to it; `transport`: requests that another thread can end
    rest       one HTTP client for the API server: typed errors, timeouts on every call
    resource   what is watched, and how bytes become facts (Protocols and values)
    watch      the list/watch machine: state, observation -> state, effects
    arriving   a list decoded while it arrives
    reflector  the thread that performs the machine's effects
    store      indexed facts in memory
    informer   reflector + store + handlers
    lister     what admission rules ask (`webhook.cluster`)

    workqueue  keys to work on; `limiters` say when a failed one comes again
    reconcile  one pass over one key: its context, its outcomes, its interceptors
    controller sources -> workqueue -> passes; the threads of it
    plugin     a controller that somebody else has written
    freshness  a key waits until the caches have seen its own last write
    damper     which deeds somebody keeps undoing, and wait
    election   the Lease machine: state, observation, moment -> state, effect; `leases` reads and writes the object
    elector    the thread that performs it, starts and stops led work, and the guard that each led request asks
    events     the Event recorder; `event_series` decides what is written

The public names are imported on first use: importing a module in here must not import all of it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from controllers.runtime import finalizers
    from controllers.runtime.controller import Policy
    from controllers.runtime.errors import (
        AlreadyExists,
        ApiError,
        Conflict,
        Forbidden,
        Gone,
        Invalid,
        LeaseLost,
        NotFound,
        Throttled,
        TimedOut,
        Unreachable,
    )
    from controllers.runtime.event_series import Reference
    from controllers.runtime.events import Announcer
    from controllers.runtime.plugin import Api, Cache, ControllerPlugin, Given, Metrics, Watch
    from controllers.runtime.projection_objects import objects_resource
    from controllers.runtime.reconcile import Context, Done, Outcome, Reconcile, RequeueAfter, Terminal
    from controllers.runtime.resource import Item, Resource
    from controllers.runtime.store import Addition, Deletion, Update
    from webhook.admission.sections import NoSettings

__all__ = [
    "Addition",
    "AlreadyExists",
    "Announcer",
    "Api",
    "ApiError",
    "Cache",
    "Conflict",
    "Context",
    "ControllerPlugin",
    "Deletion",
    "Done",
    "Forbidden",
    "Given",
    "Gone",
    "Invalid",
    "Item",
    "LeaseLost",
    "Metrics",
    "NoSettings",
    "NotFound",
    "Outcome",
    "Policy",
    "Reconcile",
    "Reference",
    "RequeueAfter",
    "Resource",
    "Terminal",
    "Throttled",
    "TimedOut",
    "Unreachable",
    "Update",
    "Watch",
    "finalizers",
    "objects_resource",
]

_HOMES = {
    **dict.fromkeys(("Policy",), "controllers.runtime.controller"),
    **dict.fromkeys(("Reference",), "controllers.runtime.event_series"),
    **dict.fromkeys(("Announcer",), "controllers.runtime.events"),
    **dict.fromkeys(("Api", "Cache", "ControllerPlugin", "Given", "Metrics", "Watch"), "controllers.runtime.plugin"),
    **dict.fromkeys(("objects_resource",), "controllers.runtime.projection_objects"),
    **dict.fromkeys(("Context", "Done", "Outcome", "Reconcile", "RequeueAfter", "Terminal"), "controllers.runtime.reconcile"),
    **dict.fromkeys(("Item", "Resource"), "controllers.runtime.resource"),
    **dict.fromkeys(("Addition", "Deletion", "Update"), "controllers.runtime.store"),
    **dict.fromkeys(("NoSettings",), "webhook.admission.sections"),
}
_HOME_OF_THE_REST = "controllers.runtime.errors"


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name == "finalizers":
        return import_module("controllers.runtime.finalizers")
    return getattr(import_module(_HOMES.get(name, _HOME_OF_THE_REST)), name)


def __dir__() -> list[str]:
    return sorted(__all__)
