"""The checks of the baseline profile: known ways for a pod to become its node.

Each takes a View and yields every field it objects to. Pure; raises MalformedObject as the view's accessors do.
Source: kubernetes.io/docs/concepts/security/pod-security-standards; k8s.io/pod-security-admission policy/check_*.go, v0.37.2.
"""

from __future__ import annotations

from collections.abc import Iterator

from webhook.objects import meta
from webhook.objects.meta import Json
from webhook.objects.pod_security import offence
from webhook.objects.pod_security.offence import Offence
from webhook.objects.pod_security.view import Setter, View, integer, member, words

# fmt: off
DEFAULT_CAPABILITIES = frozenset((
    "AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD", "NET_BIND_SERVICE", "SETFCAP", "SETGID",
    "SETPCAP", "SETUID", "SYS_CHROOT",
))
# fmt: on
# Since which minor version each sysctl counts as safe.
SAFE_SYSCTLS = {
    "kernel.shm_rmid_forced": 0,
    "net.ipv4.ip_local_port_range": 0,
    "net.ipv4.tcp_syncookies": 0,
    "net.ipv4.ping_group_range": 0,
    "net.ipv4.ip_unprivileged_port_start": 0,
    "net.ipv4.ip_local_reserved_ports": 27,
    "net.ipv4.tcp_keepalive_time": 29,
    "net.ipv4.tcp_fin_timeout": 29,
    "net.ipv4.tcp_keepalive_intvl": 29,
    "net.ipv4.tcp_keepalive_probes": 29,
    "net.ipv4.tcp_rmem": 32,
    "net.ipv4.tcp_wmem": 32,
    "net.ipv4.tcp_slow_start_after_idle": 37,
    "net.ipv4.tcp_notsent_lowat": 37,
}
SELINUX_TYPES = {"": 0, "container_t": 0, "container_init_t": 0, "container_kvm_t": 0, "container_engine_t": 31}
PROFILE_TYPES = ("RuntimeDefault", "Localhost")  # of seccomp and AppArmor alike

# What said the same before the fields existed. AppArmor's annotations still count in every version.
APPARMOR_PREFIX = "container.apparmor.security.beta.kubernetes.io/"
SECCOMP_POD = "seccomp.security.alpha.kubernetes.io/pod"
SECCOMP_PREFIX = "container.seccomp.security.alpha.kubernetes.io/"


def host_namespaces(view: View) -> Iterator[Offence]:
    """The node's network, processes and IPC."""
    for key in ("hostNetwork", "hostPID", "hostIPC"):
        if meta.boolean(view.spec, key, "spec"):
            yield offence.of(view.pod, key, f"must not set {key} to true")


def host_path_volumes(view: View) -> Iterator[Offence]:
    """The node's files."""
    for index, volume in enumerate(meta.objects(view.spec, "volumes", "spec")):
        path = f"spec.volumes[{index}]"
        if volume.get("hostPath") is not None:
            name = meta.text(volume, "name", path)
            where = meta.text(meta.mapping(volume, "hostPath", path), "path", f"{path}.hostPath")
            yield Offence(f"{path}.hostPath", f'volume "{name}" must not be the hostPath "{where}"', volume=name, value=where)


def host_ports(view: View) -> Iterator[Offence]:
    """The node's ports."""
    for container in view.containers:
        for index, port in enumerate(meta.objects(container.json, "ports", container.path)):
            number = integer(port, "hostPort", f"{container.path}.ports[{index}]")
            if number:
                yield offence.of(container, f"ports[{index}].hostPort", f"must not use hostPort {number}", str(number))


def host_probes(view: View) -> Iterator[Offence]:
    """Probes and lifecycle hooks by which a kubelet would call any host (since v1.34)."""
    for container in view.containers:
        for probe in ("livenessProbe", "readinessProbe", "startupProbe"):
            yield from _calls_a_host(container, container.json, probe, "")
        lifecycle = member(container.json, "lifecycle", container.path)
        for hook in ("postStart", "preStop") if lifecycle else ():
            yield from _calls_a_host(container, lifecycle or {}, hook, "lifecycle.")


def _calls_a_host(container: Setter, parent: Json, key: str, prefix: str) -> Iterator[Offence]:
    path = f"{container.path}.{prefix}{key}"
    handler = member(parent, key, path.rpartition(".")[0])
    for action in ("httpGet", "tcpSocket") if handler else ():
        host = meta.text(meta.mapping(handler or {}, action, path), "host", f"{path}.{action}")
        if host:
            yield offence.of(container, f"{prefix}{key}.{action}.host", f'must not call host "{host}" in {prefix}{key}')


def privileged(view: View) -> Iterator[Offence]:
    """Everything at once."""
    for container in view.containers:
        if container.flag("privileged"):
            yield offence.of(container, "securityContext.privileged", "must not set privileged to true")


def windows_host_process(view: View) -> Iterator[Offence]:
    """The same on Windows."""
    for setter in view.setters:
        options = setter.option("windowsOptions")
        if options and meta.boolean(options, "hostProcess", f"{setter.security_path}.windowsOptions"):
            yield offence.of(setter, "securityContext.windowsOptions.hostProcess", "must not set hostProcess to true")


def capabilities(view: View) -> Iterator[Offence]:
    """Capabilities beyond those that a container has anyway."""
    for container in view.containers:
        for index, name in enumerate(_capabilities(container, "add")):
            if name not in DEFAULT_CAPABILITIES:
                yield unwanted_capability(container, index, name)


def unwanted_capability(container: Setter, index: int, name: str) -> Offence:
    """That *name* stands at *index* of what the container adds."""
    field = f"securityContext.capabilities.add[{index}]"
    return offence.of(container, field, f"must not add the capability {name}", name)


def _capabilities(container: Setter, key: str) -> list[str]:
    return words(container.option("capabilities") or {}, key, f"{container.security_path}.capabilities")


def proc_mount(view: View) -> Iterator[Offence]:
    """An unmasked /proc; in a user namespace it does no harm (since v1.35)."""
    if not view.spares_root:
        yield from masked_proc_mount(view)


def masked_proc_mount(view: View) -> Iterator[Offence]:
    """An unmasked /proc, in every case."""
    for container in view.containers:
        value = container.word("procMount")
        if value is not None and value != "Default":
            yield offence.of(container, "securityContext.procMount", f'must not set procMount to "{value}"')


def sysctls(view: View) -> Iterator[Offence]:
    """Kernel parameters that reach beyond the pod."""
    path = view.pod.security_path
    for index, sysctl in enumerate(meta.objects(view.pod.security or {}, "sysctls", path)):
        name = meta.text(sysctl, "name", f"{path}.sysctls[{index}]")
        if SAFE_SYSCTLS.get(name, view.minor + 1) > view.minor:
            yield offence.of(view.pod, f"securityContext.sysctls[{index}].name", f"must not set the sysctl {name}")


def selinux_options(view: View) -> Iterator[Offence]:
    """SELinux types that are not a container's; any user or role of one's own."""
    for setter in view.setters:
        options = setter.option("seLinuxOptions") or {}
        path = f"{setter.security_path}.seLinuxOptions"
        kind = meta.text(options, "type", path)
        if SELINUX_TYPES.get(kind, view.minor + 1) > view.minor:
            yield offence.of(setter, "securityContext.seLinuxOptions.type", f'must not set the SELinux type "{kind}"')
        for key in ("user", "role"):
            if meta.text(options, key, path):
                yield offence.of(setter, f"securityContext.seLinuxOptions.{key}", f"must not set an SELinux {key}")


def apparmor_profile(view: View) -> Iterator[Offence]:
    """An AppArmor profile that switches the default one off, by field or annotation."""
    for setter in view.setters:
        profile = setter.option("appArmorProfile")
        if profile is not None:
            yield from _bad_type(setter, "appArmorProfile", profile)
    for key, value in view.annotations.items():
        if key.startswith(APPARMOR_PREFIX) and value and value != "runtime/default" and not value.startswith("localhost/"):
            container = key.removeprefix(APPARMOR_PREFIX)
            message = f'annotation {key} must not choose the AppArmor profile "{value}"'
            yield Offence(f"metadata.annotations[{key}]", message, container)


def seccomp_profile(view: View) -> Iterator[Offence]:
    """A seccomp profile that switches the default one off."""
    if view.minor < 19:
        yield from _seccomp_annotations(view)
        return
    for setter in view.setters:
        profile = setter.option("seccompProfile")
        if profile is not None:
            yield from _bad_type(setter, "seccompProfile", profile)


def _bad_type(setter: Setter, key: str, profile: Json) -> Iterator[Offence]:
    kind = meta.text(profile, "type", f"{setter.security_path}.{key}")
    if kind not in PROFILE_TYPES:
        limit = " or ".join(PROFILE_TYPES)
        yield offence.of(setter, f"securityContext.{key}.type", f'must not set {key}.type to "{kind}", only to {limit}')


def _seccomp_annotations(view: View) -> Iterator[Offence]:
    names = dict.fromkeys(container.name for container in view.containers)
    for key, container in [(SECCOMP_POD, ""), *((SECCOMP_PREFIX + name, name) for name in names)]:
        value = view.annotations.get(key)
        if value is None or value in ("runtime/default", "docker/default") or value.startswith("localhost/"):
            continue
        message = f'annotation {key} must not choose the seccomp profile "{value}"'
        yield Offence(f"metadata.annotations[{key}]", message, container)
