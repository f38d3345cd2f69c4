"""Where rules and controllers of others are found: entry points of installed packages.

    [project.entry-points."gatehouse.rules"]
    inherit-owner = "own_rule:plugin"

Nothing is imported by being installed: `load` imports the one that is asked for. Main thread (imports).
Errors: PluginError, which names package, version and entry point, and the file and line where an import failed.
Source: packaging.python.org, entry points specification; Python's importlib.metadata.
"""

from __future__ import annotations

import traceback
from importlib.metadata import Distribution, EntryPoint, distributions, entry_points
from pathlib import Path
from typing import Any, Final

import attrs

from webhook.errors import PluginError
from webhook.names import PROJECT

RULES: Final = "gatehouse.rules"
CONTROLLERS: Final = "gatehouse.controllers"
UNKNOWN: Final = "unknown"  # what a package does not say
LIST: Final = "entry_points.txt"
INSTALL: Final = (
    f"pip install its package into the Python that runs {PROJECT}, or into the executable by make binary WITH=FOLDER "
    "(docs/own-rule.md)"
)


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
    return sorted({point.name for point in _points(group)})


def load(group: str, name: str) -> tuple[Any, Origin]:
    """The value that the entry point *name* leads to, imported. Raises PluginError."""
    found = [point for point in _points(group) if point.name == name]
    if not found:
        have = f"installed are {', '.join(names(group))}" if names(group) else "none is installed"
        raise PluginError(f"no installed package has the entry point {name} in the group {group}: {have}; {INSTALL}")
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
    """Whose *point* is. Raises PluginError when its package cannot say."""
    dist = point.dist
    if dist is None:
        return Origin(point.name, UNKNOWN, UNKNOWN, point.value)
    try:
        written = dist.metadata
    except ValueError as error:
        what = f"entry point {point.name} ({point.value})"
        raise PluginError(f"{what}: its package cannot be read: {_file(dist, 'METADATA')}: {error}") from error
    # A key that is missing is None in some releases of Python, and an error in others.
    said = {key: written[key] for key in ("Name", "Version") if key in written}
    return Origin(point.name, said.get("Name", UNKNOWN), said.get("Version", UNKNOWN), point.value)


def _points(group: str) -> list[EntryPoint]:
    """Every entry point of *group*. Raises PluginError when a package's list of them cannot be read."""
    try:
        return list(entry_points(group=group))
    except ValueError as error:  # not UTF-8: it says neither which package nor which file
        raise PluginError(f"the entry points of a package cannot be read: {_unreadable() or error}") from error


def _unreadable() -> str:
    """The first file of entry points that cannot be read, and why; "" when all can."""
    for dist in distributions():
        try:
            dist.read_text(LIST)
        except ValueError as error:
            return f"{_file(dist, LIST)}: {error}"
    return ""


def _file(dist: Distribution, name: str) -> str:
    """Where the file *name* of the package is, as far as it says so."""
    folder = getattr(dist, "_path", None)
    return str(folder / name) if isinstance(folder, Path) else name


def _place(error: BaseException) -> str:
    """Where it was raised, "" when no file of the package was reached."""
    if isinstance(error, SyntaxError) and error.filename:
        return f" ({error.filename}:{error.lineno})"  # its frames are those of the import: the file was never run
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if not frame.filename.startswith("<frozen")]
    return f" ({frames[-1].filename}:{frames[-1].lineno})" if len(frames) > 2 else ""
