"""The section `controllers.databaseInstance`: whether nothing is deleted before its volumes are gone."""

from __future__ import annotations

from typing import Final

import attrs

from controllers.config.decoder import choice, duration, flag, setting
from controllers.database_instance.plan import Defaults
from webhook.objects.databases import DeletionPolicy

LONGEST_TIMEOUT_S: Final = 168 * 3600.0  # as the CRD has it


@attrs.frozen
class DatabaseInstanceSection:
    """controllers.databaseInstance"""

    # Needs the CRD, and rights to delete: nobody has them who did not ask.
    enabled: bool = setting(False, flag())
    default_deletion_policy: DeletionPolicy = setting(DeletionPolicy.DELETE, choice(DeletionPolicy))
    default_deletion_timeout_s: float = setting(0.0, duration(at_most_s=LONGEST_TIMEOUT_S))  # 0s = none

    def defaults(self) -> Defaults:
        """The same for the controller."""
        return Defaults(self.default_deletion_policy, self.default_deletion_timeout_s or None)

    def policy(self) -> DeletionPolicy | None:
        """The same for the rule; None = it is off."""
        return self.default_deletion_policy if self.enabled else None
