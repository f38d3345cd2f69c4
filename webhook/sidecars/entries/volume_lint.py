"""What the API server's validation would say of the volumes, aliases and pull secrets of an entry.

As `lint`: pure, takes any JSON.
Source: kubernetes pkg/apis/core/validation/validation.go (validateVolumes, ValidateHostAliases), 1.37.
"""

from __future__ import annotations

import ipaddress
from typing import Final

from webhook.objects import quantity, schema
from webhook.objects.dns_names import is_dns_subdomain
from webhook.objects.faults import Found, Path, quoted
from webhook.objects.meta import Json
from webhook.objects.schema import Struct
from webhook.objects.selectors import key_fault
from webhook.sidecars.entries.env_lint import field_faults, resource_field_faults
from webhook.sidecars.entries.fragments import (
    climbs,
    control_faults,
    leaves,
    mapping,
    name_faults,
    number,
    object_name_faults,
    objects,
    one_of,
    text,
)
from webhook.sidecars.entries.source_lint import source_faults

_MODE_LIMIT: Final = 0o777


def volume_faults(volume: Json, path: Path) -> Found:
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


def _source_faults(key: str, source: Json, path: Path) -> Found:
    match key:
        case "emptyDir":
            yield from _empty_dir_faults(source, path)
        case "hostPath":
            place = text(source, "path")
            if place is not None and (not place or climbs(place)):
                yield (*path, "path"), f"{quoted(place)} is not a path without '..'"
            yield from control_faults(source, "path", path)
        case "configMap":
            yield from _file_source_faults(source, "name", path)
        case "secret":
            yield from _file_source_faults(source, "secretName", path)
        case "downwardAPI":
            yield from _items_faults(source, path)
            yield from _downward_faults(source, path)
        case "projected":
            yield from _mode_faults(source, path)
            for part, where in objects(source, "sources", path):
                yield from _projection_faults(part, where)
            yield from _twice_faults(source, path)
        case _:
            yield from source_faults(key, source, path)


_PROJECTIONS: Final = ("configMap", "secret", "downwardAPI", "serviceAccountToken", "clusterTrustBundle", "podCertificate")


def _projection_faults(part: Json, path: Path) -> Found:
    yield from one_of(part, _PROJECTIONS, path, "a projection")
    for key in ("configMap", "secret"):
        if type(part.get(key)) is dict:
            yield from _file_source_faults(part[key], "name", (*path, key))
    yield from _items_faults(mapping(part, "downwardAPI"), (*path, "downwardAPI"))
    yield from _downward_faults(mapping(part, "downwardAPI"), (*path, "downwardAPI"))
    for key in ("serviceAccountToken", "clusterTrustBundle"):
        if type(part.get(key)) is dict:
            yield from _inside_faults(part[key], "path", (*path, key))
            yield from _user_faults(part[key], (*path, key))
    bundle = part.get("clusterTrustBundle")
    if type(bundle) is dict:
        yield from one_of(bundle, ("name", "signerName"), (*path, "clusterTrustBundle"), "clusterTrustBundle")
        if bundle.get("name") is not None and bundle.get("labelSelector") is not None:
            yield (*path, "clusterTrustBundle", "labelSelector"), "goes with signerName only"
    if type(part.get("podCertificate")) is dict:
        yield from _certificate_faults(part["podCertificate"], (*path, "podCertificate"))
    lifetime = number(mapping(part, "serviceAccountToken"), "expirationSeconds")
    if lifetime is not None and not 600 <= lifetime <= 2**32:
        yield (*path, "serviceAccountToken", "expirationSeconds"), f"must be from 600 to {2**32}"


def _certificate_faults(source: Json, path: Path) -> Found:
    kind = text(source, "keyType")
    if kind is not None and kind not in _KEY_TYPES:
        yield (*path, "keyType"), f"must be one of {', '.join(_KEY_TYPES)}, not {quoted(kind)}"
    signer = text(source, "signerName")
    if signer is not None and (key_fault(signer) or "/" not in signer):
        yield (*path, "signerName"), f"{quoted(signer)} is not DOMAIN/NAME"
    if not any(source.get(key) for key in _CERTIFICATE_PATHS):
        yield path, f"needs one of {', '.join(_CERTIFICATE_PATHS)}"
    for key in _CERTIFICATE_PATHS:
        if source.get(key):
            yield from _inside_faults(source, key, path)
    lifetime = number(source, "maxExpirationSeconds")
    if lifetime is not None and not 3600 <= lifetime <= 86400:
        yield (*path, "maxExpirationSeconds"), "must be from 3600 to 86400"
    yield from _user_faults(source, path)


_KEY_TYPES: Final = ("RSA3072", "RSA4096", "ECDSAP256", "ECDSAP384", "ECDSAP521", "ED25519")
_CERTIFICATE_PATHS: Final = ("credentialBundlePath", "keyPath", "certificateChainPath")


def _downward_faults(source: Json, path: Path) -> Found:
    for item, where in objects(source, "items", path):
        yield from one_of(item, ("fieldRef", "resourceFieldRef"), where, "a file")
        if type(item.get("fieldRef")) is dict:
            yield from field_faults(item["fieldRef"], (*where, "fieldRef"), _OF_VOLUMES, "a volume")
        if type(item.get("resourceFieldRef")) is dict:
            yield from resource_field_faults(item["resourceFieldRef"], (*where, "resourceFieldRef"), in_volume=True)


_OF_VOLUMES: Final = ("metadata.name", "metadata.namespace", "metadata.labels", "metadata.annotations", "metadata.uid")


def _twice_faults(source: Json, path: Path) -> Found:
    """Files of a projected volume that two of its sources make."""
    seen: set[str] = set()
    for part, where in objects(source, "sources", path):
        files = [
            file
            for key in ("configMap", "secret", "downwardAPI")
            for file in objects(mapping(part, key), "items", (*where, key))
        ]
        places = [(item, place, "path") for item, place in files]
        places += [(mapping(part, "clusterTrustBundle"), (*where, "clusterTrustBundle"), "path")]
        places += [(mapping(part, "podCertificate"), (*where, "podCertificate"), key) for key in _CERTIFICATE_PATHS]
        for item, place, key in places:
            found = text(item, key)
            if found and found in seen:
                yield (*place, key), f"{quoted(found)} is there already"
            seen.add(found or "")


def _empty_dir_faults(source: Json, path: Path) -> Found:
    medium = text(source, "medium")
    if medium and medium not in ("Memory", "HugePages") and not medium.startswith("HugePages-"):
        yield (*path, "medium"), f"must be Memory or HugePages, not {quoted(medium)}"
    limit = text(source, "sizeLimit")
    if limit is not None:
        yield from size_faults(limit, (*path, "sizeLimit"))
    mode = number(source, "mode")
    if mode is not None and not 0 <= mode <= 0o1777:
        yield (*path, "mode"), f"must be from 0 to 01777 (1023), not {mode}"


def size_faults(value: str, path: Path) -> Found:
    """A size that is less than nothing; that it is a quantity at all is the schema's business."""
    try:
        amount = quantity.read(value)
    except ValueError:
        return
    if amount.nanos < 0:
        yield path, f"{quoted(value)} is negative"


def _file_source_faults(source: Json, name: str, path: Path) -> Found:
    """A source that makes files of keys."""
    if source.get(name) in (None, ""):
        yield (*path, name), "is required"
    yield from _items_faults(source, path)


def _items_faults(source: Json, path: Path) -> Found:
    yield from _mode_faults(source, path)
    yield from _user_faults(source, path)
    for item, where in objects(source, "items", path):
        yield from _mode_faults(item, where)
        yield from _user_faults(item, where)
        yield from _inside_faults(item, "path", where)
        if item.get("key") == "":
            yield (*where, "key"), "is required"


def _inside_faults(item: Json, key: str, path: Path) -> Found:
    place = text(item, key)
    if place is not None and (not place or leaves(place) or place.startswith("..")):
        yield (*path, key), f"{quoted(place)} has to stay inside the volume: a relative path without '..'"
    yield from control_faults(item, key, path)


def _user_faults(source: Json, path: Path) -> Found:
    for key in ("user", "defaultUser"):
        value = number(source, key)
        if value is not None and not 0 <= value <= 2**31 - 1:
            yield (*path, key), f"must be from 0 to {2**31 - 1}"


def _mode_faults(source: Json, path: Path) -> Found:
    for key in ("mode", "defaultMode"):
        value = number(source, key)
        if value is not None and not 0 <= value <= _MODE_LIMIT:
            yield (*path, key), f"must be from 0 to 0777 (511), not {value}"


def host_alias_faults(alias: Json, path: Path) -> Found:
    """What is wrong with a host alias."""
    address = text(alias, "ip")
    if address is not None and not _is_address(address):
        yield (*path, "ip"), f"{quoted(address)} is not an IP address"
    for index, name in enumerate(alias.get("hostnames") or () if type(alias.get("hostnames")) is list else ()):
        if text({"name": name}, "name") is not None and not is_dns_subdomain(name):
            yield (*path, "hostnames", index), f"{quoted(name)} is not a host name in lower case"


def _is_address(value: str) -> bool:
    try:
        address = ipaddress.ip_address(value)
    except ValueError:
        return False
    # A zone is Python's, not the API's; of ::ffff:1.2.3.4 it wants the short form.
    return "%" not in value and (address.version == 4 or address.ipv4_mapped is None)


def secret_faults(reference: Json, path: Path) -> Found:
    """What is wrong with a pull secret."""
    yield from object_name_faults(reference, path)
