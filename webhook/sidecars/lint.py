"""What the API server's validation would say of the containers of an entry, as far as the entry alone can tell.

Types, unknown and missing fields are the schema's (webhook.objects.schema); here is what lies beyond: names, ranges, pairs that
exclude one another, duplicates. Every function yields (path, message) pairs and takes any JSON. Pure.
Source: kubernetes pkg/apis/core/validation/validation.go (validateContainerCommon and below), 1.37.
"""

from __future__ import annotations

import re
from typing import Any, Final

from webhook.objects import quantity
from webhook.objects.meta import Json
from webhook.objects.quantity import Quantity
from webhook.objects.schema import quote
from webhook.objects.selectors import key_fault
from webhook.objects.sources import Path
from webhook.sidecars.fragments import Faults, mapping, name_faults, number, objects, one_of, sequence, text

PROBES: Final = ("livenessProbe", "readinessProbe", "startupProbe")

_PORT_NAME: Final = re.compile(r"(?=.*[a-z])(?!.*--)[a-z0-9](?:[-a-z0-9]{0,13}[a-z0-9])?")
_VARIABLE: Final = re.compile(r"[\x20-<>-~]+")  # printable ASCII but "=": relaxed names, on by default since 1.34
_HEADER: Final = re.compile(r"[-A-Za-z0-9]+")
_FIELD: Final = re.compile(
    r"metadata\.(?:name|namespace|uid|(?:labels|annotations)\['[^']+'\])"
    r"|spec\.(?:nodeName|serviceAccountName)|status\.(?:hostIPs?|podIPs?)"
)
_RESOURCE_FIELD: Final = re.compile(r"(?:limits|requests)\.(?:cpu|memory|ephemeral-storage|hugepages-.+)")
_STANDARD: Final = ("cpu", "memory", "ephemeral-storage")
_ID_LIMIT: Final = 2**31 - 1


def container_faults(container: Json, path: Path) -> Faults:
    """What is wrong with a container, whatever list it stands in."""
    yield from name_faults(container, path)
    image = container.get("image")
    if image is None or image == "":
        yield (*path, "image"), "is required"
    yield from env_faults(container, path)
    yield from port_faults(container, path)
    yield from mount_faults(container, path)
    yield from resource_faults(mapping(container, "resources"), (*path, "resources"))
    for probe in PROBES:
        if type(container.get(probe)) is dict:
            yield from _probe_faults(container[probe], probe, (*path, probe))
    for hook in ("postStart", "preStop"):
        handler = mapping(container, "lifecycle").get(hook)
        if type(handler) is dict:
            yield from _handler_faults(handler, ("exec", "httpGet", "tcpSocket", "sleep"), (*path, "lifecycle", hook))
    yield from _security_faults(mapping(container, "securityContext"), (*path, "securityContext"))


def plain_container_faults(container: Json, path: Path) -> Faults:
    """What only `containers` forbids."""
    for key in ("restartPolicy", "restartPolicyRules"):
        if container.get(key) is not None:
            yield (*path, key), "belongs to initContainers; nativeSidecar decides it for containers"


def init_container_faults(container: Json, path: Path) -> Faults:
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


# -- environment -----------------------------------------------------------------------------------------------------


def env_faults(parent: Json, path: Path) -> Faults:
    """What is wrong with `env` and `envFrom` of a container, or of `app`."""
    seen: set[str] = set()
    for variable, where in objects(parent, "env", path):
        name = text(variable, "name")
        if name is not None and not _VARIABLE.fullmatch(name):
            yield (*where, "name"), f"{quote(name)} is not the name of a variable: printable ASCII characters without '='"
        elif name in seen:
            yield (*where, "name"), f"{quote(name or '')} is there twice"
        seen.add(name or "")
        source = variable.get("valueFrom")
        if type(source) is dict:
            if variable.get("value"):
                yield where, "has either value or valueFrom"
            yield from _value_source_faults(source, (*where, "valueFrom"))
    for source, where in objects(parent, "envFrom", path):
        yield from one_of(source, ("configMapRef", "secretRef"), where, "envFrom")
        prefix = text(source, "prefix")
        if prefix and not _VARIABLE.fullmatch(prefix):
            yield (*where, "prefix"), f"{quote(prefix)} cannot begin the name of a variable"
        for key in ("configMapRef", "secretRef"):
            if type(source.get(key)) is dict:
                yield from _reference_faults(source[key], (*where, key))


def _value_source_faults(source: Json, path: Path) -> Faults:
    keys = ("fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef")
    yield from one_of(source, keys, path, "valueFrom")
    field = text(mapping(source, "fieldRef"), "fieldPath")
    if field is not None and not _FIELD.fullmatch(field):
        yield (*path, "fieldRef", "fieldPath"), f"{quote(field)} is no field of a pod that a variable can have"
    resource = text(mapping(source, "resourceFieldRef"), "resource")
    if resource is not None and not _RESOURCE_FIELD.fullmatch(resource):
        yield (*path, "resourceFieldRef", "resource"), f"{quote(resource)} is not limits.X or requests.X of a resource"
    for key in ("configMapKeyRef", "secretKeyRef"):
        if type(source.get(key)) is dict:
            yield from _reference_faults(source[key], (*path, key))
            if source[key].get("key") == "":
                yield (*path, key, "key"), "is required"


def _reference_faults(reference: Json, path: Path) -> Faults:
    if reference.get("name") in (None, ""):
        yield (*path, "name"), "is required"


# -- ports -----------------------------------------------------------------------------------------------------------


def port_faults(container: Json, path: Path) -> Faults:
    """What is wrong with `ports`."""
    names: set[str] = set()
    taken: set[tuple[Any, ...]] = set()
    for port, where in objects(container, "ports", path):
        name = text(port, "name")
        if name:
            if not _PORT_NAME.fullmatch(name):
                yield (*where, "name"), f"{quote(name)} is not the name of a port: {_PORT_NAME_RULE}"
            elif name in names:
                yield (*where, "name"), f"{quote(name)} is there twice"
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


_PORT_NAME_RULE: Final = "at most 15 lower case letters, digits and single '-' inside, among them a letter"


def _port_reference_faults(handler: Json, path: Path) -> Faults:
    """A port by number or by name."""
    value = handler.get("port")
    if type(value) is int and not 1 <= value <= 65535:
        yield (*path, "port"), f"must be from 1 to 65535, not {_digits(value)}"
    name = text(handler, "port")
    if name is not None and not _PORT_NAME.fullmatch(name):
        yield (*path, "port"), f"{quote(name)} is not the name of a port ({_PORT_NAME_RULE}); a number stands without quotes"


# -- mounts ----------------------------------------------------------------------------------------------------------


def mount_faults(parent: Json, path: Path) -> Faults:
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
                yield (*where, member), f"{quote(place)} is there twice"
            seen.add(place or "")
            if key == "volumeMounts":
                yield from _mount_faults(mount, where, privileged)


def _mount_faults(mount: Json, path: Path, privileged: bool) -> Faults:
    place = text(mount, "mountPath")
    if place and (not place.startswith("/") or ":" in place):
        # The API server takes a relative path; what the runtime makes of it differs. Windows' C:\… is not for these pods.
        yield (*path, "mountPath"), f"{quote(place)} is not an absolute path without ':'"
    for key in ("subPath", "subPathExpr"):
        inside = text(mount, key)
        if inside and (inside.startswith("/") or ".." in inside.split("/")):
            yield (*path, key), f"{quote(inside)} has to stay inside the volume: a relative path without '..'"
    if mount.get("subPath") and mount.get("subPathExpr"):
        yield path, "has either subPath or subPathExpr"
    if mount.get("mountPropagation") == "Bidirectional" and not privileged:
        yield (*path, "mountPropagation"), "Bidirectional is for privileged containers"
    if mount.get("recursiveReadOnly") not in (None, "", "Disabled") and mount.get("readOnly") is not True:
        yield (*path, "recursiveReadOnly"), "needs readOnly: true"


# -- resources -------------------------------------------------------------------------------------------------------


def resource_faults(resources: Json, path: Path) -> Faults:
    """What is wrong with the `resources` of a container."""
    limits, requests = mapping(resources, "limits"), mapping(resources, "requests")
    for kind, amounts in (("limits", limits), ("requests", requests)):
        for name in amounts:
            where = (*path, kind, name)
            amount = _amount(amounts, name)
            if fault := _resource_name_fault(name):
                yield where, fault
            elif amount is not None and amount.nanos < 0:
                yield where, f"{quote(str(amounts[name]))} is negative"
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


def _amount(amounts: Json, name: str) -> Quantity | None:
    value = amounts.get(name)
    if value is None or (type(value) is str and text(amounts, name) is None):
        return None
    try:
        return quantity.read(value)
    except ValueError:
        return None  # said by the schema


def _resource_name_fault(name: str) -> str | None:
    if name in _STANDARD or name.startswith("hugepages-"):
        return None
    if "/" in name:
        return key_fault(name)
    return f"{quote(name)} is no resource: {', '.join(_STANDARD)}, hugepages-SIZE or DOMAIN/NAME"


# -- probes, hooks, security -----------------------------------------------------------------------------------------


def _probe_faults(probe: Json, kind: str, path: Path) -> Faults:
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


def _handler_faults(handler: Json, kinds: tuple[str, ...], path: Path) -> Faults:
    yield from one_of(handler, kinds, path, str(path[-1]))
    command = handler.get("exec")
    if type(command) is dict and not sequence(command, "command"):
        yield (*path, "exec", "command"), "is required"
    for kind in ("httpGet", "tcpSocket", "grpc"):
        yield from _port_reference_faults(mapping(handler, kind), (*path, kind))
    for header, where in objects(mapping(handler, "httpGet"), "httpHeaders", (*path, "httpGet")):
        name = text(header, "name")
        if name is not None and not _HEADER.fullmatch(name):
            yield (*where, "name"), f"{quote(name)} is not the name of a header: letters, digits and '-'"
    pause = number(mapping(handler, "sleep"), "seconds")
    if pause is not None and pause < 0:
        yield (*path, "sleep", "seconds"), f"must not be negative, is {_digits(pause)}"


def _security_faults(security: Json, path: Path) -> Faults:
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
        if profile and is_local != bool(profile.get("localhostProfile")):
            yield (*path, key), "has a localhostProfile when its type is Localhost, and only then"


def _digits(value: int) -> str:
    return str(value) if value.bit_length() <= 64 else "a huge number"
