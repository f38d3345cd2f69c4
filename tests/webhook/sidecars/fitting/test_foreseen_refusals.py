"""Refusals that come of an entry and the rest of its pod together: foreseen, with the entry's name, obeying ifRefused."""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from tests.webhook.sidecars.fitting.fits import AT_REST, amounts, asking, fitted, names, ranged, rationed
from tests.webhook.sidecars.injection.injecting import NATIVE, empty, entry, pod
from webhook.errors import MalformedObject
from webhook.names import INJECTED, Reason
from webhook.objects.meta import Json
from webhook.sidecars.entries.entry import Entry, Repair, Unfit
from webhook.sidecars.fitting import Surroundings


def with_container(**fields: Any) -> Entry:
    return entry(containers=({"name": "envoy", "image": "e:1", **fields},))


REFUSED = [
    (pod(), with_container(lifecycle={"preStop": {"sleep": {"seconds": 60}}})),
    (pod(restartPolicy="Never"), with_container(resizePolicy=[{"resourceName": "cpu", "restartPolicy": "RestartContainer"}])),
    (pod(os={"name": "linux"}), with_container(securityContext={"windowsOptions": {"runAsUserName": "x"}})),
    (pod(hostNetwork=True), with_container(ports=[{"containerPort": 80, "hostPort": 81}])),
]


@pytest.mark.parametrize(("sent", "given"), REFUSED)
def test_a_container_that_does_not_suit_its_pod_is_told_left_out_or_refused(sent: Json, given: Entry) -> None:
    warned, _ = fitted(sent, given)
    skipped, after = fitted(sent, attrs.evolve(given, if_refused=Unfit.SKIP))
    refused, _ = fitted(sent, attrs.evolve(given, if_refused=Unfit.REFUSE))

    assert [one.reason for one in warned.findings] == [Reason.INVALID_POD]
    assert given.subject in warned.findings[0].message
    assert (names(skipped), after["spec"]) == ([], sent["spec"])
    assert refused.refusal is not None
    assert refused.refusal.reason is Reason.INVALID_POD


@pytest.mark.parametrize("added", [{"k": "x" * 1000}, {}])
def test_annotations_that_are_too_much_with_ours_are_foreseen(added: Json) -> None:
    sent = pod()
    sent["metadata"]["annotations"] = {"k2": "x" * (256 * 1024 - 100)}

    outcome, _ = fitted(sent, entry(annotations=added))
    skipped, after = fitted(sent, entry(annotations=added, if_refused=Unfit.SKIP))

    assert [one.reason for one in outcome.findings] == [Reason.INVALID_POD]
    assert names(skipped) == []
    assert INJECTED not in after["metadata"]["annotations"]


def test_what_the_user_has_done_wrong_is_not_told_of_the_entry() -> None:
    sent = pod({"name": "app", "image": "a:1", "lifecycle": {"preStop": {"sleep": {"seconds": 60}}}})

    assert fitted(sent, entry())[0].findings == ()


# -- amounts that follow from defaults


LIMITED = pod({"name": "app", "image": "a:1", "resources": amounts("100m", "1")}, resources={"limits": {"cpu": "1"}})


def test_a_pods_limit_without_a_request_bounds_what_its_containers_request() -> None:
    thirsty = entry(containers=({"name": "envoy", "image": "e:1", "resources": {"requests": {"cpu": "2"}}},))

    warned, _ = fitted(LIMITED, thirsty)
    skipped, _ = fitted(LIMITED, attrs.evolve(thirsty, if_refused=Unfit.SKIP))
    raised, after = fitted(LIMITED, attrs.evolve(thirsty, repair=frozenset({Repair.POD_RESOURCES})))

    assert [one.reason for one in warned.findings] == [Reason.POD_RESOURCES]
    assert names(skipped) == []
    assert [one.reason for one in raised.findings] == [Reason.REPAIRED]
    assert after["spec"]["resources"] == {"limits": {"cpu": "3"}}


LOW = ranged(default={"cpu": "200m"}, defaultRequest={"cpu": "100m"})


@pytest.mark.parametrize("place", ["containers", "init_containers"])
@pytest.mark.parametrize("scene", [None, NATIVE])
def test_a_limit_that_a_limit_range_gives_bounds_what_the_entry_requests(place: str, scene: Any) -> None:
    container = {"name": "envoy", "image": "e:1", "resources": {"requests": {"cpu": "400m"}}}
    given = empty("envoy", **{place: (container,)})
    options = {"surroundings": LOW} if scene is None else {"surroundings": LOW, "scene": scene}

    warned, _ = fitted(pod(), given, **options)
    mended, after = fitted(pod(), attrs.evolve(given, repair=frozenset({Repair.LIMIT_RANGE})), **options)

    assert [one.reason for one in warned.findings] == [Reason.LIMIT_RANGE]
    assert "400m" in warned.findings[0].message
    assert "200m" in warned.findings[0].message
    assert [one.reason for one in mended.findings] == [Reason.REPAIRED]
    everywhere = [*after["spec"]["containers"], *after["spec"].get("initContainers", [])]
    (envoy,) = [one for one in everywhere if one["name"] == "envoy"]
    assert envoy["resources"]["limits"]["cpu"] == "400m"


def test_an_entry_with_a_limit_of_its_own_needs_none() -> None:
    assert fitted(pod(), asking(), surroundings=LOW)[0].findings == ()


# -- who else


def test_of_two_entries_the_one_that_does_not_suit_is_left_out() -> None:
    unsuited = attrs.evolve(REFUSED[0][1], name="slow", if_refused=Unfit.SKIP)
    suited = entry("fast", containers=({"name": "fast", "image": "f:1"},), if_refused=Unfit.SKIP)

    assert names(fitted(pod(), suited, unsuited)[0]) == ["fast"]


@pytest.mark.parametrize("surroundings", [AT_REST, LOW])
def test_ports_of_another_type_are_malformed(surroundings: Surroundings) -> None:
    sent = pod({"name": "app", "image": "a:1", "ports": 5})

    with pytest.raises(MalformedObject, match="ports"):
        fitted(sent, REFUSED[0][1], surroundings=surroundings)


def test_what_was_left_out_stays_out_when_what_came_in_exceeds_the_quota_by_itself() -> None:
    entries = (asking("big", request="2", limit="2"), asking("small", if_refused=Unfit.SKIP))
    place = rationed(requests_cpu="1")

    first, after = fitted(
        pod({"name": "app", "image": "a:1", "resources": amounts("100m", "100m")}), *entries, surroundings=place
    )
    second, again = fitted(after, *entries, surroundings=place)

    assert names(first) == names(second) == ["big"]
    assert again == after
