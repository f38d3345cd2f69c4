"""Wrong use of the command line, and what several commands check of it."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping
from typing import Final

from controllers.config.document import Configuration, ConfigurationError, Override, load, place_of
from controllers.config.environment import overrides_in
from webhook.errors import PluginError
from webhook.objects.faults import Path

OWN_RIGHTS: Final = "the command reads with your own rights: kubectl auth can-i --list says which they are"


class UsageError(Exception):
    """The command cannot be carried out as it was given: exit code 2. The message says what to mend."""


class Failed(Exception):
    """The command was right, and what it asked did not answer, or refused: exit code 1. The message says what to do."""


def no_cluster(error: Exception, instead: str = "") -> UsageError:
    """That there is no cluster to speak to, and how one is named; *instead*: what needs none."""
    return UsageError(f"no cluster to read from: {error}\n--kubeconfig FILE names one{f'; {instead}' if instead else ''}")


def configuration(options: argparse.Namespace, overrides: Mapping[Path, Override] | None = None) -> Configuration:
    """The configuration that --config names, or every default; above it the environment, then *overrides*.

    Raises UsageError with each fault on a line.
    """
    try:
        return load(options.config, {**overrides_in(os.environ), **(overrides or {})})
    except ConfigurationError as error:
        raise UsageError(str(error)) from error


def placed(error: PluginError, options: argparse.Namespace) -> UsageError:
    """*error*, which was found after the configuration had been read, with its place in the file as a fault of that has it."""
    file = getattr(options, "config", "")
    place = place_of(file, error.path) if file and error.path else ""
    return UsageError(f"{place}: {error}" if place else str(error))
