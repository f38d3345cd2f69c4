"""The status page of a real process in a real browser: at the desk and on a phone, by day and by night, without JavaScript.

With GATEHOUSE_PICTURES=DIR the pictures that a person should look at stay there.
"""

from __future__ import annotations

import json
import os
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path

import attrs
import pytest

from tests.cluster.binaries import BuildError
from tests.controllers.served import EXAMPLE, ROOT, Served, command, serve
from tests.server.browser import Browser, Tab, browser
from tests.server.replica import example_review
from webhook.clock import SystemClock
from webhook.objects.documents import read_documents
from webhook.objects.meta import format_time

NODES = 120  # silent ones: more than a page lists
DESK, PHONE = 1280, 390
HOSTILE = '"><img src=//evil.example/x onerror=alert(1)><script>alert(2)</script>'
BOUNDS = ROOT / "examples" / "bounds"
NARROWER = """[...document.querySelectorAll('body *')].filter(one => !one.closest('thead') && (() => {
  const box = one.getBoundingClientRect();
  return box.width > 1 && (box.right > document.documentElement.clientWidth + 0.5 || box.left < -0.5);
})()).map(one => one.outerHTML.slice(0, 200))"""
UNREADABLE = """[...document.querySelectorAll('main *')].filter(one => !one.closest('thead, .empty')
  && [...one.childNodes].some(node => node.nodeType === 3 && node.data.trim())
  && (parseFloat(getComputedStyle(one).fontSize) < 11 || one.getClientRects().length === 0)
).map(one => one.outerHTML.slice(0, 200))"""


SILENT_SINCE = "2026-11-29T09:59:00Z"  # in the example; a guard ends after a day (votes.maxGuard), so here it is a minute ago


def lately() -> str:
    return format_time(SystemClock().wall_s() - 60.0)


def node(number: int) -> dict[str, object]:
    condition = {"type": "Ready", "status": "Unknown", "lastTransitionTime": lately()}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": f"edge-{number:03}.plant-7.factories.example.com",
            "uid": f"node-{number}",
            "annotations": {"superedgehealth/node-health": "true" if number % 3 else "false"},
        },
        "status": {"conditions": [condition]},
    }


def entries(name: str, **data: str) -> dict[str, object]:
    labels = {"gatehouse.dev/sidecars": "true"}
    meta = {"name": name, "namespace": "shop", "uid": name, "labels": labels}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": data}


def review(name: str) -> bytes:
    """The example's refused pod, under a name of ours."""
    (document,) = read_documents((BOUNDS / "reviews" / "1-every-breach-at-once.yaml").read_bytes(), "review")
    request = document.value["request"]
    request["name"] = request["object"]["metadata"]["name"] = name
    request["object"]["spec"]["containers"][0]["image"] = f"{name}:1"
    return json.dumps(document.value).encode()


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A process with silent nodes, good and faulty sidecar entries, and a request that was refused."""
    folder = tmp_path_factory.mktemp("served")
    cluster = folder / "cluster"
    cluster.mkdir()
    (cluster / "nodes.json").write_text(
        json.dumps({"apiVersion": "v1", "kind": "List", "items": list(map(node, range(NODES)))})
    )
    sound, faulty = "containers: [{name: proxy, image: proxy:1}]", "containers: [{name: proxy, image: 5}]"
    (cluster / "entries.json").write_text(json.dumps(entries("a-rather-long-name-of-a-config-map-in-shop", a=sound, b=faulty)))
    example = (EXAMPLE / "cluster.yaml").read_text()
    assert SILENT_SINCE in example
    (cluster / "example.yaml").write_text(example.replace(SILENT_SINCE, lately()))
    with serve(folder, arguments=command("--config", str(BOUNDS / "gatehouse.yaml"), local=cluster)) as process:
        with process.connect() as client:
            for body, path in ((example_review(), "/node-taint"), (review(HOSTILE), "/validate"), (b"{", "/mutate")):
                client.post(body, f"{path}?timeout=3s", ["Content-Type: application/json"])
        yield process


@pytest.fixture(scope="module")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    try:
        with browser(tmp_path_factory.mktemp("browser")) as running:
            yield running
    except BuildError as error:
        pytest.fail(str(error))


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = Path(os.environ.get("GATEHOUSE_PICTURES") or tmp_path_factory.mktemp("pictures"))
    folder.mkdir(exist_ok=True)
    return folder


@attrs.frozen
class Seen:
    """The page in one look."""

    tab: Tab
    address: str
    width: int
    dark: bool


@pytest.fixture(scope="module", params=[(DESK, False), (DESK, True), (PHONE, False), (PHONE, True)], ids=str)
def seen(request: pytest.FixtureRequest, chromium: Browser, served: Served) -> Seen:
    width, dark = request.param
    tab = chromium.tab(width=width, dark=dark)
    address = f"http://{served.addresses['metrics']}/status"
    tab.open(address)
    return Seen(tab, address, width, dark)


def test_nothing_is_wider_than_the_screen(seen: Seen) -> None:
    metrics = seen.tab.tell("Page.getLayoutMetrics")

    assert metrics["cssLayoutViewport"]["clientWidth"] == seen.width
    assert metrics["cssContentSize"]["width"] <= seen.width
    assert seen.tab.evaluate(NARROWER) == []


def test_nothing_is_asked_for_but_the_page_and_nobody_complains(seen: Seen) -> None:
    assert seen.tab.asked_for() == [seen.address]
    assert seen.tab.complaints() == []


def test_all_of_it_can_be_read_without_javascript(seen: Seen) -> None:
    text = seen.tab.evaluate("document.body.innerText")

    for question in ("Is it serving?", "Who leads?", "What is guarded?", "What expires?"):
        assert question in text
    assert "123 silent nodes, 82 guarded" in text
    assert "edge-001.plant-7.factories.example.com" in text
    assert "and 99 more: gatehouse status -o json" in text
    assert HOSTILE in text
    assert seen.tab.evaluate(UNREADABLE) == []


def test_names_are_text_and_run_nothing(seen: Seen) -> None:
    assert seen.tab.evaluate("document.querySelectorAll('script, img, iframe, form').length") == 0
    assert seen.tab.seen("Page.javascriptDialogOpening") == []


def test_a_screen_reader_finds_headings_and_tables_at_any_width(seen: Seen) -> None:
    roles = seen.tab.roles()

    headings = [name for role, name in roles if role == "heading"]
    assert headings[1:6] == ["Is it serving?", "Who leads?", "What is guarded?", "What expires?", "Silent nodes"]
    assert ("region", "Services") in roles
    assert sum(role == "table" for role, _ in roles) >= 5
    assert {"columnheader", "rowheader", "cell"} <= {role for role, _ in roles}
    assert ("columnheader", "p99") in roles


def test_the_readers_own_setting_decides_whether_it_is_dark(seen: Seen) -> None:
    ground, ink = (
        sum(map(int, seen.tab.evaluate(f"getComputedStyle(document.body).{key}")[4:-1].split(",")))
        for key in ("backgroundColor", "color")
    )

    assert (ground < ink) == seen.dark


def test_it_can_be_looked_at(seen: Seen, pictures: Path) -> None:
    content = seen.tab.picture(pictures / f"status-{seen.width}-{'dark' if seen.dark else 'light'}.png")

    assert struct.unpack(">I", content[16:20])[0] == seen.width
    assert len(set(pixels(content))) > 64  # it is not a sheet of one colour


def pixels(png: bytes) -> bytes:
    """The filtered samples of a PNG."""
    at, parts = 8, []
    while at < len(png):
        length, kind = struct.unpack(">I4s", png[at : at + 8])
        if kind == b"IDAT":
            parts.append(png[at + 8 : at + 8 + length])
        at += length + 12
    return zlib.decompress(b"".join(parts))


def test_the_links_lead_to_what_they_name(seen: Seen, served: Served) -> None:
    links = seen.tab.evaluate("[...document.links].map(one => one.getAttribute('href'))")

    for link in {link for link in links if not link.startswith("#")}:
        assert served.get("metrics", link)[0] == 200, link
    anchors = seen.tab.evaluate("[...document.links].filter(one => one.hash).every(one => document.querySelector(one.hash))")
    assert anchors is True


def test_it_renews_itself_when_asked_to_and_not_else(chromium: Browser, served: Served) -> None:
    tab = chromium.tab(width=DESK)
    address = f"http://{served.addresses['metrics']}/status?refresh=2"
    tab.open(address)
    tab.browser.events.clear()

    tab.browser.wait_for(tab.session, "Page.loadEventFired")

    assert tab.asked_for() == [address]


def test_a_page_of_somebody_else_cannot_frame_it(chromium: Browser, served: Served) -> None:
    tab = chromium.tab(width=DESK, scripts=True)
    frame = f"data:text/html,<iframe src='http://{served.addresses['metrics']}/status'></iframe>"

    tab.open(frame)

    (inner,) = tab.tell("Page.getFrameTree")["frameTree"]["childFrames"]
    assert inner["frame"]["url"].startswith("chrome-error:")
