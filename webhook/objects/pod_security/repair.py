"""Fill in the security settings that a container leaves open, so that a namespace's level lets it in. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from webhook.objects.meta import Json
from webhook.objects.pod_security.baseline import PROFILE_TYPES
from webhook.objects.pod_security.levels import LATEST, Level, Profile
from webhook.objects.pod_security.view import Setter, View, words


def repaired(container: Json, pod: Json, level: Level) -> Json:
    """*container* with those settings filled in that *level* asks for; *container* itself when it asks for none.

    container: of the pod or meant for it; never changed, and what it states (an empty list, too) stays as it is, so that
               the result may still violate the level.
    pod:       what it says for all its containers is not repeated.
    Nothing is filled in that would make the container invalid: allowPrivilegeEscalation beside privileged or SYS_ADMIN
    (core/v1 validation), Linux settings in a pod for Windows, runAsNonRoot for user 0 (the kubelet would refuse to start it).
    Raises MalformedObject on a field of a type that the API forbids.
    """
    if level.profile is not Profile.RESTRICTED:
        return container  # baseline forbids what is stated, and asks for nothing
    view = View.of(pod, min(level.minor, LATEST))
    own = Setter.of_container(container, f'container "{container.get("name")}"')
    missing = dict(_missing(view, own))
    if not missing:
        return container
    return {**container, "securityContext": {**(own.security or {}), **missing}}


def _missing(view: View, own: Setter) -> Mapping[str, Any]:
    """The settings of a securityContext that nobody has made."""
    settings: Json = {}
    if not view.is_windows:
        settings.update(_missing_on_linux(view, own))
    user = own.number("runAsUser")
    if user is None:
        user = view.pod.number("runAsUser")
    if not view.spares_root and user != 0 and own.flag("runAsNonRoot") is None and not view.pod.flag("runAsNonRoot"):
        settings["runAsNonRoot"] = True
    return settings


def _missing_on_linux(view: View, own: Setter) -> Json:
    settings: Json = {}
    chosen = own.option("capabilities") or {}
    path = f"{own.security_path}.capabilities"
    needs_more = bool(own.flag("privileged")) or "SYS_ADMIN" in words(chosen, "add", path)
    if view.minor >= 8 and not needs_more and own.flag("allowPrivilegeEscalation") is None:
        settings["allowPrivilegeEscalation"] = False
    if view.minor >= 22 and chosen.get("drop") is None:
        settings["capabilities"] = {**chosen, "drop": ["ALL"]}
    promised = (view.pod.option("seccompProfile") or {}).get("type") in PROFILE_TYPES
    if view.minor >= 19 and not promised and own.option("seccompProfile") is None:
        settings["seccompProfile"] = {"type": PROFILE_TYPES[0]}
    return settings
