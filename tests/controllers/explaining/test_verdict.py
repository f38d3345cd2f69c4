"""The line that comes first about a pod: a refusal, who could not decide, what changes, or that nothing does."""

from __future__ import annotations

import pytest

from controllers.explaining.asking import QuestionAnswer, RuleAnswer, ServiceAnswer
from controllers.explaining.differences import ADDED, Change
from controllers.explaining.verdict import NOTHING, Grounds, Told, verdict

NOT_ENABLED = Told("NamespaceNotEnabled", "namespace shop bears no label")
INJECTED = Told("Injected", "envoy@1")
UNKNOWN = Told("NamespaceUnknown", "nobody knows namespace shop")
BREACH = Told("OutOfLimits", "too much")
LABEL = Change(ADDED, "label", "owner", "metadata.labels")


def said(reason: str, message: str = "", *, refused: bool = False) -> RuleAnswer:
    return RuleAnswer(reason.lower(), reason, message, refused, ())


def service(*rules: RuleAnswer, changes: bool = True, decided: bool = True) -> ServiceAnswer:
    why = "" if decided else "the pods cache has not synced yet"
    return ServiceAnswer("own", "/rules/own", True, why, (), rules, (LABEL,) if changes else (), decided)


def created(*services: ServiceAnswer, operation: str = "CREATE") -> QuestionAnswer:
    return QuestionAnswer("when it is created", operation, "pods", "", services)


INHERITED = service(said("OwnerInherited", "owner=team-a"))
REFUSING = service(said("OwnerMissing", "nobody owns it", refused=True), changes=False)
UNDECIDED = service(changes=False, decided=False)
PASSING = service(said("HasOwner", "it has one"), changes=False)
DEFAULTS = service(said("Defaulted", "cpu 100m"), said("NothingToDo"))


@pytest.mark.parametrize(
    ("grounds", "expected"),
    [
        (Grounds(NOT_ENABLED), NOTHING),
        (Grounds(NOT_ENABLED, answers=(created(PASSING),)), NOTHING),
        (Grounds(NOT_ENABLED, answers=(created(INHERITED),)), "OwnerInherited: owner=team-a"),
        (Grounds(NOT_ENABLED, answers=(created(DEFAULTS),)), "Defaulted: cpu 100m"),
        (Grounds(NOT_ENABLED, answers=(created(INHERITED, operation="UPDATE"),)), NOTHING),
        (Grounds(INJECTED, is_changed=True), "Injected: envoy@1"),
        (Grounds(INJECTED, is_changed=True, answers=(created(INHERITED),)), "Injected: envoy@1; OwnerInherited: owner=team-a"),
        (
            Grounds(INJECTED, answers=(created(service(said("Injected", "envoy@1"), said("Defaulted", "cpu"))),)),
            "Injected: envoy@1; Defaulted: cpu",
        ),
        (Grounds(Told("MountConflict", "no place"), is_changed=True), "MountConflict: no place"),
        (Grounds(INJECTED, answers=(created(INHERITED, REFUSING),)), "refused, OwnerMissing: nobody owns it"),
        (Grounds(INJECTED, breach=BREACH, answers=(created(REFUSING),)), "refused, OutOfLimits: too much"),
        (Grounds(Told("EntryMissing", "gone"), is_refused=True, breach=BREACH), "refused, EntryMissing: gone"),
        (Grounds(UNKNOWN, answers=(created(UNDECIDED),)), f"not decided, {UNKNOWN}"),
        (Grounds(INJECTED, answers=(created(UNDECIDED),)), "not decided, own: the pods cache has not synced yet"),
        (Grounds(UNKNOWN, answers=(created(REFUSING),)), "refused, OwnerMissing: nobody owns it"),
    ],
    ids=range(15),
)
def test_what_counts_comes_first(grounds: Grounds, expected: str) -> None:
    assert verdict(grounds) == expected
