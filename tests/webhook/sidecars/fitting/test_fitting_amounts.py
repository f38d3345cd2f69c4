"""Totals, limit ranges and quotas that a sidecar outgrows are told, raised, kept within, or end the entry."""

from __future__ import annotations

from tests.webhook.sidecars.fitting.fits import RAISE, amounts, asking, fitted, names, ranged, rationed, totalled
from tests.webhook.sidecars.injection.injecting import NATIVE, entry, pod, reasons
from webhook.names import Reason
from webhook.sidecars.entries.entry import Repair, Unfit

# -- the pod's own totals


def test_totals_that_the_sidecar_outgrows_are_told() -> None:
    outcome, _ = fitted(totalled("50m", "100m"), asking())

    (finding,) = outcome.findings
    assert finding.reason is Reason.POD_RESOURCES
    assert finding.message == (
        'the API server will refuse entry "envoy" (shop/sidecars): '
        "spec.resources.requests.cpu is 50m, the containers together ask for 150m; "
        'spec.resources.limits.cpu is 100m, the limit of container "envoy" is 500m'
    )


def test_totals_that_cover_the_sidecar_are_nobodys_business() -> None:
    outcome, after = fitted(totalled("1", "2"), asking(repair=RAISE))

    assert outcome.findings == ()
    assert after["spec"]["resources"] == amounts("1", "2")


def test_totals_may_be_raised_by_what_the_entry_asks_for() -> None:
    outcome, after = fitted(totalled("50m", "100m"), asking(repair=RAISE))

    assert after["spec"]["resources"] == amounts("150m", "600m")
    assert [finding.message for finding in outcome.findings] == [
        'entry "envoy" (shop/sidecars): spec.resources.requests.cpu is raised from 50m to 150m',
        'entry "envoy" (shop/sidecars): spec.resources.limits.cpu is raised from 100m to 600m',
    ]


def test_a_native_sidecar_counts_in_the_totals() -> None:
    _, after = fitted(totalled("50m", "100m"), asking(repair=RAISE), scene=NATIVE)

    assert after["spec"]["resources"] == amounts("150m", "600m")


def test_a_container_without_a_limit_raises_the_total_limit_by_its_request() -> None:
    bare = {"name": "envoy", "image": "e:1", "resources": {"requests": {"cpu": "100m"}}}

    _, after = fitted(totalled("50m", "100m"), entry(containers=(bare,), repair=RAISE))

    assert after["spec"]["resources"] == amounts("150m", "200m")


def test_only_what_the_pod_states_is_raised() -> None:
    sent = pod({"name": "app", "image": "a:1"}, resources={"requests": {"cpu": "50m"}})
    both = {"requests": {"cpu": "100m", "memory": "64Mi"}}

    _, after = fitted(sent, entry(containers=({"name": "envoy", "image": "e:1", "resources": both},), repair=RAISE))

    assert after["spec"]["resources"] == {"requests": {"cpu": "150m"}}


def test_of_two_entries_the_one_that_may_not_raise_is_blamed() -> None:
    outcome, after = fitted(totalled("50m", "100m"), asking(repair=RAISE), asking("log", if_refused=Unfit.SKIP))

    assert names(outcome) == ["envoy"]
    assert after["spec"]["resources"] == amounts("150m", "600m")
    assert reasons(outcome.findings) == [Reason.POD_RESOURCES, Reason.REPAIRED, Reason.REPAIRED]


# -- limit ranges and quotas


def test_a_limit_range_that_refuses_the_sidecar_is_told() -> None:
    outcome, _ = fitted(pod(), asking(), surroundings=ranged(max={"cpu": "200m"}))

    (finding,) = outcome.findings
    assert finding.reason is Reason.LIMIT_RANGE
    assert finding.message == (
        'the API server will refuse entry "envoy" (shop/sidecars): '
        'container "envoy" has a cpu limit of 500m, more than 200m (LimitRange "small")'
    )
    assert finding.field == "spec.containers[1].resources.limits.cpu"


def test_an_app_outside_of_the_limit_range_is_its_authors_affair() -> None:
    sent = pod({"name": "app", "image": "a:1", "resources": amounts("1", "2")})

    outcome, _ = fitted(sent, asking(limit="100m"), surroundings=ranged(max={"cpu": "200m"}))

    assert outcome.findings == ()


def test_resources_may_be_brought_into_the_limit_range() -> None:
    clamping = asking(request="300m", repair=frozenset({Repair.LIMIT_RANGE}))

    outcome, after = fitted(pod(), clamping, surroundings=ranged(max={"cpu": "200m"}))

    assert after["spec"]["containers"][1]["resources"] == amounts("200m", "200m")
    (finding,) = outcome.findings
    assert finding.reason is Reason.REPAIRED
    assert finding.message == (
        'entry "envoy" (shop/sidecars): container "envoy" is brought into the namespace\'s LimitRange: '
        "requests.cpu from 300m to 200m, limits.cpu from 500m to 200m"
    )


def test_what_the_limit_range_fills_in_needs_no_repair() -> None:
    outcome, after = fitted(pod(), entry(repair=frozenset({Repair.LIMIT_RANGE})), surroundings=ranged(max={"cpu": "200m"}))

    assert outcome.findings == ()
    assert "resources" not in after["spec"]["containers"][1]


def test_a_quota_that_the_sidecar_exhausts_is_told() -> None:
    sent = pod({"name": "app", "image": "a:1", "resources": amounts("10m", "10m")})

    outcome, _ = fitted(sent, asking(), surroundings=rationed(requests_cpu="50m"))

    (finding,) = outcome.findings
    assert finding.reason is Reason.QUOTA
    assert 'ResourceQuota "ration" has 50m of requests.cpu left, 110m is wanted' in finding.message


def test_a_quota_that_wants_limits_names_the_sidecar_that_has_none() -> None:
    sent = pod({"name": "app", "image": "a:1", "resources": amounts("10m", "10m")})

    outcome, _ = fitted(sent, entry(), surroundings=rationed(limits_cpu="1"))

    (finding,) = outcome.findings
    assert 'requires limits.cpu of every container, "envoy" states none' in finding.message
    assert finding.field == "spec.containers[1].resources"


def test_a_quota_leaves_out_the_last_entry_that_may_go() -> None:
    sent = pod({"name": "app", "image": "a:1", "resources": amounts("10m", "10m")})
    entries = [asking(name, request="30m", if_refused=Unfit.SKIP) for name in ("one", "two", "three")]

    outcome, _ = fitted(sent, *entries, surroundings=rationed(requests_cpu="50m"))

    assert names(outcome) == ["one"]
    assert [finding.message.split(" ")[1] for finding in outcome.findings] == ['"three"', '"two"']


def test_raised_totals_are_held_against_the_quota() -> None:
    outcome, _ = fitted(totalled("50m", "100m"), asking(repair=RAISE), surroundings=rationed(requests_cpu="100m"))

    assert reasons(outcome.findings) == [Reason.REPAIRED, Reason.REPAIRED, Reason.QUOTA]
