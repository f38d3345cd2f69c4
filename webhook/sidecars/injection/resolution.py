"""Entries with their placeholders filled in for one pod. Pure; raises MalformedObject as `placeholders.substitute`."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import starmap
from typing import Any

import attrs

from webhook.objects import schema
from webhook.sidecars.entries import filled_lint
from webhook.sidecars.entries.entry import AppWiring, Entry, LogCollector
from webhook.sidecars.entries.placeholders import Scope, Unresolved, substitute

_LISTS = {
    "containers": ("containers", "[]Container"),
    "init_containers": ("initContainers", "[]Container"),
    "volumes": ("volumes", "[]Volume"),
    "image_pull_secrets": ("imagePullSecrets", "[]LocalObjectReference"),
    "host_aliases": ("hostAliases", "[]HostAlias"),
}
_APP_LISTS = {
    "env": ("env", "[]EnvVar"),
    "env_from": ("envFrom", "[]EnvFromSource"),
    "volume_mounts": ("volumeMounts", "[]VolumeMount"),
}


class Resolution:
    """One run over one entry: what could not be filled in gathers in `unresolved`."""

    def __init__(self, scope: Scope) -> None:
        self._scope = scope
        self.unresolved: list[Unresolved] = []

    def entry(self, entry: Entry) -> Entry:
        """All of *entry* but what goes into the pod's own containers, which `app` does for each of them."""
        changes: dict[str, Any] = self._lists(entry, _LISTS, ())
        for name in ("labels", "annotations"):
            changes[name] = self._filled(dict(getattr(entry, name)), "{}string", (name,))
        if entry.log_collector is not None:
            changes["log_collector"] = self._collector(entry.log_collector)
        filled = attrs.evolve(entry, **changes)
        if not self.unresolved:  # else what stands there is not what would go into the pod
            self.unresolved += starmap(Unresolved, filled_lint.entry_faults(filled, entry))
        return filled

    def app(self, app: AppWiring) -> AppWiring:
        """*app* for the container that the scope names."""
        filled = attrs.evolve(app, **self._lists(app, _APP_LISTS, ("app",)))
        if not self.unresolved:
            self.unresolved += starmap(Unresolved, filled_lint.app_faults(filled))
        return filled

    def _lists(self, holder: Any, lists: Mapping[str, tuple[str, str]], path: tuple[str, ...]) -> dict[str, Any]:
        return {
            attribute: tuple(self._filled(list(getattr(holder, attribute)), code, (*path, field)))
            for attribute, (field, code) in lists.items()
            if getattr(holder, attribute)
        }

    def _collector(self, collector: LogCollector) -> LogCollector:
        path = ("logCollector",)
        return LogCollector(
            self._filled(collector.folder, "string", path),
            self._filled(collector.files, "string", path),
            self._filled(collector.container, "Container", path),
            self._filled(collector.volume, "Volume", path),
        )

    def _filled(self, value: Any, code: str, path: tuple[str, ...]) -> Any:
        outcome = substitute(value, schema.named(code), self._scope, path)
        self.unresolved += outcome.unresolved
        return outcome.value


def asks_for_now(entry: Entry) -> bool:
    """Whether any string of *entry* asks for the time."""
    app = entry.app
    lists = (
        entry.containers,
        entry.init_containers,
        entry.volumes,
        entry.host_aliases,
        app.env,
        app.env_from,
        app.volume_mounts,
    )
    collector = entry.log_collector
    rest = (entry.labels, entry.annotations, (collector.folder, collector.container, collector.volume) if collector else ())
    return _mentions((*lists, *rest), "${now")


def _mentions(tree: Any, text: str) -> bool:
    if type(tree) is str:
        return text in tree
    if isinstance(tree, Mapping):
        return any(_mentions(value, text) for value in tree.values())
    return isinstance(tree, (list, tuple)) and any(_mentions(value, text) for value in tree)
