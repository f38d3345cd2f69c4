"""The section `plugins`: which rules and controllers of others are in use, and their settings.

Reading it imports what it names, and only that; everything wrong with it is a fault at its place.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import attrs

from controllers.config.decoder import Reader, setting, takes
from webhook.objects.faults import json_type

if TYPE_CHECKING:
    from controllers.plugins.using import ControllerInUse, RuleInUse

T = TypeVar("T")


def _used(use: Callable[[dict[str, Any]], tuple[T, ...]]) -> Reader:
    @takes("object of settings by entry point")
    def read(value: Any) -> tuple[T, ...]:
        if not isinstance(value, dict):
            raise ValueError(f"must be an object, name of the entry point: settings, not {json_type(value)}")
        if not value:
            return ()
        return use(value)

    return read


def _rules(value: dict[str, Any]) -> tuple[RuleInUse, ...]:
    from controllers.plugins.using import rules_in

    return rules_in(value)


def _controllers(value: dict[str, Any]) -> tuple[ControllerInUse, ...]:
    from controllers.plugins.using import controllers_in

    return controllers_in(value)


@attrs.frozen
class PluginsSection:
    """plugins: rules and controllers of others; nothing is used by merely being installed"""

    #: rules in use, by the name of their entry point
    rules_used: tuple[RuleInUse, ...] = setting((), _used(_rules), key="rules")
    #: controllers in use, by the name of their entry point
    controllers_used: tuple[ControllerInUse, ...] = setting((), _used(_controllers), key="controllers")
