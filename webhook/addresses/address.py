"""One IP address: a small value that is cheap to hash, compare and write. Pure; any thread.

Source: RFC 4291, RFC 5952 (text); Kubernetes object names (RFC 1123 subdomain) and label values, which take no colon.
"""

from __future__ import annotations

import json
import re
from ipaddress import IPv6Address
from typing import Final, NamedTuple, Self

V4, V6 = 4, 6
BITS = {V4: 32, V6: 128}

# How each octet is written, and how none is: "01", "+1", " 1" and the digits of other scripts are not in here.
_OCTETS: Final = {str(octet): octet for octet in range(256)}
_GROUPS: Final = re.compile(r"[0-9a-fA-F:]{2,39}")
_QUOTED_LIMIT: Final = 64  # characters; the longest address in a range is 39, the longest label value 63


class AddressError(ValueError):
    """A text that is no address, range or list. Its message quotes the text and says what was expected."""

    def __init__(self, message: str, field: str = "") -> None:
        """*field*: where the text stands, "" when only the caller knows; `str` puts it before the message."""
        super().__init__(message)
        self.message = message
        self.field = field

    def __str__(self) -> str:
        return f"{self.field}: {self.message}" if self.field else self.message

    def within(self, field: str) -> AddressError:
        """The same, said of *field*."""
        return AddressError(self.message, field)


def quoted(text: str) -> str:
    """*text* as messages show it: in quotes, on one line, and no longer than a reader cares for."""
    shown = text if len(text) <= _QUOTED_LIMIT else text[:_QUOTED_LIMIT] + "…"
    # A message ends up in JSON and in logs: half a surrogate pair could not be written there, a line break would mislead.
    return f'"{shown}"' if shown.isprintable() else json.dumps(shown)


class Address(NamedTuple):
    """An address. Ordered by family, then by number."""

    version: int  # 4 or 6
    value: int

    @classmethod
    def parse(cls, text: str) -> Self:
        """The address that *text* writes. Raises AddressError; a zone, a prefix length and leading zeros are none."""
        return cls(*numbered(text))

    @classmethod
    def from_name(cls, name: str) -> Self:
        """The address whose `name` is *name*. Raises AddressError; another spelling of the same address is none."""
        found = cls.parse(name.replace("-", ":") if "-" in name else name)
        if found.name != name:
            raise AddressError(f'{quoted(name)} is not how the address {found.text} is named: expected "{found.name}"')
        return found

    @property
    def text(self) -> str:
        """As people and Calico write it: "10.0.0.1", "fd00::1"."""
        return _dotted(self.value) if self.version == V4 else str(IPv6Address(self.value))

    @property
    def name(self) -> str:
        """As an object name or a label value: IPv4 as it is, IPv6 in full with "-", since "::" would begin or end with it."""
        return _dotted(self.value) if self.version == V4 else IPv6Address(self.value).exploded.replace(":", "-")


def numbered(text: str) -> tuple[int, int]:
    """Family and number of the address that *text* writes, for lists of thousands. Raises AddressError as `parse` does."""
    if ":" in text:
        value = _groups(text)
        # A mapped address is none, but says so in its own words.
        return V6, value if value is not None and value >> 32 != 0xFFFF else _ipv6(text)
    try:
        a, b, c, d = text.split(".")
        return V4, _OCTETS[a] << 24 | _OCTETS[b] << 16 | _OCTETS[c] << 8 | _OCTETS[d]
    except (ValueError, KeyError):
        raise _no_address(text) from None


def mapped(text: str) -> Address | None:
    """The IPv4 address that *text* writes as IPv6 (::ffff:10.0.0.1), which Go reads as IPv4; None when it writes none."""
    try:
        found = IPv6Address(text).ipv4_mapped
    except ValueError:
        return None
    return None if found is None else Address(V4, int(found))


def _groups(text: str) -> int | None:
    """The number of an IPv6 address in groups of hexadecimal digits; None for any other text. Faster than ipaddress."""
    if not _GROUPS.fullmatch(text):
        return None
    head, gap, tail = text.partition("::")
    groups = head.split(":") if head else []
    after = tail.split(":") if tail else []
    missing = 8 - len(groups) - len(after)
    if missing < 1 if gap else missing:
        return None
    if "" in groups or "" in after:
        return None
    digits = "".join([group.zfill(4) for group in groups]) + "0000" * missing + "".join([group.zfill(4) for group in after])
    return int(digits, 16) if len(digits) == 32 else None


def _ipv6(text: str) -> int:
    try:
        found = IPv6Address(text)
    except ValueError:
        raise _no_address(text) from None
    if found.scope_id is not None:
        raise AddressError(f"{quoted(text)} is no IP address: it names a zone")
    if found.ipv4_mapped is not None:
        raise AddressError(f"{quoted(text)} is an IPv4 address written as IPv6: write {found.ipv4_mapped}")
    return int(found)


def _no_address(text: str) -> AddressError:
    reason = ""
    if "/" in text:
        reason = ": it names a range of them"
    elif text.count(".") == 3 and any(len(part) > 1 and part.startswith("0") for part in text.split(".")):
        reason = ": a part of it begins with 0"  # 8 to some, 10 to others (RFC 6943 3.1.1)
    return AddressError(f"{quoted(text)} is no IP address{reason}")


def _dotted(value: int) -> str:
    return f"{value >> 24}.{value >> 16 & 255}.{value >> 8 & 255}.{value & 255}"
