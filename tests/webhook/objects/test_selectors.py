"""Label selectors: which labels they match, how they are written, and what is wrong with those that are not selectors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from webhook.objects.faults import Faults
from webhook.objects.selectors import Operator, Requirement, Selector, key_fault, value_fault

# A busy machine is no fault of the code.
CALM = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])

EDGE = {"zone": "plant-7", "tier": "", "cpus": "8"}


@pytest.mark.parametrize(
    ("text", "matches"),
    [
        ("", True),
        ("  ", True),
        ("zone", True),
        ("!zone", False),
        ("gpu", False),
        ("!gpu", True),
        ("zone=plant-7", True),
        ("zone==plant-7", True),
        ("zone=plant-8", False),
        ("zone!=plant-8", True),
        ("gpu!=yes", True),
        ("tier=", True),
        ("tier=,zone", True),
        ("gpu=", False),
        ("zone in (plant-7, plant-8)", True),
        ("zone notin (plant-7)", False),
        ("gpu notin (yes)", True),
        ("gpu in (yes)", False),
        ("tier in ()", True),
        ("tier in (a,)", True),
        ("tier in (,a)", True),
        ("tier in (a,,b)", True),
        ("cpus>7", True),
        ("cpus>8", False),
        ("cpus < 9", True),
        ("zone>1", False),
        ("gpu<1", False),
        ("zone=plant-7,!gpu,cpus in (4,8)", True),
        ("zone=plant-7,gpu", False),
    ],
)
def test_the_string_form_matches_as_kubectl_does(text: str, matches: bool) -> None:
    assert Selector.parse(text).matches(EDGE) is matches


def test_words_of_the_grammar_may_be_keys_and_values() -> None:
    assert Selector.parse("in in (in,notin),notin").matches({"in": "notin", "notin": ""})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a b", 'found "b" where one of =, ==, !=, in, notin, >, < is expected'),
        ("a,", "it ends where a label key is expected"),
        (",a", 'found "," where a label key is expected'),
        ("a,,b", 'found "," where a label key is expected'),
        ("a in x", "found \"x\" where '(' is expected"),
        ("a in (x", "it ends where ',' or ')' is expected"),
        ("a in (x y)", "found \"y\" where ',' or ')' is expected"),
        ("a=b c", "found \"c\" where ',' or the end is expected"),
        ("a==(b)", 'found "(" where a label value is expected'),
        ("!a=b", "found \"=\" where ',' or the end after '!key' is expected"),
        ("!", "it ends where a label key is expected"),
        ("a>x", "a>x: the value must be an integer"),
        ("-a=b", 'label key "-a"'),
        ("a/b/c=d", 'label key "a/b/c"'),
        ("a=b!", "found \"!\" where ',' or the end is expected"),
        ("a=-b", 'label value "-b"'),
        ("a=" + "x" * 64, "has up to 63 letters"),
    ],
)
def test_a_text_that_is_no_selector_is_refused_with_the_place(text: str, message: str) -> None:
    with pytest.raises(Faults) as refusal:
        Selector.parse(text)

    assert message in str(refusal.value)


def test_an_object_and_its_string_form_are_equal() -> None:
    selector = Selector.from_object(
        {
            "matchLabels": {"zone": "plant-7"},
            "matchExpressions": [
                {"key": "gpu", "operator": "DoesNotExist"},
                {"key": "cpus", "operator": "In", "values": ["8", "4", "8"]},
                {"key": "tier", "operator": "Exists", "values": []},
                {"key": "os", "operator": "NotIn", "values": ["windows"]},
            ],
        }
    )

    assert selector == Selector.parse("zone=plant-7,!gpu,cpus in (4,8),tier,os notin (windows)")
    assert str(selector) == "cpus in (4,8),!gpu,os notin (windows),tier,zone=plant-7"


@pytest.mark.parametrize("value", [None, {}, {"matchLabels": {}}, {"matchLabels": None, "matchExpressions": None}])
def test_an_empty_selector_matches_everything(value: Any) -> None:
    selector = Selector.from_object(value)

    assert selector == Selector()
    assert selector.matches({})
    assert selector.matches(EDGE)


def test_every_fault_of_an_object_is_found_at_once_with_its_path() -> None:
    broken = {
        "matchLabel": {},
        "matchLabels": {"a b": "c", "d": 1, "e": "-"},
        "matchExpressions": [
            "zone",
            {"key": "a", "operator": "Inn"},
            {"key": "a", "operator": "In"},
            {"key": "a", "operator": "Exists", "values": ["x"]},
            {"key": "", "operator": "In", "values": ["x", 1, "y z"]},
            {"operator": "Exists", "value": []},
        ],
    }

    with pytest.raises(Faults) as refusal:
        Selector.from_object(broken)

    assert [path for path, _ in refusal.value.faults] == [
        ("matchLabel",),
        ("matchLabels", "a b"),
        ("matchLabels", "d"),
        ("matchLabels", "e"),
        ("matchExpressions", 0),
        ("matchExpressions", 1, "operator"),
        ("matchExpressions", 2, "values"),
        ("matchExpressions", 3, "values"),
        ("matchExpressions", 4, "key"),
        ("matchExpressions", 4, "values", 1),
        ("matchExpressions", 4, "values", 2),
        ("matchExpressions", 5, "value"),
        ("matchExpressions", 5, "key"),
    ]
    assert "matchExpressions[4].values[1]: must be a string, not a number" in str(refusal.value)


@pytest.mark.parametrize("value", [[], "a=b", 1, {"matchLabels": []}, {"matchExpressions": {}}])
def test_what_is_no_selector_at_all_is_refused(value: Any) -> None:
    with pytest.raises(Faults):
        Selector.from_object(value)


@pytest.mark.parametrize("key", ["a", "A.b_c-1", "x" * 63, "example.com/a", "a.b-c.d/" + "x" * 63])
def test_keys_that_the_api_takes_are_taken(key: str) -> None:
    assert key_fault(key) is None


@pytest.mark.parametrize(
    "key", ["", "/", "a/", "/a", "-a", "a-", "a b", "Example.com/a", "x" * 64, "a" * 254 + "/b", "a_b/c", "ä", "a\n"]
)
def test_keys_that_the_api_refuses_are_refused(key: str) -> None:
    assert key_fault(key) is not None


@pytest.mark.parametrize("value", ["a b", "-", "a-", "x" * 64, "a/b", "ä", "a\n"])
def test_values_that_the_api_refuses_are_refused(value: str) -> None:
    assert value_fault(value) is not None


def test_a_comparison_has_no_label_selector_object() -> None:
    with pytest.raises(ValueError, match="cannot say cpus>4"):
        Selector.parse("cpus>4").to_object()


def attempt(text: str) -> Selector | str:
    try:
        return Selector.parse(text)
    except Faults as error:
        return str(error)


# -- any selector ----------------------------------------------------------------------------------------------------

KEYS = st.sampled_from(["a", "b", "c.d/e", "in", "notin"])
LABEL_VALUES = st.sampled_from(["", "x", "y", "10", "in", "notin"])
SETS = st.lists(LABEL_VALUES, min_size=1, max_size=3, unique=True).map(lambda found: tuple(sorted(found)))
REQUIREMENTS = st.one_of(
    st.builds(Requirement, KEYS, st.sampled_from([Operator.IN, Operator.NOT_IN]), SETS),
    st.builds(Requirement, KEYS, st.sampled_from([Operator.EXISTS, Operator.DOES_NOT_EXIST])),
    st.builds(Requirement, KEYS, st.sampled_from([Operator.GT, Operator.LT]), st.just(("9",))),
)
SELECTORS = st.lists(REQUIREMENTS, max_size=4).map(
    lambda found: Selector(tuple(sorted(found, key=lambda requirement: requirement.key)))
)
LABELS = st.dictionaries(KEYS, LABEL_VALUES)


@CALM
@given(SELECTORS)
def test_a_written_selector_reads_back_the_same(selector: Selector) -> None:
    assert Selector.parse(str(selector)) == selector


@CALM
@given(SELECTORS, LABELS)
def test_the_object_form_matches_what_the_selector_matches(selector: Selector, labels: Mapping[str, str]) -> None:
    if any(requirement.operator in (Operator.GT, Operator.LT) for requirement in selector.requirements):
        return
    assert Selector.from_object(selector.to_object()).matches(labels) is selector.matches(labels)


@CALM
@given(st.lists(REQUIREMENTS, min_size=1, max_size=4), LABELS)
def test_a_selector_matches_when_each_condition_does(requirements: list[Requirement], labels: Mapping[str, str]) -> None:
    assert Selector(tuple(requirements)).matches(labels) is all(found.matches(labels) for found in requirements)


@CALM
@given(st.text("ab=!,()<> in\tnot/-1", max_size=14))
def test_every_text_is_a_selector_or_a_clear_error(text: str) -> None:
    found = attempt(text)

    if isinstance(found, Selector):
        assert Selector.parse(str(found)) == found
    else:
        assert "label" in found or "integer" in found
