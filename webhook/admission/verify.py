"""A second opinion on a patch: jsonpatch applies it to what was sent.

The Draft makes patches that apply by construction; this proves it (option `verifyPatches`; always in `gatehouse review` and
in the golden cases). The only
module that imports jsonpatch. Pure; costs a second parse of the body and a copy-free apply.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jsonpatch
import jsonpointer
import msgspec

from webhook.admission.draft import Operation


def apply(document: Any, operations: Sequence[Operation]) -> Any:
    """*document*, which is changed, after *operations*. Raises ValueError with the reason when they do not apply."""
    patch = msgspec.json.decode(msgspec.json.encode(operations))
    try:
        return jsonpatch.JsonPatch(patch).apply(document, in_place=True)
    except (jsonpatch.JsonPatchException, jsonpointer.JsonPointerException, TypeError) as error:
        raise ValueError(f"{type(error).__name__}: {error}") from error


def misfit(body: bytes, operations: Sequence[Operation], expected: Any) -> str | None:
    """Why *operations* do not lead from the object in the review *body* to *expected*; None when they do."""
    sent = msgspec.json.decode(body)["request"]["object"]
    try:
        result = apply(sent, operations)
    except ValueError as error:
        return str(error)
    return None if result == expected else "the patched object differs from the one that the rules decided on"
