"""Which objects a target of `gatehouse explain` means: those of a kind in a file, or that of a name in files.

Errors: UsageError, with what to do. Reads files; one thread.
"""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import attrs

from controllers.cli.offline import STDIN, read_source, shown
from controllers.cli.usage import UsageError
from controllers.explaining.explainer import Query
from controllers.explaining.kinds import WORDS, is_of
from controllers.local.cluster import SUFFIXES
from webhook.admission.review import User
from webhook.errors import MalformedObject
from webhook.names import PROJECT
from webhook.objects import meta
from webhook.objects.dns_names import SUBDOMAIN_LIMIT
from webhook.objects.documents import DocumentError, objects, read_documents
from webhook.objects.meta import Json
from webhook.objects.workloads import WORKLOADS, workload_of

# What may be written -> the kind that is explained.
KINDS: Final[Mapping[str, str]] = {
    "pod": "pod",
    "workload": "workload",
    **{one.kind.lower(): "workload" for one in WORKLOADS if one.kind != "Pod"},
    "node": "node",
    "endpoint": "endpoint",
    "endpoints": "endpoint",
    "endpointslice": "endpoint",
    "address": "address",
    "databaseinstance": "databaseinstance",
    "object": "object",
}
# As kubectl takes them besides; kubectl api-resources: short names.
ALIASES: Final[Mapping[str, str]] = {
    **{f"{word}s": word for word in KINDS if not word.endswith("s")},
    "addresses": "address",
    "ip": "address",
    "ep": "endpoint",
    "no": "node",
    "po": "pod",
    "deploy": "deployment",
    "sts": "statefulset",
    "ds": "daemonset",
    "rs": "replicaset",
    "rc": "replicationcontroller",
    "cj": "cronjob",
}
_SERVICE: Final = "endpoint NAMESPACE/NAME explains the Endpoints and EndpointSlices of a Service"
_MEANT: Final = {"svc": _SERVICE, "service": _SERVICE, "services": _SERVICE}
SERVICE_LABEL: Final = "kubernetes.io/service-name"  # of an EndpointSlice (kubernetes.io/docs: EndpointSlices)
# A file does not say whether its kind has namespaces: these of Kubernetes (and ours) have none. kubectl api-resources.
CLUSTER_SCOPED: Final = frozenset(
    {
        "Namespace",
        "Node",
        "PersistentVolume",
        "ClusterRole",
        "ClusterRoleBinding",
        "StorageClass",
        "PriorityClass",
        "RuntimeClass",
    }
    | {"IngressClass", "CustomResourceDefinition", "APIService", "CSIDriver", "VolumeSnapshotClass", "VolumeSnapshotContent"}
    | {
        "MutatingWebhookConfiguration",
        "ValidatingWebhookConfiguration",
        "ValidatingAdmissionPolicy",
        "CertificateSigningRequest",
    }
    | {"FlowSchema", "PriorityLevelConfiguration", "AddressPool", "AddressReservation"}
)
NAME: Final = re.compile(r"(?:([a-z0-9-]+)/)?([a-z0-9][a-z0-9.:-]*)")


def kind_word(text: str) -> str:
    """The word of KINDS that *text* means: in any case, plural, short as for kubectl, with a group. Raises UsageError."""
    word = text.lower().partition(".")[0]
    word = word if word in KINDS else ALIASES.get(word, word)
    if word in KINDS:
        return word
    near = difflib.get_close_matches(word, [*KINDS, *ALIASES], 1, 0.6)
    meant = _MEANT.get(word) or (f"did you mean {ALIASES.get(near[0], near[0])}?" if near else "")
    every = f"it is one of {', '.join(KINDS)}; object is any other, from a file"
    raise UsageError(f"kind {text:.100}: {meant or every}\n{PROJECT} explain --help has examples")


@attrs.frozen
class Wanted:
    """What is to be explained."""

    kind: str  # of `explainer.KINDS`
    word: str  # as it was written: "deployment"
    namespace: str  # of objects that name none

    @property
    def description(self) -> str:
        """For messages: "no Node"."""
        return f"no {WORDS[self.kind]}"

    def is_name(self, target: str) -> bool:
        """Whether *target* is a name and not a file."""
        if self.kind == "address":
            return True
        return target != STDIN and not os.path.lexists(target) and not is_file_name(target) and bool(NAME.fullmatch(target))

    def key(self, target: str) -> tuple[str, str]:
        """Namespace and name that *target* means; the former is "" of a kind without namespaces."""
        found = NAME.fullmatch(target)
        assert found is not None
        return ("" if self.kind == "node" else found[1] or self.namespace), found[2]

    def takes(self, value: Json) -> bool:
        """Whether *value* is of the kind."""
        workload = workload_of(value)
        if workload is not None and self.kind == "workload" and self.word not in ("workload", workload.kind.lower()):
            return False
        return is_of(self.kind, value)

    def query(self, value: Json, where: str, user: User) -> Query:
        """The question about *value*."""
        kind = value.get("kind")
        name, namespace = _name(value), _namespace(value)
        if len(namespace) > SUBDOMAIN_LIMIT:  # every message would repeat it
            has = f"a name has at most {SUBDOMAIN_LIMIT} characters, and this one has {len(namespace)}"
            raise UsageError(f"{where}: metadata.namespace: {has}")
        cluster_scoped = self.kind == "node" or kind in CLUSTER_SCOPED
        return Query(self.kind, name, "" if cluster_scoped else namespace or self.namespace, value, where, user)


def is_file_name(target: str) -> bool:
    """Whether *target* can only be meant as a file."""
    return target.lower().endswith(SUFFIXES) or target.startswith((".", "/", "~")) or target.count("/") > 1


def in_file(target: str, wanted: Wanted, user: User) -> Sequence[Query]:
    """Every object of the kind in the file *target*, "-" being standard input."""
    found = list(_objects(target, wanted, user))
    if not found:
        hint = "" if wanted.kind == "object" else "; another kind is explained by its own word (--help)"
        raise UsageError(f"{shown(target)}: holds {wanted.description}{hint}")
    return found


def in_folder(target: str, folder: Path, wanted: Wanted, user: User) -> Sequence[Query]:
    """The object of the name *target* in the files below *folder*."""
    key = wanted.key(target)
    found = [query for file in _files(folder) for query in _objects(file, wanted, user) if key in _keys(query, wanted)]
    if not found:
        raise UsageError(f"{target}: {wanted.description} of that name in {folder}")
    return found


def _objects(file: str, wanted: Wanted, user: User) -> Iterator[Query]:
    try:
        documents = read_documents(read_source(file), shown(file), positions=True)
    except DocumentError as error:
        raise UsageError(str(error)) from error
    for document in objects(documents):
        if isinstance(document.value, dict) and wanted.takes(document.value):
            yield wanted.query(document.value, f"{document.file}:{document.line}", user)


def _files(folder: Path) -> Iterator[str]:
    """The files below *folder*, which `offline` has read already, as local mode takes them."""
    for path in sorted(folder.rglob("*")):
        hidden = any(part.startswith(".") for part in path.relative_to(folder).parts)
        if path.suffix.lower() in SUFFIXES and not hidden and path.is_file():
            yield str(path)


def _keys(query: Query, wanted: Wanted) -> Iterator[tuple[str, str]]:
    """The names by which it may be asked for: an EndpointSlice also by that of its Service."""
    yield query.namespace, query.name
    if wanted.kind == "endpoint" and query.object is not None:
        try:
            yield query.namespace, meta.labels_of(query.object).get(SERVICE_LABEL, "")
        except MalformedObject:
            return


def _name(value: Json) -> str:
    try:
        return meta.text(meta.metadata(value), "name", "metadata")
    except MalformedObject:
        return ""


def _namespace(value: Json) -> str:
    try:
        return meta.text(meta.metadata(value), "namespace", "metadata")
    except MalformedObject:
        return ""
