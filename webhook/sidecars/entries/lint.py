"""What the API server's validation would say of the containers of an entry, as far as the entry alone can tell.

Types, unknown and missing fields are the schema's (webhook.objects.schema); here is what lies beyond: names, ranges, pairs that
exclude one another, duplicates. Every function yields (path, message) pairs and takes any JSON. Pure.
Source: kubernetes pkg/apis/core/validation/validation.go (validateContainerCommon and below), 1.37.
"""

from __future__ import annotations

import re
from typing import Any, Final

from webhook.objects import quantity
from webhook.objects.faults import Found, Path, quoted
from webhook.objects.meta import Json
from webhook.objects.quantity import Quantity
from webhook.objects.selectors import key_fault
from webhook.sidecars.entries.env_lint import env_faults
from webhook.sidecars.entries.fragments import (
    climbs,
    control_faults,
    excess,
    leaves,
    mapping,
    name_faults,
    number,
    objects,
    one_of,
    sequence,
    text,
)

PROBES: Final = ("livenessProbe", "readinessProbe", "startupProbe")

_PORT_NAME: Final = re.compile(r"(?=.*[a-z])(?!.*--)[a-z0-9](?:[-a-z0-9]{0,13}[a-z0-9])?")
_HEADER: Final = re.compile(r"[-A-Za-z0-9]+")
_STANDARD: Final = ("cpu", "memory", "ephemeral-storage")
_PAGES: Final = "hugepages-"
_ID_LIMIT: Final = 2**31 - 1


def container_faults(container: Json, path: Path) -> Found:
    """What is wrong with a container, whatever list it stands in."""
    yield from name_faults(container, path)
    image = container.get("image")
    if image is None or image == "":
        yield (*path, "image"), "is required"
    elif type(image) is str and image != image.strip():
        yield (*path, "image"), f"{quoted(image)} has blanks at its ends"
    yield from env_faults(container, path)
    yield from port_faults(container, path)
    yield from mount_faults(container, path)
    yield from resource_faults(mapping(container, "resources"), (*path, "resources"))
    yield from _resize_faults(container, path)
    for probe in PROBES:
        if type(container.get(probe)) is dict:
            yield from _probe_faults(container[probe], probe, (*path, probe))
    if mapping(container, "lifecycle").get("stopSignal") is not None:
        yield (*path, "lifecycle", "stopSignal"), "is only for pods that name their operating system, which few do"
    for hook in ("postStart", "preStop"):
        handler = mapping(container, "lifecycle").get(hook)
        if type(handler) is dict:
            yield from _handler_faults(handler, ("exec", "httpGet", "tcpSocket", "sleep"), (*path, "lifecycle", hook))
    yield from _security_faults(mapping(container, "securityContext"), (*path, "securityContext"))


def plain_container_faults(container: Json, path: Path) -> Found:
    """What only `containers` forbids."""
    for key in ("restartPolicy", "restartPolicyRules"):
        if container.get(key) is not None:
            yield (*path, key), "belongs to initContainers; nativeSidecar decides it for containers"


def init_container_faults(container: Json, path: Path) -> Found:
    """What only `initContainers` forbids: probes and hooks of one that ends before the pod starts."""
    policy = container.get("restartPolicy")
    if policy not in (None, "Always"):
        yield (*path, "restartPolicy"), "can only be Always, which makes the init container a native sidecar"
    if container.get("restartPolicyRules") is not None:
        yield (*path, "restartPolicyRules"), "is not supported"
    if policy is None:
        for key in (*PROBES, "lifecycle"):
            if container.get(key) is not None:
                yield (*path, key), "is allowed in an init container only with restartPolicy Always"
        for step, where in objects(container, "resizePolicy", path):
            if step.get("restartPolicy") == "RestartContainer":
                yield (*where, "restartPolicy"), "is allowed in an init container only with restartPolicy Always"


# -- ports -----------------------------------------------------------------------------------------------------------


def port_faults(container: Json, path: Path) -> Found:
    """What is wrong with `ports`."""
    names: set[str] = set()
    taken: set[tuple[Any, ...]] = set()
    for port, where in objects(container, "ports", path):
        name = text(port, "name")
        if name:
            if not _PORT_NAME.fullmatch(name):
                yield (*where, "name"), f"{quoted(name)} is not the name of a port: {_PORT_NAME_RULE}"
            elif name in names:
                yield (*where, "name"), f"{quoted(name)} is there twice"
            names.add(name)
        for key, lowest in (("containerPort", 1), ("hostPort", 0)):
            value = number(port, key)
            if value is not None and not lowest <= value <= 65535:
                yield (*where, key), f"must be from 1 to 65535, not {_digits(value)}"
        value = number(port, "containerPort")
        protocol = port.get("protocol") or "TCP"
        if value is not None and type(protocol) is str:
            if (value, protocol) in taken:
                yield (*where, "containerPort"), f"{_digits(value)}/{protocol} is there twice"
            taken.add((value, protocol))
        on_node = number(port, "hostPort")
        if on_node and type(protocol) is str:
            place = ("host", on_node, protocol, text(port, "hostIP") or "")
            if place in taken:
                yield (*where, "hostPort"), f"{_digits(on_node)}/{protocol} is there twice"
            taken.add(place)


_PORT_NAME_RULE: Final = "at most 15 lower case letters, digits and single '-' inside, among them a letter"


def _port_reference_faults(handler: Json, path: Path) -> Found:
    """A port by number or by name."""
    value = handler.get("port")
    if type(value) is int and not 1 <= value <= 65535:
        yield (*path, "port"), f"must be from 1 to 65535, not {_digits(value)}"
    name = text(handler, "port")
    if name is not None and not _PORT_NAME.fullmatch(name):
        yield (*path, "port"), f"{quoted(name)} is not the name of a port ({_PORT_NAME_RULE}); a number stands without quotes"


# -- mounts ----------------------------------------------------------------------------------------------------------


def mount_faults(parent: Json, path: Path) -> Found:
    """What is wrong with `volumeMounts` and `volumeDevices` of a container, or with `volumeMounts` of `app`."""
    seen: set[str] = set()
    privileged = mapping(parent, "securityContext").get("privileged") is True
    for key, member in (("volumeMounts", "mountPath"), ("volumeDevices", "devicePath")):
        for mount, where in objects(parent, key, path):
            yield from name_faults(mount, where)
            place = text(mount, member)
            if place == "":
                yield (*where, member), "is required"
            elif place is not None and place in seen:
                yield (*where, member), f"{quoted(place)} is there twice"
            seen.add(place or "")
            if key == "volumeMounts":
                yield from _mount_faults(mount, where, privileged)
            elif place and climbs(place):
                yield (*where, member), f"{quoted(place)} is not a path without '..'"
    mounted = {mount.get("name") for mount, _ in objects(parent, "volumeMounts", path) if type(mount.get("name")) is str}
    for device, where in objects(parent, "volumeDevices", path):
        name = text(device, "name")
        if name and name in mounted:
            yield (*where, "name"), f"{quoted(name)} is mounted as well, or there twice: a device is used once in a container"
        mounted.add(name)


def _mount_faults(mount: Json, path: Path, privileged: bool) -> Found:
    place = text(mount, "mountPath")
    if place and (not place.startswith("/") or ":" in place or climbs(place)):
        # The API server takes a relative path; what the runtime makes of it differs. Windows' C:\… is not for these pods.
        yield (*path, "mountPath"), f"{quoted(place)} is not an absolute path without ':' and '..'"
    for key in ("subPath", "subPathExpr"):
        inside = text(mount, key)
        if inside and leaves(inside):
            yield (*path, key), f"{quoted(inside)} has to stay inside the volume: a relative path without '..'"
    for key in ("mountPath", "subPath", "subPathExpr"):
        yield from control_faults(mount, key, path)
    if mount.get("subPath") and mount.get("subPathExpr"):
        yield path, excess(("subPath", "subPathExpr"))
    if mount.get("mountPropagation") == "Bidirectional" and not privileged:
        yield (*path, "mountPropagation"), "Bidirectional is for privileged containers"
    yield from _choice_faults(mount, "mountPropagation", ("None", "HostToContainer", "Bidirectional"), path)
    yield from _choice_faults(mount, "recursiveReadOnly", ("Disabled", "IfPossible", "Enabled"), path)
    if mount.get("recursiveReadOnly") not in (None, "", "Disabled"):
        if mount.get("readOnly") is not True:
            yield (*path, "recursiveReadOnly"), "needs readOnly: true"
        if mount.get("mountPropagation") not in (None, "None"):
            yield (*path, "recursiveReadOnly"), "needs mountPropagation: None"
    options = sequence(mount, "bindMountOptions")
    if any(option not in _BIND_OPTIONS for option in options) or len(options) > len(set(map(str, options))):
        yield (*path, "bindMountOptions"), f"must be {', '.join(_BIND_OPTIONS)}, each at most once"


_BIND_OPTIONS: Final = ("noexec", "nodev", "nosuid")


def _choice_faults(parent: Json, key: str, choices: tuple[str, ...], path: Path) -> Found:
    """Where the API tells "" from absent."""
    found = text(parent, key)
    if found is not None and found not in choices:
        yield (*path, key), f"must be one of {', '.join(choices)}, not {quoted(found)}"


# -- resources -------------------------------------------------------------------------------------------------------


def resource_faults(resources: Json, path: Path) -> Found:
    """What is wrong with the `resources` of a container."""
    limits, requests = mapping(resources, "limits"), mapping(resources, "requests")
    for kind, amounts in (("limits", limits), ("requests", requests)):
        for name in amounts:
            where = (*path, kind, name)
            amount = _amount(amounts, name)
            if fault := _resource_name_fault(name):
                yield where, fault
            elif amount is not None and amount.nanos < 0:
                yield where, f"{quoted(str(amounts[name]))} is negative"
            elif amount is not None and name not in _STANDARD:
                yield from _piece_faults(name, amount, where)
    asked = {*limits, *requests}
    if any(name.startswith(_PAGES) for name in asked) and not asked & {"cpu", "memory"}:
        yield path, "asks for huge pages without cpu or memory"
    if sequence(resources, "claims"):
        yield (*path, "claims"), "names a claim of the pod: an entry brings none"
    for name in requests:
        request, limit = _amount(requests, name), _amount(limits, name)
        if request is None:
            continue
        where = (*path, "requests", name)
        if limit is not None and request.nanos > limit.nanos:
            yield where, f"{requests[name]} is more than the limit, {limits[name]}"
        elif name not in _STANDARD and name not in limits:
            yield where, "needs the same amount in limits"
        elif name not in _STANDARD and limit is not None and request.nanos != limit.nanos:
            yield where, f"{requests[name]} has to be the limit, {limits[name]}: {name} cannot be overcommitted"


def _piece_faults(name: str, amount: Quantity, path: Path) -> Found:
    """Devices are whole, and huge pages are whole pages."""
    if not name.startswith(_PAGES):
        if amount.nanos % quantity.NANOS:
            yield path, f"{amount.text} is not a whole number"
        return
    try:
        page = quantity.parse(name.removeprefix(_PAGES))
    except ValueError:
        page = quantity.ZERO
    if page.nanos <= 0 or page.nanos % quantity.NANOS:
        yield path, f"{quoted(name)} is not hugepages-SIZE, such as hugepages-2Mi"
    elif amount.nanos % page.nanos:
        yield path, f"{amount.text} is no multiple of {page.text}"


def _amount(amounts: Json, name: str) -> Quantity | None:
    value = amounts.get(name)
    if value is None or (type(value) is str and text(amounts, name) is None):
        return None
    try:
        return quantity.read(value)
    except ValueError:
        return None  # said by the schema


def _resource_name_fault(name: str) -> str | None:
    if name in _STANDARD or name.startswith(_PAGES):
        return None
    if "/" in name and "kubernetes.io/" not in name and not name.startswith("requests."):
        return key_fault(f"requests.{name}")  # as a quota would call it
    return f"{quoted(name)} is no resource: {', '.join(_STANDARD)}, hugepages-SIZE or DOMAIN/NAME"


def _resize_faults(container: Json, path: Path) -> Found:
    seen: set[str] = set()
    for step, where in objects(container, "resizePolicy", path):
        name = text(step, "resourceName")
        if name is not None and (name not in ("cpu", "memory") or name in seen):
            yield (*where, "resourceName"), f"must be cpu or memory, each once, not {quoted(name)}"
        seen.add(name or "")
        yield from _choice_faults(step, "restartPolicy", ("NotRequired", "RestartContainer"), where)


# -- probes, hooks, security -----------------------------------------------------------------------------------------


def _probe_faults(probe: Json, kind: str, path: Path) -> Found:
    yield from _handler_faults(probe, ("exec", "httpGet", "tcpSocket", "grpc"), path)
    for key in ("initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold"):
        value = number(probe, key)
        if value is not None and value < 0:
            yield (*path, key), f"must not be negative, is {_digits(value)}"
    if kind != "readinessProbe" and (number(probe, "successThreshold") or 1) > 1:
        yield (*path, "successThreshold"), f"must be 1 in a {kind}"
    grace = number(probe, "terminationGracePeriodSeconds")
    if kind == "readinessProbe" and grace is not None:
        yield (*path, "terminationGracePeriodSeconds"), "is not for a readinessProbe, which ends nothing"
    elif grace is not None and grace <= 0:
        yield (*path, "terminationGracePeriodSeconds"), f"must be above 0, is {_digits(grace)}"


def _handler_faults(handler: Json, kinds: tuple[str, ...], path: Path) -> Found:
    yield from one_of(handler, kinds, path, str(path[-1]))
    command = handler.get("exec")
    if type(command) is dict and not sequence(command, "command"):
        yield (*path, "exec", "command"), "is required"
    for kind in ("httpGet", "tcpSocket", "grpc"):
        yield from _port_reference_faults(mapping(handler, kind), (*path, kind))
    get = mapping(handler, "httpGet")
    if get.get("protocol") == "HTTP2" and (get.get("host") or get.get("scheme") == "HTTPS"):
        yield (*path, "httpGet", "protocol"), "HTTP2 is for scheme HTTP without a host"
    for header, where in objects(mapping(handler, "httpGet"), "httpHeaders", (*path, "httpGet")):
        name = text(header, "name")
        if name is not None and not _HEADER.fullmatch(name):
            yield (*where, "name"), f"{quoted(name)} is not the name of a header: letters, digits and '-'"
    pause = number(mapping(handler, "sleep"), "seconds")
    if pause is not None and pause < 0:
        yield (*path, "sleep", "seconds"), f"must not be negative, is {_digits(pause)}"


def _security_faults(security: Json, path: Path) -> Found:
    for key in ("runAsUser", "runAsGroup"):
        value = number(security, key)
        if value is not None and not 0 <= value <= _ID_LIMIT:
            yield (*path, key), f"must be from 0 to {_ID_LIMIT}, not {_digits(value)}"
    if security.get("runAsNonRoot") is True and number(security, "runAsUser") == 0:
        # The API server takes it; the kubelet never starts it.
        yield (*path, "runAsUser"), "is 0, which runAsNonRoot forbids"
    if security.get("allowPrivilegeEscalation") is False and security.get("privileged") is True:
        yield (*path, "allowPrivilegeEscalation"), "cannot be false in a privileged container"
    for key in ("seccompProfile", "appArmorProfile"):
        profile = mapping(security, key)
        is_local = profile.get("type") == "Localhost"
        local = profile.get("localhostProfile")
        if (is_local and not local) or (not is_local and local is not None):
            yield (*path, key), "has a localhostProfile when its type is Localhost, and only then"
        elif type(local) is str and (leaves(local) if key == "seccompProfile" else local != local.strip() or len(local) > 4095):
            yield (*path, key, "localhostProfile"), f"{quoted(local)} is not a profile on the node"
        elif profile.get("type") == "":
            yield (*path, key, "type"), "is required"
    yield from _choice_faults(security, "procMount", ("Default", "Unmasked"), path)
    if security.get("procMount") == "Unmasked":
        yield (*path, "procMount"), "Unmasked is for pods with hostUsers: false"
    if security.get("windowsOptions") is not None:
        yield (*path, "windowsOptions"), "is for Windows: pods for Windows nodes get no entries"


def _digits(value: int) -> str:
    return str(value) if value.bit_length() <= 64 else "a huge number"
