"""Faults and doubts in files of configuration: what `gatehouse check` reports.

A GatehouseConfiguration, also one in a ConfigMap, is read as the process reads it at start, a sidecar ConfigMap as the caches
read it; every fault is placed in the file, also inside the block of text that a configuration or an entry is. Doubts are about
what is legal and hardly meant: an entry that no pod can get, a name that is given twice, a default entry that nobody defines, a
bound that is mistyped. Objects of other kinds are counted and passed over, but for Namespaces, which say who takes part; a kind
of our own group that there is not is a fault.

Pure: texts in, remarks out; any thread. No errors but remarks.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

import attrs

from controllers.checking import creators
from controllers.checking.remarks import Remark, Text
from controllers.config.bounds import ResourceLimitsSection
from controllers.config.document import Configuration, ConfigurationError, read
from controllers.runtime.errors import UndecodableObject
from controllers.runtime.projection_cluster import namespace_facts_from_object
from webhook.addresses.facts import GROUP, POOL_KIND, RESERVATION_KIND
from webhook.cluster import NamespaceFacts
from webhook.errors import MalformedObject
from webhook.names import API_VERSION, CONFIG_KIND, CONFIG_MAP, CONFIG_MAP_KEY, DISABLED, MUTATE_LABEL, SIDECARS_LABEL, Reason
from webhook.objects import meta
from webhook.objects.documents import Document, DocumentError, objects, read_documents
from webhook.objects.faults import Path, dotted
from webhook.objects.quantity import hint
from webhook.objects.sources import decode_text
from webhook.sidecars.entries import source
from webhook.sidecars.entries.catalog import EntryFault, Reading
from webhook.sidecars.entries.entry import Entry
from webhook.sidecars.selection import Policy, asked
from webhook.sidecars.wish import NO_WISH, SYSTEM_NAMESPACES

_LINE_BREAK: Final = re.compile(r"\r\n|\r|\n")
_CONFIGURATION: Final = re.compile(rf"""(?:^|[{{,])[\s"']*kind["']?\s*:\s*["']?{CONFIG_KIND}\b""", re.MULTILINE)
_OUR_KINDS: Final = (CONFIG_KIND, POOL_KIND, RESERVATION_KIND)
_DEFAULT_PATH: Final[Path] = ("features", "sidecar", "default")
_POLICIES_PATH: Final[Path] = ("features", "resourceLimits", "policies")


@attrs.frozen
class Report:
    """What is to be said about some files."""

    remarks: tuple[Remark, ...]  # by file, line and column
    files: int
    configurations: int
    config_maps: int  # that give entries
    entries: int  # without fault
    passed_over: int  # objects of kinds that nobody checks here
    empty: tuple[str, ...] = ()  # files without a document

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


@attrs.frozen
class _Given:
    """A configuration in the files: a document, or the text in a ConfigMap that replicas have as their file."""

    document: Document
    config: Configuration | None  # None: it has faults
    text: Text | None

    @property
    def file(self) -> str:
        """Where it stands."""
        return self.document.file

    def doubt(self, path: Path, message: str) -> Remark:
        """What is doubtful at *path* of the configuration."""
        return self.remark(*self.document.position(path), dotted(path), message, is_warning=True)

    def remark(self, line: int, column: int, path: str, message: str, *, is_warning: bool = False) -> Remark:
        """What there is to say about a place in it."""
        if self.text is not None:
            return self.text.remark(line, column, path, message, is_warning=is_warning)
        return Remark(self.file, line, column, path, message, is_warning)


def check(files: Iterable[tuple[str, bytes]], namespace: str, config_file: str = "") -> Report:
    """What is to be said about *files*, (name, content) each.

    namespace:   of objects that name none, as kubectl's --namespace.
    config_file: name of the file whose configuration the entries are meant for; "" = the only one that there is, or defaults.
    """
    checking = _Checking(namespace)
    for file, content in files:
        checking.read(file, content)
    return checking.report(config_file)


class _Checking:
    """What has been read so far."""

    def __init__(self, namespace: str) -> None:
        self._namespace = namespace
        self._remarks: set[Remark] = set()
        self._files = 0
        self._passed_over = 0
        self._empty: list[str] = []
        self._configurations: list[_Given] = []
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
        if not documents:
            self._empty.append(file)
        lines = _LINE_BREAK.split(decode_text(content, file))
        for document in objects(documents):
            try:
                self._take(document, lines)
            except (MalformedObject, UndecodableObject) as error:
                self._say(document, (), str(error))

    def report(self, config_file: str) -> Report:
        """Everything, once all files are read."""
        given = self._chosen(config_file)
        policy = given.config.settings().sidecars if given is not None and given.config is not None else Policy()
        self._doubt_reach(policy)
        self._doubt_names()
        if given is not None and given.config is not None:
            self._doubt_defaults(given, policy)
        return Report(
            tuple(sorted(self._remarks)),
            self._files,
            len(self._configurations),
            len(self._sources),
            sum(len(found.reading.entries) for found in self._sources),
            self._passed_over,
            tuple(self._empty),
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
            case (version, kind) if isinstance(version, str) and version.partition("/")[0] == GROUP:
                self._take_own(document, version, kind)
            case _:
                self._passed_over += 1

    def _take_configuration(self, document: Document, text: Text | None = None) -> None:
        try:
            config = read(document)
        except ConfigurationError as error:
            given = _Given(document, None, text)
            self._remarks.update(given.remark(one.line, one.column, one.path, one.message) for one in error.faults)
        else:
            given = _Given(document, config, text)
            doubts = (*_doubtful_amounts(config.features.resource_limits), *creators.doubts(config.features.creator_policy))
            self._remarks.update(given.doubt(path, message) for path, message in doubts)
        self._configurations.append(given)

    def _take_carried(self, text: Text) -> None:
        """The configuration that a ConfigMap carries: alone in its text, which is the whole of a file where it is mounted."""
        file = text.document.file
        try:
            documents = read_documents(text.content, file, positions=True)
        except DocumentError as error:
            self._remarks.add(text.remark(error.line, error.column, "", error.message))
            documents = []
        else:
            if not documents:
                self._remarks.add(text.remark(1, 1, "", f"is empty: expected a {CONFIG_KIND}"))
            for one in documents[1:]:
                self._remarks.add(text.remark(*one.position(()), "", "a second document: expected one"))
        if documents:
            self._take_configuration(documents[0], text)
        else:
            self._configurations.append(_Given(text.document, None, text))

    def _take_own(self, document: Document, version: str, kind: object) -> None:
        """An object of our group, of a kind that somebody else reads, or that there is not."""
        self._passed_over += 1
        if kind not in _OUR_KINDS:
            near = difflib.get_close_matches(str(kind).lower(), [one.lower() for one in _OUR_KINDS], 1, 0.5)
            meant = [one for one in _OUR_KINDS if one.lower() in near]
            better = f"did you mean {meant[0]}?" if meant else f"it has {', '.join(_OUR_KINDS)}"
            self._say(document, ("kind",), f"{GROUP} has no kind {kind!s:.100}: {better}")
        elif version != API_VERSION:
            self._say(document, ("apiVersion",), f"{kind} is of {API_VERSION}, not of {version:.100}")

    def _take_config_map(self, document: Document, lines: Sequence[str]) -> None:
        metadata = meta.metadata(document.value)
        namespace = meta.text(metadata, "namespace", "metadata") or self._namespace
        name, labels = meta.text(metadata, "name", "metadata"), meta.labels_of(document.value)
        carried = list(_carried(name, meta.texts(document.value, "data", "")))
        for key in carried:
            self._take_carried(Text(document, lines, key))
        if not source.is_source(name, labels):
            if SIDECARS_LABEL not in labels:
                self._passed_over += not carried
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

    def _chosen(self, config_file: str) -> _Given | None:
        """The configuration that the entries are meant for."""
        found = [given for given in self._configurations if config_file in ("", given.file)]
        return found[0] if len(found) == 1 else None

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

    def _doubt_defaults(self, given: _Given, policy: Policy) -> None:
        """Default entries that nobody defines; of files without any entry there is nothing to say."""
        named = {state for found in self._sources for state in _names(found.reading)}
        for index, name in enumerate(policy.default):
            if self._sources and name not in named:
                self._remarks.add(given.doubt((*_DEFAULT_PATH, index), f'no ConfigMap here gives entry "{name}"'))

    # -- saying it

    def _say(self, document: Document, path: Path, message: str, *, is_warning: bool = False) -> None:
        line, column = document.position(path)
        self._remarks.add(Remark(document.file, line, column, dotted(path), message, is_warning))

    def _say_entry(self, found: _Source, fault: EntryFault) -> None:
        text = Text(found.document, found.lines, fault.key)
        self._remarks.add(text.remark(fault.line, fault.column, fault.path, fault.message))

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


def _carried(name: str, data: Mapping[str, str]) -> Iterator[str]:
    """The keys of a ConfigMap whose texts are configurations: the installation's own, whatever it holds, and what says so."""
    for key, text in data.items():
        if (name, key) == (CONFIG_MAP, CONFIG_MAP_KEY) or _is_configuration(text):
            yield key


def _is_configuration(text: str) -> bool:
    """Whether *text* says that it is one; where it cannot be read, whether it looks as if it did."""
    if CONFIG_KIND not in text:
        return False
    try:
        documents = read_documents(text, "")
    except DocumentError:
        return _CONFIGURATION.search(text) is not None
    return any(isinstance(one.value, dict) and one.value.get("kind") == CONFIG_KIND for one in documents)
