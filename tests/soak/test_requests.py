"""Millions of requests, tens of thousands of connections: memory and threads stay as they are."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import attrs

from tests.load.program import Program
from tests.server.figures import Figures
from tests.server.openings import open_and_close
from tests.server.replica import Replica, replica

REQUESTS = int(os.environ.get("SOAK_REQUESTS", "2000000"))
CONNECTIONS = 20_000
CALLERS = 16
WARM_UP = 20_000
SAMPLE_S = 5.0
# The slowest machine on which this should still end: 500 requests a second.
LIMIT_S = REQUESTS / 500 + 60
MIB = 2**20
GROWTH_BYTES, LATE_BYTES = 5 * MIB, MIB


@attrs.frozen
class Sample:
    """What the process had at one moment."""

    resident_bytes: int
    threads: int


def sample(running: Replica) -> Sample:
    return Sample(running.served.resident_bytes(), running.threads())


def watch(running: Replica, over: threading.Event, samples: list[Sample]) -> None:
    """Sample until it is over."""
    while not over.wait(SAMPLE_S):
        samples.append(sample(running))


def test_two_million_requests_leave_memory_and_threads_flat(tmp_path: Path, figures: Figures) -> None:
    samples: list[Sample] = []
    with replica(tmp_path) as running:
        load = running.load(callers=CALLERS, requests=REQUESTS, warm_up=WARM_UP, limit_s=LIMIT_S, wait=True)
        with Program.start(load) as program:
            program.wait_until_warm()
            samples.append(sample(running))
            over = threading.Event()
            sampler = threading.Thread(target=watch, args=(running, over, samples), name="test/sampler")
            sampler.start()
            try:
                program.begin()
                result = program.result()
            finally:
                over.set()
                sampler.join(SAMPLE_S)
            samples.append(sample(running))
        assert "Traceback" not in running.served.log()

    # Each of the allocator's arenas, of which every thread may have one, grows to its size before it is flat.
    settled, half = samples[len(samples) // 10], samples[len(samples) // 2]
    growth, late = (samples[-1].resident_bytes - one.resident_bytes for one in (settled, half))
    curve = " ".join(f"{one.resident_bytes / MIB:.1f}" for one in samples[:: max(1, len(samples) // 10)])
    figures.add(
        f"{result.done} requests, {result.rps:.0f}/s, {result.connections} connections: MiB {curve}",
        f"{growth / MIB:+.2f} MiB, 2nd half {late / MIB:+.2f}",
        "< +5 MiB, < +1",
        growth < GROWTH_BYTES and late < LATE_BYTES,
    )
    assert (result.done, result.errors) == (REQUESTS, {})
    assert {one.threads for one in samples} == {samples[0].threads}
    assert growth < GROWTH_BYTES
    assert late < LATE_BYTES


def test_twenty_thousand_connections_leave_less_than_5_mib(tmp_path: Path, figures: Figures) -> None:
    with replica(tmp_path) as running:
        open_and_close(running, 1_000)
        before = sample(running)
        open_and_close(running, CONNECTIONS)
        after = sample(running)
        assert running.total("gatehouse_server_connections") == 0
        assert "Traceback" not in running.served.log()

    growth = after.resident_bytes - before.resident_bytes
    figures.add(f"{CONNECTIONS} TLS connections: memory", f"{growth / MIB:+.2f} MiB", "< +5 MiB", growth < GROWTH_BYTES)
    assert growth < GROWTH_BYTES
    assert after.threads == before.threads
