"""When what is served expires, for the metrics of every process. Threads: any; nothing blocks."""

from __future__ import annotations

from collections.abc import Callable

from webhook.clock import Clock
from webhook.telemetry import Telemetry

UNKNOWN = float("nan")  # as Prometheus has it: no alert compares with it


def watch_expiry(
    telemetry: Telemetry, clock: Clock, leaf_s: Callable[[], float | None], ca_s: Callable[[], float | None]
) -> None:
    """Serve gatehouse_certificate_expiry_seconds. leaf_s, ca_s: seconds since the epoch, None while unknown; any thread."""
    gauge = telemetry.gauge(
        "gatehouse_certificate_expiry_seconds",
        "Seconds until the served certificate (leaf), and the newest CA of its Secret (ca), expire; below zero afterwards.",
        ("kind",),
    )

    def left_s(end_s: Callable[[], float | None]) -> Callable[[], float]:
        return lambda: UNKNOWN if (known_s := end_s()) is None else known_s - clock.wall_s()

    gauge.labels("leaf").set_function(left_s(leaf_s))
    gauge.labels("ca").set_function(left_s(ca_s))
