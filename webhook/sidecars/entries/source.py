"""A ConfigMap -> entries and faults: parse, lint, build.

Which keys are entries: every key of a ConfigMap labelled `gatehouse.dev/sidecars: "true"`, named by the key (`x.yaml` is x);
and the key `config` of the ConfigMap `envoy-initializer`, whose entry bears the ConfigMap's name. Each key is read by itself:
what is wrong with one does not touch the others. Pure; any thread.
Whoever may write a ConfigMap may write this text, so that all of it is bounded: a key has 256 KiB, before and after its aliases
are followed, and 20,000 values; a ConfigMap 256 keys, and 1 MiB of entries.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Final

from webhook.names import ARTICLE_CONFIG_MAP, ARTICLE_KEY, SIDECARS_LABEL
from webhook.objects import dns_names
from webhook.objects.documents import read_documents
from webhook.objects.faults import Path, dotted, quoted
from webhook.objects.sources import DocumentError, TooLarge
from webhook.sidecars.entries.catalog import NO_NAMES, EntryFault, Reading
from webhook.sidecars.entries.entry import Entry
from webhook.sidecars.entries.entry_reader import Origin, read_entry, size_of
from webhook.sidecars.entries.fragments import LABEL_RULE

MAX_TEXT_BYTES = 256 * 2**10
MAX_SIZE = 2**20  # of the entries of one ConfigMap, which etcd does not take much larger; aliases make more of less
MAX_KEYS = 256
_SHOWN = 400  # characters of a message: what it quotes can be as long as the text


def is_source(name: str, labels: Mapping[str, str]) -> bool:
    """Whether the ConfigMap *name* with *labels* holds entries."""
    return name == ARTICLE_CONFIG_MAP or labels.get(SIDECARS_LABEL) == "true"


def read(
    namespace: str, name: str, labels: Mapping[str, str], data: Mapping[str, str], uid: str = "", version: str = ""
) -> Reading:
    """What the ConfigMap *namespace*/*name* gives. Never raises; a ConfigMap that `is_source` denies gives nothing.

    data: key -> text; `binaryData` is nobody's. uid, version: the ConfigMap's, carried through.
    """
    entries: list[Entry] = []
    faults: list[EntryFault] = []
    taken: dict[str, str] = {}
    work = 0  # of broken entries, too: whoever writes one must not keep us busy
    for number, (entry, key) in enumerate(_keys(name, labels, data)):
        if number == MAX_KEYS:
            faults.append(
                EntryFault(entry, key, 1, 1, "", f"and what comes after it: ConfigMap {name} has more than {MAX_KEYS} keys")
            )
            break
        if entry in NO_NAMES:
            message = f"{quoted(entry)} cannot name an entry: where pods ask for entries it means yes or no"
            faults.append(EntryFault(entry, key, 1, 1, "", message))
        elif not dns_names.is_dns_label(entry):
            message = f"the key {quoted(key)} is not the name of an entry: {LABEL_RULE} (an ending .yaml or .yml is left out)"
            faults.append(EntryFault(entry, key, 1, 1, "", message))
        elif key not in data:
            faults.append(EntryFault(entry, key, 1, 1, "", f"ConfigMap {name} has no key {key}"))
        elif taken.setdefault(entry, key) != key:
            faults.append(EntryFault(entry, key, 1, 1, "", f"the key {taken[entry]} is the entry {entry} already"))
        else:
            found, wrong, cost = _read_key(data[key], Origin(entry, namespace, name, key)) if work < MAX_SIZE else _UNREAD
            work += cost
            if work > MAX_SIZE:
                message = f"the entries of ConfigMap {name} up to this one have more than {MAX_SIZE // 2**20} MiB"
                found, wrong = None, [EntryFault(entry, key, 1, 1, "", message)]
            entries += [found] if found is not None else []
            faults += wrong
    size = sum([found.size for found in entries])
    size += text_size(data) + sum([fault.size for fault in faults])
    return Reading(namespace, name, uid, version, tuple(entries), tuple(faults), size)


def refused(
    namespace: str, name: str, labels: Mapping[str, str], data: Mapping[str, str], uid: str, version: str, why: str
) -> Reading:
    """As `read`, without looking at any text: *why* is what is wrong with every entry."""
    keys = islice(_keys(name, labels, data), MAX_KEYS)
    return Reading(namespace, name, uid, version, (), tuple([EntryFault(entry, key, 1, 1, "", why) for entry, key in keys]))


def text_size(data: Mapping[str, str]) -> int:
    """The characters of a ConfigMap."""
    return sum([len(key) + len(text) for key, text in data.items()])


def _keys(name: str, labels: Mapping[str, str], data: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """(entry, key) of every entry, by key."""
    if name == ARTICLE_CONFIG_MAP:
        yield ARTICLE_CONFIG_MAP, ARTICLE_KEY
    if labels.get(SIDECARS_LABEL) == "true":
        for key in sorted(data):
            if name != ARTICLE_CONFIG_MAP or key != ARTICLE_KEY:
                yield key.removesuffix(".yaml").removesuffix(".yml"), key


_Read = tuple[Entry | None, list[EntryFault], int]
_UNREAD: Final[_Read] = (None, [], 1)


def _read_key(text: str, origin: Origin) -> _Read:
    """The entry, its faults, and what it took to read it, as `Entry.size`."""

    def fault(line: int, column: int, path: str, message: str) -> EntryFault:
        return EntryFault(origin.name, origin.key, line, column, path, _cut(message, _SHOWN))

    if len(text) > MAX_TEXT_BYTES or len(text.encode(errors="replace")) > MAX_TEXT_BYTES:
        return None, [fault(1, 1, "", f"has more than {MAX_TEXT_BYTES // 1024} KiB")], 0
    try:
        documents = read_documents(text, origin.key, positions=True, size_limit=MAX_TEXT_BYTES)
    except DocumentError as error:
        cost = MAX_TEXT_BYTES if isinstance(error, TooLarge) else len(text)
        return None, [fault(error.line, error.column, "", error.message)], cost
    if not documents:
        return None, [fault(1, 1, "", "is empty: an entry is one YAML document")], 0
    if len(documents) > 1:
        second = documents[1].mark
        message = "begins a second document: an entry is one, and has its own key"
        return None, [fault(second.line, second.column, "", message)], MAX_TEXT_BYTES
    document = documents[0]
    entry, wrong = read_entry(document.value, origin)
    found = [fault(*document.position(path), _shown(path), message) for path, message in wrong]
    size = size_of(document.value)
    return entry, sorted(found, key=lambda one: (one.line, one.column)), MAX_TEXT_BYTES if size is None else size


def _shown(path: Path) -> str:
    """*path* as text; keys can be as long as the text itself."""
    return _cut(dotted(path), 200)


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 3] + "..."
