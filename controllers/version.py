"""Our version."""

from __future__ import annotations

from importlib import metadata

from webhook.names import PROJECT


def version() -> str:
    """Our version; "unknown" when the package was not installed but is run from its sources."""
    try:
        return metadata.version(PROJECT)
    except metadata.PackageNotFoundError:
        return "unknown"
