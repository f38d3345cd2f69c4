"""Where rules and controllers of others are found: entry points of installed packages.

    [project.entry-points."gatehouse.rules"]
    inherit-owner = "own_rule:plugin"

Nothing is imported by being installed: `load` imports the one that is asked for. Main thread (imports).
Errors: PluginError, which names package, version and entry point, and the file and line where an import failed.
Source: packaging.python.org, entry points specification; Python's importlib.metadata.
"""

from __future__ import annotations

import traceback
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Final

import attrs

from webhook.errors import PluginError

RULES: Final = "gatehouse.rules"
CONTROLLERS: Final = "gatehouse.controllers"


@attrs.frozen
class Origin:
    """Whose it is."""

    name: str  # of the entry point, and of the rule or controller
    package: str
    version: str
    target: str  # "own_rule:plugin"

    def __str__(self) -> str:
        return f"plug-in {self.name} (package {self.package} {self.version}, entry point {self.target})"


def names(group: str) -> list[str]:
    """What is installed, in order."""
    return sorted({point.name for point in entry_points(group=group)})


def load(group: str, name: str) -> tuple[Any, Origin]:
    """The value that the entry point *name* leads to, imported. Raises PluginError."""
    found = list(entry_points(group=group, name=name))
    if not found:
        have = f"installed are {', '.join(names(group))}" if names(group) else "none is installed"
        raise PluginError(f"no installed package has the entry point {name} in the group {group}: {have}")
    if len(found) > 1:
        packages = ", ".join(sorted(_origin(point).package for point in found))
        raise PluginError(f"the entry point {name} of the group {group} is in more than one package: {packages}")
    (point,) = found
    origin = _origin(point)
    try:
        return point.load(), origin
    except (Exception, SystemExit) as error:  # whatever a stranger's module does when it is imported
        told = error.msg if isinstance(error, SyntaxError) else error
        raise PluginError(f"{origin}: cannot be imported: {type(error).__name__}: {told}{_place(error)}") from error


def _origin(point: EntryPoint) -> Origin:
    dist = point.dist
    return Origin(point.name, dist.name if dist else "unknown", dist.version if dist else "?", point.value)


def _place(error: BaseException) -> str:
    """Where it was raised, "" when no file of the package was reached."""
    if isinstance(error, SyntaxError) and error.filename:
        return f" ({error.filename}:{error.lineno})"  # its frames are those of the import: the file was never run
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if not frame.filename.startswith("<frozen")]
    return f" ({frames[-1].filename}:{frames[-1].lineno})" if len(frames) > 2 else ""
