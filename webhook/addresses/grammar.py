"""How lists of addresses are written: in the label, in the annotation, in an AddressPool. Pure; any thread.

label        items joined by "_"; an item is an IPv4 address, "A-B" or "A-lastOctet", or an IPv6 address in full with "-"
annotation   items apart by commas and white space, or a JSON list of them; an item is an address, "A-B", "A-lastOctet" (IPv4)
             or a CIDR with all addresses in it; "!" before an item takes its addresses out again
pool         a list of the annotation's items; what is taken out stands in a list of its own

Raises AddressError, which quotes the item. Source: Kubernetes label values (at most 63 characters of [A-Za-z0-9._-]).
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Final

from webhook.addresses.address import BITS, V6, Address, AddressError, numbered, quoted
from webhook.addresses.ranges import AddressSet, Span
from webhook.objects.pod_rules import ANNOTATIONS_LIMIT

MAX_ITEMS: Final = 4096
LABEL_LIMIT: Final = 63  # characters of a label value

_WORDS: Final = re.compile(r"[^, \t\r\n]+")
_IN_FULL: Final = re.compile(r"[0-9a-fA-F]{4}(?:-[0-9a-fA-F]{4}){7}")
_BITS_TEXT: Final = {str(bits): bits for bits in range(BITS[V6] + 1)}
_OCTET_TEXTS: Final = frozenset(str(octet) for octet in range(256))


def parse_label(text: str, field: str) -> AddressSet:
    """The addresses that a label value names, never none. *field* is its path, for the message."""
    if not text:
        raise AddressError("is empty: it names no address", field)
    if len(text) > LABEL_LIMIT:
        what = f"{quoted(text)} has {len(text)} characters, a label takes {LABEL_LIMIT}: write the list in the annotation"
        raise AddressError(what, field)
    try:
        return AddressSet.of([_label_item(item) for item in text.split("_")])
    except AddressError as error:
        raise error.within(field) from None


def parse_annotation(text: str, field: str) -> AddressSet:
    """The addresses that an annotation names, never none. *field* is its path, for the message."""
    if len(text) > ANNOTATIONS_LIMIT:
        raise AddressError(f"has {len(text)} characters: annotations take {ANNOTATIONS_LIMIT}", field)
    items: Sequence[str] = _json_items(text, field) if text.lstrip(" \t\r\n").startswith("[") else _WORDS.findall(text)
    _check_count(items, field)
    wanted: list[Span] = []
    excluded: list[Span] = []
    try:
        for item in items:
            if item.startswith("!"):
                excluded.append(_excluded(item))
            else:
                wanted.append(parse_item(item))
    except AddressError as error:
        raise error.within(field) from None
    found = AddressSet.of(wanted).minus(AddressSet.of(excluded))
    if not found:
        raise AddressError(f"{quoted(text)} names no address" + (" that it does not exclude" if wanted else ""), field)
    return found


def parse_items(items: Sequence[object], field: str) -> AddressSet:
    """The addresses of a pool's list (`addresses`, `exclude`), maybe none. The message says which item: "field[3]"."""
    _check_count(items, field)
    spans: list[Span] = []
    for index, item in enumerate(items):
        if type(item) is not str:
            raise AddressError("expected a string", f"{field}[{index}]")
        try:
            spans.append(parse_item(item))
        except AddressError as error:
            raise error.within(f"{field}[{index}]") from None
    return AddressSet.of(spans)


def parse_item(item: str) -> Span:
    """The addresses of one item: an address, a range or a CIDR. Raises AddressError without a field."""
    if "/" in item:
        return _cidr(item)
    if "-" in item:
        return _range(item)
    version, value = numbered(item)
    return Span(version, value, value)


def _label_item(item: str) -> Span:
    if not item:
        raise AddressError('an item is empty: items are joined by one "_"')
    if _IN_FULL.fullmatch(item):
        try:
            version, value = numbered(item.replace("-", ":"))
        except AddressError:
            raise AddressError(f"{quoted(item)} is an IPv4 address written as IPv6") from None
        return Span(version, value, value)
    if "/" in item or ":" in item:  # no label may hold them: said here, since the API server would not say what to do
        raise AddressError(f"{quoted(item)} cannot stand in a label: write the list in the annotation")
    return parse_item(item)


def _range(item: str) -> Span:
    first_text, _, last_text = item.partition("-")
    try:
        version, first = numbered(first_text)
        if "." in last_text or ":" in last_text or version == V6:
            last_version, last = numbered(last_text)
        elif last_text in _OCTET_TEXTS:
            last_version, last = version, first & ~255 | int(last_text)
        else:
            raise AddressError(f"{quoted(last_text)} is neither an address nor a last octet")
    except AddressError as error:
        # The item says more than the half of it that is wrong; the reason may hold for the half alone.
        raise AddressError(f"{quoted(item)} is no range of addresses: {error.message}") from None
    if last_version != version:
        raise AddressError(f"{quoted(item)} begins in one family and ends in the other")
    if last < first:
        raise AddressError(f"{quoted(item)} ends before it begins")
    return Span(version, first, last)


def _cidr(item: str) -> Span:
    base_text, _, bits_text = item.partition("/")
    try:
        version, base = numbered(base_text)
    except AddressError as error:
        raise AddressError(f"{quoted(item)} is no CIDR: {error.message}") from None
    bits = _BITS_TEXT.get(bits_text)
    if bits is None or bits > BITS[version]:
        raise AddressError(f"{quoted(item)} is no CIDR: expected a number from 0 to {BITS[version]} after the slash")
    rest = (1 << BITS[version] - bits) - 1
    if base & rest:
        network = Address(version, base & ~rest).text
        raise AddressError(f'{quoted(item)} is no CIDR: write "{network}/{bits}", or the address alone')
    return Span(version, base, base | rest)


def _excluded(item: str) -> Span:
    if item == "!":
        raise AddressError('"!" excludes nothing: an address, range or CIDR follows at once')
    try:
        return parse_item(item[1:])
    except AddressError as error:
        raise AddressError(f"{quoted(item)}: {error.message}") from None


def _json_items(text: str, field: str) -> list[str]:
    try:
        items = json.loads(text)
    except (ValueError, RecursionError):  # a number of more than 4300 digits is a ValueError, too
        raise AddressError(f'{quoted(text)} is no JSON list of addresses: expected ["10.0.0.1"]', field) from None
    for index, item in enumerate(items):
        if type(item) is not str:
            raise AddressError(f"item {index} of the JSON list is no string", field)
    return items  # type: ignore[no-any-return]


def _check_count(items: Sequence[object], field: str) -> None:
    if len(items) > MAX_ITEMS:
        raise AddressError(f"has {len(items)} items, at most {MAX_ITEMS} are read: write ranges or a CIDR", field)
