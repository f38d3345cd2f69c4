"""What can be done about each thing that is said of a pod: one line for each reason code.

Every reason that `webhook.sidecars` and the bounds of pods give has its line (a test looks them up in the sources). Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from webhook.names import (
    ENABLED,
    INJECT,
    INJECT_ENTRIES,
    INJECTED,
    INJECTED_NAMESPACE_LABEL,
    MUTATE_LABEL,
    OPT_IN_NAMESPACE_LABEL,
    OVERRIDE_PREFIX,
    Reason,
)

_IN_POD = "on the pod (of a workload: in its template)"
_LABELS = f"{INJECTED_NAMESPACE_LABEL}={ENABLED} (every pod) or {OPT_IN_NAMESPACE_LABEL}={ENABLED} (pods that ask)"

ADVICE: Final[Mapping[Reason, str]] = {
    # who gets them
    Reason.INJECTED: f'to leave it out, write the annotation {INJECT}: "false" {_IN_POD}',
    Reason.ALREADY_INJECTED: f"nothing: everything is there (annotation {INJECTED}); a new pod gets the newest revision",
    Reason.NOT_ASKED: f'to get entries, write the annotation {INJECT}: "true", or their names in {INJECT_ENTRIES}, {_IN_POD}',
    Reason.OPTED_OUT: 'remove the "false" that is marked above, or write "true" on a level that comes before it',
    Reason.HOST_NETWORK: "drop spec.hostNetwork, or write allowHostNetwork: true in the entry",
    Reason.MIRROR_POD: "nothing: write the sidecar into the manifest on the node, or run it as a DaemonSet",
    Reason.SYSTEM_NAMESPACE: "run it in a namespace of its own: those of the control plane must start when nothing else runs",
    Reason.OWN_OBJECT: "nothing; if this is not Gatehouse, it bears the label app.kubernetes.io/name: gatehouse by mistake",
    Reason.WINDOWS_POD: "nothing: entries are made for Linux",
    Reason.NAMESPACE_NOT_ENABLED: f"label the namespace: {_LABELS}",
    Reason.MUTATE_DISABLED: f"remove the label {MUTATE_LABEL} from the namespace",
    Reason.NAMESPACE_UNKNOWN: "create the namespace; offline, put its Namespace into the files that --local names",
    Reason.INVALID_VALUE: f'mend the value: "true" or "false", and for {INJECT_ENTRIES} also names separated by commas',
    Reason.ENTRY_MISSING: "mend the name (of a default: features.sidecar.default), or create the ConfigMap in the pod's "
    "namespace or in Gatehouse's own",
    Reason.ENTRY_BROKEN: "mend the ConfigMap: `gatehouse check` names each fault with its line",
    Reason.WRONG_LEVEL: "move it from the workload's metadata to its template's (spec.template.metadata)",
    Reason.NAMESPACE_KEY_ON_POD: f"write it on the Namespace; a pod itself asks by the annotation {INJECT} or {INJECT_ENTRIES}",
    Reason.LABEL_INSTEAD_OF_ANNOTATION: f"write it as an annotation {_IN_POD}",
    # while injecting
    Reason.NOTHING_TO_DO: "nothing: the entries have nothing to add to this pod",
    Reason.NAME_CONFLICT: "rename one of the two containers, or let the entry decide: onConflict: Override or Refuse",
    Reason.PORT_CONFLICT: "give one of the two another containerPort, or let the entry decide: onConflict",
    Reason.MOUNT_CONFLICT: "mount one of the two elsewhere, or let the entry decide: onConflict",
    Reason.VARIABLE_CONFLICT: "remove the variable from the pod to get the entry's, or let the entry decide: onConflict",
    Reason.VOLUME_CONFLICT: "rename one of the two volumes, or let the entry decide: onConflict: Override or Refuse",
    Reason.HOST_ALIAS_CONFLICT: "remove the alias from the pod to get the entry's, or let the entry decide: onConflict",
    Reason.METADATA_CONFLICT: "remove it from the pod to get the entry's, or let the entry decide: onConflict",
    Reason.ANCHOR_MISSING: "name a container that the pod has in the entry's position, or use First or Last",
    Reason.PLACEHOLDER_UNRESOLVED: "write what the placeholder asks for, or give it a default: ${pod.labels['app']:-none}",
    Reason.POD_TOO_LARGE: "ask for fewer entries, or make them smaller: a large text belongs into a ConfigMap that they mount",
    Reason.STUB_UNFILLED: "ask for an entry that brings a container of that name, or remove the container",
    Reason.INVALID_OVERRIDE: f"mend or remove the annotation CONTAINER{OVERRIDE_PREFIX}FIELD",
    Reason.NATIVE_SIDECAR_UNSUPPORTED: "write nativeSidecar: Auto or Never in the entry, or upgrade the kubelets to 1.29",
    Reason.JOB_NEVER_ENDS: "write nativeSidecar: Auto or Always in the entry, and run kubelets of 1.29 or newer",
    # what the cluster will say
    Reason.INVALID_POD: "change what is named in the entry or in the pod: neither is wrong without the other",
    Reason.POD_SECURITY: "write the security settings in the entry, or let it be repaired: repair: [PodSecurity]",
    Reason.LIMIT_RANGE: "write requests and limits within the range in the entry, or let it be repaired: repair: [LimitRange]",
    Reason.QUOTA: "raise the namespace's ResourceQuota, or write the requests and limits that it counts in the entry",
    Reason.POD_RESOURCES: "raise the pod's spec.resources, or let it be done: repair: [PodResources]",
    Reason.CONFIG_MAP_MISSING: "create the ConfigMap in the pod's namespace: volumes and env cannot use another one's",
    Reason.REPAIRED: "nothing; to get it as the entry has it, drop the word from the entry's repair",
    # what bounds say
    Reason.OUT_OF_LIMITS: "change the amount, or have the policy that is named changed: features.resourceLimits",
    Reason.AMOUNT_DOUBTFUL: "write the suffix that is meant; if it is right as it is, nothing",
    Reason.PRIVILEGE: "drop securityContext.privileged; often a single capability is enough",
    Reason.PRIVILEGE_ESCALATION: "write allowPrivilegeEscalation: false in the container's securityContext",
    Reason.HOST_NAMESPACE: "drop hostNetwork, hostPID and hostIPC, or run it in a namespace that the policy leaves out",
    Reason.HOST_PATH: "use another volume, or have the folder added to the policy's hostPaths.allow",
    Reason.HOST_PORT: "drop hostPort and use a Service",
    Reason.CAPABILITY: "drop the capability (if asked for, write drop: [ALL]), or have it added to capabilities.allow",
    Reason.RUNS_AS_ROOT: "write runAsNonRoot: true, and a runAsUser other than 0 if the image names root",
    Reason.IMAGE_SOURCE: "use an image from one of the registries named, or have its registry added to registries.allow",
    Reason.IMAGE_TAG: "name the image by a tag that does not move, or by its digest",
    Reason.LABEL_REQUIRED: f"write the label {_IN_POD}",
}
