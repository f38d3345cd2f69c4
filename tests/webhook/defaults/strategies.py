"""Pods, LimitRanges and configured defaults of every shape, for property tests. Few names and amounts, so that they meet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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

# From small to large, each.
CPU = ("0", "1m", "100m", "150m", "0.5", "1", "1500m", "2", "7")
BYTES = ("0", "400m", "16Mi", "64Mi", "67108864", "100M", "1Gi", "1.1Gi", "3Gi")
PAGES = ("0", "2Mi", "4Mi", "64Mi")
PIECES = ("0", "1", "2", "8")
COMMON = {"cpu": CPU, "memory": BYTES}
AMOUNTS = {**COMMON, "ephemeral-storage": BYTES, "hugepages-2Mi": PAGES, "example.com/gpu": PIECES}
EQUAL = ("hugepages-2Mi", "example.com/gpu")  # request and limit have to be
PARTS = ("requests", "limits")
RATIOS = ("1.5", "2", "3", "10")
NAMES = ("app", "web", "proxy", "setup")
# What is said of one resource: mostly nothing, seldom what cannot be.
GOOD = ("nothing", "nothing", "nothing", "request", "limit", "both", "both")
SHAPES = (*GOOD, "any")
RICH = ("request", "limit", "both", "both")
ASKING = ("request", "request", "both", "nothing")


def some(**fields: Strategy[Any]) -> Strategy[Json]:
    """An object with any of *fields*."""
    return st.fixed_dictionaries({}, optional=fields)


@st.composite
def both(draw: st.DrawFn, *resources: str, shapes: Sequence[str] = SHAPES, least: int = 0) -> Json:
    """Requests and limits of any of *resources* (none named: of all), which mostly go together."""
    found: dict[str, dict[str, str]] = {part: {} for part in PARTS}
    for name in resources or AMOUNTS:
        shape = draw(st.sampled_from(shapes if name in COMMON else ("nothing",) * 4 + ("both",)))
        low, high = draw(st.tuples(*[st.integers(least, len(AMOUNTS[name]) - 1)] * 2))
        if shape != "any":
            low, high = min(low, high), max(low, high)
        if name in EQUAL and shape != "any":
            low, shape = high, "both" if shape == "request" else shape
        if shape in ("request", "both", "any"):
            found["requests"][name] = AMOUNTS[name][low]
        if shape in ("limit", "both", "any"):
            found["limits"][name] = AMOUNTS[name][high]
    return {part: amounts for part, amounts in found.items() if amounts}


@st.composite
def containers(draw: st.DrawFn, name: str, *, is_init: bool, shapes: Sequence[str]) -> Json:
    """A container that may say nothing, null, or anything about its resources."""
    one: Json = {"name": name, "image": draw(st.sampled_from(["web:1.4", "web", "r.example:5/a/b@sha256:" + "0" * 64]))}
    said = st.sampled_from(["nothing", "null", "common", "common", "all"] if shapes is SHAPES else ["common"])
    match draw(said):
        case "null":
            one["resources"] = None
        case "common":
            one["resources"] = draw(both(*COMMON, shapes=shapes))
        case "all":
            one["resources"] = draw(both(shapes=shapes))
    if is_init and draw(st.booleans()):
        one["restartPolicy"] = "Always"
    return one


@st.composite
def pods(draw: st.DrawFn, shapes: Sequence[str] = SHAPES) -> Json:
    """Pods as users write them, good or bad; some state amounts of their own."""
    names = draw(st.permutations(NAMES))
    count, inits = draw(st.integers(1, 3)), draw(st.integers(0, 2))
    spec: Json = {"containers": [draw(containers(name, is_init=False, shapes=shapes)) for name in names[:count]]}
    if inits:
        spec["initContainers"] = [draw(containers(name, is_init=True, shapes=shapes)) for name in names[count : count + inits]]
    if draw(st.sampled_from([False, False, True])):
        spec["resources"] = draw(both("cpu", "memory", shapes=GOOD, least=5))
    spec |= draw(some(overhead=st.just({"cpu": "250m"})))
    texts = st.dictionaries(st.sampled_from(["team", "app", "x/y"]), st.sampled_from(["", "core", "web"]), max_size=2)
    metadata = draw(st.fixed_dictionaries({"name": st.just("web-1")}, optional={"labels": texts, "annotations": texts}))
    return {"metadata": metadata, "spec": spec}


@st.composite
def ranges(draw: st.DrawFn) -> list[LimitRange]:
    """Up to two LimitRanges, of containers or pods; most pods can keep to them."""
    found = []
    for name in draw(st.sampled_from([(), ("a",), ("a",), ("a", "b")])):
        kind = draw(st.sampled_from(["Container", "Pod"]))
        item: Json = {}
        for bound, choices in (
            ("min", slice(0, 5)),
            ("max", slice(5, 9)),
            ("default", slice(2, 7)),
            ("defaultRequest", slice(0, 5)),
        ):
            if kind == "Container" or bound in ("min", "max"):
                item[bound] = {name: draw(st.sampled_from(COMMON[name][choices])) for name in draw(_few(COMMON))}
        item["maxLimitRequestRatio"] = {name: draw(st.sampled_from(RATIOS)) for name in draw(_few(COMMON))}
        found.append(limit_range(kind, name, **item))
    return found


def _few(names: Mapping[str, Sequence[str]]) -> Strategy[list[str]]:
    """Mostly none of *names*."""
    return st.sampled_from([[], [], *([name] for name in names)])


def _configured() -> Strategy[ContainerDefaults]:
    def parsed(found: Json) -> ContainerDefaults:
        requests, limits = (
            {name: parse(text) for name, text in found.get(part, {}).items()} for part in ("requests", "limits")
        )
        return ContainerDefaults(requests, limits)

    return both(*COMMON, shapes=RICH).map(parsed) | both(shapes=GOOD).map(parsed)


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
    step = st.builds(Step, st.sampled_from([0, 50, 70, 90]), st.sampled_from([1, 20, 50, 80, 100, 150, 300]))
    steps = st.lists(step, min_size=1, max_size=3, unique_by=lambda step: step.at_percent)
    ordered = steps.map(lambda found: tuple(sorted(found, key=lambda step: step.at_percent)))

    def scale(amounts: tuple[str, ...]) -> Strategy[Scale]:
        low, high = st.sampled_from(amounts[:4]).map(parse), st.sampled_from(amounts[4:]).map(parse)
        return st.builds(Scale, ordered, low, st.one_of(st.none(), high))

    return st.fixed_dictionaries({"cpu": scale(CPU), "memory": scale(BYTES)}).map(lambda scales: Tuning(scales, enabled=True))


def percents() -> Strategy[int]:
    """Utilisations on either side of every step."""
    return st.sampled_from([20, 60, 80, 95, 130])
