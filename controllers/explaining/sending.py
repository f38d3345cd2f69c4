"""Whether a registration of ours brings a review to a service: rules and selectors, as the API server reads them.

Conditions in CEL are not evaluated: the questions are made so that they hold, and they are named beside the answer.
Pure. Source: apiserver pkg/admission/plugin/webhook/predicates (rules, namespace, object).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import attrs

from controllers.explaining.questions import Question
from webhook.admission.service import Entry
from webhook.cluster import Namespaces
from webhook.names import NAMESPACE_NAME
from webhook.objects import meta
from webhook.objects.selectors import Selector


@attrs.frozen
class Sent:
    """What the registrations make of a review."""

    is_sent: bool
    why: str = ""  # why it is not; or what could not be told
    conditions: tuple[str, ...] = ()  # names of those that the API server evaluates besides


def covers(entry: Entry, question: Question) -> bool:
    """Whether the rules of *entry* name what *question* is about."""
    resource = question.resource
    return any(match.covers(resource.group, resource.version, question.plural, question.operation) for match in entry.matches)


def sent(entries: tuple[Entry, ...], question: Question, namespaces: Namespaces) -> Sent | None:
    """Whether one of *entries* brings *question* to its service; None when none of them names such a review."""
    covering = [entry for entry in entries if covers(entry, question)]
    if not covering:
        return None
    labels = _namespace_labels(question, namespaces)
    objects = [meta.labels_of(one) for one in (question.object, question.old) if one is not None]
    faults: dict[str, list[str]] = {}
    for entry in covering:
        found = list(_faults(entry, labels, objects))
        if not found:
            unknown = f"nobody knows namespace {question.namespace}: its labels decide whether it is asked"
            in_doubt = bool(question.namespace) and labels is None and _selects(entry.namespace_selector)
            return Sent(True, unknown if in_doubt else "", tuple(name for name, _ in entry.match_conditions))
        for whose, selector in found:
            faults.setdefault(whose, []).append(selector)
    return Sent(
        False, "; ".join(f"{whose} do not match {' or '.join(dict.fromkeys(those))}" for whose, those in faults.items())
    )


def _faults(entry: Entry, labels: Mapping[str, str] | None, objects: list[Mapping[str, str]]) -> Iterator[tuple[str, str]]:
    """Whose labels do not match what of *entry*; nothing when it matches. labels: of the namespace, None when unknown."""
    of_namespace = Selector.from_object(dict(entry.namespace_selector))
    if labels is not None and not of_namespace.matches(labels):
        unmet = [str(one) for one in of_namespace.requirements if not one.matches(labels)]
        yield "the namespace's labels", ",".join(unmet)
    of_object = Selector.from_object(dict(entry.object_selector))
    if objects and not any(map(of_object.matches, objects)):
        yield "its labels", str(of_object)


def _namespace_labels(question: Question, namespaces: Namespaces) -> Mapping[str, str] | None:
    """The labels that a namespaceSelector is held against; None of an unknown namespace, and where there is none."""
    if not question.namespace:
        return None
    facts = namespaces.get(question.namespace)
    return None if facts is None else {NAMESPACE_NAME: question.namespace, **facts.labels}


def _selects(selector: Mapping[str, Any]) -> bool:
    return bool(selector.get("matchExpressions") or selector.get("matchLabels"))
