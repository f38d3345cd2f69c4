"""What a check finds: a value, before it is known which level asked for the check."""

from __future__ import annotations

import attrs

from webhook.objects.pod_security.view import Setter


@attrs.frozen
class Offence:
    """One field that a check objects to."""

    path: str  # of the field, also where it is absent and should not be
    message: str  # subject, fact and limit
    container: str = ""  # the container it belongs to; "" when it is the pod's
    volume: str = ""  # the volume it belongs to
    value: str = ""  # what stands there, of what others may allow: a capability, a path on the node, a port of the node


def of(setter: Setter, field: str, message: str, value: str = "") -> Offence:
    """An offence at *field* of the setter; *message* without its subject: "must not …"."""
    return Offence(f"{setter.path}.{field}", f"{setter.who} {message}", setter.name, value=value)
