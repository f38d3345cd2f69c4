"""A ConfigMap -> entries and faults: parse, lint, build.

Which keys are entries: every key of a ConfigMap labelled `gatehouse.dev/sidecars: "true"`, named by the key (`x.yaml` is x);
and the key `config` of the ConfigMap `envoy-initializer`, whose entry bears the ConfigMap's name. Each key is read by itself:
what is wrong with one does not touch the others. Pure, bounded (256 KiB of text and 20,000 values a key); any thread.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from webhook.names import ARTICLE_CONFIG_MAP, ARTICLE_KEY, SIDECARS_LABEL
from webhook.objects import dns_names
from webhook.objects.documents import read_documents
from webhook.objects.schema import quote
from webhook.objects.selectors import dotted
from webhook.objects.sources import DocumentError, Path
from webhook.sidecars.catalog import EntryFault, Reading
from webhook.sidecars.entry import Entry
from webhook.sidecars.entry_reader import Origin, read_entry
from webhook.sidecars.fragments import LABEL_RULE

MAX_TEXT_BYTES = 256 * 2**10


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
    for entry, key in _keys(name, labels, data):
        if not dns_names.is_dns_label(entry):
            message = f"the key {quote(key)} is not the name of an entry: {LABEL_RULE} (an ending .yaml or .yml is left out)"
            faults.append(EntryFault(entry, key, 1, 1, "", message))
        elif key not in data:
            faults.append(EntryFault(entry, key, 1, 1, "", f"ConfigMap {name} has no key {key}"))
        elif taken.setdefault(entry, key) != key:
            faults.append(EntryFault(entry, key, 1, 1, "", f"the key {taken[entry]} is the entry {entry} already"))
        else:
            found, wrong = _read_key(data[key], Origin(entry, namespace, name, key))
            entries += [found] if found is not None else []
            faults += wrong
    return Reading(namespace, name, uid, version, tuple(entries), tuple(faults))


def _keys(name: str, labels: Mapping[str, str], data: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """(entry, key) of every entry, by key."""
    if name == ARTICLE_CONFIG_MAP:
        yield ARTICLE_CONFIG_MAP, ARTICLE_KEY
    if labels.get(SIDECARS_LABEL) == "true":
        for key in sorted(data):
            if name != ARTICLE_CONFIG_MAP or key != ARTICLE_KEY:
                yield key.removesuffix(".yaml").removesuffix(".yml"), key


def _read_key(text: str, origin: Origin) -> tuple[Entry | None, list[EntryFault]]:
    def fault(line: int, column: int, path: str, message: str) -> EntryFault:
        return EntryFault(origin.name, origin.key, line, column, path, message)

    if len(text) > MAX_TEXT_BYTES or len(text.encode(errors="replace")) > MAX_TEXT_BYTES:
        return None, [fault(1, 1, "", f"has more than {MAX_TEXT_BYTES // 1024} KiB")]
    try:
        documents = read_documents(text, origin.key, positions=True)
    except DocumentError as error:
        return None, [fault(error.line, error.column, "", error.message)]
    if not documents:
        return None, [fault(1, 1, "", "is empty: an entry is one YAML document")]
    if len(documents) > 1:
        second = documents[1].mark
        return None, [fault(second.line, second.column, "", "begins a second document: an entry is one, and has its own key")]
    document = documents[0]
    entry, wrong = read_entry(document.value, origin)
    found = [fault(*document.position(path), _shown(path), message) for path, message in wrong]
    return entry, sorted(found, key=lambda one: (one.line, one.column))


def _shown(path: Path) -> str:
    """*path* as text; keys can be as long as the text itself."""
    text = dotted(path)
    return text if len(text) <= 200 else text[:197] + "..."


def described(fault: EntryFault) -> str:
    """The fault as one sentence: `envoy:3:5: containers[0].image: is required`."""
    where = f"{fault.key}:{fault.line}:{fault.column}"
    return f"{where}: {fault.path}: {fault.message}" if fault.path else f"{where}: {fault.message}"
