"""The whole installation as objects, from the files in manifests/ that kustomize reads as well.

Of kustomize only what these files use: resources, components, patches by RFC 6902 with a target, and `$patch: delete`. Its own
answer for base and for each overlay is the same, which a test holds. The files are data of the package `manifests`, and so
are there however Gatehouse is installed. Reads them on each call; any thread.
Source: kubectl.docs.kubernetes.io: kustomization file.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any, Final

import msgspec

from webhook.admission import verify
from webhook.admission.draft import Operation
from webhook.names import CONFIG_MAP, DOMAIN, PROJECT
from webhook.objects.documents import read_documents, write_yaml
from webhook.objects.meta import Json

CONFIGURATION: Final = ("ConfigMap", CONFIG_MAP)  # the object that holds the process's configuration
#: annotation of the replicas' template, so that a changed configuration, which is read at start, rolls them
CONFIGURATION_HASH: Final = f"{DOMAIN}/configuration-hash"
WEBHOOKS: Final = frozenset({"MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"})

_KUSTOMIZATION: Final = "kustomization.yaml"

_Id = tuple[str, str]  # kind and name; nothing of ours stands in two namespaces


def overlays() -> tuple[str, ...]:
    """The names that `installation` takes."""
    return tuple(sorted(folder.name for folder in _components().iterdir() if folder.joinpath(_KUSTOMIZATION).is_file()))


def installation(chosen: Iterable[str] = ()) -> list[Json]:
    """Every object, in the order of applying: webhook configurations last. The caller may change them.

    chosen: of `overlays`, in the order in which they change what is there. Raises KeyError for another name.
    """
    base = files("manifests").joinpath("base")
    found = {_id(item): item for name in _kustomization(base)["resources"] for item in _objects(base, name)}
    for name in chosen:
        if name not in overlays():
            raise KeyError(name)
        _add(found, _components().joinpath(name))
    return sorted(found.values(), key=lambda item: item["kind"] in WEBHOOKS)


def follow_configuration(found: Iterable[Json]) -> None:
    """Write a hash of the configuration into the template of the replicas in *found*, as manifests/install.sh does."""
    items = {_id(item): item for item in found}
    digest = hashlib.sha256(write_yaml(items[CONFIGURATION]).encode()).hexdigest()
    items["Deployment", PROJECT]["spec"]["template"]["metadata"]["annotations"][CONFIGURATION_HASH] = digest


def configured(names: Sequence[str]) -> list[str]:
    """Those of the overlays *names* that bring a configuration of their own: only the last one's would count."""
    return [
        name
        for name in names
        if any(_target(patch) == CONFIGURATION for patch in _kustomization(_components().joinpath(name)).get("patches", ()))
    ]


def _components() -> Traversable:
    return files("manifests").joinpath("components")


def _kustomization(folder: Traversable) -> Mapping[str, Any]:
    found: Mapping[str, Any]
    (found,) = _objects(folder, _KUSTOMIZATION)
    return found


def _objects(folder: Traversable, name: str) -> list[Any]:
    return [document.value for document in read_documents(folder.joinpath(name).read_bytes(), name)]


def _add(found: dict[_Id, Json], component: Traversable) -> None:
    """Change *found* as the kustomization in *component* says."""
    kustomization = _kustomization(component)
    for name in kustomization.get("resources", ()):
        found |= {_id(item): item for item in _objects(component, name)}
    for patch in kustomization.get("patches", ()):
        written = _objects(component, patch["path"])
        target = _target(patch)
        if target is None:
            for item in written:
                if item.get("$patch") != "delete":
                    raise ValueError(f"{patch['path']}: a patch without a target can only delete")
                found.pop(_id(item), None)
        elif target in found:  # what another component would have brought need not be there
            for operations in written:
                found[target] = verify.apply(found[target], [_operation(one) for one in operations])


def _operation(written: Mapping[str, Any]) -> Operation:
    return Operation(written["op"], written["path"], msgspec.Raw(msgspec.json.encode(written["value"])))


def _target(patch: Mapping[str, Any]) -> _Id | None:
    target = patch.get("target")
    return None if target is None else (target["kind"], target["name"])


def _id(item: Mapping[str, Any]) -> _Id:
    return item["kind"], item["metadata"]["name"]
