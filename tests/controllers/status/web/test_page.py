"""The status page: what it says, in which order, and what it never does."""

from __future__ import annotations

import copy
import re
from base64 import b64encode
from hashlib import sha256

import pytest

from controllers.status.answers import answers
from controllers.status.web.page import SECTIONS, page
from controllers.status.web.parts import LISTED
from controllers.status.web.sections import SILENT_LISTED
from controllers.status.web.serving import HEADERS, refresh_s
from controllers.status.web.style import CSS, DARK, LIGHT, TEXTS
from tests.controllers.status.web.reading import Element, all_of, read, section
from tests.controllers.status.web.scenes import NOW_S, busy, failed, quiet, service, silent
from webhook.objects.meta import Json


def drawn(status: Json, refresh: int | None = None) -> list[Element]:
    return read(page(status, NOW_S, refresh))


@pytest.mark.parametrize("status", [quiet(), busy(), failed(), {}], ids=["quiet", "busy", "failed", "empty"])
def test_what_is_asked_first_comes_first(status: Json) -> None:
    elements = drawn(status)

    assert [one.text for one in all_of(elements, "h2")][:4] == [
        "Is it serving?",
        "Who leads?",
        "What is guarded?",
        "What expires?",
    ]


def test_the_first_answers_are_those_of_the_command() -> None:
    text = page(busy(), NOW_S)

    for answer in answers(busy()):
        for sentence in (answer.headline, *answer.facts):
            assert sentence in text


def test_an_unready_replica_says_so_in_title_headline_and_icon() -> None:
    status = copy.deepcopy(quiet())
    status["process"] |= {"ready": False, "failing": ["endpoint"], "checks": {"endpoint": "not synced: pods"}}

    elements = drawn(status)

    assert all_of(elements, "title")[0].text == "NOT READY: gatehouse-6c9f7d5b8-x2v9q"
    (card, *_) = all_of(elements, "section", class_="answer bad")
    assert "NOT READY (endpoint)" in card.text
    assert "endpoint: not synced: pods" in card.text
    assert "%3Crect" in all_of(elements, "link", rel="icon")[0].attributes["href"]


def test_each_silent_node_has_its_vote_its_age_and_its_end() -> None:
    shown = section(drawn(busy()), "silent-nodes").text

    assert (
        shown.index("edge-lisbon-07")
        < shown.index("edge-berlin-01")
        < shown.index("edge-oslo-03")
        < shown.index("edge-porto-11")
    )
    assert re.search(r"edge-lisbon-07.*guarded, for long.*healthy.*Guarded.*14.0 h.*10.0 h", shown)
    assert re.search(r"edge-porto-11.*not guarded.*unhealthy.*VoteUnhealthy", shown)


def test_a_service_has_rate_latency_refusals_and_why_it_waits() -> None:
    shown = section(drawn(busy()), "services").text

    assert re.search(r"validate.*ready.*6\.1/s.*1\.9 ms.*12 ms.*14.*233 in all", shown)
    assert re.search(r"pod-ip.*not ready.*the leader has not adopted the pods of: web.*3.*9 in all", shown)


def test_a_last_refusal_has_its_time_its_reason_and_its_object() -> None:
    shown = section(drawn(busy()), "refusals").text

    assert "3 min ago2026-11-30T01:27:12Z" in shown
    assert "pods shop/checkout-7d9c5b6f4-8xk2pof system:serviceaccount:kube-system:replicaset-controller" in shown
    assert 'container "app": memory limit 9Gi exceeds 8Gi (namespace "shop")OutOfLimits' in shown


def test_caches_entries_pools_databases_and_certificates_are_there() -> None:
    elements = drawn(busy())

    assert re.search(r"configmaps.*synced, silent.*12.*7 min ago.*403 Forbidden", section(elements, "caches").text)
    assert re.search(r"logs.*kube-system/log-collector.*stale.*7c1d09be.*logs:9:3", section(elements, "sidecars").text)
    assert re.search(r"db.*scarce.*61 of 64.*3.*64", section(elements, "addresses").text)
    assert re.search(r"shop/orders.*90 min ago.*WaitsForPods", section(elements, "databases").text)
    assert "expires in 64 days" in section(elements, "certificates").text
    assert re.search(r"edge-health.*runs here.*3", section(elements, "controllers").text)


def test_the_api_servers_version_and_what_it_is_too_old_for_are_told() -> None:
    old = {"version": "v1.28.4", "tested": False, "tooOldFor": [{"part": "matchConditions", "minimum": "1.30"}]}

    elements = drawn({**quiet(), "kubernetes": old})

    shown = section(elements, "kubernetes").text
    assert "API server v1.28.4" in shown and "not tested with" in shown
    assert "for matchConditions: 1.30 or newer" in shown
    assert "Kubernetes v1.28.4 is too old for matchConditions" in all_of(elements, "section", class_="answer attention")[0].text


def test_what_other_packages_brought_is_named() -> None:
    assert re.search(r"team-label.*rule.*shop-rules 1.2.0.*shop_rules.team:RULE", section(drawn(busy()), "plugins").text)


def test_a_controller_of_others_that_does_not_run_is_said_to_be_off() -> None:
    row = {**busy()["plugins"][0], "kind": "controller", "on": False}

    assert re.search(r"team-label.*controller.*off.*shop-rules", section(drawn({**busy(), "plugins": [row]}), "plugins").text)


def test_names_that_the_certificate_lacks_and_handshakes_that_failed_are_shown() -> None:
    handshakes = {"failed": {"alert": 2}, "failedTotal": 1040, "windowSeconds": 300.0}
    certificate = {**quiet()["certificate"], "uncovered": ["gatehouse.kube-system.svc"], "handshakes": handshakes}

    shown = section(drawn({**quiet(), "certificate": certificate}), "certificates").text

    assert "not valid for gatehouse.kube-system.svc" in shown
    assert "TLS handshakes that failed: 2 in the last 5 min, 1,040 in all" in shown


def test_what_is_switched_off_is_named_and_takes_no_room() -> None:
    elements = drawn(quiet())

    assert not all_of(elements, "section", id="databases")
    assert "Switched off: Fixed addresses, Databases." in all_of(elements, "footer")[0].text


def test_a_section_that_failed_says_so_in_its_place() -> None:
    elements = drawn(failed())

    for one in SECTIONS:
        assert "KeyError" in section(elements, one.key).text, one.key


@pytest.mark.parametrize("wrong", [5, "x", [1], {"x": 1}, {"x": [2]}, {"nodes": 7, "count": 1}, True])
def test_a_section_of_a_shape_that_nobody_knows_does_not_take_the_page_with_it(wrong: object) -> None:
    elements = drawn({**busy(), **dict.fromkeys(("silentNodes", "sidecars", "certificate", "databases", "caches"), wrong)})

    assert "validate" in section(elements, "services").text


def test_of_many_rows_the_first_are_shown_and_the_others_counted() -> None:
    nodes = [silent(f"edge-{number}", ends_s=1000.0 + number, guarded=number < 400) for number in range(500)]
    many = {f"own-{number}": service(f"/own-{number}") for number in range(LISTED + 7)}
    status = {**busy(), "services": many, "silentNodes": {"count": 4321, "guarded": 4000, "nodes": nodes}}

    text = page(status, NOW_S)

    shown = section(read(text), "silent-nodes").text
    assert f"edge-{SILENT_LISTED - 1}" in shown and f"edge-{SILENT_LISTED}" not in shown
    assert "edge-400" in shown  # those without a guard are not crowded out
    assert f"and {4321 - 2 * SILENT_LISTED:,} more: " in shown
    assert "and 7 more: " in section(read(text), "services").text
    assert len(text) < 200_000


def test_every_table_has_a_caption_and_headings_of_columns_and_rows_also_where_css_makes_blocks_of_them() -> None:
    elements = drawn(busy())

    tables = all_of(elements, "table")
    assert len(tables) == len(all_of(elements, "caption")) == 11
    assert len(all_of(elements, "table", role="table")) == 11
    headings = all_of(elements, "th")
    assert all({"scope", "role"} <= one.attributes.keys() for one in headings)
    assert {one.attributes["scope"] for one in headings} == {"col", "row"}
    assert all(one.attributes["role"] == "cell" and one.attributes["data-label"] for one in all_of(elements, "td"))


def test_headings_anchors_and_sections_belong_together() -> None:
    elements = drawn(busy())

    assert len(all_of(elements, "h1")) == 1
    anchors = {one.attributes["href"] for one in all_of(elements, "a") if one.attributes["href"].startswith("#")}
    named = [one.attributes for one in all_of(elements, "section") if "id" in one.attributes]
    keys = {one["id"]: one["aria-labelledby"] for one in named}
    assert anchors == {f"#{key}" for key in keys}
    titles = {one.attributes["id"] for one in all_of(elements, "h2") if "id" in one.attributes}
    assert titles == set(keys.values())


def test_a_colour_never_says_anything_alone() -> None:
    for badge in [one for one in drawn(busy()) if one.attributes.get("class", "").startswith("badge")]:
        assert len(badge.text.strip("✓!✕–? ")) > 0


def test_no_script_no_form_and_nothing_from_elsewhere() -> None:
    for status in (quiet(), busy(), failed()):
        elements = drawn(status, 30)
        tags = {one.tag for one in elements}
        addresses = {value for one in elements for key, value in one.attributes.items() if key in ("href", "src", "action")}

        assert not tags & {"script", "form", "iframe", "img", "object", "embed", "svg", "base"}
        assert all(one.startswith(("#", "/status", "/metrics", "data:image/svg+xml,")) for one in addresses)
        assert not [key for one in elements for key in one.attributes if key.startswith("on") or key == "style"]
    assert "url(" not in CSS and "@import" not in CSS


def test_the_policy_lets_in_the_style_sheet_of_the_page_and_no_other() -> None:
    (style,) = all_of(drawn(busy()), "style")
    policy = dict(HEADERS)["Content-Security-Policy"]

    assert f"style-src 'sha256-{b64encode(sha256(style.text.encode()).digest()).decode()}'" in policy
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy


@pytest.mark.parametrize(
    ("query", "seconds"),
    [
        ("", None),
        ("refresh=30", 30),
        ("refresh=0", 2),
        ("refresh=99999999", 3600),
        ("refresh=999999999", None),
        ("refresh=-5", None),
        ("refresh=5;url=//evil.example", None),
        ("refresh=²", None),
        ("refresh=5&refresh=7", 7),
        ("refresh=", None),
    ],
)
def test_the_page_renews_itself_only_where_that_is_asked_for(query: str, seconds: int | None) -> None:
    refresh = refresh_s(query)
    found = all_of(drawn(quiet(), refresh), "meta", http_equiv="refresh")

    assert refresh == seconds
    assert [one.attributes["content"] for one in found] == ([] if seconds is None else [str(seconds)])


def test_the_way_of_renewing_that_is_in_force_is_marked() -> None:
    (marked,) = all_of(drawn(quiet(), 30), "a", aria_current="true")

    assert marked.text == "30 s"


def luminance(colour: str) -> float:
    """WCAG 2.2, relative luminance."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("palette", [LIGHT, DARK], ids=["light", "dark"])
@pytest.mark.parametrize(("text", "ground"), TEXTS)
def test_every_text_can_be_told_from_its_ground(palette: dict[str, str], text: str, ground: str) -> None:
    lighter, darker = sorted((luminance(palette[text]), luminance(palette[ground])), reverse=True)

    assert (lighter + 0.05) / (darker + 0.05) >= 4.5


def test_a_service_that_is_switched_off_says_so() -> None:
    elements = drawn({**quiet(), "services": {"pod-ip": service("/pod-ip", on=False)}})

    assert "off" in section(elements, "services").text
    assert "ready" not in section(elements, "services").text
