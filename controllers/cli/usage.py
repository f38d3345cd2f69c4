"""Wrong use of the command line, and what several commands check of it."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping

from controllers.config.document import Configuration, ConfigurationError, Override, load
from controllers.config.environment import overrides_in
from webhook.objects.sources import Path


class UsageError(Exception):
    """The command cannot be carried out as it was given: exit code 2. The message says what to mend."""


def configuration(options: argparse.Namespace, overrides: Mapping[Path, Override] | None = None) -> Configuration:
    """The configuration that --config names, or every default; above it the environment, then *overrides*.

    Raises UsageError with each fault on a line.
    """
    try:
        return load(options.config, {**overrides_in(os.environ), **(overrides or {})})
    except ConfigurationError as error:
        raise UsageError(str(error)) from error
