"""A stranger's rule as one of ours: what it raises, edits or answers can harm nobody else, and is told of by name and line.

The draft that it gets takes plain JSON only, at paths that are tuples. What it raises becomes `RuleFailed`: answered with 500,
its traceback in the log. An answer that is none, an edit that it may not make, and a patch that the API server would not take
are `Internal`. Pure but for what the rule does; any thread.
Source: the API server takes requests, and so objects, of at most 3 MiB (apiserver server/config.go, MaxRequestBodyBytes).
"""

from __future__ import annotations

import copy
import math
import traceback
from collections.abc import Callable, Mapping
from enum import StrEnum
from pathlib import PurePath
from typing import Any, Final

import attrs

from webhook.admission.draft import Draft, Path, pointer
from webhook.admission.review import AdmissionRequest, Denial
from webhook.admission.service import Context, Verdict
from webhook.errors import AdmissionError, Internal, Interrupted, RuleFailed

PATCH_LIMIT_BYTES: Final = 3 * 2**20
MESSAGE_LIMIT: Final = 4096  # characters of a denial; a client prints it in one go
_DEPTH: Final = 200  # of a value; the deepest of the API's own types, a CRD's schema, has some dozens
_ITSELF: Final = "edits go through draft.set, replace, insert, append and remove; any other is in no patch, and lost"


class RuleDraft(Draft):
    """The draft of a rule of somebody else's: shares object and operations with the one that it is made of."""

    __slots__ = ()

    def __init__(self, draft: Draft) -> None:
        self.object = draft.object
        self.operations = draft.operations

    def set(self, path: Path, value: Any, *, own: bool = False) -> None:
        """As `Draft.set`. Raises TypeError for a path that is no tuple and a value that is not JSON."""
        path = _path(path)
        super().set(path, _plain(value, path), own=True)

    def replace(self, path: Path, value: Any, *, own: bool = False) -> None:
        """As `Draft.replace`, with the same TypeErrors."""
        path = _path(path)
        super().replace(path, _plain(value, path), own=True)

    def insert(self, path: Path, value: Any, *, own: bool = False) -> None:
        """As `Draft.insert`, with the same TypeErrors."""
        path = _path(path)
        super().insert(path, _plain(value, path), own=True)

    def append(self, path: Path, value: Any, *, own: bool = False) -> None:
        """As `Draft.append`, with the same TypeErrors."""
        path = _path(path)
        super().append(path, _plain(value, path), own=True)

    def remove(self, path: Path) -> None:
        """As `Draft.remove`; TypeError for a path that is no tuple."""
        super().remove(_path(path))


def _path(path: Any) -> Path:
    """*path* with plain parts. Raises TypeError."""
    if not isinstance(path, tuple) or not path:
        raise TypeError(f"path {path!r:.200}: expected a tuple of names and indices such as ('metadata', 'labels', 'owner')")
    for part in path:
        if not isinstance(part, (str, int)) or isinstance(part, bool):
            raise TypeError(f"path {path!r:.200}: a part is a name or an index, not {type(part).__name__}")
    return tuple(_scalar(part) for part in path)


def _plain(value: Any, path: Path, depth: int = 0) -> Any:
    """*value* as JSON has it, in new lists and dicts: an own copy. Raises TypeError that names the place."""
    if depth > _DEPTH:
        raise TypeError(f"{pointer(path[:4])}: the value contains itself, or is more than {_DEPTH} levels deep")
    if value is None or isinstance(value, (str, int)):
        return _scalar(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise TypeError(f"{pointer(path)}: {value} is not JSON")
        return value
    if isinstance(value, (list, tuple)):
        return [_plain(one, (*path, index), depth + 1) for index, one in enumerate(value)]
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str):
                raise TypeError(f"{pointer(path)}: the name {key!r:.80} is a {type(key).__name__}, not a string")
        return {_scalar(key): _plain(one, (*path, key), depth + 1) for key, one in value.items()}
    raise TypeError(f"{pointer(path)}: a {type(value).__name__} is not JSON")


def _scalar(value: Any) -> Any:
    """A member of a StrEnum or IntEnum, or any other kind of string or number, as the plain one."""
    if type(value) in (str, int, bool) or value is None:
        return value
    return str.__str__(value) if isinstance(value, str) else int(value)


@attrs.frozen
class Decider:
    """The rule *decide* of *origin*. watched: also tell of edits beside the draft, which costs two copies of each object."""

    name: str
    origin: str
    decide: Callable[[AdmissionRequest, Draft, Context], Any]
    mutating: bool
    advice: Mapping[str, str]
    packages: frozenset[str]  # top-level names of its modules
    watched: bool = False

    def __call__(self, request: AdmissionRequest, draft: Draft, context: Context) -> Verdict:
        """See `webhook.admission.service.Rule`. Raises RuleFailed, Internal, and what AdmissionError the rule raises."""
        given = RuleDraft(draft)
        before = (copy.deepcopy(given.object), copy.deepcopy(request.old_object)) if self.watched else None
        try:
            verdict = self.decide(request, given, context)
        except AdmissionError:
            raise
        except Interrupted:
            raise
        except BaseException as error:  # SystemExit would end the thread that asks, and with it the process
            raise RuleFailed(self.origin, type(error).__name__, _place(error, self.packages)) from error
        fault = _fault_of(verdict) or self._fault_of_edits(draft, given)
        if not fault and before is not None:
            fault = _edited_itself(*before, request, given)
        if fault:
            raise Internal(f"{self.origin}: {fault}")
        return _shortened(verdict)

    def _fault_of_edits(self, draft: Draft, given: RuleDraft) -> str:
        if given.object is not draft.object or given.operations is not draft.operations:
            return f"it has put another object into the draft: {_ITSELF}"
        if not given.operations:
            return ""
        if not self.mutating:
            return "it has edited the object, but is not registered as mutating"
        size = sum(len(one.path) + _size(one.value) for one in given.operations)
        if size > PATCH_LIMIT_BYTES:
            return f"its patch has {size} bytes, above the {PATCH_LIMIT_BYTES} that the API server takes of an object"
        return ""


def _size(value: Any) -> int:
    return memoryview(value).nbytes if hasattr(value, "copy") else 0  # UNSET has no bytes


def _edited_itself(before: Any, old: Any, request: AdmissionRequest, given: RuleDraft) -> str:
    """What the rule has changed beside the draft. *before*, *old*: object and old object as they were; *before* is changed."""
    from webhook.admission.verify import apply  # with jsonpatch, which serving need not load

    if given.operations:
        try:
            before = apply(before, given.operations)
        except ValueError as error:  # it fits no more, because what it was made for is not what was sent
            return f"it has changed the object itself ({error}): {_ITSELF}"
    if before != given.object:
        return f"it has changed the object itself, at {_first_difference(before, given.object) or '/'}: {_ITSELF}"
    if old != request.old_object:
        return f"it has changed the old object, at {_first_difference(old, request.old_object) or '/'}: nobody will see it"
    return ""


def _first_difference(one: Any, other: Any) -> str:
    """Where they differ first, as a JSON pointer."""
    path: list[str | int] = []
    while True:
        if isinstance(one, dict) and isinstance(other, dict):
            keys: list[Any] = [*one, *(key for key in other if key not in one)]
            key = next((key for key in keys if key not in one or key not in other or one[key] != other[key]), None)
        elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
            key = next((index for index in range(len(one)) if one[index] != other[index]), None)
        else:
            key = None
        if key is None:
            return pointer(tuple(path))
        path.append(key)
        if isinstance(one, dict) and (key not in one or key not in other):
            return pointer(tuple(path))
        one, other = one[key], other[key]


def _place(error: BaseException, packages: frozenset[str]) -> str:
    """File and line of the innermost frame of the rule's own; "" when it has none."""
    frames = list(traceback.walk_tb(error.__traceback__))[1:]  # the first is ours
    own = [one for one in frames if str(one[0].f_globals.get("__name__", "")).partition(".")[0] in packages]
    if not frames:
        return ""
    frame, line = (own or frames)[-1]
    return f"{PurePath(frame.f_code.co_filename).name}:{line}"


def _fault_of(verdict: Any) -> str:
    """What is wrong with the answer of a rule, "" when nothing is."""
    if not _is(verdict, Verdict):
        return f"it answered {type(verdict).__name__}, not a webhook.admission.Verdict"
    if not _is(verdict.reason, StrEnum):
        return f"its reason is a {type(verdict.reason).__name__}, not a member of a StrEnum"
    if not _is(verdict.warnings, tuple) or not all(_is(one, str) for one in (verdict.message, *verdict.warnings)):
        return "message is a string, warnings a tuple of strings"
    denial = verdict.denial
    if denial is not None:
        if not _is(denial, Denial) or type(denial.code) is not int or not 400 <= denial.code <= 599:
            return f"{denial!r:.500}: expected a webhook.admission.Denial with a code from 400 to 599"
        if not _is(denial.message, str) or not _is(denial.reason, str):
            return "reason and message of a denial are strings"
    texts = (verdict.message, *verdict.warnings, *((denial.message, denial.reason) if denial is not None else ()))
    return "" if all(map(_is_text, texts)) else "a text of its answer has a lone surrogate, which JSON has not"


def _is(value: Any, kind: type) -> bool:
    """Says nothing to the type checker, for whom what follows could not be."""
    return isinstance(value, kind)


def _is_text(text: str) -> bool:
    return text.isascii() or not any("\ud800" <= character <= "\udfff" for character in text)


def _shortened(verdict: Verdict) -> Verdict:
    """*verdict* with a denial of a length that somebody reads."""
    denial = verdict.denial
    if denial is None or len(denial.message) <= MESSAGE_LIMIT:
        return verdict
    return attrs.evolve(verdict, denial=attrs.evolve(denial, message=f"{denial.message[: MESSAGE_LIMIT - 1]}…"))
