"""Which labels and annotations a pod gets: keys that it lacks, from the first set that has a value for them.

Pure; raises MalformedObject (400) for a pod whose labels or annotations are of a wrong type.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import attrs

from webhook.defaults import values
from webhook.defaults.sets import DefaultSet, is_reserved
from webhook.defaults.values import Unresolved
from webhook.names import Reason
from webhook.objects import meta
from webhook.objects.pod_rules import ANNOTATIONS_LIMIT, annotations_size
from webhook.sidecars.entries.placeholders import Scope
from webhook.sidecars.findings import Finding


@attrs.frozen
class TextPlan:
    """What is added, and what had to be left out."""

    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    findings: tuple[Finding, ...]


def plan(sets: Sequence[DefaultSet], scope: Scope) -> TextPlan:
    """What *sets*, all of which match, give to the pod of *scope*. Annotations may ask for the labels that are given."""
    findings: list[Finding] = []
    metadata = meta.metadata(scope.pod)
    have = meta.labels_of(scope.pod)
    labels = _missing("labels", have, [(one.name, one.labels) for one in sets], scope, findings)
    if labels:
        scope = attrs.evolve(scope, pod={**scope.pod, "metadata": {**metadata, "labels": {**have, **labels}}})
    written = meta.annotations_of(scope.pod)
    wanted = _missing("annotations", written, [(one.name, one.annotations) for one in sets], scope, findings)
    return TextPlan(labels, _fitting(written, wanted, findings), tuple(findings))


def _missing(
    kind: str,
    have: Mapping[str, str],
    sets: Sequence[tuple[str, Mapping[str, str]]],
    scope: Scope,
    findings: list[Finding],
) -> dict[str, str]:
    found: dict[str, str] = {}
    failed: dict[str, list[Finding]] = {}
    for name, texts in sets:
        for key, text in texts.items():
            if key in have or key in found:
                continue
            value = values.value_of(text, scope, is_label=kind == "labels")
            what = f'default {kind.removesuffix("s")} {key} (set "{name}")'
            if isinstance(value, Unresolved):
                failed.setdefault(key, []).append(_left_out(f"{what} is left out: {value.message}", kind, key))
            elif is_reserved(key, value):
                failed.setdefault(key, []).append(_left_out(f"{what} is left out: {value} has a meaning of its own", kind, key))
            else:
                found[key] = value
    findings += (finding for key, told in failed.items() if key not in found for finding in told)
    return found


def _fitting(have: Mapping[str, str], wanted: Mapping[str, str], findings: list[Finding]) -> dict[str, str]:
    """*wanted*, as far as the pod's annotations have room for it."""
    fitting: dict[str, str] = {}
    for key, value in wanted.items():
        if have_room({**have, **fitting, key: value}):
            fitting[key] = value
        else:
            message = f"default annotation {key} is left out: all together would exceed {ANNOTATIONS_LIMIT} bytes"
            findings.append(_left_out(message, "annotations", key))
    return fitting


def have_room(annotations: Mapping[str, str]) -> bool:
    """Whether an object may have these annotations. O(all of them)."""
    return annotations_size(annotations) <= ANNOTATIONS_LIMIT


def _left_out(message: str, kind: str, key: str) -> Finding:
    return Finding(Reason.DEFAULT_LEFT_OUT, message, f"metadata.{kind}[{key}]")
