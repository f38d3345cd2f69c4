"""What the API server's validation would say of volumes that come from elsewhere: the network, a driver, a claim, an image.

As `lint`: pure, takes any JSON.
Source: kubernetes pkg/apis/core/validation/validation.go (validateVolumeSource and below), 1.37. Of drivers that Kubernetes has
dropped only what must be there is looked at.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from webhook.objects import quantity
from webhook.objects.dns_names import is_dns_subdomain
from webhook.objects.faults import Found, Path, quoted
from webhook.objects.meta import Json
from webhook.objects.selectors import key_fault, value_fault
from webhook.sidecars.entries.fragments import leaves, mapping, number, object_name_faults, one_of, sequence, text

# Members that may be "" to the schema, and not to the API server.
_REQUIRED: Final[Mapping[str, tuple[str, ...]]] = {
    "awsElasticBlockStore": ("volumeID",),
    "azureDisk": ("diskName", "diskURI"),
    "azureFile": ("secretName", "shareName"),
    "cephfs": ("monitors",),
    "cinder": ("volumeID",),
    "csi": ("driver",),
    "flexVolume": ("driver",),
    "gcePersistentDisk": ("pdName",),
    "gitRepo": ("repository",),
    "glusterfs": ("endpoints", "path"),
    "image": ("reference",),
    "iscsi": ("targetPortal", "iqn"),
    "nfs": ("server", "path"),
    "persistentVolumeClaim": ("claimName",),
    "photonPersistentDisk": ("pdID",),
    "portworxVolume": ("volumeID",),
    "quobyte": ("registry", "volume"),
    "rbd": ("monitors", "image"),
    "scaleIO": ("gateway", "system", "volumeName"),
    "storageos": ("volumeName",),
    "vsphereVolume": ("volumePath",),
}
# With a name in Kubernetes' own store.
_SECRETS: Final = {"csi": "nodePublishSecretRef", "storageos": "secretRef", "cinder": "secretRef"}
_INITIATOR: Final = re.compile(
    r"iqn\.\d{4}-\d{2}\.[A-Za-z0-9.\-]+:[^,;*&$|\s]+|eui\.[A-Fa-f0-9]{16}|naa\.[A-Fa-f0-9]{32}",
    re.ASCII,
)
_MODES: Final = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")


def source_faults(kind: str, source: Json, path: Path) -> Found:
    """What is wrong with the volume source *kind*."""
    for member in _REQUIRED.get(kind, ()):
        if source.get(member) in (None, "", []):
            yield (*path, member), "is required"
    secret = _SECRETS.get(kind)
    if secret and type(source.get(secret)) is dict:
        yield from object_name_faults(source[secret], (*path, secret))
    for member in ("partition", "lun"):
        value = number(source, member)
        if value is not None and not 0 <= value <= 255:
            yield (*path, member), "must be from 0 to 255"
    match kind:
        case "nfs":
            place = text(source, "path")
            if place and not place.startswith("/"):
                yield (*path, "path"), f"{quoted(place)} is not an absolute path"
        case "iscsi":
            yield from _iscsi_faults(source, path)
        case "fc":
            yield from one_of(
                {key: source.get(key) or None for key in ("targetWWNs", "wwids")}, ("targetWWNs", "wwids"), path, "fc"
            )
            if source.get("targetWWNs") and source.get("lun") is None:
                yield (*path, "lun"), "is required"
        case "flocker":
            keys = ("datasetName", "datasetUUID")
            yield from one_of({key: source.get(key) or None for key in keys}, keys, path, "flocker")
        case "csi" | "flexVolume":
            driver = text(source, "driver")
            if kind == "csi" and driver and (len(driver) > 63 or not is_dns_subdomain(driver.lower())):
                yield (
                    (*path, "driver"),
                    f"{quoted(driver)} is not the name of a driver: at most 63 letters, digits, '-' and '.'",
                )
        case "gitRepo":
            folder = text(source, "directory")
            if folder and leaves(folder):
                yield (*path, "directory"), f"{quoted(folder)} has to stay inside the volume"
        case "ephemeral":
            yield from _claim_faults(source, path)


def _iscsi_faults(source: Json, path: Path) -> Found:
    for key in ("iqn", "initiatorName"):
        found = text(source, key)
        if found is not None and (found or key == "initiatorName") and not _INITIATOR.fullmatch(found):
            yield (*path, key), f"{quoted(found)} does not name an initiator: iqn.YYYY-MM.…, eui.… or naa.…"
    if (source.get("chapAuthDiscovery") or source.get("chapAuthSession")) and source.get("secretRef") is None:
        yield (*path, "secretRef"), "is required"


def _claim_faults(source: Json, path: Path) -> Found:
    template = source.get("volumeClaimTemplate")
    if type(template) is not dict:
        yield (*path, "volumeClaimTemplate"), "is required"
        return
    where: Path = (*path, "volumeClaimTemplate", "spec")
    spec = mapping(template, "spec")
    modes = sequence(spec, "accessModes")
    if not modes or any(type(mode) is str and mode not in _MODES and "${" not in mode for mode in modes):
        yield (*where, "accessModes"), f"must be some of {', '.join(_MODES)}"
    elif "ReadWriteOncePod" in modes and len(set(map(str, modes))) > 1:
        yield (*where, "accessModes"), "has ReadWriteOncePod, which stands alone"
    requests = mapping(mapping(spec, "resources"), "requests")
    try:
        size = quantity.read(requests.get("storage"))
    except ValueError:
        return  # said by the schema, or not known yet
    if size.nanos <= 0 or size.nanos % quantity.NANOS:
        yield (*where, "resources", "requests", "storage"), "is required, and is a whole number of bytes above 0"
    for key in ("storageClassName", "volumeAttributesClassName"):
        name = text(spec, key)
        if name and not is_dns_subdomain(name):
            yield (*where, key), f"{quoted(name)} is not the name of a class"
    metadata = mapping(template, "metadata")
    for key in ("labels", "annotations"):
        for name, value in mapping(metadata, key).items():
            fault = key_fault(name if key == "labels" else name.lower())
            if key == "labels" and type(value) is str and text({"": value}, "") is not None:
                fault = fault or value_fault(value)
            if fault:
                yield (*path, "volumeClaimTemplate", "metadata", key, name), fault
