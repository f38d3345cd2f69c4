"""Rates and percentiles from counters that only grow."""

from __future__ import annotations

import math
from bisect import bisect_left

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controllers.status.traffic.window import BOUNDS_S, NOTHING, Counts, Sample, at_least, quantile_s, read, traffic
from webhook.telemetry import LATENCY_BUCKETS_S, Telemetry


def within(*took_s: float) -> tuple[int, ...]:
    return tuple(sum(one <= bound for one in took_s) for bound in BOUNDS_S)


@pytest.mark.parametrize(
    ("took_s", "share", "expected_s"),
    [
        ((), 0.5, None),
        ((0.0007,) * 10, 0.5, 0.0005),  # half of the first bucket, as histogram_quantile says
        ((0.002,) * 4, 0.5, 0.00175),
        ((0.002,) * 99 + (7.0,), 0.99, 0.0025),
        ((0.002,) * 98 + (7.0, 7.0), 0.99, 7.5),
        ((60.0,), 0.5, 10.0),  # at least
    ],
)
def test_a_percentile_is_interpolated_in_its_bucket(took_s: tuple[float, ...], share: float, expected_s: float | None) -> None:
    assert quantile_s(within(*took_s), share) == (None if expected_s is None else pytest.approx(expected_s))


@given(st.lists(st.floats(0.0, 9.99), min_size=1), st.floats(0.01, 1.0))
def test_a_percentile_is_in_the_bucket_of_the_true_one(took_s: list[float], share: float) -> None:
    true_s = sorted(took_s)[math.ceil(round(share * len(took_s), 9)) - 1]
    index = bisect_left(LATENCY_BUCKETS_S, true_s)

    estimate_s = quantile_s(within(*took_s), share)

    assert estimate_s is not None
    lower_s = LATENCY_BUCKETS_S[index - 1] if index else 0.0
    assert lower_s - 1e-9 <= estimate_s <= LATENCY_BUCKETS_S[index] + 1e-9


def test_a_rate_is_of_the_last_minute_and_the_rest_of_the_window() -> None:
    def sample(at_s: float, answered: int, undecided: int, refused: int, *took_s: float) -> Sample:
        return Sample(at_s, {"mutate": Counts(answered, undecided, refused, within(*took_s))})

    window, minute = sample(0.0, 100, 1, 2, *[5.0] * 100), sample(240.0, 160, 1, 4, *[5.0] * 100)
    now = sample(300.0, 280, 3, 7, *[5.0] * 100, *[0.002] * 180)

    (row,) = traffic(now, minute, window).values()

    assert (row["perSecond"], row["windowSeconds"]) == (2.0, 300.0)
    assert (row["answered"], row["undecided"], row["refused"]) == (180, 2, 5)
    assert (row["answeredTotal"], row["undecidedTotal"], row["refusedTotal"]) == (280, 3, 7)
    assert row["p99Seconds"] < 0.0025  # of what came in the window, not of the slow ones before it


def test_at_the_moment_of_the_start_there_is_no_rate() -> None:
    now = Sample(5.0, {"mutate": NOTHING})

    assert traffic(now, now, now)["mutate"]["perSecond"] is None


def test_the_sample_that_is_old_enough_is_found_and_else_the_oldest() -> None:
    samples = [Sample(float(at_s), {}) for at_s in (0, 10, 20, 30)]

    assert at_least(samples, 30.0, 15.0).at_s == 10.0
    assert at_least(samples, 30.0, 300.0).at_s == 0.0


def test_counters_are_read_by_service_whatever_their_paths() -> None:
    telemetry = Telemetry()
    requests = telemetry.counter("controller_runtime_webhook_requests", "", ["webhook", "code"])
    latency = telemetry.histogram("controller_runtime_webhook_latency_seconds", "", ["webhook"])
    refused = telemetry.counter("gatehouse_admission_refused", "", ["service"])
    for path, code, took_s in (("/pod-ip", "200", 0.002), ("/webhook/mutating", "503", 0.4), ("/other", "200", 1.0)):
        requests.labels(path, code).inc()
        latency.labels(path).observe(took_s)
    requests.labels("other", "404").inc()
    refused.labels("pod-ip").inc(3)

    found = read(telemetry, {"/pod-ip": "pod-ip", "/webhook/mutating": "pod-ip", "/mutate": "mutate"})

    assert found == {"pod-ip": Counts(2, 1, 3, within(0.002, 0.4)), "mutate": NOTHING}


def test_before_anything_is_counted_there_is_nothing() -> None:
    assert read(Telemetry(), {"/mutate": "mutate"}) == {"mutate": NOTHING}
