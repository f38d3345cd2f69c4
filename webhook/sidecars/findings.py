"""What was noticed about a pod: a value for warnings, audit annotations, `explain` and `check` alike."""

from __future__ import annotations

import attrs

from webhook.names import Reason


@attrs.frozen
class Finding:
    """One thing to tell. *message* is a whole sentence: subject, fact and limit."""

    reason: Reason
    message: str
    field: str = ""  # path in the pod: "spec.containers[1].ports[0]"
