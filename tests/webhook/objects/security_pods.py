"""Pods that say everything a Pod Security check looks at: one that every level lets in, and ways to spoil it."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Iterator
from typing import Any

from webhook.objects.meta import Json

KINDS = ("initContainers", "containers", "ephemeralContainers")


def container(name: str, **fields: Any) -> Json:
    """A container that the restricted profile lets in."""
    security = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
    return {"name": name, "image": f"{name}:1", "securityContext": security} | fields


def hardened() -> Json:
    """A pod with a container of every kind that the restricted profile lets in."""
    return {
        "metadata": {"name": "web", "annotations": {"team": "shop"}},
        "spec": {
            "securityContext": {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}},
            "initContainers": [container("setup")],
            "containers": [container("app"), container("proxy")],
            "ephemeralContainers": [container("debug")],
            "volumes": [{"name": "tmp", "emptyDir": {}}],
        },
    }


# What a securityContext of a container or of the pod may say, by key; None takes the key away.
SHARED: dict[str, tuple[Any, ...]] = {
    "runAsNonRoot": (None, True, False),
    "runAsUser": (None, 0, 1, 1000),
    "seccompProfile": (
        None,
        {},
        {"type": "RuntimeDefault"},
        {"type": "Localhost", "localhostProfile": "a"},
        {"type": "Unconfined"},
    ),
    "appArmorProfile": (None, {}, {"type": "RuntimeDefault"}, {"type": "Localhost"}, {"type": "Unconfined"}),
    "seLinuxOptions": (
        None,
        {},
        {"type": "container_t"},
        {"type": "container_engine_t"},
        {"type": "spc_t"},
        {"user": "u"},
        {"role": "r"},
        {"level": "s0"},
    ),
    "windowsOptions": (None, {}, {"hostProcess": True}, {"hostProcess": False}, {"hostProcess": None}),
}
CONTAINER: dict[str, tuple[Any, ...]] = {
    **SHARED,
    "allowPrivilegeEscalation": (None, True, False),
    "privileged": (None, True, False),
    "procMount": (None, "Default", "Unmasked", ""),
    "capabilities": (
        None,
        {},
        {"drop": ["ALL"]},
        {"drop": ["NET_RAW"]},
        {"drop": ["ALL"], "add": ["NET_BIND_SERVICE"]},
        {"drop": ["ALL"], "add": ["CHOWN"]},
        {"add": ["SYS_ADMIN", "KILL"]},
        {"drop": ["NET_RAW", "ALL"], "add": ["ALL"]},
        {"drop": None, "add": None},
    ),
}
SYSCTLS = (
    "kernel.shm_rmid_forced",
    "net.ipv4.ip_local_reserved_ports",
    "net.ipv4.tcp_fin_timeout",
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_notsent_lowat",
    "net.core.somaxconn",
    "",
)
POD: dict[str, tuple[Any, ...]] = {**SHARED, "sysctls": (None, [], *([{"name": name, "value": "1"}] for name in SYSCTLS))}
SPEC: dict[str, tuple[Any, ...]] = {
    "hostNetwork": (None, True, False),
    "hostPID": (None, True),
    "hostIPC": (None, True),
    "hostUsers": (None, True, False),
    "os": (None, {"name": "windows"}, {"name": "linux"}, {}),
    "volumes": (
        None,
        [],
        *(
            [{"name": "v", kind: source}]
            for kind, source in {
                "hostPath": {"path": "/"},
                "nfs": {"server": "s", "path": "/"},
                "csi": {"driver": "d"},
                "image": {"reference": "i"},
                "configMap": {},
                "persistentVolumeClaim": {"claimName": "c"},
                "ephemeral": {},
                "downwardAPI": {},
                "projected": {},
                "secret": {},
                "flexVolume": {"driver": "d"},
                "gitRepo": {"repository": "r"},
                "emptyDir": None,
            }.items()
        ),
        [{"name": "v"}],
        [{"name": "a", "hostPath": {"path": "/"}}, {"name": "b", "iscsi": {}}, {"name": "c", "emptyDir": {}}],
    ),
}
HANDLERS: tuple[Any, ...] = (
    None,
    {},
    {"httpGet": {"port": 80}},
    {"httpGet": {"port": 80, "host": "10.0.0.1"}},
    {"tcpSocket": {"port": 80, "host": "10.0.0.1"}},
    {"tcpSocket": {"port": 80, "host": ""}},
)
FIELDS: dict[str, tuple[Any, ...]] = {
    "securityContext": (None, {}),
    "ports": (
        None,
        [],
        [{"containerPort": 80}],
        [{"containerPort": 80, "hostPort": 0}],
        [{"containerPort": 80, "hostPort": 80}],
    ),
    "livenessProbe": HANDLERS,
    "readinessProbe": HANDLERS,
    "startupProbe": HANDLERS,
    "lifecycle": (None, {}, *({hook: handler} for hook in ("postStart", "preStop") for handler in HANDLERS)),
}
ANNOTATIONS: dict[str, tuple[Any, ...]] = {
    "container.apparmor.security.beta.kubernetes.io/app": (None, "", "runtime/default", "localhost/x", "unconfined"),
    "container.seccomp.security.alpha.kubernetes.io/app": (None, "", "runtime/default", "docker/default", "localhost/x", "x"),
    "seccomp.security.alpha.kubernetes.io/pod": (None, "", "runtime/default", "unconfined"),
}

Mutation = Callable[[Json], None]


def _setter(find: Callable[[Json], Json | None], key: str, value: Any) -> Mutation:
    def mutate(pod: Json) -> None:
        parent = find(pod)
        if parent is None:
            return
        if value is None:
            parent.pop(key, None)
        else:
            parent[key] = copy.deepcopy(value)

    return mutate


def _container(kind: str, index: int) -> Callable[[Json], Json | None]:
    return lambda pod: pod["spec"][kind][index]


def _security(kind: str, index: int) -> Callable[[Json], Json | None]:
    return lambda pod: pod["spec"][kind][index].get("securityContext")


def _mutations() -> Iterator[Mutation]:
    spots: list[tuple[Callable[[Json], Json | None], dict[str, tuple[Any, ...]]]] = [
        (lambda pod: pod["spec"], SPEC),
        (lambda pod: pod["spec"].get("securityContext"), POD),
        (lambda pod: pod["metadata"]["annotations"], ANNOTATIONS),
        (lambda pod: pod["spec"], {"securityContext": (None, {})}),
    ]
    for kind in KINDS:
        for index in range(2 if kind == "containers" else 1):
            spots += [(_container(kind, index), FIELDS), (_security(kind, index), CONTAINER)]
    for find, table in spots:
        for key, values in table.items():
            for value in values:
                yield _setter(find, key, value)


MUTATIONS = tuple(_mutations())


def single_mutations() -> Iterator[Json]:
    """The hardened pod with one thing changed, every one in turn."""
    for mutate in MUTATIONS:
        pod = hardened()
        mutate(pod)
        yield pod


def several_mutations(chance: random.Random) -> Json:
    """The hardened pod with two to eight things changed."""
    pod = hardened()
    for mutate in chance.sample(MUTATIONS, chance.randint(2, 8)):
        mutate(pod)
    return pod
