"""Reading parts of an entry that may be of any type: what lint is built of.

The schema check has told of wrong types already; everything here takes those for absent, so that one fault is told once. What
still waits for a placeholder counts as absent, too: it is looked at when it is filled in. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from webhook.objects import dns_names
from webhook.objects.faults import Found, Path, dotted, quoted
from webhook.objects.meta import Json
from webhook.objects.schema import Text
from webhook.sidecars.entries.placeholders import openness

LABEL_RULE: Final = "at most 63 lower case letters, digits and '-', with a letter or digit at both ends"


def text(parent: Json, key: str) -> str | None:
    """The string at *key*; None when it is absent, no string, or not known yet."""
    value = parent.get(key)
    return value if type(value) is str and openness(value) is Text.FINAL else None


def number(parent: Json, key: str) -> int | None:
    """The integer at *key*; None when it is absent, no integer, or not known yet."""
    value = parent.get(key)
    return value if type(value) is int else None


def mapping(parent: Json, key: str) -> Json:
    """The object at *key*, {} when it is absent or none."""
    value = parent.get(key)
    return value if type(value) is dict else {}


def objects(parent: Json, key: str, path: Path) -> Iterator[tuple[Json, Path]]:
    """The objects in the list at *key*, each with its path."""
    for index, item in enumerate(sequence(parent, key)):
        if type(item) is dict:
            yield item, (*path, key, index)


def sequence(parent: Json, key: str) -> Sequence[Any]:
    """The list at *key*, () when it is absent or none."""
    value = parent.get(key)
    return value if type(value) is list else ()


def name_faults(parent: Json, path: Path, key: str = "name") -> Found:
    """What is wrong with a name that has to be a DNS label."""
    found = text(parent, key)
    if found is not None and not dns_names.is_dns_label(found):
        yield (*path, key), f"{quoted(found)} is not a name: {LABEL_RULE}"


def object_name_faults(parent: Json, path: Path, key: str = "name") -> Found:
    """What is wrong with the name of another object, such as a ConfigMap."""
    found = text(parent, key)
    if parent.get(key) is None or found == "":
        yield (*path, key), "is required"
    elif found is not None and not dns_names.is_dns_subdomain(found):
        yield (*path, key), f"{quoted(found)} is not the name of an object: lower case letters, digits, '-' and '.'"


def control_faults(parent: Json, key: str, path: Path) -> Found:
    """What no runtime takes in a path, though the API server does."""
    found = text(parent, key)
    if found and any(ord(character) < 32 or ord(character) == 127 for character in found):
        yield (*path, key), f"{quoted(found)} has a control character"


def climbs(place: str) -> bool:
    """Whether a part of the path *place* is '..'."""
    return ".." in place.split("/")


def leaves(place: str) -> bool:
    """Whether the path *place* may leave the folder that it counts from."""
    return place.startswith("/") or climbs(place)


def one_of(parent: Json, keys: Sequence[str], path: Path, what: str) -> Found:
    """Exactly one of *keys* has to be there."""
    found = [key for key in keys if parent.get(key) is not None]
    if not found:
        yield path, f"{what} needs one of {', '.join(keys)}"
    elif len(found) > 1:
        yield path, f"{what} {excess(found)}"


def excess(found: Sequence[str]) -> str:
    """What is wrong with *found*, two keys or more of which one may be there."""
    names = f"both {found[0]} and {found[1]}" if len(found) == 2 else f"{', '.join(found[:-1])} and {found[-1]}"
    return f"has {names}; one is allowed"


def duplicates(parent: Json, keys: Sequence[str], member: str = "name") -> Found:
    """Objects in the lists at *keys* that say the same at *member* as one before them."""
    seen: dict[str, Path] = {}
    for key in keys:
        for item, where in objects(parent, key, ()):
            found = text(item, member)
            if found and (first := seen.setdefault(found, where)) != where:
                yield (*where, member), f"{quoted(found)} is there already, at {dotted(first)}"
