"""Strategies: entries that lint often takes, and JSON that it never should choke on."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from webhook.sidecars.entries.entry_reader import KEYS

NAMES = st.sampled_from(["envoy", "setup", "logs", "a", "x-1"])
VOLUMES = st.sampled_from(["conf", "data", "tmp"])
WORDS = st.sampled_from(["", "a", "x y", "${pod.name}", "$${x}", 'it\'s "quoted"\n', "$(VAR)", "é"]) | st.text(max_size=8)
QUANTITIES = st.sampled_from(["100m", "1", 1, 0.5, "64Mi", "1.5Gi", "1e3", "0"])


def some(**parts: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """An object with any of *parts*."""
    return st.fixed_dictionaries({}, optional=parts)


def distinct(items: st.SearchStrategy[dict[str, Any]], key: str = "name") -> st.SearchStrategy[list[dict[str, Any]]]:
    return st.lists(items, max_size=3, unique_by=lambda item: item.get(key))


REFERENCES = st.fixed_dictionaries({"name": NAMES})
VARIABLES = st.fixed_dictionaries(
    {"name": st.sampled_from(["A", "B", "a.b"])}, optional={"value": WORDS}
) | st.fixed_dictionaries(
    {"name": st.sampled_from(["C", "D"])},
    optional={
        "valueFrom": some(fieldRef=st.just({"fieldPath": "metadata.name"}))
        | some(
            secretKeyRef=st.fixed_dictionaries(
                {"name": st.sampled_from(["s", "S"]), "key": st.sampled_from(["k", "k k", ".."])}
            )
        )
        | some(
            resourceFieldRef=st.fixed_dictionaries(
                {"resource": st.sampled_from(["limits.cpu", "requests.memory", "limits.hugepages-2Mi", "limits.gpu"])},
                optional={"divisor": st.sampled_from(["1", "1m", 7, "1Ki", "0"])},
            )
        )
        | some(
            fileKeyRef=st.fixed_dictionaries(
                {"volumeName": VOLUMES, "path": st.sampled_from(["p", "../p"]), "key": st.just("K")}
            )
        )
    },
)
SOURCES = st.fixed_dictionaries({"configMapRef": REFERENCES}) | st.fixed_dictionaries({"secretRef": REFERENCES})
MOUNTS = st.fixed_dictionaries(
    {"name": VOLUMES, "mountPath": st.sampled_from(["/a", "/b/c", "/tmp"])},
    optional={
        "readOnly": st.booleans(),
        "subPath": st.sampled_from(["", "x", "../x"]),
        "mountPropagation": st.sampled_from(["", "None", "HostToContainer", "Bidirectional"]),
        "recursiveReadOnly": st.sampled_from(["", "Disabled", "IfPossible"]),
    },
)
PORTS = st.fixed_dictionaries(
    {"containerPort": st.sampled_from([80, 443, "${pod.labels['p']:-1}"]) | st.integers(0, 70_000)},
    optional={
        "protocol": st.sampled_from(["TCP", "UDP"]),
        "name": st.sampled_from(["http", "x"]),
        "hostPort": st.integers(0, 9),
    },
)
PROBES = some(
    httpGet=some(path=WORDS, port=st.sampled_from([80, "http", "${pod.labels['p']:-1}"])),
    exec=some(command=st.lists(WORDS, max_size=2)),
    periodSeconds=st.integers(-1, 9),
)
AMOUNTS = some(
    cpu=QUANTITIES,
    memory=QUANTITIES,
    **{
        "hugepages-2Mi": st.sampled_from(["2Mi", "3Mi"]),
        "example.com/gpu": st.sampled_from([1, 2, "500m"]),
        "kubernetes.io/gpu": st.just(1),
    },
)
RESOURCES = some(limits=AMOUNTS, requests=AMOUNTS) | some(
    limits=some(cpu=QUANTITIES, memory=QUANTITIES), requests=some(cpu=QUANTITIES, memory=QUANTITIES)
)
SECURITY = some(
    runAsUser=st.integers(-1, 9),
    runAsNonRoot=st.booleans(),
    privileged=st.booleans(),
    allowPrivilegeEscalation=st.booleans(),
    capabilities=some(drop=st.just(["ALL"])),
    seccompProfile=some(
        type=st.sampled_from(["RuntimeDefault", "Localhost", ""]), localhostProfile=st.sampled_from(["", "a", "../a", "/a"])
    ),
    appArmorProfile=some(
        type=st.sampled_from(["RuntimeDefault", "Localhost", ""]), localhostProfile=st.sampled_from(["", "a", "a "])
    ),
    procMount=st.sampled_from(["", "Default", "Unmasked"]),
)


def containers(**more: st.SearchStrategy[Any]) -> st.SearchStrategy[list[dict[str, Any]]]:
    return distinct(
        st.fixed_dictionaries(
            {"name": NAMES, "image": st.sampled_from(["busybox", "reg:5000/a/b:1", " ", "a:1\n"])},
            optional={
                "command": st.lists(WORDS, max_size=2),
                "env": distinct(VARIABLES),
                "envFrom": st.lists(SOURCES, max_size=1),
                "ports": distinct(PORTS, "containerPort"),
                "volumeMounts": distinct(MOUNTS, "mountPath"),
                "resources": RESOURCES,
                "securityContext": SECURITY,
                "imagePullPolicy": st.sampled_from(["Always", "IfNotPresent", ""]),
                "tty": st.booleans() | st.none(),
                "volumeDevices": distinct(
                    st.fixed_dictionaries({"name": VOLUMES, "devicePath": st.sampled_from(["/a", "/dev/a", "/../a"])})
                ),
                "resizePolicy": st.lists(
                    st.fixed_dictionaries(
                        {
                            "resourceName": st.sampled_from(["cpu", "memory", "disk"]),
                            "restartPolicy": st.sampled_from(["NotRequired", "RestartContainer"]),
                        }
                    ),
                    max_size=2,
                ),
                **more,
            },
        )
    )


PROJECTED = [
    {"serviceAccountToken": {"path": path, "expirationSeconds": seconds}} for path in ("t", "", "..t") for seconds in (600, 1)
]
PROJECTED += [{"secret": {"name": name, "items": [{"key": "k", "path": "t"}]}} for name in ("s", "S")]
PROJECTED += [
    {"downwardAPI": {"items": [{"path": "t", "fieldRef": {"fieldPath": field}}]}}
    for field in ("metadata.labels", "spec.nodeName")
]
PROJECTED += [{"clusterTrustBundle": {"path": "t", "name": "b"}}, {"clusterTrustBundle": {"path": "t"}}, {}]
CLAIM = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
SOURCES_OF_VOLUMES = [
    *[{"projected": {"sources": [one]}} for one in PROJECTED],
    *[{"projected": {"sources": [one, other]}} for one in PROJECTED for other in PROJECTED[:1]],
    *[
        {"downwardAPI": {"items": [item]}}
        for item in ({"path": "a"}, {"path": "a", "resourceFieldRef": {"resource": "limits.cpu"}})
    ],
    *[{"csi": {"driver": driver}} for driver in ("A.b", "a_b", "x" * 64)],
    *[{"nfs": {"server": server, "path": path}} for server in ("", "s") for path in ("/p", "p", "")],
    *[
        {"iscsi": {"targetPortal": "1.2.3.4", "iqn": iqn, "lun": lun}}
        for iqn in ("", "x", "iqn.2001-04.com.example:a", "iqn.2001", "eui.0123456789abcdef", "naa.1")
        for lun in (0, 256)
    ],
    *[{"image": {"reference": reference}} for reference in ("", "a:1")],
    *[{"ephemeral": {"volumeClaimTemplate": {"spec": spec}}} for spec in (CLAIM, {}, {**CLAIM, "accessModes": []})],
    {"ephemeral": {}},
    {"persistentVolumeClaim": {"claimName": "c"}},
    {"fc": {"wwids": ["a"]}},
    {"fc": {"targetWWNs": ["a"]}},
    {"fc": {}},
    *[{"emptyDir": {"mode": mode}} for mode in (0o1777, 0o2000)],
    *[{"flocker": {"datasetName": name}} for name in ("a", "")],
    *[
        {kind: {member: value}}
        for kind, member in (("gcePersistentDisk", "pdName"), ("awsElasticBlockStore", "volumeID"))
        for value in ("", "a")
    ],
]
VOLUME_LIST = st.lists(VOLUMES, unique=True).flatmap(
    lambda names: st.tuples(
        *(
            st.sampled_from(
                [
                    {"emptyDir": {}},
                    {"emptyDir": {"medium": "Memory", "sizeLimit": "1Mi"}},
                    {"configMap": {"name": "c", "items": [{"key": "k", "path": "p"}]}},
                    {"secret": {"secretName": "s", "defaultMode": 256}},
                    {"projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}},
                    *SOURCES_OF_VOLUMES,
                ]
            ).map(lambda kind, name=name: {"name": name, **kind})
            for name in names
        )
    ).map(list)
)

ENTRIES = some(
    containers=containers(livenessProbe=PROBES),
    initContainers=containers(restartPolicy=st.just("Always"), startupProbe=PROBES),
    volumes=VOLUME_LIST,
    imagePullSecrets=distinct(REFERENCES),
    hostAliases=distinct(
        some(ip=st.sampled_from(["1.2.3.4", "::1", "::ffff:1.2.3.4", "01.2.3.4", "::01"]), hostnames=st.just(["a.b"])), "ip"
    ),
    labels=st.dictionaries(st.sampled_from(["a", "b/c"]), st.sampled_from(["", "x", "${pod.namespace}"])),
    annotations=st.dictionaries(
        st.sampled_from(["a", "B/c"])
        | st.sampled_from(
            [
                "kubernetes.io/config.mirror",
                "controller.kubernetes.io/pod-deletion-cost",
                "container.apparmor.security.beta.kubernetes.io/envoy",
                "seccomp.security.alpha.kubernetes.io/pod",
            ]
        ),
        WORDS | st.sampled_from(["1", "+1", "01", "unconfined", "localhost/a", "localhost/../a", "runtime/default"]),
        max_size=2,
    ),
    app=some(env=distinct(VARIABLES), envFrom=st.lists(SOURCES, max_size=1), volumeMounts=distinct(MOUNTS, "mountPath")),
    logCollector=st.sampled_from(["/var/log/app/a.log", {"path": "/l/*.log", "name": "envoy"}]),
    onConflict=st.sampled_from(["Keep", "Refuse"]),
    position=some(containers=st.sampled_from(["First", {"after": "web"}, {"before": "envoy"}])),
)

# Any JSON, with the keys that lint looks at.
_FIELDS = """
name image env envFrom value valueFrom ports containerPort volumeMounts mountPath resources limits requests cpu livenessProbe
httpGet port exec command securityContext runAsUser path sizeLimit before after ip hostnames emptyDir configMap projected
sources items mode
"""
_KEYS = st.sampled_from([*KEYS, *_FIELDS.split()])
_SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from(["${pod.name}", "${now", "${pod.labels['a']:-80}", "Always", "/a/b", "-1", "10**9"])
    | st.text(max_size=6)
)
JSON = st.recursive(
    _SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_KEYS | st.text(max_size=3), inner, max_size=5),
    max_leaves=30,
)
