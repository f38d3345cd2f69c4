"""Faults and doubts in files of configuration: what `gatehouse check` reports.

A GatehouseConfiguration is read as the process reads it at start, a sidecar ConfigMap as the caches read it; every fault is
placed in the file, also inside the block of text that an entry is. Doubts are about what is legal and hardly meant: an entry
that no pod can get, a name that is given twice, a default entry that nobody defines, a bound that is mistyped. Objects of other
kinds are counted and passed over, but for Namespaces, which say who takes part.

Pure: texts in, remarks out; any thread. No errors but remarks.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import attrs

from controllers.checking import creators
from controllers.config.bounds import ResourceLimitsSection
from controllers.config.document import Configuration, ConfigurationError, read
from controllers.runtime.errors import UndecodableObject
from controllers.runtime.projection_cluster import namespace_facts_from_object
from webhook.cluster import NamespaceFacts
from webhook.errors import MalformedObject
from webhook.names import CONFIG_KIND, DISABLED, MUTATE_LABEL, SIDECARS_LABEL, Reason
from webhook.objects import meta
from webhook.objects.documents import Document, DocumentError, objects, read_documents
from webhook.objects.quantity import hint
from webhook.objects.sources import Path, decode_text, dotted
from webhook.sidecars.entries import source
from webhook.sidecars.entries.catalog import EntryFault, Reading
from webhook.sidecars.entries.entry import Entry
from webhook.sidecars.selection import Policy, asked
from webhook.sidecars.wish import NO_WISH, SYSTEM_NAMESPACES

_LINE_BREAK: Final = re.compile(r"\r\n|\r|\n")
_DEFAULT_PATH: Final[Path] = ("features", "sidecar", "default")
_POLICIES_PATH: Final[Path] = ("features", "resourceLimits", "policies")


@attrs.frozen(order=True)
class Remark:
    """One thing to say about a file."""

    file: str
    line: int
    column: int
    path: str  # in the object, and after a colon in the entry: "data.proxy: containers[0].image"
    message: str
    is_warning: bool = False

    def __str__(self) -> str:
        kind = "warning: " if self.is_warning else ""
        where = f"{self.file}:{self.line}:{self.column}: {kind}"
        return f"{where}{self.path}: {self.message}" if self.path else f"{where}{self.message}"


@attrs.frozen
class Report:
    """What is to be said about some files."""

    remarks: tuple[Remark, ...]  # by file, line and column
    files: int
    configurations: int
    config_maps: int  # that give entries
    entries: int  # without fault
    passed_over: int  # objects of kinds that nobody checks here

    @property
    def faults(self) -> tuple[Remark, ...]:
        """What is wrong."""
        return tuple(remark for remark in self.remarks if not remark.is_warning)

    @property
    def warnings(self) -> tuple[Remark, ...]:
        """What is doubtful."""
        return tuple(remark for remark in self.remarks if remark.is_warning)


@attrs.frozen
class _Source:
    """A sidecar ConfigMap in a file, and what it gives."""

    document: Document
    lines: Sequence[str]  # of the file
    reading: Reading

    def place(self, key: str, line: int = 1, column: int = 1) -> tuple[int, int]:
        """Where that line and column of the text at data.<key> stand in the file."""
        data = self.document.value.get("data") or {}
        return place(self.lines, self.document.position(("data", key)), str(data.get(key, "")), line, column)


def check(files: Iterable[tuple[str, bytes]], namespace: str, config_file: str = "") -> Report:
    """What is to be said about *files*, (name, content) each.

    namespace:   of objects that name none, as kubectl's --namespace.
    config_file: name of the file whose configuration the entries are meant for; "" = the only one that there is, or defaults.
    """
    checking = _Checking(namespace)
    for file, content in files:
        checking.read(file, content)
    return checking.report(config_file)


def place(lines: Sequence[str], key: tuple[int, int], text: str, line: int, column: int) -> tuple[int, int]:
    """Line and column in a file of a place in *text*, which is the value of the key that stands at *key*.

    Exact where the text's lines stand in the file as they are: the block scalar below the key (`|`, `|-`, `|2`, or `>` where
    nothing is folded). Of any other style, as of JSON, it is the key's own place.
    """
    inner = text.rstrip("\n").split("\n")
    for first in (key[0], key[0] + 1):  # the block begins below the key, or below a `|` on a line of its own
        indents = set()
        for found, wanted in zip(lines[first : first + len(inner)], inner, strict=False):
            if wanted.strip():
                indents.add(len(found) - len(wanted) if found.lstrip(" ") == wanted.lstrip(" ") else -1)
        if len(indents) == 1 and (indent := indents.pop()) >= 0 and first + len(inner) <= len(lines):
            return first + min(line, len(inner)), column + indent
    return key


class _Checking:
    """What has been read so far."""

    def __init__(self, namespace: str) -> None:
        self._namespace = namespace
        self._remarks: set[Remark] = set()
        self._files = 0
        self._passed_over = 0
        self._configurations: list[tuple[Document, Configuration | None]] = []  # None: it has faults
        self._sources: list[_Source] = []
        self._namespaces: dict[str, NamespaceFacts] = {}

    def read(self, file: str, content: bytes) -> None:
        """Take one file."""
        self._files += 1
        try:
            documents = read_documents(content, file, positions=True)
        except DocumentError as error:
            self._remarks.add(Remark(file, error.line, error.column, "", error.message))
            return
        lines = _LINE_BREAK.split(decode_text(content, file))
        for document in objects(documents):
            try:
                self._take(document, lines)
            except (MalformedObject, UndecodableObject) as error:
                self._say(document, (), str(error))

    def report(self, config_file: str) -> Report:
        """Everything, once all files are read."""
        document, config = self._chosen(config_file)
        policy = config.settings().sidecars if config is not None else Policy()
        self._doubt_reach(policy)
        self._doubt_names()
        if document is not None and config is not None:
            self._doubt_defaults(document, policy)
        return Report(
            tuple(sorted(self._remarks)),
            self._files,
            len(self._configurations),
            len(self._sources),
            sum(len(found.reading.entries) for found in self._sources),
            self._passed_over,
        )

    # -- objects

    def _take(self, document: Document, lines: Sequence[str]) -> None:
        value = document.value
        match (value.get("apiVersion"), value.get("kind")) if isinstance(value, dict) else (None, None):
            case (_, kind) if kind == CONFIG_KIND:
                self._take_configuration(document)
            case ("v1", "ConfigMap"):
                self._take_config_map(document, lines)
            case ("v1", "Namespace"):
                facts = namespace_facts_from_object(value)
                self._namespaces[facts.name] = facts
            case _:
                self._passed_over += 1

    def _take_configuration(self, document: Document) -> None:
        try:
            config = read(document)
            self._configurations.append((document, config))
            features = config.features
            for path, message in (
                *_doubtful_amounts(features.resource_limits),
                *creators.doubts(features.creator_policy),
            ):
                self._say(document, path, message, is_warning=True)
        except ConfigurationError as error:
            self._configurations.append((document, None))
            self._remarks.update(Remark(one.file, one.line, one.column, one.path, one.message) for one in error.faults)

    def _take_config_map(self, document: Document, lines: Sequence[str]) -> None:
        metadata = meta.metadata(document.value)
        namespace = meta.text(metadata, "namespace", "metadata") or self._namespace
        name, labels = meta.text(metadata, "name", "metadata"), meta.labels_of(document.value)
        if not source.is_source(name, labels):
            if SIDECARS_LABEL not in labels:
                self._passed_over += 1
                return
            message = f'must be "true" to make entries of the keys, not "{labels[SIDECARS_LABEL]}": it gives none'
            self._say(document, ("metadata", "labels", SIDECARS_LABEL), message, is_warning=True)
            return
        reading = source.read(namespace, name, labels, meta.texts(document.value, "data", ""))
        found = _Source(document, lines, reading)
        self._sources.append(found)
        for fault in reading.faults:
            self._say_entry(found, fault)
        if not reading.entries and not reading.faults:
            self._say(document, ("data",), "gives no entry", is_warning=True)

    # -- doubts

    def _chosen(self, config_file: str) -> tuple[Document | None, Configuration | None]:
        """The configuration that the entries are meant for."""
        found = [pair for pair in self._configurations if config_file in ("", pair[0].file)]
        return found[0] if len(found) == 1 else (None, None)

    def _doubt_reach(self, policy: Policy) -> None:
        """Entries of namespaces whose pods never get any."""
        for found in self._sources:
            name = found.reading.namespace
            if name == policy.home:
                continue  # these reach the pods of every namespace
            if name in SYSTEM_NAMESPACES:
                why = f"pods of namespace {name} are left alone (entries for every namespace stand in {policy.home})"
            else:
                why = _why_out(self._namespaces.get(name), policy)
            if why:
                for entry in found.reading.entries:
                    self._say_about(found, entry, f'nobody can get entry "{entry.name}": {why}')

    def _doubt_names(self) -> None:
        """Entries, and ConfigMaps, that stand in the files more than once."""
        first: dict[tuple[str, str], Entry] = {}
        places: dict[str, _Source] = {}
        for found in sorted(self._sources, key=lambda one: one.reading.source):
            twin = places.setdefault(found.reading.source, found)
            if twin is not found:
                where = f"{twin.document.file}:{twin.document.line}"
                message = f"ConfigMap {found.reading.source} stands at {where}, too: what is applied last counts"
                self._say(found.document, ("metadata", "name"), message, is_warning=True)
                continue
            for entry in found.reading.entries:
                winner = first.setdefault((entry.namespace, entry.name), entry)
                if winner is not entry:
                    message = f'nobody can get entry "{entry.name}": ConfigMap {winner.source} gives it, too, and comes first'
                    self._say_about(found, entry, message)

    def _doubt_defaults(self, document: Document, policy: Policy) -> None:
        """Default entries that nobody defines; of files without any entry there is nothing to say."""
        named = {state for found in self._sources for state in _names(found.reading)}
        for index, name in enumerate(policy.default):
            if self._sources and name not in named:
                message = f'no ConfigMap here gives entry "{name}"'
                self._say(document, (*_DEFAULT_PATH, index), message, is_warning=True)

    # -- saying it

    def _say(self, document: Document, path: Path, message: str, *, is_warning: bool = False) -> None:
        line, column = document.position(path)
        self._remarks.add(Remark(document.file, line, column, dotted(path), message, is_warning))

    def _say_entry(self, found: _Source, fault: EntryFault) -> None:
        line, column = found.place(fault.key, fault.line, fault.column)
        path = dotted(("data", fault.key)) + (f": {fault.path}" if fault.path else "")
        self._remarks.add(Remark(found.document.file, line, column, path, fault.message))

    def _say_about(self, found: _Source, entry: Entry, message: str) -> None:
        line, column = found.document.position(("data", entry.key))
        self._remarks.add(Remark(found.document.file, line, column, dotted(("data", entry.key)), message, is_warning=True))


def _why_out(facts: NamespaceFacts | None, policy: Policy) -> str:
    """Why no pod of the namespace gets anything; "" when it may, and when the files do not have the namespace."""
    if facts is None:
        return ""
    match asked(NO_WISH, facts, policy).reason:
        case Reason.MUTATE_DISABLED:
            return f"namespace {facts.name} bears {MUTATE_LABEL}={DISABLED}"
        case Reason.NAMESPACE_NOT_ENABLED:
            return f"namespace {facts.name} has neither label that lets it take part"
    return ""


def _doubtful_amounts(limits: ResourceLimitsSection) -> Iterator[tuple[Path, str]]:
    """Bounds that are probably mistyped: path, sentence."""
    for index, policy in enumerate(limits.policies):
        for of in ("container", "pod"):
            for resource, bounds in getattr(policy, of).items():
                for part in ("requests", "limits"):
                    for end in ("min", "max"):
                        amount = getattr(getattr(bounds, part), end)
                        said = hint(resource, amount.text) if amount is not None else None
                        if said:
                            yield (*_POLICIES_PATH, index, of, resource, part, end), said


def _names(reading: Reading) -> Iterator[str]:
    yield from (entry.name for entry in reading.entries)
    yield from (fault.entry for fault in reading.faults)
