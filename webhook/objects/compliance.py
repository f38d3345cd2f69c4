"""What an operator asks of pods beyond what their namespace's Pod Security level does, and what a pod breaks of it.

Where both look at the same field they agree: those checks are Pod Security's own (`pod_security`), each held up by itself and
with exceptions that a level does not know. Pure; raises MalformedObject (400) on a field of a type that the API forbids.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import attrs

from webhook.names import Reason
from webhook.objects import meta, pods
from webhook.objects.enforcement import Mode, Namespaces, matches
from webhook.objects.images import Image, comes_from
from webhook.objects.meta import Json
from webhook.objects.pod_security import Violation, violations_of


@attrs.frozen
class HostPaths:
    """Volumes of the node's own files."""

    mode: Mode = Mode.OFF
    allow: tuple[str, ...] = ()  # absolute folders and files; what lies below a folder is allowed, too


@attrs.frozen
class Capabilities:
    """Linux capabilities that containers add, beyond the default ones."""

    mode: Mode = Mode.OFF
    drop_all: bool = False  # ask for drop: [ALL], after which only NET_BIND_SERVICE may be added, as `restricted` does
    allow: frozenset[str] = frozenset()  # may be added all the same: "NET_ADMIN"


@attrs.frozen
class Registries:
    """Where images come from."""

    mode: Mode = Mode.OFF
    allow: tuple[str, ...] = ()  # "registry.example.com", "docker.io/library", "ghcr.io/team/app"; () = none at all


@attrs.frozen
class Tags:
    """How images are named."""

    mode: Mode = Mode.OFF
    forbid: tuple[str, ...] = ("latest",)  # no tag means latest; a tag may end in "*"
    require_digest: bool = False  # "app@sha256:…", which nobody can move


@attrs.frozen
class Labels:
    """Labels that a pod bears."""

    mode: Mode = Mode.OFF
    required: Mapping[str, tuple[str, ...]] = attrs.field(factory=dict)  # key -> allowed values; () = any but the empty one


@attrs.frozen
class CompliancePolicy:
    """One set of rules, and the namespaces that it is for."""

    name: str
    namespaces: Namespaces = Namespaces()
    privilege: Mode = Mode.OFF  # privileged containers, Windows host processes
    privilege_escalation: Mode = Mode.OFF  # asks for allowPrivilegeEscalation: false
    host_namespaces: Mode = Mode.OFF
    host_ports: Mode = Mode.OFF
    run_as_non_root: Mode = Mode.OFF  # asks for runAsNonRoot: true, and for no runAsUser: 0
    host_paths: HostPaths = HostPaths()
    capabilities: Capabilities = Capabilities()
    registries: Registries = Registries()
    tags: Tags = Tags()
    labels: Labels = Labels()

    @property
    def judges_images(self) -> bool:
        """Whether any rule about images is on."""
        return self.registries.mode is not Mode.OFF or self.tags.mode is not Mode.OFF

    def only(self, mode: Mode) -> CompliancePolicy:
        """What it asks for in *mode*; the other rules are off."""
        changes: dict[str, Any] = {}
        for field in attrs.fields(CompliancePolicy):
            rule = getattr(self, field.name)
            if isinstance(rule, Mode):
                changes[field.name] = rule if rule is mode else Mode.OFF
            elif isinstance(rule, _WITH_OPTIONS) and rule.mode is not mode:
                changes[field.name] = attrs.evolve(rule, mode=Mode.OFF)
        return attrs.evolve(self, **changes)


_WITH_OPTIONS = (HostPaths, Capabilities, Registries, Tags, Labels)


@attrs.frozen
class Breach:
    """One rule that a pod breaks."""

    reason: Reason
    mode: Mode  # WARN or DENY
    message: str  # subject, fact and limit; without the pod's name and without indices, so that it survives a reordering
    path: str
    policy: str  # its name


def breaches(pod: Json, policy: CompliancePolicy) -> tuple[Breach, ...]:
    """Every rule of *policy* that *pod* breaks, each with every field by which it does. The namespace is not looked at."""
    found: list[Breach] = []
    for reason, mode, violation in _of_pod_security(pod, policy):
        found.append(Breach(reason, mode, violation.message, violation.path, policy.name))
    for owner, path, image in _images(pod) if policy.judges_images else ():
        found += _of_image(owner, path, image, policy)
    found += _of_labels(pod, policy)
    return tuple(found)


def added(now: tuple[Breach, ...], before: tuple[Breach, ...]) -> tuple[Breach, ...]:
    """Those of *now* that were not there *before*: what an update of an old offender is asked about."""
    known = {(breach.reason, breach.message) for breach in before}
    return tuple(breach for breach in now if (breach.reason, breach.message) not in known)


# -- what Pod Security looks at, too


def _of_pod_security(pod: Json, policy: CompliancePolicy) -> Iterator[tuple[Reason, Mode, Violation]]:
    capabilities = "capabilities_restricted" if policy.capabilities.drop_all else "capabilities_baseline"
    by_check = {
        "privileged": (Reason.PRIVILEGE, policy.privilege),
        "windowsHostProcess": (Reason.PRIVILEGE, policy.privilege),
        "allowPrivilegeEscalation": (Reason.PRIVILEGE_ESCALATION, policy.privilege_escalation),
        "hostNamespaces": (Reason.HOST_NAMESPACE, policy.host_namespaces),
        "hostPorts": (Reason.HOST_PORT, policy.host_ports),
        "hostPathVolumes": (Reason.HOST_PATH, policy.host_paths.mode),
        capabilities: (Reason.CAPABILITY, policy.capabilities.mode),
        "runAsNonRoot": (Reason.RUNS_AS_ROOT, policy.run_as_non_root),
        "runAsUser": (Reason.RUNS_AS_ROOT, policy.run_as_non_root),
    }
    wanted = [check for check, (_, mode) in by_check.items() if mode is not Mode.OFF]
    for violation in violations_of(pod, wanted):
        reason, mode = by_check[violation.check]
        if not _is_allowed(reason, violation.value, policy):
            yield reason, mode, violation


def _is_allowed(reason: Reason, value: str, policy: CompliancePolicy) -> bool:
    match reason:
        case Reason.CAPABILITY:
            return value in policy.capabilities.allow
        case Reason.HOST_PATH:
            return _lies_in(value, policy.host_paths.allow)
    return False


def _lies_in(path: str, folders: tuple[str, ...]) -> bool:
    """Whether *path* is one of *folders* or lies below one. ".." never does: the API forbids it, and it may lead anywhere."""
    parts = [part for part in path.split("/") if part not in ("", ".")]
    if not path.startswith("/") or ".." in parts:
        return False
    allowed = ([part for part in folder.split("/") if part] for folder in folders)
    return any(parts[: len(folder)] == folder for folder in allowed)


# -- images and labels


def _images(pod: Json) -> Iterator[tuple[str, str, str]]:
    """Owner, path and reference of every image: of containers of every kind, and of volumes that are images."""
    for container in pods.containers(pod):
        image = meta.text(container.json, "image", container.path)
        yield f'container "{container.name}"', f"{container.path}.image", image
    for index, volume in enumerate(meta.objects(pods.spec(pod), "volumes", "spec")):
        path = f"spec.volumes[{index}]"
        image = meta.text(meta.mapping(volume, "image", path), "reference", f"{path}.image")
        yield f'volume "{meta.text(volume, "name", path)}"', f"{path}.image.reference", image


def _of_image(owner: str, path: str, text: str, policy: CompliancePolicy) -> Iterator[Breach]:
    if not text:
        return  # the API server asks for one, or there is no such volume
    image = Image.parse(text)
    subject = f'{owner}: image "{text}"'
    if policy.registries.mode is not Mode.OFF and not comes_from(image, policy.registries.allow):
        limit = ", ".join(policy.registries.allow) or "nowhere"
        origin = f"comes from {image.name}" if image.registry else "is one that a node has, from nobody knows where"
        message = f"{subject} {origin}, allowed is {limit}"
        yield Breach(Reason.IMAGE_SOURCE, policy.registries.mode, message, path, policy.name)
    if policy.tags.mode is Mode.OFF:
        return
    if policy.tags.require_digest and not image.digest:
        yield Breach(Reason.IMAGE_TAG, policy.tags.mode, f"{subject} must be named by its digest", path, policy.name)
    elif image.pulled_tag and matches(image.pulled_tag, policy.tags.forbid):
        how = "has" if image.tag else "has no tag, which means"
        message = f"{subject} {how} {image.pulled_tag}, which must not be used"
        yield Breach(Reason.IMAGE_TAG, policy.tags.mode, message, path, policy.name)


def _of_labels(pod: Json, policy: CompliancePolicy) -> Iterator[Breach]:
    if policy.labels.mode is Mode.OFF:
        return
    labels = meta.labels_of(pod)
    for key, values in policy.labels.required.items():
        value = labels.get(key, "")
        if value in values if values else value:
            continue
        limit = f"must be one of {', '.join(values)}" if values else "must have a value"
        fact = f'is "{value}"' if key in labels else "is missing"
        message = f"label {key} {fact} and {limit}"
        yield Breach(Reason.LABEL_REQUIRED, policy.labels.mode, message, f"metadata.labels[{key}]", policy.name)
