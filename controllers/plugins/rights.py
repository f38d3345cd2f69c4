"""What controllers of others may do: a ClusterRole and its binding for each, from what its author wrote down. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from controllers.plugins.using import ControllerInUse
from webhook.names import APP_LABEL, PLUGIN_LABEL, PLUGIN_PACKAGE, PROJECT
from webhook.objects.meta import Json

_GROUP = "rbac.authorization.k8s.io"


def roles(used: Iterable[ControllerInUse], namespace: str) -> list[Json]:
    """The objects, in the order of applying; none for who asks for nothing. *namespace*: of our ServiceAccount."""
    found: list[Json] = []
    for one in used:
        if not one.plugin.rights:
            continue
        metadata = {
            "name": f"{PROJECT}-{one.origin.name}",
            "labels": {APP_LABEL: PROJECT, PLUGIN_LABEL: one.origin.name},
            "annotations": {PLUGIN_PACKAGE: f"{one.origin.package} {one.origin.version}"},
        }
        reference = {"apiGroup": _GROUP, "kind": "ClusterRole", "name": metadata["name"]}
        subject = {"kind": "ServiceAccount", "name": PROJECT, "namespace": namespace}
        found += [
            {"apiVersion": f"{_GROUP}/v1", "kind": "ClusterRole", "metadata": metadata, "rules": list(one.plugin.rights)},
            {
                "apiVersion": f"{_GROUP}/v1",
                "kind": "ClusterRoleBinding",
                "metadata": metadata,
                "roleRef": reference,
                "subjects": [subject],
            },
        ]
    return found
