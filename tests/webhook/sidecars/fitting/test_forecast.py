"""Only what the injection makes worse is foreseen, whatever places containers and volumes end up in."""

from __future__ import annotations

import pytest

from tests.webhook.objects.security_pods import container, hardened
from tests.webhook.sidecars.injection.injecting import pod
from webhook.names import Reason
from webhook.objects import limit_ranges, resource_quotas
from webhook.objects.meta import Json
from webhook.sidecars.fitting.forecast import Forecast, Surroundings

ITEM = {"type": "Container", "max": {"cpu": "1"}, "min": {"cpu": "10m"}}
RANGES = (
    limit_ranges.from_object({"metadata": {"name": "small"}, "spec": {"limits": [ITEM, {"type": "Pod", "max": {"cpu": "2"}}]}}),
)
QUOTAS = (resource_quotas.from_object({"metadata": {"name": "ration"}, "spec": {"hard": {"requests.cpu": "1", "pods": "9"}}}),)
STRICT = Surroundings({"pod-security.kubernetes.io/enforce": "restricted"}, RANGES, QUOTAS, lambda name: False)


def sized(name: str, cpu: str) -> Json:
    """A container that fits everywhere, if it is small enough."""
    resources = {"requests": {"cpu": cpu}, "limits": {"cpu": cpu}}
    security = {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}
    hardened = container(name, resources=resources)
    return {**hardened, "securityContext": {**hardened["securityContext"], **security}}


def offender() -> Json:
    """A pod that nobody would let in, for every reason there is."""
    return pod(
        sized("app", "3"),
        hostPID=True,
        resources={"requests": {"cpu": "1"}},
        volumes=[{"name": "conf", "configMap": {"name": "conf"}}],
    )


def joined(before: Json, *containers: Json, first: bool = False) -> Json:
    """*before* with more containers, in front or behind."""
    own = before["spec"]["containers"]
    return {**before, "spec": {**before["spec"], "containers": [*containers, *own] if first else [*own, *containers]}}


def test_an_offender_that_stays_as_it_is_is_not_spoken_of() -> None:
    assert Forecast(offender(), STRICT).of(offender()) == ()


@pytest.mark.parametrize("first", [True, False])
def test_an_offender_that_gets_a_good_sidecar_is_not_spoken_of_wherever_it_goes(first: bool) -> None:
    before = offender()
    before["spec"]["volumes"] = []

    after = joined(before, sized("good", "10m"), first=first)
    after["spec"]["volumes"] = [{"name": "tmp", "emptyDir": {}}]

    assert Forecast(before, STRICT).of(after) == ()


def test_every_kind_of_trouble_is_foreseen_at_once() -> None:
    before = pod(sized("app", "50m"), resources={"requests": {"cpu": "100m"}})
    after = joined(
        before, {"name": "bad", "resources": {"requests": {"cpu": "1500m"}}, "envFrom": [{"configMapRef": {"name": "x"}}]}
    )

    found = Forecast(before, STRICT).of(after)

    assert {(one.reason, one.container) for one in found} >= {
        (Reason.POD_SECURITY, "bad"),
        (Reason.LIMIT_RANGE, "bad"),
        (Reason.POD_RESOURCES, ""),
        (Reason.CONFIG_MAP_MISSING, "bad"),
    }


def test_a_pod_that_becomes_too_large_as_a_whole_is_foreseen() -> None:
    before = pod(sized("app", "900m"))

    found = Forecast(before, Surroundings(limit_ranges=RANGES)).of(joined(before, sized("one", "900m"), sized("two", "900m")))

    assert {(one.reason, one.container, one.field) for one in found} == {(Reason.LIMIT_RANGE, "", "spec")}


def test_a_quota_that_was_short_before_is_not_the_sidecars_fault() -> None:
    before = pod(sized("app", "2"))

    assert Forecast(before, Surroundings(quotas=QUOTAS)).of(joined(before, sized("one", "1"))) == ()


def test_a_namespace_without_rules_objects_to_nothing() -> None:
    after = joined(pod(), {"name": "bad", "securityContext": {"privileged": True}})

    assert Forecast(pod(), Surroundings()).of(after) == ()


def test_an_objection_points_into_the_injected_pod() -> None:
    before = hardened()
    after = joined(before, {"name": "bad", "securityContext": {"privileged": True}}, first=True)

    found = Forecast(before, Surroundings({"pod-security.kubernetes.io/enforce": "baseline"})).of(after)

    assert [(one.field, one.message) for one in found] == [
        ("spec.containers[0].securityContext.privileged", 'container "bad" must not set privileged to true')
    ]
