"""The rules and controllers of others that a configuration names, loaded, and their settings read.

    plugins:
      rules: {inherit-owner: {label: team}}         # name of the entry point -> its settings
      controllers: {buckets: {}}

Each becomes a value, or a fault at its key: not installed, not importable, a name or a path that somebody has, settings that
its class does not take. Main thread (imports).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

import attrs

from controllers.plugins.finding import CONTROLLERS, RULES, Origin, load
from controllers.runtime.plugin import ControllerPlugin, Watch
from controllers.wording import a
from webhook.admission import sections
from webhook.admission.plugin import NAME, RulePlugin, check_settings, service_of
from webhook.admission.registry import taken
from webhook.admission.service import Service
from webhook.errors import PluginError
from webhook.objects.faults import Faults, Path

# The names of our own controllers: labels of metrics, of threads and of health checks.
OURS: Final = frozenset({"edge-health", "coverage", "pod-ip", "database-instance", "certificates", "sidecar-entries"})

T = TypeVar("T")


@attrs.frozen
class RuleInUse:
    """A rule that this process answers with."""

    origin: Origin
    service: Service


@attrs.frozen
class ControllerInUse:
    """A controller that this process runs."""

    origin: Origin
    plugin: ControllerPlugin[Any]
    settings: Any
    watches: tuple[Watch[Any], ...]


def rules_in(section: Mapping[str, Any]) -> tuple[RuleInUse, ...]:
    """The rules that *section* names, in its order. Raises Faults with every fault."""
    mine = taken()

    def use(name: str, plugin: Any, settings: Any, origin: Origin) -> RuleInUse:
        service = service_of(name, plugin, settings, str(origin), mine)
        mine.update({service.name: str(origin), service.path: str(origin)})
        return RuleInUse(origin, service)

    return _each(section, RULES, RulePlugin, use)


def controllers_in(section: Mapping[str, Any]) -> tuple[ControllerInUse, ...]:
    """The controllers that *section* names, in its order. Raises Faults with every fault."""

    def use(name: str, plugin: Any, settings: Any, origin: Origin) -> ControllerInUse:
        if not NAME.fullmatch(name):
            raise PluginError(f"{origin}: the name must be up to 40 lower-case letters, digits and hyphens")
        if name in OURS:
            raise PluginError(f"{origin}: the name {name} is taken by Gatehouse's own controller")
        return ControllerInUse(origin, plugin, settings, watches_of(plugin, settings, str(origin)))

    return _each(section, CONTROLLERS, ControllerPlugin, use)


def watches_of(plugin: ControllerPlugin[Any], settings: Any, origin: str) -> tuple[Watch[Any], ...]:
    """What *plugin* watches. *origin*: whose it is, for messages. Raises PluginError."""
    try:
        found = tuple(plugin.watches(settings) if callable(plugin.watches) else plugin.watches)
    except (Exception, SystemExit) as error:
        raise PluginError(f"{origin}: the watches cannot be made: {type(error).__name__}: {error}") from error
    if not found or not all(isinstance(one, Watch) for one in found):
        raise PluginError(f"{origin}: watches: expected one controllers.runtime.Watch or more, found {found!r}")
    if len({one.resource.name for one in found}) < len(found):
        raise PluginError(f"{origin}: two watched resources have the same name")
    return found


def _each(section: Mapping[str, Any], group: str, kind: type, use: Callable[[str, Any, Any, Origin], T]) -> tuple[T, ...]:
    found: list[T] = []
    faults: list[tuple[Path, str]] = []
    for name, value in section.items():
        try:
            plugin, origin = load(group, name)
            if not isinstance(plugin, kind):
                raise PluginError(f"{origin}: leads to {a(type(plugin).__name__)}, not to {a(kind.__name__)}")
            settings: Any = getattr(plugin, "settings", None)
            check_settings(settings, str(origin))
            found.append(use(name, plugin, sections.read(settings, value), origin))
        except PluginError as error:
            faults.append(((name,), str(error)))
        except Faults as error:
            faults += [((name, *path), message) for path, message in error.faults]
    if faults:
        raise Faults(*faults)
    return tuple(found)
