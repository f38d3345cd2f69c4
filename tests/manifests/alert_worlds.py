"""A world in which nothing is wrong with Gatehouse, and for each alert what turns bad in it: promtool's tests are made of both.

An hour is quiet, an hour is bad, an hour is quiet again; one sample a minute. Pure.
Source: prometheus.io/docs: unit testing for rules.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import attrs

QUIET_M, BAD_M, AFTER_M = 60, 60, 60
SETTLED_M = 10  # by then a rate has seen the change, and a series that ended is forgotten


def gauge(quiet: float, bad: float) -> str:
    """Samples of a gauge."""
    return f"{quiet}x{QUIET_M - 1} {bad}x{BAD_M - 1} {quiet}x{AFTER_M - 1}"


def counter(quiet: int, bad: int) -> str:
    """Samples of a counter that grows by so much a minute."""
    begin, end = quiet * (QUIET_M - 1), quiet * (QUIET_M - 1) + bad * BAD_M
    return f"0+{quiet}x{QUIET_M - 1} {begin + bad}+{bad}x{BAD_M - 1} {end + quiet}+{quiet}x{AFTER_M - 1}"


GONE = f"1x{QUIET_M - 1} stale _x{BAD_M - 2} 1x{AFTER_M - 1}"  # nobody is scraped
STEP = f"0x{QUIET_M - 1} 1x{BAD_M + AFTER_M - 1}"  # one thing happens, once
FIRST = f"_x{QUIET_M} 1x{BAD_M + AFTER_M - 1}"  # the same, where the series begins with it

_A, _B = 'job="gatehouse", instance="a"', 'job="gatehouse", instance="b"'
_REQUESTS = "controller_runtime_webhook_requests_total"
_LATENCY = "controller_runtime_webhook_latency_seconds_bucket"

HEALTHY: Mapping[str, str] = {
    f"up{{{_A}}}": gauge(1, 1),
    f"up{{{_B}}}": gauge(1, 1),
    f'{_REQUESTS}{{{_A}, webhook="mutate", code="200"}}': counter(60, 60),
    f'{_REQUESTS}{{{_A}, webhook="mutate", code="500"}}': counter(0, 0),
    f'{_REQUESTS}{{{_A}, webhook="mutate", code="503"}}': counter(1, 1),
    f'{_LATENCY}{{{_A}, webhook="mutate", le="0.5"}}': counter(60, 60),
    f'{_LATENCY}{{{_A}, webhook="mutate", le="1"}}': counter(60, 60),
    f'{_LATENCY}{{{_A}, webhook="mutate", le="2.5"}}': counter(60, 60),
    f'{_LATENCY}{{{_A}, webhook="mutate", le="+Inf"}}': counter(60, 60),
    f"controller_runtime_webhook_panics_total{{{_A}}}": counter(0, 0),
    f"gatehouse_server_faults_total{{{_A}}}": counter(0, 0),
    f'gatehouse_admission_rejected_total{{{_A}, service="mutate", why="draining"}}': counter(1, 1),
    f'gatehouse_admission_rejected_total{{{_A}, service="mutate", why="overloaded"}}': counter(0, 0),
    f'gatehouse_certificate_expiry_seconds{{{_A}, kind="leaf"}}': gauge(30 * 86400, 30 * 86400),
    f'gatehouse_certificate_expiry_seconds{{{_A}, kind="ca"}}': gauge(120 * 86400, 120 * 86400),
    f'gatehouse_ca_bundle_repairs_damped_total{{{_A}, deed="bundle"}}': counter(0, 0),
    f'gatehouse_reflector_last_event_age_seconds{{{_A}, resource="nodes"}}': gauge(30, 30),
    f'gatehouse_sidecar_entries{{{_A}, state="good"}}': gauge(3, 3),
    f'gatehouse_sidecar_entries{{{_A}, state="stale"}}': gauge(0, 0),
    f'gatehouse_sidecar_entries{{{_A}, state="broken"}}': gauge(0, 0),
    f'leader_election_master_status{{{_A}, name="gatehouse"}}': gauge(1, 1),
    f'leader_election_master_status{{{_B}, name="gatehouse"}}': gauge(0, 0),
    f'gatehouse_leader_election_last_contact_seconds{{{_A}, name="gatehouse"}}': gauge(2, 2),
    f'controller_runtime_reconcile_errors_total{{{_A}, controller="edge-health"}}': counter(0, 0),
    f'gatehouse_edge_guard_age_seconds{{{_A}, node="edge-1"}}': gauge(3600, 3600),
    f'gatehouse_edge_deeds_damped_total{{{_A}, deed="taint"}}': counter(0, 0),
    f'gatehouse_coverage_bare_pods{{{_A}, namespace="shop"}}': gauge(0, 0),
    f'gatehouse_address_pool_free{{{_A}, pool="web"}}': gauge(20, 20),
    f'gatehouse_address_pool_size{{{_A}, pool="web"}}': gauge(64, 64),
    f"gatehouse_address_gates_waiting{{{_A}}}": gauge(0, 0),
    f"gatehouse_address_conflicts{{{_A}}}": gauge(0, 0),
    f"gatehouse_database_oldest_deletion_age_seconds{{{_A}}}": gauge(60, 60),
}


@attrs.frozen
class Trouble:
    """What turns bad for an hour, and the labels of the one alert that fires (beside its severity)."""

    alert: str
    changed: Mapping[str, str]  # series -> samples
    labels: Mapping[str, str] = attrs.field(factory=dict)


_SLOW = {
    f'{_LATENCY}{{{_A}, webhook="mutate", le="0.5"}}': counter(60, 30),
    f'{_LATENCY}{{{_A}, webhook="mutate", le="1"}}': counter(60, 30),
}
_MUTATE = {"service": "mutate"}

TROUBLES = (
    Trouble("GatehouseDown", {f"up{{{_A}}}": GONE, f"up{{{_B}}}": GONE}),
    Trouble("GatehouseReplicaDown", {f"up{{{_B}}}": gauge(1, 0)}, {"job": "gatehouse", "instance": "b"}),
    Trouble("GatehouseErrors", {f'{_REQUESTS}{{{_A}, webhook="mutate", code="500"}}': counter(0, 3)}, {"webhook": "mutate"}),
    Trouble("GatehouseFault", {f"controller_runtime_webhook_panics_total{{{_A}}}": STEP}),
    Trouble("GatehouseFault", {f"gatehouse_server_faults_total{{{_A}}}": STEP}),
    Trouble("GatehousePatchMisfit", {f'gatehouse_admission_patch_misfits_total{{{_A}, service="mutate"}}': FIRST}, _MUTATE),
    Trouble("GatehousePatchMisfit", {f'gatehouse_admission_patch_misfits_total{{{_A}, service="mutate"}}': STEP}, _MUTATE),
    Trouble(
        "GatehouseOverloaded",
        {f'gatehouse_admission_rejected_total{{{_A}, service="mutate", why="overloaded"}}': counter(0, 2)},
        _MUTATE,
    ),
    Trouble("GatehouseSlow", _SLOW, {"webhook": "mutate"}),
    Trouble(
        "GatehouseCertificateExpiresSoon",
        {f'gatehouse_certificate_expiry_seconds{{{_A}, kind="leaf"}}': gauge(30 * 86400, 6 * 86400)},
        {"kind": "leaf"},
    ),
    Trouble(
        "GatehouseCertificateExpiresSoon",
        {f'gatehouse_certificate_expiry_seconds{{{_A}, kind="ca"}}': gauge(120 * 86400, 29 * 86400)},
        {"kind": "ca"},
    ),
    Trouble("GatehouseCABundleFight", {f'gatehouse_ca_bundle_repairs_damped_total{{{_A}, deed="bundle"}}': counter(0, 1)}),
    Trouble(
        "GatehouseCacheSilent",
        {f'gatehouse_reflector_last_event_age_seconds{{{_A}, resource="nodes"}}': gauge(30, 900)},
        {"resource": "nodes"},
    ),
    Trouble(
        "GatehouseSidecarEntriesFaulty", {f'gatehouse_sidecar_entries{{{_A}, state="stale"}}': gauge(0, 1)}, {"state": "stale"}
    ),
    Trouble(
        "GatehouseNoLeader",
        {f'leader_election_master_status{{{_A}, name="gatehouse"}}': gauge(1, 0)},
        {"name": "gatehouse"},
    ),
    Trouble(
        "GatehouseLeaseUnanswered",
        {f'gatehouse_leader_election_last_contact_seconds{{{_A}, name="gatehouse"}}': gauge(2, 120)},
        {"name": "gatehouse"},
    ),
    Trouble(
        "GatehouseReconcileFails",
        {f'controller_runtime_reconcile_errors_total{{{_A}, controller="edge-health"}}': counter(0, 1)},
        {"controller": "edge-health"},
    ),
    Trouble(
        "GatehouseGuardOld",
        {f'gatehouse_edge_guard_age_seconds{{{_A}, node="edge-1"}}': gauge(3600, 46800)},
        {"node": "edge-1"},
    ),
    Trouble(
        "GatehouseEdgeFight", {f'gatehouse_edge_deeds_damped_total{{{_A}, deed="taint"}}': counter(0, 1)}, {"deed": "taint"}
    ),
    Trouble(
        "GatehouseBarePods", {f'gatehouse_coverage_bare_pods{{{_A}, namespace="shop"}}': gauge(0, 2)}, {"namespace": "shop"}
    ),
    Trouble("GatehouseAddressesScarce", {f'gatehouse_address_pool_free{{{_A}, pool="web"}}': gauge(20, 5)}, {"pool": "web"}),
    Trouble("GatehousePodsAwaitAddresses", {f"gatehouse_address_gates_waiting{{{_A}}}": gauge(0, 1)}),
    Trouble("GatehouseAddressConflict", {f"gatehouse_address_conflicts{{{_A}}}": gauge(0, 1)}),
    Trouble("GatehouseDatabaseDeletionStuck", {f"gatehouse_database_oldest_deletion_age_seconds{{{_A}}}": gauge(60, 4000)}),
)


def rule_tests(rules: Mapping[str, Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """promtool's tests: at each of four moments every alert of *rules* (by name) is asked for; only the one meant may fire."""
    for trouble in TROUBLES:
        rule = rules[trouble.alert]
        for_m = int(str(rule.get("for", "0m")).removesuffix("m"))
        labels = {"alertname": trouble.alert, **rule["labels"], **trouble.labels}
        moments = {QUIET_M - 1: False, QUIET_M + for_m + SETTLED_M: True, QUIET_M + BAD_M + AFTER_M - 1: False}
        if for_m > 1:
            moments[QUIET_M + for_m - 1] = False
        yield {
            "name": f"{trouble.alert}: {', '.join(trouble.changed)}",
            "interval": "1m",
            "input_series": [{"series": name, "values": values} for name, values in {**HEALTHY, **trouble.changed}.items()],
            "alert_rule_test": [
                {
                    "eval_time": f"{moment}m",
                    "alertname": name,
                    "exp_alerts": [{"exp_labels": labels}] if fires and name == trouble.alert else [],
                }
                for moment, fires in sorted(moments.items())
                for name in rules
            ],
        }
