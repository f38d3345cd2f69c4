"""Whatever the pod, the entry and the namespace: what is repaired fits, and nothing else has changed."""

from __future__ import annotations

import copy

import attrs
from hypothesis import given
from hypothesis import strategies as st

from tests.webhook.objects.security_pods import CONTAINER, POD, container
from tests.webhook.sidecars.injection.injecting import NATIVE, SCENE, entry, pod
from webhook.admission.draft import Draft
from webhook.names import Reason
from webhook.objects import limit_ranges, pods
from webhook.objects.meta import Json
from webhook.sidecars.entries.entry import AppWiring, Conflict, Entry, Repair, Unfit
from webhook.sidecars.fitting import Surroundings, fit
from webhook.sidecars.fitting.forecast import Forecast
from webhook.sidecars.fitting.mending import mend, preview
from webhook.sidecars.injection import apply, plan

CPU = st.sampled_from(["10m", "100m", "500m", "1", "2"])


@st.composite
def resources_of(draw: st.DrawFn) -> Json:
    """Requests and limits of a valid container."""
    amounts = sorted((draw(CPU), draw(CPU)), key=lambda text: int(text[:-1]) if text.endswith("m") else int(text) * 1000)
    return draw(
        st.sampled_from(
            [{}, {"requests": {"cpu": amounts[0]}}, {"requests": {"cpu": amounts[0]}, "limits": {"cpu": amounts[1]}}]
        )
    )


# Copies: in JSON no two containers share a port.
PORTS = st.sampled_from([[], [{"containerPort": 80, "hostPort": 80}]]).map(copy.deepcopy)
security = st.fixed_dictionaries({}, optional={key: st.sampled_from(values) for key, values in CONTAINER.items()})
pod_security = st.fixed_dictionaries({}, optional={key: st.sampled_from(values) for key, values in POD.items()})


@st.composite
def sent_pods(draw: st.DrawFn) -> Json:
    """A pod with one or two containers, one of which may have the name of the entry's."""
    names = draw(st.sampled_from([["app"], ["app", "job"], ["app", "envoy"]]))
    containers = [
        {
            "name": name,
            "image": f"{name}:1",
            "resources": draw(resources_of()),
            "securityContext": draw(security),
            "ports": draw(PORTS),
        }
        for name in names
    ]
    totals = draw(st.sampled_from([None, {"requests": {"cpu": "2"}}, {"requests": {"cpu": "100m"}, "limits": {"cpu": "1"}}]))
    return pod(*containers, securityContext=draw(pod_security), resources=totals)


@st.composite
def entries(draw: st.DrawFn) -> Entry:
    """An entry with one container that may say anything."""
    container = {
        "name": "envoy",
        "image": "envoy:1",
        "securityContext": draw(st.one_of(st.just({}), security)),
        "resources": draw(resources_of()),
        "ports": draw(PORTS),
    }
    return entry(
        containers=(container,),
        volumes=({"name": "conf", "configMap": {"name": "envoy"}},),
        app=AppWiring(env=({"name": "A", "value": "a"},), volume_mounts=({"name": "conf", "mountPath": "/conf"},)),
        on_conflict=draw(st.sampled_from(Conflict)),
        if_refused=draw(st.sampled_from(Unfit)),
        repair=frozenset(draw(st.sets(st.sampled_from(Repair)))),
    )


RANGE = {
    "spec": {"limits": [{"type": "Container", "min": {"cpu": "50m"}, "max": {"cpu": "500m"}}]},
    "metadata": {"name": "small"},
}
places = st.builds(
    Surroundings,
    st.sampled_from([{}, *({"pod-security.kubernetes.io/enforce": level} for level in ("baseline", "restricted"))]),
    st.sampled_from([(), (limit_ranges.from_object(RANGE),)]),
    st.just(()),
    st.sampled_from([lambda name: True, lambda name: None, lambda name: False]),
)


@given(sent_pods(), entries(), places, st.sampled_from([SCENE, NATIVE]))
def test_fitting_changes_neither_pod_nor_entry_and_foresees_what_it_leaves(
    sent: Json, wanted: Entry, place: Surroundings, scene: object
) -> None:
    kept, shared = copy.deepcopy(sent), copy.deepcopy(wanted)

    fitted = fit(sent, plan(sent, [wanted], scene), place, lambda gone: plan(sent, [wanted], scene, gone))

    assert (sent, wanted) == (kept, shared)
    draft = Draft(copy.deepcopy(sent))
    apply(draft, fitted.plan)
    left = Forecast(sent, place).of(draft.object)
    told = " ".join(finding.message for finding in (*fitted.findings, *([fitted.refusal] if fitted.refusal else ())))
    assert all(one.message in told for one in left)
    if wanted.if_refused is Unfit.SKIP:
        assert not left


@given(sent_pods(), entries(), places, st.sampled_from([SCENE, NATIVE]))
def test_repairs_touch_only_the_entrys_containers_and_the_totals(
    sent: Json, wanted: Entry, place: Surroundings, scene: object
) -> None:
    planned = plan(sent, [wanted], scene)
    if planned.refusal is not None:
        return
    unmended = preview(sent, planned)

    mended = mend(sent, planned, place)

    before, after = _without_what_may_change(unmended), _without_what_may_change(preview(sent, mended.plan))
    assert before == after
    assert {finding.reason for finding in mended.findings} <= {Reason.REPAIRED}
    unrepaired = mend(sent, plan(sent, [attrs.evolve(wanted, repair=frozenset())], scene), place)
    assert len(mended.objections) <= len(unrepaired.objections)


@given(sent_pods(), entries(), st.sampled_from([SCENE, NATIVE]))
def test_the_preview_is_what_apply_makes(sent: Json, wanted: Entry, scene: object) -> None:
    planned = plan(sent, [wanted], scene)
    draft = Draft(copy.deepcopy(sent))
    apply(draft, planned)

    assert preview(sent, planned) == draft.object


def _without_what_may_change(after: Json) -> Json:
    result = copy.deepcopy(after)
    result["spec"].pop("resources", None)
    for one in pods.containers(result):
        if one.name == "envoy":
            one.json.pop("resources", None)
            one.json.pop("securityContext", None)
    return result


def test_a_mended_pod_passes_every_rule_of_its_namespace_in_one_go() -> None:
    sent = pod(
        container("app", resources={"requests": {"cpu": "100m"}}),
        securityContext={"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}},
        resources={"requests": {"cpu": "100m"}, "limits": {"cpu": "200m"}},
    )
    wanted = entry(
        containers=({"name": "envoy", "image": "e:1", "resources": {"requests": {"cpu": "1"}, "limits": {"cpu": "2"}}},),
        repair=frozenset(Repair),
    )
    place = Surroundings({"pod-security.kubernetes.io/enforce": "restricted"}, (limit_ranges.from_object(RANGE),))

    mended = mend(sent, plan(sent, [wanted], SCENE), place)

    assert mended.objections == ()
    after = preview(sent, mended.plan)
    assert after["spec"]["containers"][1]["resources"] == {"requests": {"cpu": "500m"}, "limits": {"cpu": "500m"}}
    assert after["spec"]["resources"] == {"requests": {"cpu": "600m"}, "limits": {"cpu": "700m"}}
