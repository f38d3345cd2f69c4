"""One set of metrics for a process: what is asked for twice is one, and a name means one kind."""

from __future__ import annotations

import pytest

from webhook.telemetry import LATENCY_BUCKETS_S, Telemetry


@pytest.fixture
def telemetry() -> Telemetry:
    return Telemetry()


def test_whoever_asks_twice_for_a_metric_counts_in_the_same_one(telemetry: Telemetry) -> None:
    telemetry.counter("gatehouse_things", "Things.", ["kind"]).labels("a").inc()
    telemetry.counter("gatehouse_things", "Things.", ["kind"]).labels("a").inc(2)

    assert 'gatehouse_things_total{kind="a"} 3.0' in telemetry.expose().decode()


def test_two_sets_share_nothing(telemetry: Telemetry) -> None:
    telemetry.gauge("gatehouse_level", "Level.").set(5)

    assert b"gatehouse_level" not in Telemetry().expose()


@pytest.mark.parametrize("other", ["counter", "gauge", "histogram"])
@pytest.mark.parametrize("first", ["counter", "gauge", "histogram"])
def test_a_name_that_is_taken_by_another_kind_is_a_mistake(first: str, other: str, telemetry: Telemetry) -> None:
    made = getattr(telemetry, first)("gatehouse_thing", "Thing.")

    if first == other:
        assert getattr(telemetry, other)("gatehouse_thing", "Thing.") is made
    else:
        with pytest.raises(TypeError, match=f"gatehouse_thing is already a {first.capitalize()}"):
            getattr(telemetry, other)("gatehouse_thing", "Thing.")


def test_samples_are_those_of_the_text_without_the_name(telemetry: Telemetry) -> None:
    telemetry.counter("gatehouse_things", "Things.", ["kind"]).labels("a").inc()
    telemetry.histogram("gatehouse_wait", "Wait.", buckets=(1.0, 2.0)).observe(1.5)

    things = [one for one in telemetry.samples("gatehouse_things") if one[0] == "_total"]
    waits = [(suffix, dict(labels), value) for suffix, labels, value in telemetry.samples("gatehouse_wait")]

    assert things == [("_total", {"kind": "a"}, 1.0)]
    assert [one for one in waits if one[0] == "_bucket"] == [
        ("_bucket", {"le": "1.0"}, 0.0),
        ("_bucket", {"le": "2.0"}, 1.0),
        ("_bucket", {"le": "+Inf"}, 1.0),
    ]
    assert ("_sum", {}, 1.5) in waits
    assert ("_count", {}, 1.0) in waits


def test_a_metric_that_nobody_has_asked_for_has_no_samples(telemetry: Telemetry) -> None:
    assert telemetry.samples("gatehouse_things") == []


def test_a_histogram_has_buckets_for_answers_to_an_api_server(telemetry: Telemetry) -> None:
    telemetry.histogram("gatehouse_wait", "Wait.").observe(0.0)

    bounds = [labels["le"] for suffix, labels, _ in telemetry.samples("gatehouse_wait") if suffix == "_bucket"]

    assert bounds == [*map(str, LATENCY_BUCKETS_S), "+Inf"]


def test_what_is_in_a_label_does_not_break_the_text(telemetry: Telemetry) -> None:
    telemetry.counter("gatehouse_things", "Things.", ["kind"]).labels('a"b\\c\nd').inc()

    assert 'gatehouse_things_total{kind="a\\"b\\\\c\\nd"} 1.0' in telemetry.expose().decode()
