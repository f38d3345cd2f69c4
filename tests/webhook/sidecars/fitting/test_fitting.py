"""What speaks against an injected pod is told with the entry's name, repaired, or ends the entry, as the entry says."""

from __future__ import annotations

from collections.abc import Collection

import attrs
import pytest

from tests.webhook.objects.security_pods import container as hardened_container
from tests.webhook.sidecars.fitting.fits import (
    AT_REST,
    BASELINE,
    RESTRICTED,
    asking,
    fitted,
    having,
    labelled,
    names,
    totalled,
)
from tests.webhook.sidecars.injection.injecting import NATIVE, SCENE, entry, pod, reasons
from webhook.names import Reason
from webhook.objects.meta import Json
from webhook.objects.pod_security import level_of, violations
from webhook.sidecars.entries.entry import AppWiring, Conflict, Repair, Unfit
from webhook.sidecars.fitting import Fitted, Surroundings, fit
from webhook.sidecars.injection import plan


def restricted_pod() -> Json:
    security = {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}
    return pod(hardened_container("app"), securityContext=security)


def test_where_nothing_objects_the_plan_stays_as_it_is() -> None:
    sent = pod()
    planned = plan(sent, [entry()], SCENE)

    outcome = fit(sent, planned, AT_REST, lambda gone: plan(sent, [entry()], SCENE, gone))

    assert outcome == Fitted(planned)


def test_a_plan_that_refuses_is_left_alone() -> None:
    sent = pod({"name": "envoy", "image": "own:1"})

    outcome, _ = fitted(sent, entry(on_conflict=Conflict.REFUSE), surroundings=labelled(RESTRICTED))

    assert outcome.refusal is None
    assert outcome.plan.refusal is not None


# -- Pod Security


def test_a_container_that_the_level_forbids_is_told_with_its_entry() -> None:
    outcome, after = fitted(restricted_pod(), entry(), surroundings=labelled(RESTRICTED))

    (finding,) = outcome.findings
    assert finding.reason is Reason.POD_SECURITY
    assert finding.message == (
        'Pod Security restricted:latest will refuse entry "envoy" (shop/sidecars): '
        'container "envoy" must set allowPrivilegeEscalation to false; container "envoy" must drop ALL capabilities'
    )
    assert finding.field == "spec.containers[1].securityContext.allowPrivilegeEscalation"
    assert after["spec"]["containers"][1] == {"name": "envoy", "image": "envoy:1"}


def test_what_was_wrong_before_is_not_the_entrys_fault() -> None:
    outcome, _ = fitted(pod(hostNetwork=True), entry(allow_host_network=True), surroundings=labelled(BASELINE))

    assert outcome.findings == ()


def test_a_container_may_be_repaired_for_the_level() -> None:
    outcome, after = fitted(restricted_pod(), entry(repair=frozenset({Repair.POD_SECURITY})), surroundings=labelled(RESTRICTED))

    assert violations(after, level_of(RESTRICTED)) == ()
    (finding,) = outcome.findings
    assert finding.reason is Reason.REPAIRED
    assert finding.message == (
        'entry "envoy" (shop/sidecars): container "envoy" gets allowPrivilegeEscalation, capabilities '
        "for the namespace's Pod Security level"
    )


def test_a_native_sidecar_is_repaired_where_it_stands() -> None:
    secured = entry(repair=frozenset({Repair.POD_SECURITY}))

    outcome, after = fitted(restricted_pod(), secured, surroundings=labelled(RESTRICTED), scene=NATIVE)

    assert violations(after, level_of(RESTRICTED)) == ()
    assert outcome.findings[0].field == "spec.initContainers[0].securityContext"


def test_a_stub_is_repaired_as_the_entrys_own_container() -> None:
    sent = restricted_pod()
    sent["spec"]["containers"].append({"name": "envoy", "image": "auto", "env": [{"name": "A", "value": "a"}]})

    outcome, after = fitted(sent, entry(repair=frozenset({Repair.POD_SECURITY})), surroundings=labelled(RESTRICTED))

    assert violations(after, level_of(RESTRICTED)) == ()
    assert reasons(outcome.findings) == [Reason.REPAIRED]


def test_a_repair_that_does_not_help_is_not_made() -> None:
    stubborn = {"name": "envoy", "image": "envoy:1", "securityContext": {"privileged": True}}

    outcome, after = fitted(
        restricted_pod(),
        entry(containers=(stubborn,), repair=frozenset({Repair.POD_SECURITY})),
        surroundings=labelled(RESTRICTED),
    )

    assert reasons(outcome.findings) == [Reason.POD_SECURITY]
    assert after["spec"]["containers"][1] == stubborn


def test_each_container_is_repaired_by_itself() -> None:
    stubborn = {"name": "stubborn", "image": "s:1", "securityContext": {"privileged": True}}
    plain = {"name": "plain", "image": "p:1"}
    both = entry(containers=(stubborn, plain), repair=frozenset({Repair.POD_SECURITY}))

    outcome, after = fitted(restricted_pod(), both, surroundings=labelled(RESTRICTED))

    assert reasons(outcome.findings) == [Reason.REPAIRED, Reason.POD_SECURITY]
    assert {found.container for found in violations(after, level_of(RESTRICTED))} == {"stubborn"}


def test_a_volume_that_the_level_forbids_is_its_entrys_fault() -> None:
    logs = entry(
        "logs", volumes=({"name": "logs", "hostPath": {"path": "/var/log"}},), containers=(hardened_container("logs"),)
    )
    good = entry(containers=(hardened_container("envoy"),))

    outcome, _ = fitted(restricted_pod(), good, logs, surroundings=labelled(BASELINE))

    (finding,) = outcome.findings
    assert 'entry "logs"' in finding.message
    assert 'volume "logs" must not be the hostPath "/var/log"' in finding.message


# -- what an entry says about being refused


def test_an_entry_may_be_left_out_where_it_would_be_refused() -> None:
    outcome, after = fitted(restricted_pod(), entry(if_refused=Unfit.SKIP), surroundings=labelled(RESTRICTED))

    assert [container["name"] for container in after["spec"]["containers"]] == ["app"]
    (finding,) = outcome.findings
    assert finding.reason is Reason.POD_SECURITY
    assert finding.message.startswith(
        'entry "envoy" (shop/sidecars) is left out: Pod Security restricted:latest will refuse it: container "envoy" must'
    )


def test_the_others_stay_when_one_is_left_out() -> None:
    good = entry("good", containers=(hardened_container("good"),))

    outcome, _ = fitted(restricted_pod(), entry(if_refused=Unfit.SKIP), good, surroundings=labelled(RESTRICTED))

    assert names(outcome) == ["good"]


def test_an_entry_may_refuse_the_pod_and_is_named() -> None:
    outcome, after = fitted(restricted_pod(), entry(if_refused=Unfit.REFUSE), surroundings=labelled(RESTRICTED))

    assert outcome.refusal is not None
    assert outcome.refusal.reason is Reason.POD_SECURITY
    assert 'entry "envoy" (shop/sidecars)' in outcome.refusal.message
    assert after == restricted_pod()


def test_a_repaired_entry_refuses_nothing() -> None:
    careful = entry(if_refused=Unfit.REFUSE, repair=frozenset({Repair.POD_SECURITY}))

    outcome, _ = fitted(restricted_pod(), careful, surroundings=labelled(RESTRICTED))

    assert outcome.refusal is None


# -- ConfigMaps

MOUNTING = entry(
    containers=({"name": "envoy", "image": "e:1", "volumeMounts": [{"name": "conf", "mountPath": "/etc/envoy"}]},),
    volumes=({"name": "conf", "configMap": {"name": "envoy"}},),
)


def test_a_volume_whose_config_map_is_missing_is_told() -> None:
    outcome, _ = fitted(pod(), MOUNTING, surroundings=having())

    (finding,) = outcome.findings
    assert finding.reason is Reason.CONFIG_MAP_MISSING
    assert finding.message == (
        'no kubelet can start entry "envoy" (shop/sidecars): '
        'volume "conf" needs ConfigMap envoy, which does not exist in the pod\'s namespace'
    )
    assert finding.field == "spec.volumes[0].configMap.name"


@pytest.mark.parametrize("surroundings", [having("envoy"), having(answer=None)])
def test_a_config_map_that_is_there_or_that_nobody_knows_of_is_not_told(surroundings: Surroundings) -> None:
    outcome, _ = fitted(pod(), MOUNTING, surroundings=surroundings)

    assert outcome.findings == ()


def test_the_pods_own_config_maps_are_its_authors_affair() -> None:
    outcome, _ = fitted(pod(volumes=[{"name": "own", "configMap": {"name": "own"}}]), entry(), surroundings=having())

    assert outcome.findings == ()


def test_variables_that_an_entry_wires_into_the_app_are_its_fault() -> None:
    wiring = entry("wiring", app=AppWiring(env_from=({"configMapRef": {"name": "proxy"}},)), containers=())

    outcome, _ = fitted(pod(), entry(), wiring, surroundings=having())

    (finding,) = outcome.findings
    assert 'entry "wiring"' in finding.message
    assert 'container "app" needs ConfigMap proxy' in finding.message
    assert finding.field == "spec.containers[0].envFrom[0].configMapRef.name"


def test_each_config_map_is_asked_for_once() -> None:
    asked: list[str] = []

    def exists(name: str) -> bool:
        asked.append(name)
        return False

    again = attrs.evolve(MOUNTING, name="again", if_refused=Unfit.SKIP)
    fitted(pod(), MOUNTING, again, surroundings=Surroundings(RESTRICTED, config_map_exists=exists))

    assert asked == ["envoy"]


def test_an_entry_that_lacks_its_config_map_may_be_left_out() -> None:
    outcome, after = fitted(pod(), attrs.evolve(MOUNTING, if_refused=Unfit.SKIP), surroundings=having())

    assert after["spec"] == pod()["spec"]
    assert reasons(outcome.findings) == [Reason.CONFIG_MAP_MISSING]


# -- a second call


@pytest.mark.parametrize("labels", [RESTRICTED, BASELINE])
@pytest.mark.parametrize("repair", [(), (Repair.POD_SECURITY, Repair.POD_RESOURCES)])
def test_a_second_call_finds_and_changes_nothing(labels: dict[str, str], repair: Collection[Repair]) -> None:
    surroundings = Surroundings(labels, config_map_exists=lambda name: False)
    entries = (asking(repair=frozenset(repair)), attrs.evolve(MOUNTING, name="mounting"))
    sent = {**totalled("50m", "100m")}
    _, after = fitted(sent, *entries, surroundings=surroundings)

    outcome, again = fitted(after, *entries, surroundings=surroundings)

    assert outcome.findings == ()
    assert again == after
