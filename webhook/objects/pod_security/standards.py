"""What a pod would have to change for the namespace's Pod Security level, all of it at once.

Agrees with k8s.io/pod-security-admission v0.37.2 about every verdict and every failing check, in all versions of the policy,
on pods as the API server completes them (tests ask that evaluator, and a real API server). Unlike it we name every offending
container, not only those that say something wrong when others say nothing. Pure; raises MalformedObject (400) on a field of a
type that the API forbids. O(size of the pod).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

import attrs

from webhook.objects.meta import Json
from webhook.objects.pod_security import baseline, restricted
from webhook.objects.pod_security.levels import LATEST, Level, Profile
from webhook.objects.pod_security.offence import Offence
from webhook.objects.pod_security.view import View


@attrs.frozen
class Violation:
    """One field that keeps a pod out of a level."""

    check: str  # id of the check, as in k8s.io/pod-security-admission: "capabilities_restricted"
    path: str  # of the field, also where it is absent and should not be
    message: str  # subject, fact and limit
    profile: Profile  # the one that the check belongs to
    container: str = ""  # name of the container it belongs to, of any kind; "" when it is the pod's
    volume: str = ""  # name of the volume it belongs to
    value: str = ""  # what stands there, of what others may allow: a capability, a path on the node, a port of the node


@attrs.frozen
class Check:
    """A check, and in which versions of the policy it counts."""

    id: str
    profile: Profile
    run: Callable[[View], Iterable[Offence]]
    since: int = 0  # minor version
    instead_of: str = ""  # the baseline check that it makes superfluous


_BASELINE = (
    Check("appArmorProfile", Profile.BASELINE, baseline.apparmor_profile),
    Check("capabilities_baseline", Profile.BASELINE, baseline.capabilities),
    Check("hostNamespaces", Profile.BASELINE, baseline.host_namespaces),
    Check("hostPathVolumes", Profile.BASELINE, baseline.host_path_volumes),
    Check("hostPorts", Profile.BASELINE, baseline.host_ports),
    Check("hostProbesAndHostLifecycle", Profile.BASELINE, baseline.host_probes, 34),
    Check("privileged", Profile.BASELINE, baseline.privileged),
    Check("procMount", Profile.BASELINE, baseline.proc_mount),
    Check("seLinuxOptions", Profile.BASELINE, baseline.selinux_options),
    Check("seccompProfile_baseline", Profile.BASELINE, baseline.seccomp_profile),
    Check("sysctls", Profile.BASELINE, baseline.sysctls),
    Check("windowsHostProcess", Profile.BASELINE, baseline.windows_host_process),
)
_RESTRICTED = (
    Check("allowPrivilegeEscalation", Profile.RESTRICTED, restricted.allow_privilege_escalation, 8),
    Check("capabilities_restricted", Profile.RESTRICTED, restricted.capabilities, 22, "capabilities_baseline"),
    Check("procMount_restricted", Profile.RESTRICTED, baseline.masked_proc_mount, 35, "procMount"),
    Check("restrictedVolumes", Profile.RESTRICTED, restricted.volume_types, 0, "hostPathVolumes"),
    Check("runAsNonRoot", Profile.RESTRICTED, restricted.run_as_non_root),
    Check("runAsUser", Profile.RESTRICTED, restricted.run_as_user, 23),
    Check("seccompProfile_restricted", Profile.RESTRICTED, restricted.seccomp, 19, "seccompProfile_baseline"),
)


def checks(level: Level) -> tuple[Check, ...]:
    """The checks that *level* asks for: the baseline's first, each group by id."""
    return _CHECKS.get((level.profile, min(level.minor, LATEST)), ())


def _checks(profile: Profile, minor: int) -> tuple[Check, ...]:
    added = [check for check in _RESTRICTED if profile is Profile.RESTRICTED and check.since <= minor]
    replaced = {check.instead_of for check in added}
    kept = [check for check in _BASELINE if check.since <= minor and check.id not in replaced]
    return (*kept, *added)


_CHECKS = {
    (profile, minor): _checks(profile, minor)
    for profile in (Profile.BASELINE, Profile.RESTRICTED)
    for minor in range(LATEST + 1)
}


_BY_ID = {check.id: check for check in (*_BASELINE, *_RESTRICTED)}


def violations(pod: Json, level: Level) -> tuple[Violation, ...]:
    """Every field of *pod* (metadata and spec) that *level* forbids, in the order of `checks`; () = it is let in."""
    return _found(pod, checks(level), min(level.minor, LATEST))


def violations_of(pod: Json, ids: Collection[str], minor: int = LATEST) -> tuple[Violation, ...]:
    """Every field of *pod* that one of the checks *ids* objects to, whatever their profile. KeyError for an unknown id."""
    return _found(pod, [_BY_ID[name] for name in ids], minor)


def _found(pod: Json, asked: Collection[Check], minor: int) -> tuple[Violation, ...]:
    if not asked:
        return ()
    view = View.of(pod, minor)
    return tuple(
        Violation(check.id, found.path, found.message, check.profile, found.container, found.volume, found.value)
        for check in asked
        for found in check.run(view)
    )
