"""The status as text: services, refusals, and the four answers that come first."""

from __future__ import annotations

import pytest

from controllers.status.answers import Level, answers
from controllers.status.text import describe
from tests.controllers.status.web.scenes import DAY_S, busy, failed, quiet, service
from webhook.objects.meta import Json


def levels(status: Json) -> list[str]:
    return [answer.level.value for answer in answers(status)]


def changed(section: str, **changes: object) -> Json:
    return {**quiet(), section: {**quiet()[section], **changes}}


def failed_handshakes(**failed: int) -> Json:
    return {"failed": failed, "failedTotal": 40, "windowSeconds": 300.0}


def test_a_quiet_replica_is_well() -> None:
    assert levels(quiet()) == ["ok", "ok", "ok", "ok"]
    assert describe(quiet()).splitlines()[:5] == [
        "gatehouse 0.1.0: ready, up 3 days",
        "  asked nothing in the last minute",
        "leader election: another replica leads; leader: gatehouse-6c9f7d5b8-m4k7t_91ab; lease renewed 1 s ago",
        "guards: no node is silent",
        "expires: certificate in 64 days; CA in 339 days",
    ]


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (changed("process", ready=False), ["bad", "ok", "ok", "ok"]),
        (changed("process", checks={"leader-election": "a lease request hangs for 30 s"}), ["bad", "ok", "ok", "ok"]),
        (changed("leaderElection", leader="", holder=""), ["ok", "attention", "ok", "ok"]),
        (changed("leaderElection", lastContactSeconds=120.0), ["ok", "attention", "ok", "ok"]),
        (changed("leaderElection", lastError="GET /x: 403 no"), ["ok", "attention", "ok", "ok"]),
        (changed("leaderElection", enabled=False), ["ok", "off", "ok", "ok"]),
        (changed("silentNodes", count=1), ["ok", "ok", "attention", "ok"]),
        (changed("certificate", expiresInSeconds=6 * DAY_S), ["ok", "ok", "ok", "attention"]),
        (changed("certificate", caExpiresInSeconds=29 * DAY_S), ["ok", "ok", "ok", "attention"]),
        (changed("certificate", expiresInSeconds=-5.0), ["ok", "ok", "ok", "bad"]),
        (changed("certificate", expiresInSeconds=None), ["ok", "ok", "ok", "attention"]),
        (changed("certificate", trusted={"MutatingWebhookConfiguration": False}), ["ok", "ok", "ok", "bad"]),
        (changed("certificate", trouble="PATCH /x: 422 no"), ["ok", "ok", "ok", "attention"]),
        (changed("certificate", uncovered=["gatehouse.kube-system.svc"]), ["ok", "ok", "ok", "bad"]),
        (changed("certificate", uncovered=[]), ["ok", "ok", "ok", "ok"]),
        (changed("certificate", uncovered=None), ["ok", "ok", "ok", "ok"]),
        (changed("certificate", handshakes=failed_handshakes(certificate=2)), ["ok", "ok", "ok", "attention"]),
        (changed("certificate", handshakes=failed_handshakes(alert=2)), ["ok", "ok", "ok", "ok"]),
        (changed("certificate", handshakes=failed_handshakes(**{"plain-http": 1})), ["ok", "ok", "ok", "ok"]),
        (busy(), ["attention", "ok", "attention", "ok"]),
        (failed(), ["unknown"] * 4),
        ({}, ["unknown"] * 4),
    ],
    ids=range(22),
)
def test_an_answer_is_as_grave_as_what_it_says(status: Json, expected: list[str]) -> None:
    assert levels(status) == expected


def test_why_a_certificate_cannot_be_renewed_is_said_first() -> None:
    expires = answers(changed("certificate", trouble="PATCH /x: 422 no"))[-1]

    assert expires.line() == "expires: certificate in 64 days; certificate cannot be renewed: PATCH /x: 422 no; CA in 339 days"


def test_why_a_replica_is_not_ready_is_said() -> None:
    status = changed("process", ready=False, failing=["endpoint"], checks={"endpoint": "not synced: pods", "webhook": None})

    assert describe(status).splitlines()[:2] == [
        "gatehouse 0.1.0: NOT READY (endpoint), up 3 days",
        "  endpoint: not synced: pods",
    ]


def test_of_silent_nodes_the_oldest_guard_and_the_one_that_ends_first_are_named() -> None:
    guards = answers(busy())[2]

    assert guards.headline == "5 silent nodes, 4 guarded"
    assert guards.facts == (
        "1 node without a guard: Kubernetes goes its usual way",
        "oldest guard: edge-lisbon-07, 14.0 h",
        "ends first: edge-lisbon-07, in 10.0 h",
    )


def test_a_service_has_a_line_with_rate_and_latencies_and_its_last_refusal_another() -> None:
    lines = describe(busy()).splitlines()

    assert "validate /validate yes 6.1/s 1.9 ms 12 ms 14 0" in [" ".join(line.split()) for line in lines]
    assert "  pod-ip waits: the leader has not adopted the pods of: web" in lines
    assert (
        "  validate last refused pods shop/checkout-7d9c5b6f4-8xk2p of system:serviceaccount:kube-system:replicaset-controller"
        ' at 2026-11-30T01:27:12Z: OutOfLimits: container "app": memory limit 9Gi exceeds 8Gi (namespace "shop")'
    ) in lines


def test_a_name_with_a_line_end_makes_no_line_of_its_own() -> None:
    status = busy()
    status["services"]["validate"]["lastRefusal"]["object"] = "pods shop/x\ngatehouse 0.1.0: ready"

    assert "gatehouse 0.1.0: ready" not in describe(status).splitlines()


def test_every_level_has_its_word() -> None:
    assert {level.value for level in Level} == {"ok", "attention", "bad", "off", "unknown"}


def test_a_service_that_is_switched_off_is_neither_ready_nor_waited_for() -> None:
    off = service("/pod-ip", on=False, ready=False, waitsFor=["namespaces"])
    status = changed("services", **{"pod-ip": off})

    lines = [line.split() for line in describe(status).splitlines() if "pod-ip" in line]
    assert lines == [["pod-ip", "/pod-ip", "off", *"-----"]]
    assert levels(status)[0] == "ok"


def test_a_certificate_for_localhost_only_is_told_of_at_first_sight() -> None:
    served = changed("certificate", localhostOnly=True)

    assert levels(served) == ["ok", "ok", "ok", "attention"]
    assert "it is for localhost only: through a Service the API server refuses it" in answers(served)[3].line()


def test_what_other_packages_brought_is_listed_with_package_and_version() -> None:
    status = busy()
    status["plugins"].append({**status["plugins"][0], "kind": "controller", "entryPoint": "shop_rules.all:MAIN", "on": False})

    lines = describe(status).splitlines()

    at = next(index for index, line in enumerate(lines) if line.startswith("plug-in "))
    assert [line.split() for line in lines[at : at + 3]] == [
        ["plug-in", "kind", "package", "entry", "point"],
        ["team-label", "rule", "shop-rules", "1.2.0", "shop_rules.team:RULE"],
        ["team-label", "controller,", "off", "shop-rules", "1.2.0", "shop_rules.all:MAIN"],
    ]


def test_without_plug_ins_there_is_no_table_of_them() -> None:
    assert "plug-in" not in describe(quiet())


def test_plug_ins_as_the_release_before_told_them_cost_only_their_own_lines() -> None:
    row = {"kind": "rule", "package": "shop-rules", "version": "1.2.0", "entryPoint": "shop_rules.team:RULE"}
    without = {key: section for key, section in busy().items() if key != "plugins"}

    lines = describe({**busy(), "plugins": {"team-label": row}}).splitlines()

    (told,) = (line for line in lines if line.startswith("plug-ins: "))
    assert told.startswith("plug-ins: cannot be read (") and told.endswith(
        "): is the process of another release? -o json shows it"
    )
    assert [line for line in lines if line and line != told] == [line for line in describe(without).splitlines() if line]


@pytest.mark.parametrize("junk", [7, -1.5, True, "junk", ["junk"], [7], {"junk": 7}, {"nodes": 7, "entries": {"a": 7}}, [[]]])
@pytest.mark.parametrize("section", sorted(busy()))
def test_a_section_of_any_shape_costs_no_line_of_another(section: str, junk: object) -> None:
    rest = {key: value for key, value in busy().items() if key != section}

    told = describe({**rest, section: junk}).splitlines()

    lost = [line for line in describe(rest).splitlines() if line not in told]
    assert all("not told" in line for line in lost)  # the section's own first answer: what is missing is another junk


def test_a_first_answer_that_cannot_be_made_leaves_the_others() -> None:
    status = {**quiet(), "certificate": {"expiresInSeconds": "soon"}}

    assert levels(status) == ["ok", "ok", "ok", "unknown"]
    assert "expires: unknown, cannot be read (TypeError)" in describe(status).splitlines()


def test_a_name_that_the_certificate_lacks_is_named() -> None:
    names = ["a.example.com", "b.example.com", "c.example.com", "d.example.com"]

    line = answers(changed("certificate", uncovered=names))[3].line()

    assert line == (
        "expires: certificate in 64 days; it is not valid for a.example.com, b.example.com, c.example.com and 1 more, "
        "which our webhook configurations call: the API server refuses it; CA in 339 days"
    )


def test_handshakes_that_failed_lately_are_told_with_their_reasons() -> None:
    failed = failed_handshakes(**{"certificate": 3, "plain-http": 1})

    assert (
        "4 TLS handshakes failed in the last 5 min (3 certificate, 1 plain-http): do callers trust our CA, and we theirs?"
        in (answers(changed("certificate", handshakes=failed))[3].line())
    )


def test_strangers_who_do_not_speak_tls_raise_no_question_about_certificates() -> None:
    served = changed("certificate", handshakes=failed_handshakes(**{"not-tls": 1}))

    assert answers(served)[3].facts[0] == "1 TLS handshake failed in the last 5 min (1 not-tls)"
