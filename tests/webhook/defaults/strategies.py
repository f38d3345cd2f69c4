"""Pods, LimitRanges and configured defaults of every shape, for property tests. Few names and amounts, so that they meet."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from tests.webhook.defaults.defaulting import limit_range
from webhook.defaults.sets import ContainerDefaults, DefaultSet, PodDefaults, faults
from webhook.defaults.tuning import Scale, Step, Tuning
from webhook.objects.limit_ranges import LimitRange
from webhook.objects.meta import Json
from webhook.objects.quantity import parse
from webhook.objects.selectors import Selector

Strategy = st.SearchStrategy

CPU = ("0", "1m", "100m", "150m", "0.5", "1", "1500m", "2", "7")
BYTES = ("0", "400m", "16Mi", "64Mi", "67108864", "100M", "1Gi", "1.1Gi", "3Gi")
PAGES = ("0", "2Mi", "4Mi", "64Mi")
PIECES = ("0", "1", "2", "8")
AMOUNTS = {"cpu": CPU, "memory": BYTES, "ephemeral-storage": BYTES, "hugepages-2Mi": PAGES, "example.com/gpu": PIECES}
RATIOS = ("1", "1.5", "2", "3", "10")
NAMES = ("app", "web", "proxy", "setup")


def some(**fields: Strategy[Any]) -> Strategy[Json]:
    """An object with any of *fields*."""
    return st.fixed_dictionaries({}, optional=fields)


def amounts(*resources: str) -> Strategy[dict[str, str]]:
    """Amounts of any of *resources*; none named: of all."""
    return some(**{name: st.sampled_from(AMOUNTS[name]) for name in resources or AMOUNTS})


def both(*resources: str) -> Strategy[Json]:
    """Requests and limits, either or none of them."""
    return some(requests=amounts(*resources), limits=amounts(*resources))


@st.composite
def containers(draw: st.DrawFn, name: str, *, is_init: bool) -> Json:
    """A container that may say nothing, null, or anything about its resources."""
    one: Json = {"name": name, "image": draw(st.sampled_from(["web:1.4", "web", "r.example:5/a/b@sha256:" + "0" * 64]))}
    one |= draw(some(resources=st.one_of(st.none(), both("cpu", "memory"), both())))
    if is_init and draw(st.booleans()):
        one["restartPolicy"] = "Always"
    return one


@st.composite
def pods(draw: st.DrawFn) -> Json:
    """Pods as users write them, good or bad; some state amounts of their own."""
    names = draw(st.permutations(NAMES))
    count, inits = draw(st.integers(1, 3)), draw(st.integers(0, 2))
    spec: Json = {"containers": [draw(containers(name, is_init=False)) for name in names[:count]]}
    if inits:
        spec["initContainers"] = [draw(containers(name, is_init=True)) for name in names[count : count + inits]]
    spec |= draw(some(resources=both("cpu", "memory", "hugepages-2Mi"), overhead=amounts("cpu")))
    texts = st.dictionaries(st.sampled_from(["team", "app", "x/y"]), st.sampled_from(["", "core", "web"]), max_size=2)
    metadata = draw(st.fixed_dictionaries({"name": st.just("web-1")}, optional={"labels": texts, "annotations": texts}))
    return {"metadata": metadata, "spec": spec}


@st.composite
def ranges(draw: st.DrawFn) -> list[LimitRange]:
    """Up to two LimitRanges, of containers or pods, whose bounds may exclude each other."""
    ratios = some(cpu=st.sampled_from(RATIOS), memory=st.sampled_from(RATIOS))
    bounds = amounts("cpu", "memory", "ephemeral-storage")
    found = []
    for name in draw(st.sampled_from([(), ("a",), ("a", "b")])):
        kind = draw(st.sampled_from(["Container", "Pod"]))
        item = some(min=bounds, max=bounds, maxLimitRequestRatio=ratios)
        if kind == "Container":
            item = some(min=bounds, max=bounds, maxLimitRequestRatio=ratios, default=bounds, defaultRequest=bounds)
        found.append(limit_range(kind, name, **draw(item)))
    return found


def _configured() -> Strategy[ContainerDefaults]:
    def parsed(found: Json) -> ContainerDefaults:
        requests, limits = (
            {name: parse(text) for name, text in found.get(part, {}).items()} for part in ("requests", "limits")
        )
        return ContainerDefaults(requests, limits)

    return both().map(parsed)


def sets() -> Strategy[PodDefaults]:
    """Up to two sets that a configuration may hold."""
    texts = st.sampled_from(["x", "${image.tag}", "${now}", "${namespace.labels['team']:-none}", "${pod.annotations['x/y']}"])
    one = st.builds(
        DefaultSet,
        st.sampled_from(["a", "b"]),
        pod_selector=st.sampled_from([Selector(), Selector.parse("app=web"), Selector.parse("!app")]),
        labels=st.dictionaries(st.sampled_from(["team", "zone"]), texts, max_size=2),
        annotations=st.dictionaries(st.sampled_from(["team", "zone"]), texts, max_size=2),
        app=_configured(),
        init=_configured(),
        containers=st.dictionaries(st.sampled_from(["proxy", "web"]), _configured(), max_size=1),
    )
    several = st.lists(one, min_size=1, max_size=2).filter(lambda found: not list(faults(found)))
    return several.map(lambda found: PodDefaults(tuple(found)))


def tunings() -> Strategy[Tuning]:
    """Scales up and down."""
    steps = st.lists(
        st.builds(Step, st.integers(0, 120), st.integers(1, 300)), max_size=3, unique_by=lambda step: step.at_percent
    )
    ordered = steps.map(lambda found: tuple(sorted(found, key=lambda step: step.at_percent)))

    def scale(amounts: tuple[str, ...]) -> Strategy[Scale]:
        one = st.sampled_from(amounts).map(parse)
        return st.builds(Scale, ordered, one, st.one_of(st.none(), one))

    return some(cpu=scale(CPU), memory=scale(BYTES)).map(lambda scales: Tuning(scales, enabled=True))
