"""Pods and entries of every shape, for property tests. Few names, so that they meet."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from webhook.objects.meta import Json
from webhook.sidecars.entries.entry import AppWiring, Conflict, Entry, LogCollector, NativeSidecar, Placement, Spot
from webhook.sidecars.injection import Scene, Support

Strategy = st.SearchStrategy

# Names that pods and entries have in common; the rest of each side's is its own.
SHARED = ("proxy", "logs", "istio-proxy")
PATHS = ("/data", "/var/log/app", "/var/log", "/etc/conf", "/data/")
LITERAL = "$${HOME}"  # a placeholder that resolves in every pod

_amounts = st.sampled_from(["100m", "1", "1000m", "0.5", "64Mi", "1024Mi", "1Gi"])
_texts = st.sampled_from(["", "x", "a b", 'quo"te', "$(HOST)", "$(B)", "é\n", "true", "08"])


def some(**fields: Strategy[Any]) -> Strategy[Json]:
    """An object with any of *fields*."""
    return st.fixed_dictionaries({}, optional=fields)


def unique(items: Strategy[Json], key: str, most: int = 3) -> Strategy[list[Json]]:
    """A list whose elements differ in *key*."""
    return st.lists(items, max_size=most, unique_by=lambda item: item[key])


def variables() -> Strategy[Json]:
    source = st.sampled_from(
        [
            {"fieldRef": {"fieldPath": "metadata.name"}},
            {"resourceFieldRef": {"resource": "limits.cpu", "divisor": "1000m"}},
            {"secretKeyRef": {"name": "s", "key": "k"}},
        ]
    )
    name = st.sampled_from(["A", "B", "HOST", "HTTP_PROXY"])
    return st.one_of(
        st.fixed_dictionaries({"name": name, "value": _texts}), st.fixed_dictionaries({"name": name, "valueFrom": source})
    )


def mounts() -> Strategy[Json]:
    return st.fixed_dictionaries(
        {"name": st.sampled_from(["data", "conf"]), "mountPath": st.sampled_from(PATHS)},
        optional={"readOnly": st.booleans(), "subPath": st.sampled_from(["", "sub"])},
    )


def ports() -> Strategy[Json]:
    return st.fixed_dictionaries(
        {"containerPort": st.sampled_from([80, 8080, 15001])},
        optional={"protocol": st.sampled_from(["TCP", "UDP"]), "hostPort": st.sampled_from([80, 8080])},
    )


def sources() -> Strategy[Json]:
    return st.sampled_from(
        [{"configMapRef": {"name": "c"}}, {"secretRef": {"name": "s"}}, {"prefix": "P_", "configMapRef": {"name": "c"}}]
    )


def volumes() -> Strategy[Json]:
    content = st.sampled_from(
        [{"emptyDir": {}}, {"emptyDir": {"sizeLimit": "1024Mi"}}, {"configMap": {"name": "c"}}, {"secret": {"secretName": "s"}}]
    )
    return st.tuples(st.sampled_from(["data", "conf", "other"]), content).map(lambda it: {"name": it[0], **it[1]})


def _body(image: Strategy[str]) -> dict[str, Strategy[Any]]:
    return {
        "image": image,
        "env": unique(variables(), "name"),
        "envFrom": st.lists(sources(), max_size=2),
        "volumeMounts": st.lists(mounts(), max_size=2, unique_by=lambda mount: mount["mountPath"].rstrip("/")),
        "ports": st.lists(ports(), max_size=2, unique_by=lambda port: port.get("hostPort", port["containerPort"])),
        "resources": some(limits=some(cpu=_amounts, memory=_amounts)),
        "command": st.just(["sh", "-c", "true"]),
        "securityContext": some(runAsUser=st.integers(0, 2000), privileged=st.booleans()),
        "readinessProbe": st.sampled_from(
            [{"httpGet": {"path": "/", "port": 80}}, {"exec": {"command": ["true"]}, "periodSeconds": 3}]
        ),
    }


def containers(names: Strategy[str], image: Strategy[str]) -> Strategy[Json]:
    body = _body(image)
    return st.builds(
        lambda name, rest: {"name": name, **rest}, names, st.fixed_dictionaries({"image": body.pop("image")}, optional=body)
    )


_images = st.sampled_from(["app:1", "app", "r.example/app@sha256:" + "0" * 64])
_keys = st.sampled_from(["team", "x/y", "p~q", "a~1b"])


@st.composite
def pods(draw: st.DrawFn) -> Json:
    """Pods as users write them: a stub, a proxy of another injector, nulls and empty lists among them."""
    own = st.sampled_from(["app", "web", "worker", *SHARED])
    both = draw(st.lists(own, min_size=1, max_size=4, unique=True))
    at = draw(st.integers(1, len(both)))
    image = st.one_of(_images, st.just("auto"))
    spec: Json = {"containers": [draw(containers(st.just(name), image)) for name in both[:at]]}
    if both[at:] or draw(st.booleans()):
        inits = [draw(containers(st.just(name), _images)) for name in both[at:]]
        for init in inits:
            init.pop("readinessProbe", None)
            if draw(st.booleans()):
                init["restartPolicy"] = "Always"
        spec["initContainers"] = inits or draw(st.sampled_from([None, []]))
    spec |= draw(
        some(
            volumes=unique(volumes(), "name"),
            restartPolicy=st.sampled_from(["Always", "Never"]),
            imagePullSecrets=st.just([{"name": "mine"}]),
            hostAliases=st.just([{"ip": "10.0.0.1", "hostnames": ["mine"]}]),
            hostNetwork=st.booleans(),
            nodeSelector=st.just(None),
        )
    )
    metadata = draw(
        some(labels=st.dictionaries(_keys, _texts, max_size=2), annotations=st.dictionaries(_keys, _texts, max_size=2))
    )
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web", **metadata}, "spec": spec}


def placements() -> Strategy[Placement]:
    return st.one_of(
        st.sampled_from([Placement(Spot.FIRST), Placement(Spot.LAST)]),
        st.builds(Placement, st.sampled_from([Spot.BEFORE, Spot.AFTER]), st.sampled_from(["app", "proxy", "nobody"])),
    )


def wirings() -> Strategy[AppWiring]:
    return st.builds(
        AppWiring,
        st.sampled_from([(), ("app",), ("nobody",)]),
        st.booleans(),
        unique(variables(), "name").map(tuple),
        st.lists(sources(), max_size=2).map(tuple),
        st.lists(mounts(), max_size=2, unique_by=lambda mount: mount["mountPath"].rstrip("/")).map(tuple),
    )


def collectors() -> Strategy[LogCollector]:
    reader = {"name": "reader", "image": "busybox:1"}
    return st.builds(
        LogCollector, st.just("/var/log/app"), st.just("*.log"), st.just(reader), st.just({"name": "log-files", "emptyDir": {}})
    )


@st.composite
def entries(draw: st.DrawFn, name: str = "envoy") -> Entry:
    """Entries as `source` makes them: their own lists are free of conflicts."""
    names = draw(st.lists(st.sampled_from(["side", *SHARED]), max_size=3, unique=True))
    made = [draw(containers(st.just(one), st.sampled_from(["side:1", "side"]))) for one in names]
    at = draw(st.integers(0, len(made)))
    inits = made[at:]
    for init in inits:
        init.pop("readinessProbe", None)
    annotations = draw(st.dictionaries(_keys, _texts, max_size=2))
    has_placeholders = draw(st.booleans())
    if has_placeholders:
        annotations["at"] = "${now}"
        annotations["home"] = LITERAL
    return Entry(
        name,
        "shop",
        "sidecars",
        name,
        "r1",
        tuple(made[:at]),
        tuple(inits),
        tuple(draw(unique(volumes(), "name"))),
        draw(st.sampled_from([(), ({"name": "registry"},)])),
        draw(st.sampled_from([(), ({"ip": "10.0.0.1", "hostnames": ["ours"]},)])),
        draw(st.dictionaries(_keys, st.sampled_from(["", "a", "b"]), max_size=2)),
        annotations,
        draw(wirings()),
        draw(st.none() | collectors()),
        draw(st.sampled_from(NativeSidecar)),
        draw(placements()),
        draw(placements()),
        draw(st.sampled_from(Conflict)),
        overridable=draw(st.booleans()),
        has_placeholders=has_placeholders,
    )


def scenes() -> Strategy[Scene]:
    return st.builds(Scene, st.just("shop"), st.none(), st.just(1_764_000_000.0), st.sampled_from(Support))
