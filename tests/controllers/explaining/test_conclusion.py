"""The line that comes first about a pod: a refusal, who could not decide, what changes, or that nothing does."""

from __future__ import annotations

import attrs
import pytest

from controllers.explaining.asking import QuestionAnswer, RuleAnswer, ServiceAnswer
from controllers.explaining.conclusion import NOTHING, Conclusion, Grounds, Kind, Told, conclude, settled
from controllers.explaining.differences import ADDED, Change

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
UNREADY = attrs.evolve(UNDECIDED, service="pod-ip", why="no pool is known", is_mutating=True)
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
        (Grounds(INJECTED, answers=(created(UNREADY, REFUSING),)), "not decided, pod-ip: no pool is known"),
        (Grounds(INJECTED, answers=(created(REFUSING, UNREADY),)), "refused, OwnerMissing: nobody owns it"),
        (Grounds(INJECTED, breach=BREACH, answers=(created(UNREADY, REFUSING),)), "refused, OutOfLimits: too much"),
        (Grounds(INJECTED, answers=(created(UNREADY), created(REFUSING))), "refused, OwnerMissing: nobody owns it"),
    ],
    ids=range(19),
)
def test_what_counts_comes_first(grounds: Grounds, expected: str) -> None:
    assert str(conclude(grounds)) == expected


@pytest.mark.parametrize(
    ("grounds", "kind", "tells_sidecars"),
    [
        (Grounds(NOT_ENABLED), Kind.UNCHANGED, False),
        (Grounds(Told("Nothing", "changes"), answers=(created(INHERITED),)), Kind.CHANGED, False),
        (Grounds(INJECTED, is_changed=True), Kind.CHANGED, True),
        (Grounds(INJECTED, answers=(created(service(said("Injected", "envoy@1"))),)), Kind.CHANGED, True),
        (Grounds(Told("OwnerInherited", "owner=team-a"), answers=(created(INHERITED),)), Kind.CHANGED, True),
        (Grounds(Told("EntryMissing", "gone"), is_refused=True), Kind.REFUSED, True),
        (Grounds(INJECTED, breach=BREACH), Kind.REFUSED, False),
        (Grounds(INJECTED, answers=(created(REFUSING),)), Kind.REFUSED, False),
        (Grounds(UNKNOWN), Kind.UNDECIDED, True),
        (Grounds(UNKNOWN, answers=(created(UNDECIDED),)), Kind.UNDECIDED, True),
        (Grounds(INJECTED, answers=(created(UNDECIDED),)), Kind.UNDECIDED, False),
        (Grounds(UNKNOWN, answers=(created(UNDECIDED), created(REFUSING, operation="UPDATE"))), Kind.REFUSED, False),
    ],
    ids=range(12),
)
def test_the_kind_decides_what_is_refused_and_what_is_decided(grounds: Grounds, kind: Kind, tells_sidecars: bool) -> None:
    found = conclude(grounds)

    assert (found.kind, found.tells_sidecars) == (kind, tells_sidecars)
    assert (found.is_refused, found.is_decided) == (kind is Kind.REFUSED, kind is not Kind.UNDECIDED)


def test_a_service_whose_changes_no_rule_is_known_for_is_named_with_them() -> None:
    silent = attrs.evolve(
        service(said("OwnWord", "one"), said("OtherWord", "two")),
        changes=tuple(attrs.evolve(LABEL, name=name) for name in "abcde"),
    )

    assert str(conclude(Grounds(NOT_ENABLED, answers=(created(silent),)))) == (
        "own: changes label a, label b, label c and 2 more"
    )


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        ((), None),
        ((created(PASSING), created(INHERITED)), None),
        ((created(UNDECIDED), created(REFUSING)), Conclusion(Kind.REFUSED, (Told("OwnerMissing", "nobody owns it"),))),
        ((created(UNDECIDED),), Conclusion(Kind.UNDECIDED, (Told("own", "the pods cache has not synced yet"),))),
        ((created(UNREADY, REFUSING),), Conclusion(Kind.UNDECIDED, (Told("pod-ip", "no pool is known"),))),
        ((created(UNDECIDED, REFUSING),), Conclusion(Kind.REFUSED, (Told("OwnerMissing", "nobody owns it"),))),
    ],
)
def test_answers_are_settled_by_a_refusal_before_who_cannot_decide(
    answers: tuple[QuestionAnswer, ...], expected: Conclusion | None
) -> None:
    assert settled(answers) == expected
