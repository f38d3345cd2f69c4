"""What a review leaves behind: nothing that only the garbage collector could free, so that no body waits for it."""

from __future__ import annotations

import gc

import pytest

from tests.bench import reviews
from webhook.admission.call import Call
from webhook.admission.gate import Gate
from webhook.admission.settings import Settings
from webhook.clock import SystemClock
from webhook.telemetry import Telemetry

NODE, POD = reviews.node_taint(), reviews.injected(11)
CALLS = {
    "answered": (NODE.path, NODE.body),
    "patched": (POD.path, POD.body),
    "no JSON": (NODE.path, b'{"a": NaN}'),
    "empty": (NODE.path, b""),
    "no review": (NODE.path, b"{}"),
    "no service": ("/nowhere", NODE.body),
    "malformed object": (POD.path, POD.body.replace(b'"containers":[', b'"containers":5,"x":[', 1)),
    "too deep": (NODE.path, b'{"a":' * 5000),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_review_leaves_no_cycles(name: str) -> None:
    gate = Gate(Settings(), reviews.facts(nodes=1, pods=1), Telemetry(), SystemClock())
    path, body = CALLS[name]

    def answer() -> None:
        gate.answer(Call("POST", path, "timeout=3s", "application/json", body, SystemClock().monotonic_s()))

    answer()  # what is made once
    gc.collect()
    gc.disable()
    try:
        for _ in range(20):
            answer()
        found = gc.collect()
    finally:
        gc.enable()

    assert found == 0
