"""Every label, annotation, taint, user, group and reason code, each with the document it comes from."""

from __future__ import annotations

from enum import StrEnum

PROJECT = "gatehouse"
DOMAIN = "gatehouse.dev"
API_VERSION = "gatehouse.dev/v1alpha1"
CONFIG_KIND = "GatehouseConfiguration"

# Our own objects bear this label (kubernetes.io/docs: recommended labels); no webhook holds them up where we run, so that a
# broken Gatehouse cannot keep its own pods from starting.
APP_LABEL = "app.kubernetes.io/name"

# Node health. The vote that peers write (superedge/superedge#46); released SuperEdge writes the second one instead.
VOTE_ANNOTATION = "superedgehealth/node-health"
SUPEREDGE_UNHEALTHY_ANNOTATION = "nodeunhealth"

# Sidecars. The first three come from published injectors that people migrate from; ours have our domain.
INJECT = "sidecar-injector/inject"  # pod annotation or label: "true", "false"
OPT_IN_NAMESPACE_LABEL = "sidecar-injector"  # "enabled": pods of the namespace may ask
INJECTED_NAMESPACE_LABEL = "pod-admission-webhook-injection"  # "enabled": every pod of the namespace gets the default entries
INJECT_ENTRIES = "gatehouse.dev/inject"  # pod or namespace annotation, pod label: names of entries, or "false"
MUTATE_LABEL = "gatehouse.dev/mutate"  # namespace label: "disabled" keeps every pod of it as it is
SIDECARS_LABEL = "gatehouse.dev/sidecars"  # ConfigMap label: "true" makes each key an entry
INJECTED = "gatehouse.dev/injected"  # pod annotation, written by us: what was injected
OVERRIDE_PREFIX = ".sidecar.gatehouse.dev/"  # pod annotation <container>.sidecar.gatehouse.dev/<field>
ARTICLE_CONFIG_MAP = "envoy-initializer"
ARTICLE_KEY = "config"
DEFAULT_CONTAINER = "kubectl.kubernetes.io/default-container"  # kubernetes.io/docs: what kubectl logs and exec mean
ENABLED, DISABLED = "enabled", "disabled"

# Requests.
TUNED = "gatehouse.dev/tuned"  # pod annotation, written by us: what each request was, and what was made of it

# Fixed addresses. The first two labels come from a published webhook, the Calico annotation from projectcalico/calico.
ALLOCATABLE_IPS = "allocatable-ips"  # pod label and annotation: the addresses that it may get; the label opts in
ALLOCATED_IP = "allocated-ip"  # pod label, written by us
CALICO_ADDRESSES = "cni.projectcalico.org/ipAddrs"  # pod annotation, written by us, read by Calico when the pod starts
CALICO_ADDRESSES_WITHOUT_IPAM = "cni.projectcalico.org/ipAddrsNoIpam"  # the same past Calico's own book; never both
IP_POOL = "gatehouse.dev/ip-pool"  # pod label: the AddressPool that it gets its address from; opts in
RESERVATION_KEY = "gatehouse.dev/reservation-key"  # pod annotation, written by us: ties the pod to its AddressReservation
# Labels of AddressReservations, beside the one that is called like the annotation above.
RESERVATION_POOL = "gatehouse.dev/pool"
RESERVATION_APP = "gatehouse.dev/app"  # the pod's, where that may be a label
RESERVATION_OWNER = "gatehouse.dev/owner-uid"
IP_GATE = "gatehouse.dev/pod-ip"  # scheduling gate: the pod waits for an address

# kubernetes.io/docs/reference/labels-annotations-taints: set by the node lifecycle controller while Ready is Unknown.
UNREACHABLE_TAINT = "node.kubernetes.io/unreachable"
NO_EXECUTE = "NoExecute"

# Groups of every kubelet (kubernetes.io/docs: Node authorization).
NODES_GROUP = "system:nodes"

# Node and pod conditions (core/v1).
READY = "Ready"
CONTAINERS_READY = "ContainersReady"


class Reason(StrEnum):
    """Why a rule did what it did: the same word in the audit annotation, the metric label, the log and the Event."""

    # nothing to do
    NOT_APPLICABLE = "NotApplicable"  # the request is not this rule's business
    NOTHING_TO_DO = "NothingToDo"  # it is, but nothing has to change
    WRONG_RESOURCE = "WrongResource"  # the resource does not belong to this path: a mistake in a webhook configuration

    # edge health
    TAINT_REMOVED = "TaintRemoved"
    ADDRESSES_KEPT_READY = "AddressesKeptReady"
    POD_KEPT_READY = "PodKeptReady"
    GUARDED = "Guarded"
    NODE_UNKNOWN = "NodeUnknown"  # no such node in the cache
    NODE_NOT_SILENT = "NodeNotSilent"  # Ready is not Unknown
    NODE_NOT_SELECTED = "NodeNotSelected"  # outside votes.nodeSelector
    VOTE_UNHEALTHY = "VoteUnhealthy"
    VOTE_MISSING = "VoteMissing"
    VOTE_EXPIRED = "VoteExpired"
    POD_UNKNOWN = "PodUnknown"  # no such pod in the cache, and it was not ready before either
    POD_TERMINATING = "PodTerminating"
    POD_FINISHED = "PodFinished"
    POD_NEVER_READY = "PodNeverReady"
    POD_PROBE_FAILED = "PodProbeFailed"
    NOT_A_NODE_CONTROLLER_FLIP = "NotANodeControllerFlip"
    GUARD_BEGUN = "GuardBegun"
    GUARD_ENDED = "GuardEnded"
    PODS_RESTORED = "PodsRestored"
    PODS_LET_GO = "PodsLetGo"

    # sidecars: who gets them
    INJECTED = "Injected"
    ALREADY_INJECTED = "AlreadyInjected"
    NOT_ASKED = "NotAsked"  # nobody asks for a sidecar
    OPTED_OUT = "OptedOut"  # the pod or its namespace says no
    HOST_NETWORK = "HostNetwork"  # the sidecar would share the node's network
    MIRROR_POD = "MirrorPod"
    SYSTEM_NAMESPACE = "SystemNamespace"
    OWN_OBJECT = "OwnObject"
    WINDOWS_POD = "WindowsPod"
    NAMESPACE_NOT_ENABLED = "NamespaceNotEnabled"  # no label of the namespace brings its pods to us
    MUTATE_DISABLED = "MutateDisabled"  # the namespace is labelled so
    NAMESPACE_UNKNOWN = "NamespaceUnknown"
    INVALID_VALUE = "InvalidValue"  # an annotation or label that says neither yes nor no
    ENTRY_MISSING = "EntryMissing"  # nobody defines the entry
    ENTRY_BROKEN = "EntryBroken"  # no version of it was good since the process started
    ENTRY_MENDED = "EntryMended"  # it was, and is sound again
    WRONG_LEVEL = "WrongLevel"  # asked for on the workload instead of its template
    NAMESPACE_KEY_ON_POD = "NamespaceKeyOnPod"  # a label of namespaces, which does nothing on a pod
    LABEL_INSTEAD_OF_ANNOTATION = "LabelInsteadOfAnnotation"  # a change of a container, which only an annotation makes

    # sidecars: what happened while injecting
    NAME_CONFLICT = "NameConflict"
    PORT_CONFLICT = "PortConflict"
    MOUNT_CONFLICT = "MountConflict"
    VARIABLE_CONFLICT = "VariableConflict"
    VOLUME_CONFLICT = "VolumeConflict"
    METADATA_CONFLICT = "MetadataConflict"
    ANCHOR_MISSING = "AnchorMissing"
    PLACEHOLDER_UNRESOLVED = "PlaceholderUnresolved"
    INVALID_OVERRIDE = "InvalidOverride"
    STUB_UNFILLED = "StubUnfilled"  # a container that waits for an entry, and no entry brings it
    JOB_NEVER_ENDS = "JobNeverEnds"
    NATIVE_SIDECAR_UNSUPPORTED = "NativeSidecarUnsupported"  # a node's kubelet does not run what the entry needs
    HOST_ALIAS_CONFLICT = "HostAliasConflict"
    POD_TOO_LARGE = "PodTooLarge"  # with what the entries bring

    # sidecars: what the cluster will say
    POD_SECURITY = "PodSecurity"
    LIMIT_RANGE = "LimitRange"
    QUOTA = "Quota"
    POD_RESOURCES = "PodResources"
    CONFIG_MAP_MISSING = "ConfigMapMissing"
    INVALID_POD = "InvalidPod"  # a rule that holds between a container and the rest of its pod
    REPAIRED = "Repaired"

    # sidecars: what the coverage controller tells
    SIDECAR_MISSING = "SidecarMissing"  # pods run without a sidecar that they should carry
    POD_EVICTED = "PodEvicted"
    EVICTION_IN_VAIN = "EvictionInVain"  # the pod that came in its place is bare, too

    # bounds
    WITHIN_LIMITS = "WithinLimits"
    OUT_OF_LIMITS = "OutOfLimits"  # a request, a limit or their ratio
    AMOUNT_DOUBTFUL = "AmountDoubtful"  # probably mistyped: 400m of memory
    CREATOR_ALLOWED = "CreatorAllowed"
    CREATOR_NOT_ALLOWED = "CreatorNotAllowed"
    COMPLIANT = "Compliant"
    PRIVILEGE = "Privilege"  # privileged, or a Windows host process
    PRIVILEGE_ESCALATION = "PrivilegeEscalation"
    HOST_NAMESPACE = "HostNamespace"  # the node's network, processes or IPC
    HOST_PATH = "HostPath"
    HOST_PORT = "HostPort"
    CAPABILITY = "Capability"
    RUNS_AS_ROOT = "RunsAsRoot"
    IMAGE_SOURCE = "ImageSource"  # a registry or repository that nobody listed
    IMAGE_TAG = "ImageTag"
    LABEL_REQUIRED = "LabelRequired"

    # defaults and tuning
    DEFAULTED = "Defaulted"
    DEFAULT_LEFT_OUT = "DefaultLeftOut"  # it could not be filled in, or the API server would refuse the pod with it
    TUNED = "Tuned"
    GUARANTEED = "Guaranteed"  # requests are limits: lower ones would cost the pod its quality of service
    CRITICAL_POD = "CriticalPod"  # of a priority class of the system
    CAPACITY_UNKNOWN = "CapacityUnknown"  # not all nodes and pods are known yet, or no node takes pods

    # fixed addresses
    ADDRESS_ALLOCATED = "AddressAllocated"
    ADDRESS_KEPT = "AddressKept"  # what an earlier pod or call of the same key was given
    ALREADY_ALLOCATED = "AlreadyAllocated"  # by an earlier call for the same pod
    OPT_IN_MISSING = "OptInMissing"  # an annotation alone, which no webhook is chosen by
    ASKED_TOO_LATE = "AskedTooLate"  # of a pod that runs already
    ADDRESS_AWAITED = "AddressAwaited"  # the pod waits behind a scheduling gate
    ADDRESS_IN_ORDER = "AddressInOrder"  # pod, key and reservation belong together
    ADDRESSES_EXHAUSTED = "AddressesExhausted"
    ADDRESSES_INVALID = "AddressesInvalid"  # a list that cannot be read
    ADDRESS_OUT_OF_RANGE = "AddressOutOfRange"  # in no pool of the network, or in one that the namespace may not use
    ADDRESS_POOL_MISSING = "AddressPoolMissing"
    ADDRESS_NOT_RESERVED = "AddressNotReserved"  # written by hand or copied from another pod
    ADDRESS_CHANGED = "AddressChanged"  # an update that would part a pod from its reservation
    ADDRESS_BOUND = "AddressBound"
    ADDRESS_RELEASED = "AddressReleased"
    ADDRESS_EXPIRED = "AddressExpired"  # reserved, and no pod ever came
    ADDRESS_RESTORED = "AddressRestored"  # the reservation of a live pod was lost, and is there again
    ADDRESS_CONFLICT = "AddressConflict"  # two live pods say that they have it
    POD_UNGATED = "PodUngated"

    # database instances
    CLAIM_TAKEN = "ClaimTaken"  # another instance says that the claim is its own
    VOLUMES_WILL_GO = "VolumesWillGo"
    VOLUMES_WILL_STAY = "VolumesWillStay"
    DELETION_WAITS = "DeletionWaits"
    DELETION_TIMED_OUT = "DeletionTimedOut"
    VOLUMES_GONE = "VolumesGone"
    INSTANCE_LET_GO = "InstanceLetGo"  # as above, where volumes were kept
    CLAIMS_SHARED = "ClaimsShared"
    SPEC_INVALID = "SpecInvalid"
    SNAPSHOT_SKIPPED = "SnapshotSkipped"
    CLAIMS_NOT_OWNED = "ClaimsNotOwned"
    RECONCILIATION_FAILED = "ReconciliationFailed"

    # certificates
    CERTIFICATE_RENEWED = "CertificateRenewed"
    AUTHORITY_ADDED = "AuthorityAdded"  # a new CA, before anything is served that it has signed
    AUTHORITY_DROPPED = "AuthorityDropped"
    SECRET_RESTORED = "SecretRestored"
    CA_BUNDLE_WRITTEN = "CaBundleWritten"
    CA_BUNDLE_CONTESTED = "CaBundleContested"  # somebody else keeps changing it
