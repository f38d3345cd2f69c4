"""How long to wait after the n-th failure in a row: exponential, capped, jittered, forgotten after a while of health.

Pure: time and jitter are arguments.
Source: client-go, tools/cache/reflector (0.8 s, x2, cap 30 s, jitter factor 1, reset after 2 min).
"""

from __future__ import annotations

import attrs


@attrs.frozen
class BackoffPolicy:
    """The shape of a backoff. The delay before jitter is at most *cap_s*; jitter adds up to *jitter* times the delay."""

    initial_s: float = 0.8
    factor: float = 2.0
    cap_s: float = 30.0
    jitter: float = 1.0
    reset_after_s: float = 120.0  # without a failure for this long, the next one counts as the first


@attrs.frozen
class Backoff:
    """Failures so far in a row, and when the wait after the last one ends."""

    policy: BackoffPolicy = BackoffPolicy()
    failures: int = 0
    until_s: float = float("-inf")

    def next(self, now_s: float, random: float, *, at_least_s: float = 0.0) -> tuple[Backoff, float]:
        """The backoff after one more failure at *now_s*, and the seconds to wait.

        random: uniform in [0, 1). at_least_s: what a server asked for (Retry-After).
        """
        policy = self.policy
        failures = 0 if now_s - self.until_s >= policy.reset_after_s else self.failures
        # The exponent is clamped: 2.0 ** 1024 overflows after a long outage.
        delay_s = min(policy.cap_s, policy.initial_s * policy.factor ** min(failures, 64))
        delay_s = max(delay_s * (1.0 + policy.jitter * random), at_least_s)
        return attrs.evolve(self, failures=failures + 1, until_s=now_s + delay_s), delay_s
