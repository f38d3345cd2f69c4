"""What `documents` puts together: values that are finished, and mappings and sequences whose end has not come yet.

Used by one composer, in one thread.
"""

from __future__ import annotations

from typing import Any

import attrs

from webhook.objects.sources import Mark


@attrs.define
class Built:
    """A finished value."""

    value: Any  # a scalar is as resolved: a float may be NaN until it is used as a value
    mark: Mark
    size: int = 1  # values that Go decodes for it, aliases followed
    length: int = 0  # their characters
    height: int = 0  # levels below it
    is_alias: bool = False
    is_merge: bool = False  # an unquoted `<<`


@attrs.define
class Frame:
    """A mapping or sequence whose end has not come yet."""

    value: dict[str, Any] | list[Any]
    mark: Mark
    anchor: str | None
    size: int = 1
    length: int = 0
    height: int = 1
    # of a mapping:
    key: str | None = None  # whose value comes next
    key_mark: Mark | None = None
    is_merging: bool = False  # the value of a merge key comes next
    merges: int = 0
    merged: dict[str, int] = attrs.Factory(dict)  # keys that came from merge number n
    lines: dict[str, int] = attrs.Factory(dict)  # where each key was set
