"""What the API server's validation would say of variables and where their values come from. As `lint`: pure, takes any JSON.

Source: kubernetes pkg/apis/core/validation/validation.go (ValidateEnv, ValidateEnvFrom and what both call), 1.37.
"""

from __future__ import annotations

import re
from typing import Final

from webhook.objects import quantity
from webhook.objects.faults import Found, Path, quoted
from webhook.objects.meta import Json
from webhook.objects.selectors import key_fault
from webhook.sidecars.entries.fragments import climbs, excess, name_faults, object_name_faults, objects, one_of, text

_VARIABLE: Final = re.compile(r"[\x20-<>-~]+")  # printable ASCII but "=": relaxed names, on by default since 1.34
_DATA_KEY: Final = re.compile(r"(?!\.\.?$)(?!\.\.)[-._a-zA-Z0-9]{1,253}")
_KEYED: Final = re.compile(r"metadata\.(labels|annotations)\['([^']*)'\]")
_OF_VARIABLES: Final = (
    *("metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName"),
    *("status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs"),
)
_RESOURCE: Final = re.compile(r"(?:limits|requests)\.(cpu|memory|ephemeral-storage|hugepages-.+)")
_CPU_DIVISORS: Final = ("1m", "1")
_BYTE_DIVISORS: Final = ("1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei")


def env_faults(parent: Json, path: Path) -> Found:
    """What is wrong with `env` and `envFrom` of a container, or of `app`."""
    seen: set[str] = set()
    for variable, where in objects(parent, "env", path):
        name = text(variable, "name")
        if name is not None and not _VARIABLE.fullmatch(name):
            yield (*where, "name"), f"{quoted(name)} is not the name of a variable: printable ASCII characters without '='"
        elif name in seen:
            yield (*where, "name"), f"{quoted(name or '')} is there twice"
        seen.add(name or "")
        source = variable.get("valueFrom")
        if type(source) is dict:
            if variable.get("value"):
                yield where, excess(("value", "valueFrom"))
            yield from _value_source_faults(source, (*where, "valueFrom"))
    for source, where in objects(parent, "envFrom", path):
        yield from one_of(source, ("configMapRef", "secretRef"), where, "envFrom")
        prefix = text(source, "prefix")
        if prefix and not _VARIABLE.fullmatch(prefix):
            yield (*where, "prefix"), f"{quoted(prefix)} cannot begin the name of a variable"
        for key in ("configMapRef", "secretRef"):
            if type(source.get(key)) is dict:
                yield from object_name_faults(source[key], (*where, key))


def _value_source_faults(source: Json, path: Path) -> Found:
    keys = ("fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef")
    yield from one_of(source, keys, path, "valueFrom")
    if type(source.get("fieldRef")) is dict:
        yield from field_faults(source["fieldRef"], (*path, "fieldRef"), _OF_VARIABLES, "a variable")
    if type(source.get("resourceFieldRef")) is dict:
        yield from resource_field_faults(source["resourceFieldRef"], (*path, "resourceFieldRef"))
    for key in ("configMapKeyRef", "secretKeyRef"):
        if type(source.get(key)) is dict:
            yield from object_name_faults(source[key], (*path, key))
            yield from data_key_faults(source[key], (*path, key))
    file = source.get("fileKeyRef")
    if type(file) is dict:
        yield from name_faults(file, (*path, "fileKeyRef"), "volumeName")
        variable, place = text(file, "key"), text(file, "path")
        if variable is not None and not _VARIABLE.fullmatch(variable):
            yield (*path, "fileKeyRef", "key"), f"{quoted(variable)} is not the name of a variable"
        if place is not None and (not place or climbs(place)):
            yield (*path, "fileKeyRef", "path"), f"{quoted(place)} is not a path without '..'"


def field_faults(selector: Json, path: Path, fields: tuple[str, ...], who: str) -> Found:
    """What is wrong with a reference to a field of the pod: *who* can have *fields*, and a label or annotation by its key."""
    if selector.get("apiVersion") not in (None, "", "v1"):
        yield (*path, "apiVersion"), "must be v1"
    found = text(selector, "fieldPath")
    if found is None:
        return
    keyed = _KEYED.fullmatch(found)
    if keyed is not None:
        if fault := key_fault(keyed[2] if keyed[1] == "labels" else keyed[2].lower()):
            yield (*path, "fieldPath"), fault
    elif found not in fields:
        yield (*path, "fieldPath"), f"{quoted(found)} is no field of a pod that {who} can have"


def resource_field_faults(selector: Json, path: Path, *, in_volume: bool = False) -> Found:
    """What is wrong with a reference to a container's requests or limits."""
    if in_volume and selector.get("containerName") in (None, ""):
        yield (*path, "containerName"), "is required"
    resource = text(selector, "resource")
    if resource is None:
        return
    known = _RESOURCE.fullmatch(resource)
    if known is None:
        yield (*path, "resource"), f"{quoted(resource)} is not limits.X or requests.X of a resource"
        return
    divisors = _CPU_DIVISORS if known[1] == "cpu" else _BYTE_DIVISORS
    try:
        divisor = quantity.read(selector.get("divisor"))
    except ValueError:
        return  # said by the schema, or not known yet
    if divisor and str(divisor) not in divisors:
        yield (*path, "divisor"), f"must be one of {', '.join(divisors)} for {resource}, not {divisor.text}"


def data_key_faults(reference: Json, path: Path) -> Found:
    """What is wrong with the `key` of a ConfigMap or Secret."""
    key = text(reference, "key")
    if key == "":
        yield (*path, "key"), "is required"
    elif key is not None and not _DATA_KEY.fullmatch(key):
        yield (
            (*path, "key"),
            f"{quoted(key)} is not a key: at most 253 letters, digits, '-', '_' and '.', not '.' or beginning with '..'",
        )
