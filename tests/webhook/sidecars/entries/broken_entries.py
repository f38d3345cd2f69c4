"""Entries with one thing wrong each: the text, the path of the fault, how its message begins."""
# ruff: noqa: E501  (a table is read across)

from __future__ import annotations

import json
from typing import Any


def entry(**parts: Any) -> str:
    """A good entry, with these parts instead."""
    good: dict[str, Any] = {"containers": [container()], "volumes": [{"name": "conf", "configMap": {"name": "envoy"}}]}
    return json.dumps({**good, **parts})


def container(**parts: Any) -> dict[str, Any]:
    """A good container, with these parts instead; None removes one."""
    good = {"name": "envoy", "image": "envoy:1", "volumeMounts": [{"name": "conf", "mountPath": "/etc/envoy"}]}
    return {key: value for key, value in {**good, **parts}.items() if value is not None}


def one(**parts: Any) -> str:
    """An entry whose one container has these parts."""
    return entry(containers=[container(**parts)])


def init(**parts: Any) -> str:
    """An entry whose one init container has these parts."""
    return entry(containers=[], initContainers=[container(**parts)])


PROBE = {"httpGet": {"port": 80}}
LONG = "x" * 64

# (name of the case, text, path, message)
TABLE: list[tuple[str, str, str, str]] = [
    # the text
    ("an empty text", "", "", "is empty"),
    ("comments only", "# nothing\n---\n", "", "is empty"),
    ("two documents", "labels: {a: b}\n---\nlabels: {a: b}\n", "", "begins a second document"),
    ("a key twice", "labels: {a: b}\nlabels: {a: c}\n", "", 'key "labels" is already set in line 1'),
    ("no YAML", "containers: [", "", "did not find expected node content"),
    ("a list", "[]", "", "an entry is an object"),
    ("nothing to give", "onConflict: Keep", "", "gives nothing"),
    ("nothing but null", "containers: null", "", "gives nothing"),
    # our keys
    ("an unknown key", entry(container=[]), "container", "is not a field that exists here; containers?"),
    ("an unknown choice", entry(onConflict="keep"), "onConflict", 'must be Keep, Override or Refuse, not "keep"'),
    ("an empty choice", entry(nativeSidecar=""), "nativeSidecar", 'must be Auto, Always or Never, not ""'),
    ("a choice of a wrong type", entry(ifRefused=1), "ifRefused", "must be Warn, Skip or Refuse, not a number"),
    ("a choice from a placeholder", entry(onConflict="${now}"), "onConflict", "must be Keep, Override or Refuse"),
    ("a switch in quotes", entry(overridable="true"), "overridable", 'must be true or false, not "true"'),
    ("an unknown repair", entry(repair=["Everything"]), "repair[0]", "must be PodSecurity, LimitRange or PodResources"),
    ("a repair twice", entry(repair=["LimitRange"] * 2), "repair[1]", '"LimitRange" is there already'),
    ("repair without a list", entry(repair="LimitRange"), "repair", "must be a list"),
    ("a position that is none", entry(position={"containers": "Middle"}), "position.containers", "must be First, Last,"),
    ("two anchors", entry(position={"containers": {"before": "a", "after": "b"}}), "position.containers", "must be First, Last,"),
    ("an anchor that is no name", entry(position={"containers": {"after": "A"}}), "position.containers.after", '"A" is not the name'),
    ("an anchor of its own", entry(position={"containers": {"after": "envoy"}}), "position.containers.after", '"envoy" is a container of'),
    ("a position of something else", entry(position={"volumes": "Last"}), "position.volumes", "is not a field"),
    ("an app with an unknown key", entry(app={"envs": []}), "app.envs", "is not a field that exists here; env?"),
    ("an app container twice", entry(app={"containers": ["a", "a"]}), "app.containers[1]", '"a" is there already'),
    ("an app that is a list", entry(app=[]), "app", "must be an object with some of containers"),
    # types
    ("a number in quotes", one(ports=[{"containerPort": "80"}]), "containers[0].ports[0].containerPort", 'must be an integer, not the string "80"'),
    ("a variable that is a number", one(env=[{"name": "A", "value": 1}]), "containers[0].env[0].value", "must be a string, not 1"),
    ("an argument that is a boolean", one(args=[True]), "containers[0].args[0]", "must be a string, not true"),
    ("a null in a list", one(args=[None]), "containers[0].args[0]", "an element of a list must not be null"),
    ("a misspelt field", one(imagepullPolicy="Always"), "containers[0].imagepullPolicy", "is not a field that exists here; imagePullPolicy?"),
    ("an unknown policy", one(imagePullPolicy="Sometimes"), "containers[0].imagePullPolicy", "must be one of Always, IfNotPresent, Never"),
    ("an unknown message policy", one(terminationMessagePolicy="x"), "containers[0].terminationMessagePolicy", "must be one of"),
    ("a quantity that is none", one(resources={"limits": {"cpu": "1K"}}), "containers[0].resources.limits.cpu", '"1K" is not a quantity'),
    ("an integer from half a placeholder", one(ports=[{"containerPort": "8${now}"}]), "containers[0].ports[0].containerPort", "must be an integer: a placeholder"),
    # containers
    ("no name", one(name=None), "containers[0].name", "is required"),
    ("a name in capitals", one(name="Envoy"), "containers[0].name", '"Envoy" is not a name'),
    ("a long name", one(name=LONG), "containers[0].name", f'"{LONG}" is not a name'),
    ("a name from a placeholder", one(name="${pod.name}"), "containers[0].name", "cannot hold placeholders"),
    ("no image", one(image=None), "containers[0].image", "is required"),
    ("a name twice", entry(initContainers=[container(volumeMounts=[])]), "initContainers[0].name", '"envoy" is there already, at containers[0]'),
    ("a restart policy", one(restartPolicy="Always"), "containers[0].restartPolicy", "belongs to initContainers"),
    ("another restart policy", init(restartPolicy="Never"), "initContainers[0].restartPolicy", "can only be Always"),
    ("a probe of an init container", init(livenessProbe=PROBE), "initContainers[0].livenessProbe", "is allowed in an init container only with"),
    ("a hook of an init container", init(lifecycle={"preStop": {"exec": {"command": ["a"]}}}), "initContainers[0].lifecycle", "is allowed in"),
    ("too many containers", entry(containers=[container(name=f"c{i}") for i in range(33)]), "", "has 33 containers, more than 32"),
    # environment, ports, mounts
    ("a variable twice", one(env=[{"name": "A"}, {"name": "A"}]), "containers[0].env[1].name", '"A" is there twice'),
    ("a variable with =", one(env=[{"name": "A=B"}]), "containers[0].env[0].name", '"A=B" is not the name of a variable'),
    ("value and valueFrom", one(env=[{"name": "A", "value": "b", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}]), "containers[0].env[0]", "has both value and valueFrom; one is allowed"),
    ("an unknown field of a pod", one(env=[{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.nam"}}}]), "containers[0].env[0].valueFrom.fieldRef.fieldPath", '"metadata.nam" is no field'),
    ("an envFrom of nothing", one(envFrom=[{"prefix": "A"}]), "containers[0].envFrom[0]", "envFrom needs one of configMapRef, secretRef"),
    ("a port out of range", one(ports=[{"containerPort": 65536}]), "containers[0].ports[0].containerPort", "must be from 1 to 65535, not 65536"),
    ("a port twice", one(ports=[{"containerPort": 80}, {"containerPort": 80, "protocol": "TCP"}]), "containers[0].ports[1].containerPort", "80/TCP is there twice"),
    ("a long port name", one(ports=[{"containerPort": 80, "name": "administration-x"}]), "containers[0].ports[0].name", '"administration-x" is not the name of a port'),
    ("a protocol in small letters", one(ports=[{"containerPort": 80, "protocol": "tcp"}]), "containers[0].ports[0].protocol", "must be one of SCTP, TCP, UDP"),
    ("a mount without a path", one(volumeMounts=[{"name": "conf"}]), "containers[0].volumeMounts[0].mountPath", "is required"),
    ("a mount path twice", one(volumeMounts=[{"name": "conf", "mountPath": "/a"}] * 2), "containers[0].volumeMounts[1].mountPath", '"/a" is there twice'),
    ("a mount of no volume", one(volumeMounts=[{"name": "cnf", "mountPath": "/a"}]), "containers[0].volumeMounts[0].name", '"cnf" is not a volume of this entry'),
    ("a mount of no volume in app", entry(app={"volumeMounts": [{"name": "x", "mountPath": "/a"}]}), "app.volumeMounts[0].name", '"x" is not a volume of this entry'),
    ("a subPath that climbs", one(volumeMounts=[{"name": "conf", "mountPath": "/a", "subPath": "../b"}]), "containers[0].volumeMounts[0].subPath", '"../b" has to stay inside'),
    # resources, probes, security
    ("more than the limit", one(resources={"requests": {"cpu": "1.5"}, "limits": {"cpu": "1000m"}}), "containers[0].resources.requests.cpu", "1.5 is more than the limit, 1000m"),
    ("less than nothing", one(resources={"limits": {"memory": "-1Gi"}}), "containers[0].resources.limits.memory", '"-1Gi" is negative'),
    ("an unknown resource", one(resources={"limits": {"gpu": 1}}), "containers[0].resources.limits.gpu", '"gpu" is no resource'),
    ("a device without a limit", one(resources={"requests": {"nvidia.com/gpu": 1}}), "containers[0].resources.requests.nvidia.com/gpu", "needs the same amount in limits"),
    ("a probe of nothing", one(livenessProbe={"periodSeconds": 1}), "containers[0].livenessProbe", "livenessProbe needs one of exec, httpGet"),
    ("two probes in one", one(readinessProbe={**PROBE, "grpc": {"port": 1}}), "containers[0].readinessProbe", "readinessProbe has both httpGet and grpc; one is allowed"),
    ("a negative period", one(startupProbe={**PROBE, "periodSeconds": -1}), "containers[0].startupProbe.periodSeconds", "must not be negative, is -1"),
    ("a port number in quotes", one(readinessProbe={"httpGet": {"port": "8080"}}), "containers[0].readinessProbe.httpGet.port", '"8080" is not the name of a port'),
    ("two successes for life", one(livenessProbe={**PROBE, "successThreshold": 2}), "containers[0].livenessProbe.successThreshold", "must be 1"),
    ("privileged and not", one(securityContext={"privileged": True, "allowPrivilegeEscalation": False}), "containers[0].securityContext.allowPrivilegeEscalation", "cannot be false"),
    ("a negative user", one(securityContext={"runAsUser": -1}), "containers[0].securityContext.runAsUser", "must be from 0 to"),
    # volumes and the rest
    ("a volume without a source", entry(volumes=[{"name": "conf"}]), "volumes[0]", "has no source"),
    ("a volume with two", entry(volumes=[{"name": "conf", "emptyDir": {}, "hostPath": {"path": "/a"}}]), "volumes[0]", "has more than one source"),
    ("a volume twice", entry(volumes=[{"name": "conf", "emptyDir": {}}] * 2), "volumes[1].name", '"conf" is there already, at volumes[0]'),
    ("a ConfigMap without a name", entry(volumes=[{"name": "conf", "configMap": {}}]), "volumes[0].configMap.name", "is required"),
    ("a mode out of range", entry(volumes=[{"name": "conf", "secret": {"secretName": "a", "defaultMode": 777}}]), "volumes[0].secret.defaultMode", "must be from 0 to 0777"),
    ("an alias without an address", entry(hostAliases=[{"ip": "local"}]), "hostAliases[0].ip", '"local" is not an IP address'),
    ("a pull secret without a name", entry(imagePullSecrets=[{}]), "imagePullSecrets[0].name", "is required"),
    ("a label with a blank", entry(labels={"a": "b c"}), "labels.a", 'label value "b c"'),
    ("a label of a wrong key", entry(labels={"a/b/c": "d"}), "labels.a/b/c", "label key"),
    ("our own annotation", entry(annotations={"gatehouse.dev/injected": "[]"}), "annotations.gatehouse.dev/injected", "is Gatehouse's own"),
    ("a placeholder of nothing", one(args=["${pod.foo}"]), "containers[0].args[0]", "${pod.foo} is not a placeholder"),
    ("app outside of app", one(args=["${app.name}"]), "containers[0].args[0]", "${app.name} has a meaning only inside app"),
    # what the API server refuses of containers
    ("an image with blanks", one(image="envoy:1\n"), "containers[0].image", '"envoy:1\\n" has blanks at its ends'),
    ("a host port twice", one(ports=[{"containerPort": 80, "hostPort": 8}, {"containerPort": 81, "hostPort": 8}]), "containers[0].ports[1].hostPort", "8/TCP is there twice"),
    ("a claim of the pod", one(resources={"claims": [{"name": "gpu"}]}), "containers[0].resources.claims", "names a claim of the pod"),
    ("an unmasked /proc", one(securityContext={"procMount": "Unmasked"}), "containers[0].securityContext.procMount", "Unmasked is for pods with hostUsers"),
    ("an empty procMount", one(securityContext={"procMount": ""}), "containers[0].securityContext.procMount", "must be one of Default, Unmasked"),
    ("an empty profile", one(securityContext={"seccompProfile": {"type": ""}}), "containers[0].securityContext.seccompProfile.type", "is required"),
    ("a profile of no file", one(securityContext={"seccompProfile": {"type": "RuntimeDefault", "localhostProfile": ""}}), "containers[0].securityContext.seccompProfile", "has a localhostProfile when"),
    ("a profile that climbs", one(securityContext={"seccompProfile": {"type": "Localhost", "localhostProfile": "../a"}}), "containers[0].securityContext.seccompProfile.localhostProfile", '"../a" is not a profile'),
    ("options for Windows", one(securityContext={"windowsOptions": {"runAsUserName": "a"}}), "containers[0].securityContext.windowsOptions", "is for Windows"),
    ("a signal to stop by", one(lifecycle={"stopSignal": "SIGTERM"}), "containers[0].lifecycle.stopSignal", "is only for pods that name"),
    ("huge pages alone", one(resources={"limits": {"hugepages-2Mi": "4Mi"}}), "containers[0].resources", "asks for huge pages without cpu or memory"),
    ("half a huge page", one(resources={"limits": {"hugepages-2Mi": "3Mi", "cpu": 1}}), "containers[0].resources.limits.hugepages-2Mi", "3Mi is no multiple of 2Mi"),
    ("huge pages of no size", one(resources={"limits": {"hugepages-big": "4Mi", "cpu": 1}}), "containers[0].resources.limits.hugepages-big", '"hugepages-big" is not hugepages-SIZE'),
    ("half a device", one(resources={"limits": {"example.com/gpu": "500m"}}), "containers[0].resources.limits.example.com/gpu", "500m is not a whole number"),
    ("a device of Kubernetes", one(resources={"limits": {"kubernetes.io/gpu": 1}}), "containers[0].resources.limits.kubernetes.io/gpu", '"kubernetes.io/gpu" is no resource'),
    ("an endless amount", one(resources={"limits": {"cpu": "1e99999999"}}), "containers[0].resources.limits.cpu", '"1e99999999" has an exponent beyond 30'),
    ("an endless part", one(resources={"limits": {"cpu": "1e-99999999"}}), "containers[0].resources.limits.cpu", '"1e-99999999" has an exponent beyond 30'),
    ("a policy for disks", one(resizePolicy=[{"resourceName": "disk", "restartPolicy": "NotRequired"}]), "containers[0].resizePolicy[0].resourceName", "must be cpu or memory"),
    ("a probe of two protocols", one(livenessProbe={"httpGet": {"port": 80, "protocol": "HTTP2", "scheme": "HTTPS"}}), "containers[0].livenessProbe.httpGet.protocol", "HTTP2 is for scheme HTTP"),
    ("a divisor of seven", one(env=[{"name": "A", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu", "divisor": 7}}}]), "containers[0].env[0].valueFrom.resourceFieldRef.divisor", "must be one of 1m, 1 for limits.cpu, not 7"),
    ("a Secret of no name", one(env=[{"name": "A", "valueFrom": {"secretKeyRef": {"name": "A_b", "key": "k"}}}]), "containers[0].env[0].valueFrom.secretKeyRef.name", '"A_b" is not the name of an object'),
    ("a key of no Secret", one(env=[{"name": "A", "valueFrom": {"secretKeyRef": {"name": "a", "key": "a b"}}}]), "containers[0].env[0].valueFrom.secretKeyRef.key", '"a b" is not a key'),
    ("an envFrom of no name", one(envFrom=[{"configMapRef": {"name": "A"}}]), "containers[0].envFrom[0].configMapRef.name", '"A" is not the name of an object'),
    ("a file of no volume", one(env=[{"name": "A", "valueFrom": {"fileKeyRef": {"volumeName": "x", "path": "p", "key": "K"}}}]), "containers[0].env[0].valueFrom.fileKeyRef.volumeName", '"x" is not an emptyDir of this entry'),
    ("a label of no key", one(env=[{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.labels['a b']"}}}]), "containers[0].env[0].valueFrom.fieldRef.fieldPath", 'label key "a b"'),
    ("a mount that climbs", one(volumeMounts=[{"name": "conf", "mountPath": "/a/../b"}]), "containers[0].volumeMounts[0].mountPath", '"/a/../b" is not an absolute path'),
    ("a mount with a bell", one(volumeMounts=[{"name": "conf", "mountPath": "/a\a"}]), "containers[0].volumeMounts[0].mountPath", '"/a\\u0007" has a control character'),
    ("an empty propagation", one(volumeMounts=[{"name": "conf", "mountPath": "/a", "mountPropagation": ""}]), "containers[0].volumeMounts[0].mountPropagation", "must be one of None,"),
    ("a device of files", one(volumeMounts=[], volumeDevices=[{"name": "conf", "devicePath": "/dev/a"}]), "containers[0].volumeDevices[0].name", '"conf" is no persistentVolumeClaim or ephemeral'),
    # and of volumes and annotations
    *[(f"a volume of {next(iter(source))}", entry(volumes=[{"name": "conf", **source}]), f"volumes[0].{path}", message) for source, path, message in [
        ({"downwardAPI": {"items": [{"path": "a"}]}}, "downwardAPI.items[0]", "a file needs one of fieldRef"),
        ({"downwardAPI": {"items": [{"path": "a", "fieldRef": {"fieldPath": "spec.nodeName"}}]}}, "downwardAPI.items[0].fieldRef.fieldPath", '"spec.nodeName" is no field of a pod that a volume'),
        ({"downwardAPI": {"items": [{"path": "a", "resourceFieldRef": {"resource": "limits.cpu"}}]}}, "downwardAPI.items[0].resourceFieldRef.containerName", "is required"),
        ({"projected": {"sources": [{"secret": {"name": "a", "items": [{"key": "a", "path": "p"}]}}, {"configMap": {"name": "a", "items": [{"key": "b", "path": "p"}]}}]}}, "projected.sources[1].configMap.items[0].path", '"p" is there already'),
        ({"projected": {"sources": [{"serviceAccountToken": {"path": ""}}]}}, "projected.sources[0].serviceAccountToken.path", '"" has to stay inside'),
        ({"projected": {"sources": [{"clusterTrustBundle": {"path": "a"}}]}}, "projected.sources[0].clusterTrustBundle", "clusterTrustBundle needs one of name"),
        ({"projected": {"sources": [{"podCertificate": {"signerName": "a.b/c", "keyType": "RSA", "keyPath": "a"}}]}}, "projected.sources[0].podCertificate.keyType", "must be one of RSA3072"),
        ({"csi": {"driver": "a_b"}}, "csi.driver", '"a_b" is not the name of a driver'),
        ({"nfs": {"server": "", "path": "/a"}}, "nfs.server", "is required"),
        ({"nfs": {"server": "a", "path": "a"}}, "nfs.path", '"a" is not an absolute path'),
        ({"iscsi": {"targetPortal": "a", "iqn": "x", "lun": 0}}, "iscsi.iqn", '"x" does not name an initiator'),
        ({"iscsi": {"targetPortal": "a", "iqn": "iqn.2001-04.com.example:a", "lun": 256}}, "iscsi.lun", "must be from 0 to 255"),
        ({"image": {"reference": ""}}, "image.reference", "is required"),
        ({"ephemeral": {}}, "ephemeral.volumeClaimTemplate", "is required"),
        ({"ephemeral": {"volumeClaimTemplate": {"spec": {"accessModes": ["ReadWriteOnce"]}}}}, "ephemeral.volumeClaimTemplate.spec.resources.requests.storage", "is required, and is a whole number"),
        ({"emptyDir": {"sizeLimit": "1e99999999"}}, "emptyDir.sizeLimit", '"1e99999999" has an exponent beyond 30'),
        ({"gcePersistentDisk": {"pdName": ""}}, "gcePersistentDisk.pdName", "is required"),
        ({"fc": {}}, "fc", "fc needs one of targetWWNs, wwids"),
    ]],
    ("an address in two forms", entry(hostAliases=[{"ip": "::ffff:1.2.3.4"}]), "hostAliases[0].ip", '"::ffff:1.2.3.4" is not an IP address'),
    ("the mark of a static pod", entry(annotations={"kubernetes.io/config.mirror": "a"}), "annotations.kubernetes.io/config.mirror", "is the kubelet's"),
    ("a profile of another container", entry(annotations={"container.apparmor.security.beta.kubernetes.io/app": "unconfined"}), "annotations.container.apparmor.security.beta.kubernetes.io/app", 'names container "app", which'),
    ("an unknown AppArmor profile", entry(annotations={"container.apparmor.security.beta.kubernetes.io/envoy": "x"}), "annotations.container.apparmor.security.beta.kubernetes.io/envoy", "must be runtime/default"),
    ("an unknown seccomp profile", entry(annotations={"seccomp.security.alpha.kubernetes.io/pod": "x"}), "annotations.seccomp.security.alpha.kubernetes.io/pod", "must be runtime/default"),
    ("a deletion cost in words", entry(annotations={"controller.kubernetes.io/pod-deletion-cost": "low"}), "annotations.controller.kubernetes.io/pod-deletion-cost", "must be an integer of 32 bits"),
    # the log collector
    ("a log that is a folder", entry(logCollector="/var/log/"), "logCollector", '"/var/log/" is not an absolute path'),
    ("a log of no folder", entry(logCollector="app.log"), "logCollector", '"app.log" is not an absolute path'),
    ("a log at the root", entry(logCollector="/app.log"), "logCollector", '"/app.log": files at the root'),
    ("a pattern for folders", entry(logCollector="/var/*/app.log"), "logCollector", '"/var/*/app.log": only the last part'),
    ("a log with a variable", entry(logCollector="/var/log/$(X)/a"), "logCollector", '"/var/log/$(X)/a" has a control character, \'$\''),
    ("a log with a placeholder", entry(logCollector="/var/log/${pod.name}/a"), "logCollector", "cannot hold placeholders"),
    ("a log without a path", entry(logCollector={"name": "a"}), "logCollector.path", "is required"),
    ("a log of no size", entry(logCollector={"path": "/a/b", "sizeLimit": "big"}), "logCollector.sizeLimit", '"big" is not a quantity'),
    ("a collector of a taken name", entry(logCollector={"path": "/a/b", "name": "envoy"}), "logCollector", 'its container "envoy" is there already'),
]  # fmt: skip
