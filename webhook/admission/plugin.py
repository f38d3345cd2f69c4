"""A rule of somebody else's: what its author writes down, and the service that becomes of it.

    plugin = RulePlugin(
        settings=Settings,                                       # an attrs class, see `sections`
        build=lambda settings, facts: InheritOwner(settings, facts.namespaces),
        entries=(Entry((Match("", "v1", "pods", (Operations.CREATE,), "Namespaced"),)),),
        mutating=True,
        caches=frozenset({NAMESPACES_CACHE}),
    )

Its name is that of its entry point in the group `gatehouse.rules`; it has a path, registrations and a row in the metrics of its
own, as the rules of `registry` do. What it raises is answered with 500, so that its failurePolicy rules; nothing of it reaches
other rules. Two things no registration may forget are added here: our own objects, and under failurePolicy Fail the
namespaces of the system, are never held up, or a broken rule could stand in the way of its own repair.
Pure but for what the rule does. Errors: PluginError, before anything is served.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Generic, Protocol, TypeVar

import attrs

from webhook.admission import sections
from webhook.admission.draft import Draft
from webhook.admission.review import AdmissionRequest, Operations
from webhook.admission.sealed import sealed
from webhook.admission.service import (
    LIMIT_RANGES_CACHE,
    NAMESPACES_CACHE,
    NODES_CACHE,
    PODS_CACHE,
    QUOTAS_CACHE,
    Context,
    Entry,
    Match,
    Rule,
    Service,
    Verdict,
)
from webhook.admission.settings import Settings
from webhook.admission.spared import NOT_OF_THE_SYSTEM, NOT_OURS
from webhook.admission.strangers import Decider
from webhook.cluster import Capacity, Cluster, LimitRanges, Namespaces, Nodes, Pods, ResourceQuotas
from webhook.errors import PluginError
from webhook.objects.faults import dotted

S = TypeVar("S")
S_contra = TypeVar("S_contra", contravariant=True)

# Of one limit of reviews in flight, in equal parts: rules of others that hang must leave threads for ours (see `places`).
SHARE: Final = "rules of plug-ins"
CACHES: Final = frozenset({NODES_CACHE, PODS_CACHE, NAMESPACES_CACHE, LIMIT_RANGES_CACHE, QUOTAS_CACHE})

NAME: Final = re.compile(r"[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?")  # the first label of a webhook's name, with a suffix behind it
_SUFFIX: Final = re.compile(r"(-[a-z0-9]+)*")
_PATH: Final = re.compile(r"(/[A-Za-z0-9._-]+)+")
_CHOICES: Final[Mapping[str, tuple[str, ...]]] = {
    "failure_policy": ("Fail", "Ignore"),
    "match_policy": ("Equivalent", "Exact"),
    "side_effects": ("None", "NoneOnDryRun"),
    "reinvocation_policy": ("IfNeeded", "Never"),
}


class Facts(Protocol):
    """What a rule may ask of the cluster. Look-ups in memory, by any thread; only the methods `confirm` ask the API server."""

    @property
    def nodes(self) -> Nodes: ...

    @property
    def pods(self) -> Pods: ...

    @property
    def namespaces(self) -> Namespaces: ...

    @property
    def limit_ranges(self) -> LimitRanges: ...

    @property
    def resource_quotas(self) -> ResourceQuotas: ...

    @property
    def capacity(self) -> Capacity: ...


Decide = Callable[[AdmissionRequest, Draft, Context], Verdict]
"""One rule: decides about a request and edits the draft. Called by many threads at once."""


class Build(Protocol[S_contra]):
    """Makes the rule, once in each process."""

    def __call__(self, settings: S_contra, facts: Facts, /) -> Decide: ...


@attrs.frozen(kw_only=True)
class RulePlugin(Generic[S]):
    """What an entry point of the group `gatehouse.rules` names."""

    settings: type[S]  # an attrs class; NoSettings where there is nothing to decide
    build: Build[S]
    entries: Sequence[Entry] | Callable[[S], Sequence[Entry]]  # the registrations; a function where the settings decide
    mutating: bool = False  # whether it may edit; a rule that may can refuse as well
    caches: frozenset[str] = frozenset()  # of CACHES: no review is answered before these have their first list
    path: str = ""  # "" = /rules/<name>
    advice: Mapping[str, str] = attrs.field(factory=dict)  # reason -> what to do about it, for `gatehouse explain`


def service_of(name: str, plugin: RulePlugin[Any], settings: Any, origin: str, taken: Mapping[str, str]) -> Service:
    """The service that *plugin* is in this process.

    name: of its entry point. settings: read into its own class. origin: package and entry point, for messages.
    taken: names and paths that others have, and whose they are. Raises PluginError.
    """
    path = plugin.path or f"/rules/{name}"
    if not NAME.fullmatch(name):
        raise PluginError(f"{origin}: the name must be up to 40 lower-case letters, digits and hyphens")
    if not isinstance(path, str) or not _PATH.fullmatch(path) or {".", ".."} & set(path.split("/")):
        raise PluginError(f"{origin}: path {path!r}: must be such as /rules/{name}")
    for mine, what in ((name, "name"), (path, "path")):
        if mine in taken:
            raise PluginError(f"{origin}: the {what} {mine} is taken by {taken[mine]}")
    fault = _fault_of_words(plugin)
    if fault:
        raise PluginError(f"{origin}: {fault}")
    unknown = sorted(set(plugin.caches) - CACHES)
    if unknown:
        raise PluginError(f"{origin}: no cache is called {', '.join(unknown)}: have {', '.join(sorted(CACHES))}")
    entries = tuple(_careful(entry) for entry in _entries(plugin, settings, origin))

    def build(own: Settings, cluster: Cluster) -> tuple[Rule, ...]:
        path = ("plugins", "rules", name)
        where = f"{dotted(path)}: {origin}"
        try:
            decide = plugin.build(settings, sealed(cluster))
        except (Exception, SystemExit) as error:
            raise PluginError(f"{where}: the rule cannot be built: {type(error).__name__}: {error}", path) from error
        if not callable(decide):
            raise PluginError(f"{where}: build gave a {type(decide).__name__}, which cannot be called", path)
        packages = frozenset(map(_package_of, (decide, type(decide), plugin.build)))
        return (Decider(name, origin, decide, plugin.mutating, plugin.advice, packages, own.watch_rules),)

    return Service(name, path, entries, build, mutating=plugin.mutating, caches=frozenset(plugin.caches), share=SHARE)


def _fault_of_words(plugin: RulePlugin[Any]) -> str:
    """What is wrong with the plain fields, "" when nothing is."""
    advice: Any = plugin.advice
    build: Any = plugin.build
    caches: Any = plugin.caches
    mutating: Any = plugin.mutating
    if not isinstance(advice, Mapping) or not all(isinstance(one, str) for pair in advice.items() for one in pair):
        return f"advice is a {type(advice).__name__}: expected a mapping of reasons to what to do about each, both strings"
    if not callable(build):
        return f"build is a {type(build).__name__}, which cannot be called"
    if not isinstance(caches, (frozenset, set)):
        return f"caches is a {type(caches).__name__}: expected a frozenset of names"
    return "" if isinstance(mutating, bool) else f"mutating is a {type(mutating).__name__}: expected True or False"


def _package_of(thing: Any) -> str:
    return str(getattr(thing, "__module__", "")).partition(".")[0]


def _entries(plugin: RulePlugin[Any], settings: Any, origin: str) -> Sequence[Entry]:
    """The registrations. Raises PluginError for what the API server would refuse, or would never send anything for."""
    try:
        entries = tuple(plugin.entries(settings) if callable(plugin.entries) else plugin.entries)
    except (Exception, SystemExit) as error:
        raise PluginError(f"{origin}: the registrations cannot be made: {type(error).__name__}: {error}") from error
    if not entries:
        raise PluginError(f"{origin}: has no registration, so that nothing would ever be sent to it")
    for entry in entries:
        fault = _fault_of_entry(entry)
        if fault:
            raise PluginError(f"{origin}: a registration: {fault}")
    if len({entry.suffix for entry in entries}) < len(entries):
        raise PluginError(f"{origin}: two registrations have the same suffix, and so the same name")
    return entries


def _fault_of_entry(entry: Any) -> str:
    if not isinstance(entry, Entry):
        return f"is a {type(entry).__name__}, not a webhook.admission.Entry"
    if not entry.matches:
        return "matches nothing"
    for match in entry.matches:
        if (
            not isinstance(match, Match)
            or not match.operations
            or not all(isinstance(one, Operations) for one in match.operations)
        ):
            return f"{match!r}: expected a webhook.admission.Match with a tuple of Operations"
    if not _SUFFIX.fullmatch(entry.suffix) or len(entry.suffix) > 20:
        return f'suffix "{entry.suffix}": must be such as "-new", or empty'
    if type(entry.timeout_s) is not int or not 1 <= entry.timeout_s <= 30:
        return f"timeout_s {entry.timeout_s!r}: must be from 1 to 30"
    for field, choices in _CHOICES.items():
        if getattr(entry, field) not in choices:
            return f"{field} {getattr(entry, field)!r}: must be {' or '.join(choices)}"
    return ""


def _careful(entry: Entry) -> Entry:
    """*entry* without what may never be held up."""
    namespaces = entry.namespace_selector
    if entry.failure_policy == "Fail":
        namespaces = _with(namespaces, NOT_OF_THE_SYSTEM)
    return attrs.evolve(
        entry,
        namespace_selector=namespaces,
        object_selector=_with(entry.object_selector, *NOT_OURS["matchExpressions"]),
    )


def _with(selector: Mapping[str, Any], *expressions: Any) -> Mapping[str, Any]:
    """*selector*, narrowed by *expressions*."""
    found = list(selector.get("matchExpressions", ()))
    return {**selector, "matchExpressions": [*found, *(one for one in expressions if one not in found)]}


def check_settings(settings: Any, origin: str) -> None:
    """Raises PluginError when *settings* is no class that a configuration could fill."""
    try:
        sections.check(settings)
    except sections.Unreadable as error:
        raise PluginError(f"{origin}: {error}") from error
