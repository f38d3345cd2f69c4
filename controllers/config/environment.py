"""Settings from environment variables: above the file, below the flags. Pure; the caller passes the environment."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from controllers.config.decoder import Override
from webhook.objects.faults import Path

SIDECAR_DEFAULT: Final = "GATEHOUSE_SIDECAR_DEFAULT"
_PATH: Final[Path] = ("features", "sidecar", "default")


def overrides_in(environment: Mapping[str, str]) -> dict[Path, Override]:
    """What *environment* says, by the path of the setting that it replaces. A variable without content says nothing."""
    names = [name.strip() for name in environment.get(SIDECAR_DEFAULT, "").split(",") if name.strip()]
    return {_PATH: Override(SIDECAR_DEFAULT, names)} if names else {}
