"""Placeholders: `${pod.labels['app']:-none}` in the strings of an entry, filled in for each pod.

    faults(tree)                                      lint: (path, message) of every placeholder that cannot mean anything
    openness(text)                                    for `schema.check`: whether a string is known before there is a pod
    substitute(tree, wanted, scope) -> Substituted    a new tree, and what could not be filled in

The tree is a parsed one: a value never passes through YAML text, so that a quote or a newline in an annotation stays inside
its string. Only the roots pod, namespace, app and now are ours; `${HOME}` and `${x:-y}` stay as they are, and `$${` gives
`${`. Where a whole string is one placeholder and the API wants an integer or a boolean, the value is turned into one. In fields
where the kubelet expands `$(NAME)`, the `$` of a value is doubled: what a pod's annotation says never names a variable there.
What lies beyond types (a port of 99999) is said by `filled_lint`, which is to be asked of what `substitute` made.
Pure; any thread. `substitute` raises MalformedObject (400) for a pod whose labels or annotations are of a wrong type.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

import attrs

from webhook.cluster import NamespaceFacts
from webhook.objects import meta, pods, schema
from webhook.objects.faults import Path
from webhook.objects.images import Image
from webhook.objects.meta import Json
from webhook.objects.schema import Kind, ListOf, MapOf, Scalar, Struct, Text, Type
from webhook.objects.selectors import key_fault


@attrs.define(eq=False)
class Room:
    """How many characters may still be filled in for an entry in one pod, whose annotations may be long and asked for often."""

    left: int = 2**20


@attrs.frozen
class Scope:
    """What placeholders may ask of."""

    pod: Json
    namespace: str  # of the request; the pod's own field may be empty
    facts: NamespaceFacts | None  # None: the namespace is not known, and nothing is taken for it
    now_s: float  # seconds since the epoch
    app: Json | None = None  # the container of the pod that `app:` goes into; None outside of it
    room: Room = attrs.field(factory=Room, eq=False, repr=False)  # shared by what is evolved from this one


@attrs.frozen
class Unresolved:
    """A string that cannot be filled in for this pod: the entry must be left out, or the pod refused."""

    path: Path  # in what was substituted
    message: str  # a whole sentence without the entry's name: `${pod.labels['app']}: the pod has no such label`


@attrs.frozen
class Substituted:
    """A tree of its own (nothing is shared with the entry), to be used only when nothing is unresolved."""

    value: Any
    unresolved: tuple[Unresolved, ...]


class BadPlaceholder(ValueError):
    """A placeholder under one of our roots that means nothing; a fault of the entry."""


@attrs.frozen
class Placeholder:
    """One of ours."""

    text: str  # as it was written
    path: str  # "pod.labels"
    key: str  # "" where the path takes none
    default: str | None  # what stands after ":-", taken when the value is absent or empty


_KEYED: Final = ("pod.labels", "pod.annotations", "namespace.labels", "namespace.annotations")
_PLAIN: Final = (
    *("pod.name", "pod.namespace", "pod.serviceAccount"),
    *("app.name", "app.image", "app.image.name", "app.image.tag", "now"),
)
_KNOWN: Final = ", ".join([*_PLAIN, *(f"{path}['KEY']" for path in _KEYED)])

_START: Final = re.compile(r"\$\$\{|\$\{(?=(?:pod|namespace|app|now)(?![\w-]))")
_BODY: Final = re.compile(r"\$\{([a-zA-Z]+(?:\.[a-zA-Z]+)*)(?:\[(?:'([^'\]]*)'|\"([^\"\]]*)\")\])?(?::-([^}]*))?\}")

# Where the kubelet expands $(NAME): kubernetes.io/docs, "Define dependent environment variables" and "subPathExpr"; kubernetes
# pkg/kubelet/container/helpers.go. Of commands that it runs itself only a probe's, not a hook's (prober.go).
_EXPANDED: Final = frozenset(
    (
        ("Container", "command"),
        ("Container", "args"),
        ("EnvVar", "value"),
        ("VolumeMount", "subPathExpr"),
        ("Probe", "exec"),
    )
)


def parse(text: str) -> tuple[str | Placeholder, ...]:
    """*text* cut into literal parts and placeholders of ours. Raises BadPlaceholder at the first that means nothing."""
    return _remembered(text) if len(text) <= _LONGEST_REMEMBERED else _parsed(text)


def _parsed(text: str) -> tuple[str | Placeholder, ...]:
    pieces: list[str | Placeholder] = []
    at = 0
    while start := _START.search(text, at):
        pieces.append(text[at : start.start()])
        if start.group().startswith("$$"):
            pieces.append("${")
            at = start.end()
            continue
        body = _BODY.match(text, start.start())
        if body is None:
            end = text.find("}", start.start())
            shown = text[start.start() : end + 1] if end >= 0 else text[start.start() :]
            why = f"known are {_KNOWN}, each with an optional :-DEFAULT" if end >= 0 else "the closing brace is missing"
            raise BadPlaceholder(f"{_short(shown)} is not a placeholder: {why} (write $${{ for a literal ${{)")
        pieces.append(_placeholder(body))
        at = body.end()
    pieces.append(text[at:])
    return tuple(piece for piece in pieces if piece != "")


_LONGEST_REMEMBERED: Final = 1024
_remembered = functools.lru_cache(maxsize=4096)(_parsed)  # the same strings come with every pod


def has_placeholders(tree: Any) -> bool:
    """Whether any string of *tree* has to be substituted (`$${` counts: it becomes `${`)."""
    match tree:
        case str():
            return "${" in tree and _START.search(tree) is not None
        case dict():
            return any(has_placeholders(item) for item in tree.values())
        case list() | tuple():
            return any(has_placeholders(item) for item in tree)
    return False


def as_literal(tree: Any) -> Any:
    """*tree* as an entry would have to write it, so that nothing in it is a placeholder: `${pod.name}` as `$${pod.name}`."""
    match tree:
        case str():
            return _START.sub(r"$\g<0>", tree) if "${" in tree else tree
        case dict():
            return {key: as_literal(item) for key, item in tree.items()}
        case list():
            return [as_literal(item) for item in tree]
    return tree


def openness(text: str) -> Text:
    """How much of *text* is known before there is a pod."""
    if "${" not in text:
        return Text.FINAL
    try:
        pieces = parse(text)
    except BadPlaceholder:
        return Text.OPEN  # said by `faults`; nothing else need be said of it
    if not any(isinstance(piece, Placeholder) for piece in pieces):
        return Text.FINAL
    return Text.OPEN if len(pieces) == 1 else Text.PARTLY_OPEN


def faults(tree: Any, path: Path = (), *, in_app: bool = False) -> Iterator[tuple[Path, str]]:
    """Every placeholder of *tree* that cannot mean anything. *in_app*: whether `${app.…}` may stand here."""
    match tree:
        case dict():
            for key, item in tree.items():
                yield from faults(item, (*path, key), in_app=in_app)
        case list():
            for index, item in enumerate(tree):
                yield from faults(item, (*path, index), in_app=in_app)
        case str() if "${" in tree:
            try:
                pieces = parse(tree)
            except BadPlaceholder as error:
                yield path, str(error)
                return
            for piece in pieces:
                if isinstance(piece, Placeholder) and piece.path.startswith("app.") and not in_app:
                    yield (
                        path,
                        f"{_short(piece.text)} has a meaning only inside app, where it is the container that gets the value",
                    )


def substitute(tree: Any, wanted: Type, scope: Scope, path: Path = ()) -> Substituted:
    """A copy of *tree*, which is of the type *wanted*, with every placeholder filled in and checked against its type.

    path: where *tree* stands in the entry, put before the paths of what is unresolved.
    """
    run = _Substitution(scope)
    value = run.walk(tree, wanted, path, expanded=False)
    return Substituted(value, tuple(run.unresolved))


class _Substitution:
    """One walk over a tree and its types."""

    def __init__(self, scope: Scope) -> None:
        self._scope = scope
        self.unresolved: list[Unresolved] = []

    def walk(self, value: Any, wanted: Type | None, path: Path, *, expanded: bool) -> Any:
        """expanded: whether the kubelet expands $(NAME) here. wanted: None where any value will do."""
        match value:
            case str():
                return self._string(value, wanted, path, expanded) if "${" in value else value
            case list():
                item_type = wanted.item if isinstance(wanted, ListOf) else None
                return [self.walk(item, item_type, (*path, index), expanded=expanded) for index, item in enumerate(value)]
            case dict():
                return {key: self._member(item, key, wanted, (*path, key), expanded) for key, item in value.items()}
        return value

    def _member(self, value: Any, key: str, wanted: Type | None, path: Path, expanded: bool) -> Any:
        match wanted:
            case Struct():
                here = (wanted.name, key) in _EXPANDED or (expanded and wanted.name == "ExecAction")
                return self.walk(value, schema.field(wanted, key), path, expanded=here)
            case MapOf():
                return self.walk(value, wanted.value, path, expanded=False)
        return self.walk(value, None, path, expanded=False)

    def _string(self, text: str, wanted: Type | None, path: Path, expanded: bool) -> Any:
        pieces = parse(text)
        filled: list[str] = []
        for piece in pieces:
            if isinstance(piece, str):
                filled.append(piece)
                continue
            found, why = _look_up(piece, self._scope)
            if found is None:
                self._tell(path, f"{_short(piece.text)}: {why}")
                return text
            # "$$" is how the kubelet writes "$".
            filled.append(found.replace("$", "$$") if expanded else found)
            self._scope.room.left -= len(filled[-1])
            if self._scope.room.left < 0:
                self._tell(path, f"{_short(text)}: what is filled in grows too long here")
                return text
        value: Any = "".join(filled)
        if isinstance(wanted, Scalar) and any(isinstance(piece, Placeholder) for piece in pieces):
            value = converted(value, wanted) if len(pieces) == 1 else value
            if fault := schema.scalar_fault(value, wanted):
                self._tell(path, f"{_short(text)}: the value {fault}")
        return value

    def _tell(self, path: Path, message: str) -> None:
        if len(self.unresolved) < _MOST_TOLD:
            self.unresolved.append(Unresolved(path, message))


_MOST_TOLD: Final = 20  # one is enough to keep an entry out


def converted(text: str, wanted: Scalar) -> str | int | bool:
    """*text* as what *wanted* asks for, where it can be read so; *text* itself where it can't."""
    match wanted.kind:
        case Kind.INT32 | Kind.INT64 | Kind.INT_OR_STRING if _INTEGER.fullmatch(text):
            return int(text)
        case Kind.BOOLEAN if text in ("true", "false"):
            return text == "true"
    return text


_INTEGER: Final = re.compile(r"-?[0-9]{1,20}")  # more digits fit no field, and cost time


def _placeholder(body: re.Match[str]) -> Placeholder:
    path, default, shown = body[1], body[4], _short(body[0])
    key = body[2] if body[2] is not None else body[3]
    if path in _KEYED:
        if key is None:
            raise BadPlaceholder(f"{shown}: {path} needs a key, as in ${{{path}['app']}}")
        if fault := key_fault(key if path.endswith("labels") else key.lower()):
            raise BadPlaceholder(f"{shown}: {fault}")
    elif path not in _PLAIN:
        raise BadPlaceholder(f"{shown} is not a placeholder: known are {_KNOWN} (write $${{ for a literal ${{)")
    elif key is not None:
        raise BadPlaceholder(f"{shown}: {path} takes no key")
    if default is not None and "${" in default:
        raise BadPlaceholder(f"{shown}: a default is plain text, without placeholders of its own")
    return Placeholder(body[0], path, key or "", default)


def _look_up(asked: Placeholder, scope: Scope) -> tuple[str | None, str]:
    """The value; None, and why, when there is none."""
    if asked.path.startswith("namespace.") and scope.facts is None:
        return None, f'namespace "{scope.namespace}" is not known, so nothing can be said of its {asked.path[10:]}'
    if asked.path.startswith("app.") and scope.app is None:
        return None, "it has a meaning only inside app"
    found = _value(asked, scope)
    if not found and asked.default is not None:
        return asked.default, ""
    return found, _missing(asked, scope)


def _value(asked: Placeholder, scope: Scope) -> str | None:
    """The value, None when it is absent."""
    pod = scope.pod
    match asked.path:
        case "pod.name":
            return _pod_name(pod)
        case "pod.namespace":
            return scope.namespace
        case "pod.serviceAccount":
            spec = pods.spec(pod)
            # serviceAccount is serviceAccountName's old name; the API server takes "default" for absent.
            return meta.text(spec, "serviceAccountName", "spec") or meta.text(spec, "serviceAccount", "spec") or "default"
        case "pod.labels":
            return meta.labels_of(pod).get(asked.key)
        case "pod.annotations":
            return meta.annotations_of(pod).get(asked.key)
        case "namespace.labels":
            return _facts_of(scope).labels.get(asked.key)
        case "namespace.annotations":
            return _facts_of(scope).annotations.get(asked.key)
        case "app.name":
            return _text_of_app(scope, "name") or None
        case "app.image":
            return _text_of_app(scope, "image") or None
        case "app.image.name":
            return image_name(_text_of_app(scope, "image"))
        case "app.image.tag":
            return image_tag(_text_of_app(scope, "image"))
    return meta.format_time(scope.now_s)


def _text_of_app(scope: Scope, key: str) -> str:
    """The string at *key* of the container. Raises MalformedObject, which says where the container stands in the pod."""
    app = scope.app or {}
    found = (one for one in pods.containers(scope.pod) if one.json is app or one.json == app)
    return meta.text(app, key, next((one.path for one in found), "spec.containers[]"))


def _facts_of(scope: Scope) -> NamespaceFacts:
    assert scope.facts is not None
    return scope.facts


def _pod_name(pod: Mapping[str, Any]) -> str | None:
    """What tells a pod's copies together: its name, or what the API server will put random characters behind."""
    metadata = meta.metadata(pod)
    name = meta.text(metadata, "name", "metadata")
    return name or meta.text(metadata, "generateName", "metadata").removesuffix("-") or None


def image_tag(text: str) -> str | None:
    """The tag of an image reference, also beside a digest: "latest" without one, None for a digest alone or no image at all."""
    image = Image.parse(text)
    if not image_name(text) or (image.digest and not image.tag):
        return None
    return image.tag or "latest"


def image_name(text: str) -> str | None:
    """The last part of an image's repository: "web" of "registry.example.com:5000/shop/web:1.4@sha256:…"; None without one."""
    return Image.parse(text).repository.rpartition("/")[2] or None


def _missing(asked: Placeholder, scope: Scope) -> str:
    if asked.key:
        owner, _, kind = asked.path.partition(".")
        who = "the pod" if owner == "pod" else f'namespace "{scope.namespace}"'
        return f"{who} has no {kind.removesuffix('s')} {asked.key}, and the placeholder has no default"
    if asked.path == "pod.name":
        return "the pod has neither name nor generateName"
    return "the container has none, and the placeholder has no default"


def _short(text: str) -> str:
    return text if len(text) <= 80 else text[:77] + "..."
