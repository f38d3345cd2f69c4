"""What a process says of the rules and controllers of others that it uses: log, metrics and status. Any thread."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from webhook.logs import get_log
from webhook.objects.meta import Json
from webhook.telemetry import Telemetry

if TYPE_CHECKING:
    from controllers.config.plugins import PluginsSection
    from controllers.plugins.finding import Origin

log = get_log("plugins")

RULE: Final = "rule"
CONTROLLER: Final = "controller"


def announce(section: PluginsSection, telemetry: Telemetry, *, local: bool) -> None:
    """Say once what was loaded, with its version, so that the logs of replicas can be compared."""
    used = list(_origins(section))
    if not used:
        return
    info = telemetry.gauge(
        "gatehouse_plugin_info", "Rules and controllers of others that are in use.", ("kind", "name", "package", "version")
    )
    for kind, origin in used:
        info.labels(kind, origin.name, origin.package, origin.version).set(1)
        facts = {"name": origin.name, "package": origin.package, "version": origin.version, "entry_point": origin.target}
        log.info("plug-in loaded", kind=kind, **facts)
    if local and section.controllers_used:
        log.info("local: controllers of plug-ins are off, as all are")


def status(section: PluginsSection, *, local: bool) -> list[Json] | None:
    """For the status page, a row each; None when nothing of others is in use. A rule and a controller may have one name."""
    found = [
        {
            "name": origin.name,
            "kind": kind,
            "package": origin.package,
            "version": origin.version,
            "entryPoint": origin.target,
            "on": kind == RULE or not local,
        }
        for kind, origin in _origins(section)
    ]
    return found or None


def _origins(section: PluginsSection) -> Iterator[tuple[str, Origin]]:
    yield from ((RULE, rule.origin) for rule in section.rules_used)
    yield from ((CONTROLLER, one.origin) for one in section.controllers_used)
