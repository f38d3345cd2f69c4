"""YAML and JSON text, read as the Go API machinery reads it, and written so that it reads back the same.

The only module that imports yaml. Pure: text in, plain JSON values out; any thread may use it.
Reading follows sigs.k8s.io/yaml in strict mode: scalars as in `scalars`, keys become strings, duplicate keys are refused,
anchors stay inside their document and may not multiply it (Go's bound). Deliberate differences:
- `<<: *base` followed by a key of base is an override, as people mean it; Go's strict mode calls it a duplicate. The other
  order is refused: Go's lenient mode lets base win there, every other reader the key.
- `1: a` beside `"1": b` is refused: Go keeps one of the two by chance.
- NaN and numbers out of range are refused in JSON; read as YAML, which Go falls back to, they would become strings.
- A file may hold several JSON values one after the other, as a log of AdmissionReviews does.
Only the parser of libyaml is used, as a flat stream of events: its composer recurses in C and dies of deep documents.
Errors: DocumentError with file, line and column.
Source: sigs.k8s.io/yaml 1.6 (yaml.go) and go-yaml v2 (decode.go); tests/oracles/yaml compares with both.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final, NoReturn

import attrs
import yaml

from webhook.objects.composed import Built, Frame
from webhook.objects.json_documents import BadJson, looks_like_json, read_json
from webhook.objects.scalars import json_number, key_text, resolve_plain, resolve_tagged
from webhook.objects.sources import MAX_DEPTH, TOO_DEEP, Document, DocumentError, Mark, TooLarge, decode_text, line_column

if not yaml.__with_libyaml__:
    # Its own parser is 7 times slower and reads some texts (tabs, U+0085) unlike libyaml and Go.
    raise ImportError("PyYAML was built without libyaml: install its wheel, or libyaml's headers before building it")

__all__ = ["Document", "DocumentError", "objects", "read_documents", "write_yaml"]


def read_documents(source: bytes | str, file: str, *, positions: bool = False, size_limit: int | None = None) -> list[Document]:
    """The documents of *source*, without those that are empty or hold only comments.

    source: YAML (several documents) or JSON (several values); bytes are UTF-8, or UTF-16 with a byte order mark.
    file:   the name that errors and documents carry.
    positions: remember where every value stands, for `Document.position`.
    size_limit: the most characters that keys and values may have together, aliases followed; each counts one more than it has.
                To be given for every text of a stranger: 3,000 aliases of 150,000 characters are a text of 160 KB.
    Raises DocumentError at the first fault, its child TooLarge at *size_limit*. O(length), but for what aliases stand for: an
    anchored value is copied wherever one names it.
    """
    text = decode_text(source, file)
    json_fault = None
    if looks_like_json(text):
        try:
            found = list(read_json(text, file))
        except BadJson:
            raise
        except DocumentError as fault:
            json_fault = fault  # YAML's flow style starts the same way
        else:
            return [_with_positions(document) for document in found] if positions else found
    try:
        return list(_Composer(text, file, positions, size_limit=size_limit).documents())
    except DocumentError as fault:
        if json_fault and (json_fault.line, json_fault.column) > (fault.line, fault.column):
            raise json_fault from None  # the reader that came further understood more
        raise


def objects(documents: Iterable[Document]) -> Iterator[Document]:
    """*documents* with every List (`List`, `PodList`, …) replaced by its items, each at its own line.

    An item of a typed list lacks kind and apiVersion in the API's own output; it gets the list's.
    """
    for document in documents:
        value = document.value
        kind = value.get("kind") if isinstance(value, dict) else None
        items = value.get("items") if isinstance(kind, str) and kind.endswith("List") else None
        if not isinstance(kind, str) or not isinstance(items, list):
            yield document
            continue
        for index, item in enumerate(items):
            if isinstance(item, dict) and kind != "List" and "kind" not in item:
                item = {"apiVersion": value.get("apiVersion"), "kind": kind.removesuffix("List"), **item}
            yield from objects([Document(item, document.file, _mark_of_item(document, index))])


def write_yaml(value: Any) -> str:
    """*value* (JSON) as YAML that `read_documents` and the Go API machinery read back as the same value."""
    text: str = yaml.dump(
        value,
        Dumper=_Dumper,
        sort_keys=False,
        allow_unicode=True,
        default_flow_style=False,
        width=2**31 - 1,  # never fold: a diff is read by line
    )
    return text.removesuffix("...\n")


def _with_positions(document: Document) -> Document:
    """*document*, which is JSON, with its marks: JSON is YAML but for a few escapes, for which there are none."""
    try:
        marks = list(_Composer(document.json_text, "", True, document.mark).marks())
    except DocumentError:
        return document
    return attrs.evolve(document, mark=marks[0]) if marks else document


def _mark_of_item(document: Document, index: int) -> Mark:
    inside = document.mark.inside
    items = inside.get("items") if isinstance(inside, dict) else None
    if items is not None and isinstance(items.inside, list):
        return items.inside[index]
    return Mark(document.mark.line, document.mark.column)


# -- reading YAML ----------------------------------------------------------------------------------------------------

_MERGE_TAG: Final = "tag:yaml.org,2002:merge"
_WANT_MAP: Final = "the value of '<<' must be a mapping, or a list of mappings"
_MISSING: Final = object()
# go-yaml's bound: aliases may make up 99 % of the decoded values in small documents, falling to 10 % in large ones.
_ALIAS_RANGE: Final = (400_000, 4_000_000)


class _Composer:
    """Values from libyaml's events, without recursion."""

    def __init__(self, text: str, file: str, positions: bool, start: Mark = Mark(1, 1), size_limit: int | None = None) -> None:
        """start: where *text* begins in its file."""
        self._room = size_limit  # what is left of it, for all documents together
        self._text = text
        self._start = start
        self._file = file
        self._positions = positions
        self._frames: list[Frame] = []
        self._anchors: dict[str, Built | None] = {}  # None: begun and not finished
        self._decoded = 0
        self._from_aliases = 0
        self._span = (0, 0)  # of the root that was yielded last

    def documents(self) -> Iterator[Document]:
        """The documents that are not null."""
        for built in self._roots():
            if built.value is not None:
                yield Document(built.value, self._file, built.mark, span=self._span)

    def marks(self) -> Iterator[Mark]:
        """Where every document's values stand."""
        return (built.mark for built in self._roots())

    def _roots(self) -> Iterator[Built]:
        start = end = 0
        for event in self._events():
            first, last = event.start_mark.index, event.end_mark.index
            if not self._frames and isinstance(event, yaml.NodeEvent):
                start = first
            # A block's end is where the next token starts, behind comments; its text ends with the last scalar in it.
            if isinstance(event, yaml.ScalarEvent) or first < last:
                end = last
            built = self._step(event)
            if built is None:
                continue
            if self._frames:
                self._add(self._frames[-1], built)
            else:
                built.value, self._span = self._json(built), (start, end)
                yield built

    def _events(self) -> Iterator[Any]:
        try:
            yield from yaml.parse(self._text, Loader=yaml.CSafeLoader)
        except yaml.reader.ReaderError as error:
            before = self._text.encode()[: error.position].decode(errors="ignore")
            raise DocumentError(self._file, *line_column(before, len(before)), f"{error.reason}") from None
        except UnicodeEncodeError as error:
            raise DocumentError(self._file, *line_column(self._text, error.start), "half of a surrogate pair") from None
        except yaml.MarkedYAMLError as error:
            raise self._syntax_error(error) from None

    def _step(self, event: Any) -> Built | None:
        """Take one event; the value that it finishes, if any."""
        match event:
            case yaml.ScalarEvent():
                return self._scalar(event)
            case yaml.MappingStartEvent() | yaml.SequenceStartEvent():
                self._open(event)
            case yaml.MappingEndEvent() | yaml.SequenceEndEvent():
                return self._close()
            case yaml.AliasEvent():
                return self._alias(event)
            case yaml.DocumentStartEvent():
                self._anchors, self._decoded, self._from_aliases = {}, 0, 0
                if event.version and tuple(event.version) != (1, 1):
                    self._fail(self._mark(event), "only %YAML 1.1 is read, as by the Go API machinery")
        return None

    def _open(self, event: Any) -> None:
        mark = self._mark(event)
        if len(self._frames) >= MAX_DEPTH:
            self._fail(mark, TOO_DEEP)
        self._decoded += 1
        self._take(1, mark)
        is_mapping = isinstance(event, yaml.MappingStartEvent)
        if self._positions:
            mark = Mark(mark.line, mark.column, {} if is_mapping else [])
        if event.anchor is not None:
            self._anchors[event.anchor] = None
        self._frames.append(Frame({} if is_mapping else [], mark, event.anchor))

    def _close(self) -> Built:
        frame = self._frames.pop()
        built = Built(frame.value, frame.mark, frame.size, frame.length, frame.height)
        if frame.anchor is not None:
            self._anchors[frame.anchor] = built
        return built

    def _scalar(self, event: Any) -> Built:
        built = Built(None, self._mark(event))
        tag, word, is_plain = event.tag, event.value, event.implicit[0]
        built.length = len(word)
        self._take(1 + built.length, built.mark)
        try:
            if tag is None:
                built.value = resolve_plain(word) if is_plain else word
            elif tag == _MERGE_TAG:
                built.value = word
            else:
                built.value = resolve_tagged(tag, word)
        except ValueError as error:
            self._fail(built.mark, str(error))
        self._decoded += 1
        built.is_merge = word == "<<" and (is_plain or tag == _MERGE_TAG)
        if event.anchor is not None:
            self._anchors[event.anchor] = built
        return built

    def _alias(self, event: Any) -> Built:
        target = self._anchors.get(event.anchor, _MISSING)
        mark = self._mark(event)
        if not isinstance(target, Built):
            what = "contains itself" if target is None else "is not defined before this"
            self._fail(mark, f"anchor '{event.anchor}' {what}")
        if len(self._frames) + target.height > MAX_DEPTH:
            self._fail(mark, TOO_DEEP)
        self._decoded += 1 + target.size
        self._from_aliases += target.size
        if self._is_excessive():
            self._fail(mark, "document contains excessive aliasing")
        self._take(target.size + target.length, mark)
        return Built(_copy(target.value), target.mark, 1 + target.size, target.length, target.height, is_alias=True)

    def _take(self, size: int, mark: Mark) -> None:
        if self._room is None:
            return
        self._room -= size
        if self._room < 0:
            message = "the text grows too large here, with what its aliases stand for"
            raise TooLarge(self._file, mark.line, mark.column, message)

    def _is_excessive(self) -> bool:
        low, high = _ALIAS_RANGE
        share = min(max(self._decoded - low, 0) / (high - low), 1.0)
        allowed = 0.99 - 0.89 * share
        return self._from_aliases > 100 and self._decoded > 1000 and self._from_aliases > allowed * self._decoded

    # -- putting a finished value where it belongs

    def _add(self, frame: Frame, built: Built) -> None:
        frame.height = max(frame.height, built.height + 1)
        frame.size += built.size
        frame.length += built.length
        if isinstance(frame.value, list):
            frame.value.append(self._json(built))
            if isinstance(frame.mark.inside, list):
                frame.mark.inside.append(built.mark)
        elif frame.is_merging:
            frame.is_merging = False
            self._merge(frame, frame.value, built)
        elif frame.key is None:
            self._set_key(frame, built)
        else:
            key, frame.key = frame.key, None
            frame.value[key] = self._json(built)
            if isinstance(frame.mark.inside, dict) and frame.key_mark:
                frame.mark.inside[key] = Mark(frame.key_mark.line, frame.key_mark.column, built.mark.inside)

    def _set_key(self, frame: Frame, built: Built) -> None:
        if built.is_merge and not built.is_alias:
            frame.is_merging, frame.key_mark = True, built.mark
            frame.merges += 1
            return
        if isinstance(built.value, dict | list):
            self._fail(built.mark, "a key must be a scalar")
        try:
            key = key_text(built.value)
        except ValueError as error:
            self._fail(built.mark, str(error))
        if frame.merged.pop(key, None) is None and key in frame.lines:
            self._fail(built.mark, f'key "{key}" is already set in line {frame.lines[key]}')
        frame.key, frame.key_mark = key, built.mark
        frame.lines[key] = built.mark.line

    def _merge(self, frame: Frame, into: dict[str, Any], built: Built) -> None:
        """Bring the keys of a mapping, or of a list of them in which earlier ones win, into *frame*."""
        at = frame.key_mark or built.mark
        value, marks = built.value, built.mark.inside
        sources, places = ([value], [marks]) if isinstance(value, dict) else (value, _insides(marks))
        if not isinstance(sources, list) or not all(isinstance(source, dict) for source in sources):
            self._fail(at, _WANT_MAP)
        if built.is_alias and sources is value:
            self._fail(at, _WANT_MAP)  # Go follows an alias to a mapping only
        for index in reversed(range(len(sources))):
            inside = places[index] if places else None
            for key, brought in sources[index].items():
                if key in frame.lines and frame.merged.get(key) != frame.merges:
                    self._fail(at, f"'<<' brings key \"{key}\", already set in line {frame.lines[key]}")
                frame.merged[key] = frame.merges
                frame.lines[key] = at.line
                into[key] = brought
                if isinstance(frame.mark.inside, dict) and isinstance(inside, dict):
                    frame.mark.inside[key] = inside[key]

    def _json(self, built: Built) -> Any:
        if isinstance(built.value, float):
            try:
                return json_number(built.value)
            except ValueError as error:
                self._fail(built.mark, str(error))
        return built.value

    # -- errors

    def _mark(self, event: Any) -> Mark:
        line, column = event.start_mark.line, event.start_mark.column
        return Mark(self._start.line + line, column + (1 if line else self._start.column))

    def _fail(self, mark: Mark, message: str) -> NoReturn:
        raise DocumentError(self._file, mark.line, mark.column, message)

    def _syntax_error(self, error: yaml.MarkedYAMLError) -> DocumentError:
        mark = error.problem_mark or error.context_mark
        line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
        message = error.problem or error.context or "not YAML"
        if error.problem and error.context:
            begun = error.context_mark.line + 1 if error.context_mark else line
            message = f"{error.problem} ({error.context} from line {begun})"
        lines = self._text.splitlines()
        if "start any token" in message and line <= len(lines) and lines[line - 1][column - 1 : column] == "\t":
            message += ": this is a tab; YAML indents with spaces"
        return DocumentError(self._file, line, column, message)


def _insides(marks: dict[str, Mark] | list[Mark] | None) -> list[Any]:
    return [mark.inside for mark in marks] if isinstance(marks, list) else []


def _copy(value: Any) -> Any:
    """A copy of *value* that shares nothing that can change; at most MAX_DEPTH levels."""
    if isinstance(value, dict):
        return {key: _copy(inner) for key, inner in value.items()}
    return [_copy(inner) for inner in value] if isinstance(value, list) else value


# -- writing YAML ----------------------------------------------------------------------------------------------------

_TEXT_TAG: Final = "tag:yaml.org,2002:str"


class _Dumper(yaml.CSafeDumper):
    """Quotes what Go would not read as a string; long texts as blocks; no anchors."""

    def ignore_aliases(self, data: Any) -> bool:
        return True

    def represent_text(self, text: str) -> Any:
        """A string, plain where Go and every YAML 1.1 reader take it for one."""
        if "\n" in text and not text.startswith((" ", "\n")):
            return self.represent_scalar(_TEXT_TAG, text, style="|")
        others_take_it_for = self.resolve(yaml.ScalarNode, text, (True, False))  # type: ignore[no-untyped-call]
        plain = isinstance(resolve_plain(text), str) and others_take_it_for == _TEXT_TAG
        return self.represent_scalar(_TEXT_TAG, text, style=None if plain else '"')


_Dumper.add_representer(str, _Dumper.represent_text)
