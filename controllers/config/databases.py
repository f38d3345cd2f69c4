"""The section `controllers.databaseInstance`: whether nothing is deleted before its volumes are gone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import attrs

from controllers.config.decoder import choice, duration, flag, setting
from webhook.objects.databases import DeletionPolicy

if TYPE_CHECKING:
    from controllers.database_instance.plan import Defaults

LONGEST_TIMEOUT_S: Final = 168 * 3600.0  # as the CRD has it


@attrs.frozen
class DatabaseInstanceSection:
    """controllers.databaseInstance: nothing is deleted before its volumes are gone (docs/database-instance.md)"""

    # Needs the CRD, and rights to delete: nobody has them who did not ask.
    #: needs the kind DatabaseInstance, and rights to delete
    enabled: bool = setting(False, flag())
    #: of instances that say nothing
    default_deletion_policy: DeletionPolicy = setting(DeletionPolicy.DELETE, choice(DeletionPolicy))
    #: after it a deletion that still waits says so; 0s: never
    default_deletion_timeout_s: float = setting(0.0, duration(at_most_s=LONGEST_TIMEOUT_S))

    def defaults(self) -> Defaults:
        """The same for the controller."""
        from controllers.database_instance.plan import Defaults  # with all that a process without databases need not import

        return Defaults(self.default_deletion_policy, self.default_deletion_timeout_s or None)

    def policy(self) -> DeletionPolicy | None:
        """The same for the rule; None = it is off."""
        return self.default_deletion_policy if self.enabled else None
