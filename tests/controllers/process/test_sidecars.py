"""A real process and the ConfigMaps of a cluster: what it tells of entries, and how soon an edit counts."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any

import attrs
import pytest

from controllers.status.text import describe
from controllers.testing import FakeApi
from tests.controllers.followers import READY_WITHIN_S, arguments
from tests.controllers.runtime.builders import config_map, namespace
from tests.controllers.served import Served, serve
from tests.server.client import wait_until
from tests.server.figures import best_of
from webhook.names import SIDECARS_LABEL

LABELS = {SIDECARS_LABEL: "true"}
FAULTY = "containers: [{name: proxy, image: 5}]"
WITHIN_S = 15.0


@attrs.frozen
class Running:
    """The process, and the API server that it follows."""

    served: Served
    api: FakeApi

    def put(self, text: str, name: str = "mesh", entry: str = "proxy") -> None:
        """Create or edit a ConfigMap with one entry."""
        self.api.objects.put(config_map(name, data={entry: text}, labels=LABELS))

    def page(self) -> dict[str, Any]:
        """The status page."""
        found: dict[str, Any] = json.loads(self.served.get("metrics", "/statusz")[1])
        return found

    def row(self, entry: str) -> dict[str, Any]:
        """What the status page says of an entry; {} when nothing."""
        return next((row for row in self.page()["sidecars"]["entries"] if row["entry"] == entry), {})

    def told(self, name: str) -> list[str]:
        """The reasons of the Events about a ConfigMap."""
        events = self.api.objects.all("Event").values()
        return [event["reason"] for event in events if event["regarding"]["name"] == name]


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("sidecars")
    with FakeApi() as api:
        api.objects.put(namespace("shop"))
        api.objects.put(config_map("broken", data={"never-good": FAULTY}, labels=LABELS))
        with serve(folder, arguments=arguments(api.kubeconfig(folder))) as served:
            wait_until(lambda: served.get("healthProbe", "/readyz")[0] == 200, READY_WITHIN_S)
            yield Running(served, api)


def sound(number: int) -> str:
    return f"containers: [{{name: proxy, image: 'proxy:{number}'}}]"


def test_an_edit_counts_in_less_than_a_second(running: Running) -> None:
    running.put(sound(1), "edited", "edited")
    wait_until(lambda: running.row("edited").get("state") == "good", WITHIN_S)
    numbers = iter((2, 3, 4))

    def edited_s() -> float:
        before, began_s = running.row("edited")["revision"], time.monotonic()
        running.put(sound(next(numbers)), "edited", "edited")
        wait_until(lambda: running.row("edited")["revision"] != before, WITHIN_S)
        return time.monotonic() - began_s

    assert best_of(edited_s, lambda seconds: seconds, 1.0) < 1.0


def test_what_is_broken_at_the_start_is_told_on_its_config_map(running: Running) -> None:
    wait_until(lambda: running.told("broken") == ["EntryBroken"], WITHIN_S)

    assert running.row("never-good")["state"] == "broken"


def test_an_entry_that_breaks_and_is_mended_is_told_of_each_time(running: Running) -> None:
    running.put(sound(1), "turning", "turning")
    wait_until(lambda: running.row("turning").get("state") == "good", WITHIN_S)
    running.put(FAULTY, "turning", "turning")
    wait_until(lambda: running.told("turning") == ["EntryBroken"], WITHIN_S)
    stale = running.row("turning")
    running.put(sound(2), "turning", "turning")
    wait_until(lambda: sorted(running.told("turning")) == ["EntryBroken", "EntryMended"], WITHIN_S)

    assert (stale["state"], stale["revision"] is not None) == ("stale", True)
    assert running.row("turning")["state"] == "good"


def test_states_are_counted_and_shown_to_a_person(running: Running) -> None:
    metrics = running.served.get("metrics", "/metrics")[1]

    assert 'gatehouse_sidecar_entries{state="broken"} 1.0' in metrics
    assert "never-good of shop/broken: broken, revision none" in describe(running.page())


def test_a_fault_is_one_line_in_the_log(running: Running) -> None:
    lines = [line for line in running.served.log().splitlines() if "sidecar entry is broken" in line and "never-good" in line]

    assert len(lines) == 1
    assert "configmap=shop/broken" in lines[0]
