"""The checks that the restricted profile adds: what a hardened pod has to say.

Each takes a View and yields every field it objects to. Pure; raises MalformedObject as the view's accessors do.
Source: kubernetes.io/docs/concepts/security/pod-security-standards; k8s.io/pod-security-admission policy/check_*.go, v0.37.2.
"""

from __future__ import annotations

from collections.abc import Iterator

from webhook.objects import meta
from webhook.objects.pod_security import offence
from webhook.objects.pod_security.baseline import PROFILE_TYPES, seccomp_profile, unwanted_capability
from webhook.objects.pod_security.offence import Offence
from webhook.objects.pod_security.view import Setter, View, words

# fmt: off
VOLUME_TYPES = frozenset((
    "configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "image", "persistentVolumeClaim", "projected", "secret",
))
# fmt: on


def allow_privilege_escalation(view: View) -> Iterator[Offence]:
    """More rights than the process that starts it, by set-user-ID files."""
    for container in () if view.spares_windows else view.containers:
        if container.flag("allowPrivilegeEscalation") is not False:
            field = "securityContext.allowPrivilegeEscalation"
            yield offence.of(container, field, "must set allowPrivilegeEscalation to false")


def capabilities(view: View) -> Iterator[Offence]:
    """All capabilities are dropped, NET_BIND_SERVICE may come back."""
    for container in () if view.spares_windows else view.containers:
        path = f"{container.security_path}.capabilities"
        chosen = container.option("capabilities") or {}
        if "ALL" not in words(chosen, "drop", path):
            yield offence.of(container, "securityContext.capabilities.drop", "must drop ALL capabilities")
        for index, name in enumerate(words(chosen, "add", path)):
            if name != "NET_BIND_SERVICE":
                yield unwanted_capability(container, index, name)


def run_as_non_root(view: View) -> Iterator[Offence]:
    """Nobody is root; the pod may say so for its containers. In a user namespace root does no harm (since v1.35)."""
    if view.spares_root:
        return
    key = "runAsNonRoot"
    promised = view.pod.flag(key)
    if promised is False:
        yield offence.of(view.pod, f"securityContext.{key}", f"must not set {key} to false")
    for container in view.containers:
        own = container.flag(key)
        if own is False:
            yield offence.of(container, f"securityContext.{key}", f"must not set {key} to false")
        elif own is None and not promised:
            yield offence.of(container, f"securityContext.{key}", f"or the pod must set {key} to true")


def run_as_user(view: View) -> Iterator[Offence]:
    """Nobody asks to be user 0. In a user namespace it does no harm (since v1.35)."""
    for setter in () if view.spares_root else view.setters:
        if setter.number("runAsUser") == 0:
            yield offence.of(setter, "securityContext.runAsUser", "must not set runAsUser to 0")


def seccomp(view: View) -> Iterator[Offence]:
    """A seccomp profile is chosen, by the pod or by each container."""
    if view.spares_windows:
        return
    yield from seccomp_profile(view)
    if _chooses_profile(view.pod):
        return
    for container in view.containers:
        if container.option("seccompProfile") is None:
            message = f"or the pod must set seccompProfile.type to {' or '.join(PROFILE_TYPES)}"
            yield offence.of(container, "securityContext.seccompProfile", message)


def _chooses_profile(setter: Setter) -> bool:
    return (setter.option("seccompProfile") or {}).get("type") in PROFILE_TYPES


def volume_types(view: View) -> Iterator[Offence]:
    """Only volumes that an ordinary user is meant to have. One without a type is an emptyDir by the time anybody looks.

    Source of that: kubernetes pkg/apis/core/v1/defaults.go, SetDefaults_Volume.
    """
    for index, volume in enumerate(meta.objects(view.spec, "volumes", "spec")):
        kinds = [key for key, source in volume.items() if source is not None and key != "name"]
        if kinds and VOLUME_TYPES.isdisjoint(kinds):
            path = f"spec.volumes[{index}]"
            name = meta.text(volume, "name", path)
            yield Offence(f"{path}.{kinds[0]}", f'volume "{name}" must not be of type {kinds[0]}', volume=name)
