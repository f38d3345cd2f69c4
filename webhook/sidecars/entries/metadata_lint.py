"""What the API server's validation would say of the labels and annotations of an entry. As `lint`: pure, takes any JSON.

Source: kubernetes pkg/apis/core/validation/validation.go (ValidatePodSpecificAnnotations), 1.37.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any, Final

from webhook.names import DOMAIN, INJECT, INJECT_ENTRIES, INJECTED
from webhook.objects.faults import Found, Path, quoted
from webhook.objects.meta import Json
from webhook.objects.selectors import key_fault, value_fault
from webhook.sidecars.entries.fragments import leaves, text

_NOT_FOR_ENTRIES: Final = {
    "kubernetes.io/config.mirror": "is the kubelet's: it marks the copy of a static pod",
    "scheduler.alpha.kubernetes.io/tolerations": "has had no effect since Kubernetes 1.6, and the API server reads it still",
}
_DELETION_COST: Final = "controller.kubernetes.io/pod-deletion-cost"
_APP_ARMOR: Final = "container.apparmor.security.beta.kubernetes.io/"
_SECCOMP: Final = ("seccomp.security.alpha.kubernetes.io/pod", "container.seccomp.security.alpha.kubernetes.io/")
_INTEGER: Final = re.compile(r"0|-?[1-9][0-9]{0,9}", re.ASCII)


def metadata_faults(key: str, values: Json, containers: Collection[Any] = ()) -> Found:
    """What is wrong with the `labels` or `annotations` of an entry with *containers* of these names."""
    for name, value in values.items():
        path: Path = (key, name)
        # Annotation keys are compared in lower case by the API server, labels as they are.
        if fault := key_fault(name if key == "labels" else name.lower()):
            yield path, fault
        elif name in (INJECTED, INJECT, INJECT_ENTRIES) or name.partition("/")[0].endswith(DOMAIN):
            yield path, "is Gatehouse's own: an entry cannot set it"
        elif key == "labels":
            if text(values, name) is not None and (fault := value_fault(value)):
                yield path, fault
        elif fault := annotation_fault(name, text(values, name), containers):
            yield path, fault


def annotation_fault(name: str, value: str | None, containers: Collection[Any]) -> str | None:
    """What is wrong with one annotation that the API server reads itself; *value* is None when it is not known yet."""
    if name in _NOT_FOR_ENTRIES:
        return _NOT_FOR_ENTRIES[name]
    if name.startswith(_APP_ARMOR) and name.removeprefix(_APP_ARMOR) not in containers:
        return f"names container {quoted(name.removeprefix(_APP_ARMOR))}, which the entry does not bring"
    if value is None:
        return None
    if name == _DELETION_COST and not (_INTEGER.fullmatch(value) and -(2**31) <= int(value) < 2**31):
        return f"must be an integer of 32 bits, not {quoted(value)}"
    if name.startswith(_APP_ARMOR) and not (value in ("", "runtime/default", "unconfined") or value.startswith("localhost/")):
        return f"must be runtime/default, unconfined or localhost/NAME, not {quoted(value)}"
    if name == _SECCOMP[0] or name.startswith(_SECCOMP[1]):
        local = value.removeprefix("localhost/")
        is_known = value in ("runtime/default", "docker/default", "unconfined")
        if not is_known and (local == value or leaves(local)):
            return f"must be runtime/default, unconfined or localhost/PATH, not {quoted(value)}"
    return None
