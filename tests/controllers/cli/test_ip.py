"""`gatehouse ip`: what is listed and shown, and that nothing is given back which a live pod may have."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from controllers.cli.main import main
from controllers.pod_ip.resources import reservation_from_object
from controllers.pod_ip.seen import in_flight_s
from controllers.pod_ip.telling import age
from controllers.testing import FakeApi
from controllers.testing.answers import status
from tests.controllers.pod_ip.shelf import address_pool, fake_api, pod, reservation
from webhook.objects.meta import Json

PATH = "/apis/gatehouse.dev/v1alpha1/addressreservations"
BOUND = {"phase": "Bound", "podName": "web-0", "podUID": "p1", "node": "edge-1"}
COOLING = {"phase": "Cooling", "releasedTime": "2026-01-01T00:01:00Z"}


class Terminal(io.StringIO):
    """Standard input with somebody behind it."""

    def isatty(self) -> bool:
        return True


class Console:
    """The command line in front of a scripted API server."""

    def __init__(self, api: FakeApi, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.api = api
        self._kubeconfig = api.kubeconfig(folder)
        self._capsys = capsys

    def run(self, action: str, *arguments: str, code: int = 0) -> tuple[str, str]:
        """Standard output and standard error."""
        found = main(["ip", action, "--kubeconfig", self._kubeconfig, *arguments])
        out, err = self._capsys.readouterr()
        assert found == code, err
        return out, err

    def json(self, action: str, *arguments: str, code: int = 0) -> Any:
        return json.loads(self.run(action, "-o", "json", *arguments, code=code)[0])

    def deleted(self) -> list[Json]:
        """The bodies of the deletions that were sent."""
        return [json.loads(request.body) for request in self.api.asked("delete")]


@pytest.fixture
def console(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Iterator[Console]:
    with fake_api() as api:
        yield Console(api, tmp_path, capsys)


# -- list


def test_reservations_are_listed_by_address(console: Console) -> None:
    console.api.objects.put(reservation("10.0.0.10", status=COOLING, owner=None, ordinal=None, podName=None))
    console.api.objects.put(reservation("10.0.0.2", status=BOUND, pool="web"))

    head, *lines = console.run("list")[0].splitlines()

    assert head.split() == ["ADDRESS", "NAMESPACE", "POD", "PHASE", "POOL", "OWNER", "NODE", "AGE"]
    assert [line.split()[:7] for line in lines] == [
        ["10.0.0.2", "shop", "web-0", "Bound", "web", "StatefulSet/web[0]", "edge-1"],
        ["10.0.0.10", "shop", "-", "Cooling", "-", "-", "-"],
    ]


@pytest.mark.parametrize(
    ("flags", "found"),
    [
        (["-n", "shop"], ["10.0.0.1", "10.0.0.2"]),
        (["-n", "other"], ["10.0.0.3"]),
        (["--pool", "web"], ["10.0.0.2"]),
        (["-n", "other", "--pool", "web"], []),
    ],
)
def test_a_list_is_narrowed_by_namespace_and_pool(console: Console, flags: list[str], found: list[str]) -> None:
    console.api.objects.put(reservation("10.0.0.1"))
    console.api.objects.put(reservation("10.0.0.2", pool="web"))
    console.api.objects.put(reservation("10.0.0.3", namespace="other"))

    assert [one["address"] for one in console.json("list", *flags)] == found


def test_programs_get_every_field(console: Console) -> None:
    console.api.objects.put(reservation("10.0.0.2", status=BOUND, pool="web"))

    (one,) = console.json("list")

    assert (one["podUID"], one["phase"], one["ordinal"], one["releasedTime"]) == ("p1", "Bound", 0, None)
    assert one["owner"] == {"kind": "StatefulSet", "name": "web", "uid": "set-1"}
    assert one["createdTime"] == "2026-01-01T00:00:00Z"


def test_a_list_of_many_pages_is_whole(console: Console, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("controllers.cli.ip_reading.PAGE", 2)
    for number in range(5):
        console.api.objects.put(reservation(f"10.0.0.{number}"))

    assert len(console.json("list")) == 5


def test_where_nothing_is_handed_out_that_is_said(console: Console) -> None:
    assert console.run("list") == ("", "no address is handed out\n")


# -- show


def test_an_address_is_shown_with_its_pod_and_pool(console: Console) -> None:
    console.api.objects.put(address_pool())
    console.api.objects.put(reservation("10.0.0.2", status=BOUND, pool="web"))
    console.api.objects.put(pod("web-0", "10.0.0.2", uid="p1"))

    text, _ = console.run("show", "10.0.0.2")

    assert text.startswith("10.0.0.2: held by shop/web-0\n")
    assert "  pool: web (4 addresses)\n" in text
    assert "  carried by: shop/web-0 (Running on edge-1)\n" in text
    assert "  next: nothing, it is in order\n" in text


def test_an_address_that_nobody_has_is_free(console: Console) -> None:
    assert console.run("show", "10.0.0.2")[0].startswith("10.0.0.2: free")


def test_what_the_leader_will_do_is_said(console: Console) -> None:
    console.api.objects.put(reservation("10.0.0.2"))
    console.api.objects.put(pod("web-0", "10.0.0.2", uid="p1"))

    assert "  next: the leader will bind it to shop/web-0\n" in console.run("show", "10.0.0.2")[0]


def test_the_terms_of_the_pool_that_a_reservation_names_count_whatever_the_pool_has_by_now(console: Console) -> None:
    console.api.objects.put(address_pool(addresses=["10.9.9.9"], cooldown="87600h"))
    console.api.objects.put(reservation("10.0.0.2", status=COOLING, pool="web"))

    assert "  next: decided in 60m at the earliest" in console.run("show", "10.0.0.2")[0]


def test_whom_an_address_was_made_for_is_said_also_before_that_pod_has_a_name(console: Console) -> None:
    console.api.objects.put(reservation("10.0.0.2"))
    owner = {"kind": "ReplicaSet", "name": "front", "uid": "rs-1"}
    console.api.objects.put(reservation("10.0.0.3", podName=None, ordinal=None, owner=owner))

    assert "  for: pod shop/web-0, StatefulSet/web[0]\n" in console.run("show", "10.0.0.2")[0]
    assert "  for: a pod of ReplicaSet shop/front\n" in console.run("show", "10.0.0.3")[0]


def test_two_pods_with_one_address_are_a_conflict(console: Console) -> None:
    console.api.objects.put(reservation("10.0.0.2", status=BOUND))
    console.api.objects.put(pod("web-0", "10.0.0.2", uid="p1"))
    console.api.objects.put(pod("copy", "10.0.0.2", uid="p2", key="other"))

    text, _ = console.run("show", "10.0.0.2", code=1)

    assert "  CONFLICT: it is shop/web-0's, and shop/copy carry it as well\n" in text
    assert console.json("show", "10.0.0.2", code=1)["conflict"] is True


def test_an_ipv6_address_is_found_by_either_spelling(console: Console) -> None:
    name = "fd00-0000-0000-0000-0000-0000-0000-0001"
    console.api.objects.put(reservation(name, ip="fd00::1", status=COOLING))

    for spelling in ("fd00::1", name):
        assert console.json("show", spelling)["reservation"]["name"] == name


# -- release


def test_what_nobody_has_is_released_with_its_uid_and_version(console: Console) -> None:
    stored = console.api.objects.put(reservation("10.0.0.2", status=COOLING))

    text, _ = console.run("release", "--yes", "10.0.0.2")

    preconditions = {key: stored["metadata"][key] for key in ("uid", "resourceVersion")}
    assert text == "10.0.0.2: released, was of pod shop/web-0\n"
    assert [body["preconditions"] for body in console.deleted()] == [preconditions]


OWN_SET = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "web", "uid": "set-1", "controller": True}


@pytest.mark.parametrize(
    "carrier",
    [
        pod("web-0", "10.0.0.2", uid="p1"),
        pod("web-0", "10.0.0.2", uid="p1", phase="Pending"),
        pod("web-0", "10.0.0.2", uid="p1", deletionTimestamp="2026-01-01T00:00:00Z"),
        pod("web-0", uid="p1"),  # bound to it, though its annotations are gone
        pod("stranger", "10.0.0.2", uid="p2", key="other", namespace="elsewhere"),
        {"metadata": {"name": "w", "namespace": "shop", "annotations": {"cni.projectcalico.org/ipAddrs": '["10.0.0.2"]'}}},
        pod("web-0", uid="p9", deletionTimestamp="2026-01-01T00:00:00Z", ownerReferences=[OWN_SET]),
    ],
    ids=["running", "pending", "deleting", "bare", "elsewhere", "without its label", "ending without its marks"],
)
def test_what_a_live_pod_has_is_not_released(console: Console, carrier: Json) -> None:
    console.api.objects.put(reservation("10.0.0.2", status=BOUND))
    console.api.objects.put({"apiVersion": "v1", "kind": "Pod", **carrier})

    _, err = console.run("release", "--yes", "10.0.0.2", code=1)

    assert "not released: " in err and carrier["metadata"]["name"] in err
    assert console.deleted() == []


def test_what_a_finished_pod_had_is_released(console: Console) -> None:
    console.api.objects.put(reservation("10.0.0.2", status=BOUND))
    console.api.objects.put(pod("web-0", "10.0.0.2", uid="p1", phase="Failed"))

    console.run("release", "--yes", "10.0.0.2")


def test_what_a_create_may_have_been_given_a_moment_ago_is_not_released(console: Console) -> None:
    fresh = reservation("10.0.0.2")
    fresh["metadata"]["creationTimestamp"] = "2999-01-01T00:00:00Z"
    console.api.objects.put(fresh)

    assert "may still be on its way" in console.run("release", "--yes", "10.0.0.2", code=1)[1]
    assert console.deleted() == []


@pytest.mark.parametrize(
    ("status", "created_s", "left_s"),
    [
        ({}, 0.0, 60.0),
        ({}, 59.0, 1.0),
        ({}, 60.0, 0.0),
        (COOLING, 0.0, 0.0),
        (BOUND, 0.0, 0.0),
        ({**BOUND, "claim": "r2", "claimedTime": "2026-01-01T00:00:50Z"}, 60.0, 50.0),
    ],
)
def test_a_create_is_on_its_way_for_a_minute_after_reservation_or_claim(status: Json, created_s: float, left_s: float) -> None:
    one = reservation_from_object(reservation(status=status))

    assert in_flight_s(one, 1767225600.0 + created_s) == left_s


def test_what_is_not_reserved_cannot_be_released(console: Console) -> None:
    assert "is not reserved" in console.run("release", "--yes", "10.0.0.2", code=1)[1]


def test_who_writes_it_at_the_same_moment_keeps_it(console: Console) -> None:
    console.api.objects.put(reservation("10.0.0.2", status=COOLING))
    console.api.next("delete", status(409, "Conflict"))

    assert "nothing was released" in console.run("release", "--yes", "10.0.0.2", code=1)[1]


def test_each_of_several_addresses_is_tried(console: Console) -> None:
    console.api.objects.put(reservation("10.0.0.3", status=COOLING))

    out, err = console.run("release", "--yes", "10.0.0.2", "10.0.0.3", code=1)

    assert "10.0.0.2: is not reserved" in err
    assert out == "10.0.0.3: released, was of pod shop/web-0\n"


@pytest.mark.parametrize(("answer", "code"), [("y\n", 0), ("yes\n", 0), ("n\n", 1), ("\n", 1), ("", 1)])
def test_who_is_asked_decides(console: Console, monkeypatch: pytest.MonkeyPatch, answer: str, code: int) -> None:
    console.api.objects.put(reservation("10.0.0.2", status=COOLING))
    monkeypatch.setattr("sys.stdin", Terminal(answer))

    _, err = console.run("release", "10.0.0.2", code=code)

    assert "Release 10.0.0.2 of pod shop/web-0, Cooling? [y/N]" in err
    assert len(console.deleted()) == (1 if code == 0 else 0)


def test_a_pod_that_comes_while_somebody_thinks_keeps_its_address(console: Console, monkeypatch: pytest.MonkeyPatch) -> None:
    console.api.objects.put(reservation("10.0.0.2", status=COOLING))

    class Slow(Terminal):
        def readline(self, *args: Any) -> str:
            console.api.objects.put(pod("web-0", "10.0.0.2", uid="p1"))
            return "y\n"

    monkeypatch.setattr("sys.stdin", Slow())

    assert "shop/web-0 has it" in console.run("release", "10.0.0.2", code=1)[1]
    assert console.deleted() == []


def test_who_gives_a_wanted_ordinal_away_is_told_first(console: Console, monkeypatch: pytest.MonkeyPatch) -> None:
    metadata = {"name": "web", "namespace": "shop", "uid": "set-1"}
    console.api.objects.put({"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": metadata, "spec": {"replicas": 1}})
    console.api.objects.put(reservation("10.0.0.2"))
    monkeypatch.setattr("sys.stdin", Terminal("n\n"))

    assert "Ordinal 0 of StatefulSet web will get another one." in console.run("release", "10.0.0.2", code=1)[1]


# -- wrong use, and an API server that does not answer


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["show", "web"], '"web" is no IP address'),
        (["show", "10.0.0.0/24"], "is no IP address"),
        (["release", "10.0.0.1"], "--yes goes without"),
        (["list", "-n", ""], "expected a name"),
        (["list", "--kubeconfig", "/nonexistent"], "kubeconfig"),
        ([], "ACTION"),
    ],
)
def test_wrong_use_says_what_to_mend(
    arguments: list[str], why: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO())

    assert main(["ip", *arguments]) == 2

    assert why in capsys.readouterr().err


def test_a_cluster_without_the_kinds_is_told_what_to_apply(console: Console) -> None:
    console.api.always("list", status(404))

    assert "apply manifests/base/10-crd-addresses.yaml" in console.run("list", code=1)[1]


def test_who_may_not_read_them_is_told_so(console: Console) -> None:
    console.api.always("list", status(403, "Forbidden", 'user "x" cannot list resource "addressreservations"'))

    assert 'user "x" cannot list' in console.run("list", code=1)[1]


def test_names_of_strangers_do_not_steer_the_terminal(console: Console) -> None:
    console.api.objects.put(reservation("10.0.0.2", app="web", holder="\x1b[31mred"))

    assert "\x1b" not in console.run("show", "10.0.0.2")[0]


@pytest.mark.parametrize(("seconds", "text"), [(-1, "0s"), (5, "5s"), (119, "119s"), (120, "2m"), (7200, "2h"), (200000, "2d")])
def test_an_age_is_short(seconds: float, text: str) -> None:
    assert age(seconds) == text
