"""What the API server's validation would say of the volumes, aliases and metadata of an entry. As `lint`: pure, takes any JSON.

Source: kubernetes pkg/apis/core/validation/validation.go (validateVolumes, ValidateHostAliases), 1.37.
"""

from __future__ import annotations

import ipaddress
from typing import Final

from webhook.names import DOMAIN, INJECT, INJECT_ENTRIES, INJECTED
from webhook.objects import quantity, schema
from webhook.objects.dns_names import is_dns_subdomain
from webhook.objects.meta import Json
from webhook.objects.schema import Struct, quote
from webhook.objects.selectors import key_fault, value_fault
from webhook.objects.sources import Path
from webhook.sidecars.fragments import Faults, mapping, name_faults, number, objects, one_of, text

_MODE_LIMIT: Final = 0o777


def volume_faults(volume: Json, path: Path) -> Faults:
    """What is wrong with a volume."""
    yield from name_faults(volume, path)
    sources = [key for key in _source_keys() if volume.get(key) is not None]
    if not sources:
        yield path, "has no source: configMap, secret, emptyDir: {}, …"
    elif len(sources) > 1:
        yield path, f"has more than one source: {', '.join(sources)}"
    for key in sources:
        source = volume[key]
        if type(source) is dict:
            yield from _source_faults(key, source, (*path, key))


def _source_keys() -> list[str]:
    volume = schema.named("Volume")
    assert isinstance(volume, Struct)
    return [key for key in volume.fields if key != "name"]


def _source_faults(key: str, source: Json, path: Path) -> Faults:
    match key:
        case "emptyDir":
            yield from _empty_dir_faults(source, path)
        case "hostPath":
            place = text(source, "path")
            if place is not None and (not place or ".." in place.split("/")):
                yield (*path, "path"), f"{quote(place)} is not a path without '..'"
        case "configMap":
            yield from _file_source_faults(source, "name", path)
        case "secret":
            yield from _file_source_faults(source, "secretName", path)
        case "downwardAPI":
            yield from _items_faults(source, path)
        case "projected":
            yield from _mode_faults(source, path)
            for part, where in objects(source, "sources", path):
                yield from _projection_faults(part, where)
        case "persistentVolumeClaim" if source.get("claimName") == "":
            yield (*path, "claimName"), "is required"
        case "csi" if source.get("driver") == "":
            yield (*path, "driver"), "is required"


_PROJECTIONS: Final = ("configMap", "secret", "downwardAPI", "serviceAccountToken", "clusterTrustBundle", "podCertificate")


def _projection_faults(part: Json, path: Path) -> Faults:
    yield from one_of(part, _PROJECTIONS, path, "a projection")
    for key in ("configMap", "secret"):
        if type(part.get(key)) is dict:
            yield from _file_source_faults(part[key], "name", (*path, key))
    yield from _items_faults(mapping(part, "downwardAPI"), (*path, "downwardAPI"))
    lifetime = number(mapping(part, "serviceAccountToken"), "expirationSeconds")
    if lifetime is not None and not 600 <= lifetime <= 2**32:
        yield (*path, "serviceAccountToken", "expirationSeconds"), f"must be from 600 to {2**32}"


def _empty_dir_faults(source: Json, path: Path) -> Faults:
    medium = text(source, "medium")
    if medium and medium not in ("Memory", "HugePages") and not medium.startswith("HugePages-"):
        yield (*path, "medium"), f"must be Memory or HugePages, not {quote(medium)}"
    limit = text(source, "sizeLimit")
    if limit is not None:
        yield from size_faults(limit, (*path, "sizeLimit"))


def size_faults(value: str, path: Path) -> Faults:
    """A size that is less than nothing; that it is a quantity at all is the schema's business."""
    try:
        amount = quantity.read(value)
    except ValueError:
        return
    if amount.nanos < 0:
        yield path, f"{quote(value)} is negative"


def _file_source_faults(source: Json, name: str, path: Path) -> Faults:
    """A source that makes files of keys."""
    if source.get(name) in (None, ""):
        yield (*path, name), "is required"
    yield from _items_faults(source, path)


def _items_faults(source: Json, path: Path) -> Faults:
    yield from _mode_faults(source, path)
    for item, where in objects(source, "items", path):
        yield from _mode_faults(item, where)
        place = text(item, "path")
        if place is not None and (not place or place.startswith("/") or ".." in place.split("/")):
            yield (*where, "path"), f"{quote(place)} has to stay inside the volume: a relative path without '..'"
        if item.get("key") == "":
            yield (*where, "key"), "is required"


def _mode_faults(source: Json, path: Path) -> Faults:
    for key in ("mode", "defaultMode"):
        value = number(source, key)
        if value is not None and not 0 <= value <= _MODE_LIMIT:
            yield (*path, key), f"must be from 0 to 0777 (511), not {value}"


def host_alias_faults(alias: Json, path: Path) -> Faults:
    """What is wrong with a host alias."""
    address = text(alias, "ip")
    if address is not None and not _is_address(address):
        yield (*path, "ip"), f"{quote(address)} is not an IP address"
    for index, name in enumerate(alias.get("hostnames") or () if type(alias.get("hostnames")) is list else ()):
        if text({"name": name}, "name") is not None and not is_dns_subdomain(name):
            yield (*path, "hostnames", index), f"{quote(name)} is not a host name in lower case"


def _is_address(value: str) -> bool:
    try:
        ipaddress.ip_address(value)
    except ValueError:
        return False
    return "%" not in value  # a zone is Python's, not the API's


def secret_faults(reference: Json, path: Path) -> Faults:
    """What is wrong with a pull secret."""
    name = text(reference, "name")
    if reference.get("name") is None or name == "":
        yield (*path, "name"), "is required"
    elif name is not None and not is_dns_subdomain(name):
        yield (*path, "name"), f"{quote(name)} is not the name of a Secret"


def metadata_faults(key: str, values: Json) -> Faults:
    """What is wrong with the `labels` or `annotations` of an entry."""
    for name, value in values.items():
        path: Path = (key, name)
        # Annotation keys are compared in lower case by the API server, labels as they are.
        if fault := key_fault(name if key == "labels" else name.lower()):
            yield path, fault
        elif name in (INJECTED, INJECT, INJECT_ENTRIES) or name.partition("/")[0].endswith(DOMAIN):
            yield path, "is Gatehouse's own: an entry cannot set it"
        elif key == "labels" and text(values, name) is not None and (fault := value_fault(value)):
            yield path, fault
