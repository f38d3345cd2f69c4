"""Who gets what, as a table: the rows of docs/sidecars.md, and what the test holds `selection` to.

    LEVEL      what the two keys of one level of the pod (its annotations, or its labels) say together
    TABLE      what namespace, labels and annotations give together
    OBSTACLES  what is in the way of a pod that somebody asks an entry for
    LOST       what becomes of a pod whose entry is missing or broken

Each cell is a set of values: a table has exactly one row for every combination of values, whatever the order of its rows.
Written by hand and not by `selection`: a table that the code writes for itself would agree with every mistake.
Pure and frozen.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Final

import attrs

from webhook.names import (
    DISABLED,
    ENABLED,
    INJECT,
    INJECT_ENTRIES,
    INJECTED_NAMESPACE_LABEL,
    MUTATE_LABEL,
    OPT_IN_NAMESPACE_LABEL,
    Reason,
)
from webhook.sidecars.selection import Missing


class Value(StrEnum):
    """What stands at one key."""

    ABSENT = "absent"
    TRUE = '"true"'
    FALSE = '"false"'
    NAMES = "names"
    INVALID = "anything else"


class Says(StrEnum):
    """What a level says."""

    NOTHING = "nothing"
    NO = "no"
    DEFAULT = "the default entries"
    NAMED = "the named entries"


class Space(StrEnum):
    """A namespace, as far as it matters here. The names of labels and annotations are in `names`."""

    UNKNOWN = "nobody knows it"
    DISABLED = f"label `{MUTATE_LABEL}={DISABLED}`"
    PLAIN = "neither label"
    MAY_ASK = f"only `{OPT_IN_NAMESPACE_LABEL}={ENABLED}`, no annotation"
    EVERY_POD = f"`{INJECTED_NAMESPACE_LABEL}={ENABLED}`, no annotation"
    SAYS_TRUE = f'either label, annotation `{INJECT_ENTRIES}: "true"`'
    SAYS_FALSE = f'either label, annotation `{INJECT_ENTRIES}: "false"`'
    SAYS_NAMES = f"either label, annotation `{INJECT_ENTRIES}` with names"


@attrs.frozen
class LevelRow:
    """What a level says when its keys hold one of these values."""

    inject: frozenset[Value]
    entries: frozenset[Value]
    says: Says


@attrs.frozen
class Row:
    """What a pod gets when the levels say one of these."""

    spaces: frozenset[Space]
    labels: frozenset[Says]
    annotations: frozenset[Says]
    gets: Says  # NOTHING when it gets nothing, NAMED: the names of the level that decides
    reason: Reason


@attrs.frozen
class Obstacle:
    """What keeps an entry from a pod, whoever asks for it."""

    reason: Reason
    what: str
    unless: str = ""


@attrs.frozen
class LostRow:
    """What becomes of a pod when an entry that it should get is in no ConfigMap, or was never good."""

    policy: Missing
    named: bool  # whether the pod itself names the entry
    refused: bool


_ANY_VALUE: Final = frozenset(Value)
_UNREADABLE: Final = frozenset({Value.ABSENT, Value.INVALID})
# `sidecar-injector/inject` knows no names: there they are a value that cannot be read.
_NO_INJECT: Final = frozenset({Value.ABSENT, Value.INVALID, Value.NAMES})

LEVEL: Final = (
    LevelRow(frozenset({Value.FALSE}), _ANY_VALUE, Says.NO),
    LevelRow(_ANY_VALUE - {Value.FALSE}, frozenset({Value.FALSE}), Says.NO),
    LevelRow(_ANY_VALUE - {Value.FALSE}, frozenset({Value.NAMES}), Says.NAMED),
    LevelRow(_ANY_VALUE - {Value.FALSE}, frozenset({Value.TRUE}), Says.DEFAULT),
    LevelRow(frozenset({Value.TRUE}), _UNREADABLE, Says.DEFAULT),
    LevelRow(_NO_INJECT, _UNREADABLE, Says.NOTHING),
)

_ANY: Final = frozenset(Says)
_SILENT: Final = frozenset({Says.NOTHING})
_NO: Final = frozenset({Says.NO})
_DEFAULT: Final = frozenset({Says.DEFAULT})
_NAMED: Final = frozenset({Says.NAMED})
_TAKES_PART: Final = frozenset(Space) - {Space.UNKNOWN, Space.DISABLED, Space.PLAIN}


def _space(*spaces: Space) -> frozenset[Space]:
    return frozenset(spaces)


TABLE: Final = (
    Row(_space(Space.UNKNOWN), _ANY, _ANY, Says.NOTHING, Reason.NAMESPACE_UNKNOWN),
    Row(_space(Space.DISABLED), _ANY, _ANY, Says.NOTHING, Reason.MUTATE_DISABLED),
    Row(_space(Space.PLAIN), _ANY, _ANY, Says.NOTHING, Reason.NAMESPACE_NOT_ENABLED),
    Row(_TAKES_PART, _ANY, _NO, Says.NOTHING, Reason.OPTED_OUT),
    Row(_TAKES_PART, _ANY, _DEFAULT, Says.DEFAULT, Reason.INJECTED),
    Row(_TAKES_PART, _ANY, _NAMED, Says.NAMED, Reason.INJECTED),
    Row(_TAKES_PART, _NO, _SILENT, Says.NOTHING, Reason.OPTED_OUT),
    Row(_TAKES_PART, _DEFAULT, _SILENT, Says.DEFAULT, Reason.INJECTED),
    Row(_TAKES_PART, _NAMED, _SILENT, Says.NAMED, Reason.INJECTED),
    Row(_space(Space.SAYS_FALSE), _SILENT, _SILENT, Says.NOTHING, Reason.OPTED_OUT),
    Row(_space(Space.SAYS_TRUE), _SILENT, _SILENT, Says.DEFAULT, Reason.INJECTED),
    Row(_space(Space.SAYS_NAMES), _SILENT, _SILENT, Says.NAMED, Reason.INJECTED),
    Row(_space(Space.EVERY_POD), _SILENT, _SILENT, Says.DEFAULT, Reason.INJECTED),
    Row(_space(Space.MAY_ASK), _SILENT, _SILENT, Says.NOTHING, Reason.NOT_ASKED),
)

# In the order in which they are looked for: the first one is told.
OBSTACLES: Final = (
    Obstacle(Reason.SYSTEM_NAMESPACE, "it is created in `kube-system`, `kube-public` or `kube-node-lease`"),
    Obstacle(Reason.OWN_OBJECT, "it belongs to Gatehouse itself (label `app.kubernetes.io/name: gatehouse`)"),
    Obstacle(Reason.MIRROR_POD, "it mirrors a static pod, which only its kubelet can change"),
    Obstacle(Reason.WINDOWS_POD, "it is for Windows nodes (`spec.os.name`)"),
    Obstacle(Reason.HOST_NETWORK, "it uses its node's network, which the sidecar would share", "`allowHostNetwork: true`"),
)

LOST: Final = (
    LostRow(Missing.DENY_NAMED, named=True, refused=True),
    LostRow(Missing.DENY_NAMED, named=False, refused=False),
    LostRow(Missing.DENY, named=True, refused=True),
    LostRow(Missing.DENY, named=False, refused=True),
    LostRow(Missing.WARN, named=True, refused=False),
    LostRow(Missing.WARN, named=False, refused=False),
)


# -- as Markdown


def markdown() -> str:
    """All tables, as docs/sidecars.md has them; ends with a line break."""
    return "\n".join(
        [
            "A level of the pod is its annotations, or its labels. Its two keys say together:",
            "",
            *_table(
                (f"`{INJECT}`", f"`{INJECT_ENTRIES}`", "the level says"),
                [(_values(row.inject, Value.NAMES), _values(row.entries), row.says.value) for row in LEVEL],
            ),
            "",
            "The most specific level that says something counts:",
            "",
            *_table(
                ("namespace", "pod labels say", "pod annotations say", "the pod gets", "reason"),
                [
                    (_spaces(row.spaces), _says(row.labels), _says(row.annotations), row.gets.value, f"`{row.reason}`")
                    for row in TABLE
                ],
            ),
            "",
            "A pod that should get an entry goes without it when:",
            "",
            *_table(
                ("reason", "what is in the way", "unless the entry says"),
                [(f"`{obstacle.reason}`", obstacle.what, obstacle.unless or "–") for obstacle in OBSTACLES],
            ),
            "",
            "And when the entry is in no ConfigMap (`EntryMissing`), "
            "or had a fault ever since Gatehouse started (`EntryBroken`):",
            "",
            *_table(
                ("`features.sidecar.onMissingEntry`", "the pod itself names it", "the pod is"),
                [
                    (
                        row.policy.value,
                        "yes" if row.named else "no",
                        "refused" if row.refused else "admitted without it, with a warning",
                    )
                    for row in LOST
                ],
            ),
            "",
        ]
    )


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    return [f"| {' | '.join(cells)} |" for cells in (heads, ["---"] * len(heads), *rows)]


def _values(values: frozenset[Value], meaningless: Value | None = None) -> str:
    if values == _ANY_VALUE:
        return "any"
    if values == _ANY_VALUE - {Value.FALSE}:
        return f"not {Value.FALSE}"
    return " or ".join(value.value for value in Value if value in values and value is not meaningless)


def _says(says: frozenset[Says]) -> str:
    return "anything" if says == _ANY else " or ".join(word.value for word in Says if word in says)


def _spaces(spaces: frozenset[Space]) -> str:
    if spaces == _TAKES_PART:
        return "either label"
    return " or ".join(space.value for space in Space if space in spaces)
