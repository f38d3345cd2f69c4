"""Every label, annotation, taint, user, group and reason code, each with the document it comes from."""

from __future__ import annotations

from enum import StrEnum

PROJECT = "gatehouse"
DOMAIN = "gatehouse.dev"
API_VERSION = "gatehouse.dev/v1alpha1"
CONFIG_KIND = "GatehouseConfiguration"
CONFIG_MAP, CONFIG_MAP_KEY = PROJECT, "configuration.yaml"  # ConfigMap of the installation, and what replicas mount of it

# Our own objects bear this label (kubernetes.io/docs: recommended labels); no webhook holds them up where we run, so that a
# broken Gatehouse cannot keep its own pods from starting.
APP_LABEL = "app.kubernetes.io/name"  # label of our own objects: "gatehouse"
#: label of the rights that a plug-in's controller brings: its name; a deployment of an overlay leaves them alone
PLUGIN_LABEL = "gatehouse.dev/plugin"
PLUGIN_PACKAGE = "gatehouse.dev/plugin-package"  # annotation beside it: the package and its version

# Node health. The vote that peers write (superedge/superedge#46); released SuperEdge writes the second one instead.
VOTE_ANNOTATION = "superedgehealth/node-health"  # node annotation, written by peers: "true", "false"
SUPEREDGE_UNHEALTHY_ANNOTATION = "nodeunhealth"  # node annotation, with `votes.protocol: superedge`: "yes"; absent is healthy

# Sidecars. The first three come from published injectors that people migrate from; ours have our domain.
INJECT = "sidecar-injector/inject"  # pod annotation or label: "true", "false"
OPT_IN_NAMESPACE_LABEL = "sidecar-injector"  # namespace label: "enabled": pods of the namespace may ask
#: namespace label: "enabled": every pod of the namespace gets the default entries
INJECTED_NAMESPACE_LABEL = "pod-admission-webhook-injection"
INJECT_ENTRIES = "gatehouse.dev/inject"  # pod or namespace annotation, pod label: names of entries, or "false"
MUTATE_LABEL = "gatehouse.dev/mutate"  # namespace label: "disabled" keeps every pod of it as it is
SIDECARS_LABEL = "gatehouse.dev/sidecars"  # ConfigMap label: "true" makes each key an entry
INJECTED = "gatehouse.dev/injected"  # pod annotation, written by us: what was injected
OVERRIDE_PREFIX = ".sidecar.gatehouse.dev/"  # pod annotation: another value for a field of a container that an entry brings
ARTICLE_CONFIG_MAP = "envoy-initializer"
ARTICLE_KEY = "config"
#: pod annotation: what kubectl logs and exec mean; set to the pod's own first container where sidecars come before it
DEFAULT_CONTAINER = "kubectl.kubernetes.io/default-container"
ENABLED, DISABLED = "enabled", "disabled"
NAMESPACE_NAME = "kubernetes.io/metadata.name"  # namespace label, set by the API server: its name

# Requests.
TUNED = "gatehouse.dev/tuned"  # pod annotation, written by us: what each request was, and what was made of it

# Fixed addresses. The first two labels come from a published webhook, the Calico annotation from projectcalico/calico.
ALLOCATABLE_IPS = "allocatable-ips"  # pod label and annotation: the addresses that it may get; the label opts in
ALLOCATED_IP = "allocated-ip"  # pod label, written by us: the address that it got
CALICO_ADDRESSES = "cni.projectcalico.org/ipAddrs"  # pod annotation, written by us, read by Calico when the pod starts
#: pod annotation: the same past Calico's own book; never both
CALICO_ADDRESSES_WITHOUT_IPAM = "cni.projectcalico.org/ipAddrsNoIpam"
IP_POOL = "gatehouse.dev/ip-pool"  # pod label: the AddressPool that it gets its address from; opts in
RESERVATION_KEY = "gatehouse.dev/reservation-key"  # pod annotation, written by us: ties the pod to its AddressReservation
# Labels of AddressReservations, beside the one that is called like the annotation above.
RESERVATION_POOL = "gatehouse.dev/pool"  # label of AddressReservations: the AddressPool
RESERVATION_APP = "gatehouse.dev/app"  # label of AddressReservations: the pod's application, where that may be a label
RESERVATION_OWNER = "gatehouse.dev/owner-uid"  # label of AddressReservations: uid of what made the pod
IP_GATE = "gatehouse.dev/pod-ip"  # scheduling gate: the pod waits for an address

# kubernetes.io/docs/reference/labels-annotations-taints: set by the node lifecycle controller while Ready is Unknown.
UNREACHABLE_TAINT = "node.kubernetes.io/unreachable"  # node taint: NoExecute is dropped from guarded nodes, NoSchedule stays
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
    TAINT_REMOVED = "TaintRemoved"  # unreachable:NoExecute was taken off a guarded node
    ADDRESSES_KEPT_READY = "AddressesKeptReady"  # addresses of guarded nodes stay published
    POD_KEPT_READY = "PodKeptReady"  # the pod of a guarded node stays Ready
    GUARDED = "Guarded"  # the node is silent, and its peers vouch for it
    NODE_UNKNOWN = "NodeUnknown"  # no such node in the cache
    NODE_NOT_SILENT = "NodeNotSilent"  # Ready is not Unknown
    NODE_NOT_SELECTED = "NodeNotSelected"  # outside votes.nodeSelector
    VOTE_UNHEALTHY = "VoteUnhealthy"  # the peers of the node say that it is down
    VOTE_MISSING = "VoteMissing"  # its peers say nothing that could be read
    VOTE_EXPIRED = "VoteExpired"  # what they said is older than `votes.maxAge` or `votes.maxGuard`
    POD_UNKNOWN = "PodUnknown"  # no such pod in the cache, and it was not ready before either
    POD_TERMINATING = "PodTerminating"  # it is being deleted: its address was left alone
    POD_FINISHED = "PodFinished"  # it has ended: its address was left alone
    POD_NEVER_READY = "PodNeverReady"  # it was not ready before its node went silent: its address was left alone
    POD_PROBE_FAILED = "PodProbeFailed"  # its containers are not ready, whatever its node is
    NOT_A_NODE_CONTROLLER_FLIP = "NotANodeControllerFlip"  # somebody else's write, or more than Ready changed
    GUARD_BEGUN = "GuardBegun"  # from now on the node counts as alive
    GUARD_ENDED = "GuardEnded"  # it is Ready again, or nobody vouches for it any more
    PODS_RESTORED = "PodsRestored"  # the leader made pods of the node Ready again
    PODS_LET_GO = "PodsLetGo"  # the leader marked pods of the node not Ready

    # sidecars: who gets them
    INJECTED = "Injected"  # entries were put into the pod
    ALREADY_INJECTED = "AlreadyInjected"  # an earlier call for the same pod has done it
    NOT_ASKED = "NotAsked"  # nobody asks for a sidecar
    OPTED_OUT = "OptedOut"  # the pod or its namespace says no
    HOST_NETWORK = "HostNetwork"  # the sidecar would share the node's network
    MIRROR_POD = "MirrorPod"  # a static pod of a kubelet, which no webhook may change
    SYSTEM_NAMESPACE = "SystemNamespace"  # kube-system, kube-public or kube-node-lease
    OWN_OBJECT = "OwnObject"  # one of Gatehouse's own
    WINDOWS_POD = "WindowsPod"  # entries are for Linux
    NAMESPACE_NOT_ENABLED = "NamespaceNotEnabled"  # no label of the namespace brings its pods to us
    MUTATE_DISABLED = "MutateDisabled"  # the namespace is labelled so
    NAMESPACE_UNKNOWN = "NamespaceUnknown"  # nothing is known of it, so nothing is done
    INVALID_VALUE = "InvalidValue"  # an annotation or label that says neither yes nor no
    ENTRY_MISSING = "EntryMissing"  # nobody defines the entry
    ENTRY_BROKEN = "EntryBroken"  # no version of it was good since the process started
    ENTRY_MENDED = "EntryMended"  # it was, and is sound again
    WRONG_LEVEL = "WrongLevel"  # asked for on the workload instead of its template
    NAMESPACE_KEY_ON_POD = "NamespaceKeyOnPod"  # a label of namespaces, which does nothing on a pod
    LABEL_INSTEAD_OF_ANNOTATION = "LabelInsteadOfAnnotation"  # a change of a container, which only an annotation makes

    # sidecars: what happened while injecting
    NAME_CONFLICT = "NameConflict"  # the pod has a container of that name
    PORT_CONFLICT = "PortConflict"  # the pod uses that port
    MOUNT_CONFLICT = "MountConflict"  # the container mounts something there
    VARIABLE_CONFLICT = "VariableConflict"  # the container sets that variable
    VOLUME_CONFLICT = "VolumeConflict"  # the pod has another volume of that name
    METADATA_CONFLICT = "MetadataConflict"  # the pod sets that label or annotation
    ANCHOR_MISSING = "AnchorMissing"  # the container that an entry is to stand beside is not there
    PLACEHOLDER_UNRESOLVED = "PlaceholderUnresolved"  # nothing is known that could be filled in
    INVALID_OVERRIDE = "InvalidOverride"  # an annotation of the pod would change the entry in a way that cannot be
    STUB_UNFILLED = "StubUnfilled"  # a container that waits for an entry, and no entry brings it
    JOB_NEVER_ENDS = "JobNeverEnds"  # a sidecar runs for ever beside what should end
    NATIVE_SIDECAR_UNSUPPORTED = "NativeSidecarUnsupported"  # a node's kubelet does not run what the entry needs
    HOST_ALIAS_CONFLICT = "HostAliasConflict"  # the pod has other names for that address
    POD_TOO_LARGE = "PodTooLarge"  # with what the entries bring

    # sidecars: what the cluster will say
    POD_SECURITY = "PodSecurity"  # the Pod Security level of the namespace refuses the pod
    LIMIT_RANGE = "LimitRange"  # a LimitRange of the namespace refuses the pod
    QUOTA = "Quota"  # a ResourceQuota has no room for it
    POD_RESOURCES = "PodResources"  # the containers ask for more than the pod as a whole
    CONFIG_MAP_MISSING = "ConfigMapMissing"  # a volume needs a ConfigMap that is not there
    INVALID_POD = "InvalidPod"  # a rule that holds between a container and the rest of its pod
    REPAIRED = "Repaired"  # what an entry brought was changed so that the namespace takes it

    # sidecars: what the coverage controller tells
    SIDECAR_MISSING = "SidecarMissing"  # pods run without a sidecar that they should carry
    POD_EVICTED = "PodEvicted"  # its owner makes one with the sidecar
    EVICTION_IN_VAIN = "EvictionInVain"  # the pod that came in its place is bare, too

    # bounds
    WITHIN_LIMITS = "WithinLimits"  # no policy is broken
    OUT_OF_LIMITS = "OutOfLimits"  # a request, a limit or their ratio
    AMOUNT_DOUBTFUL = "AmountDoubtful"  # probably mistyped: 400m of memory
    CREATOR_ALLOWED = "CreatorAllowed"  # each rule that covers the request names who asks
    CREATOR_NOT_ALLOWED = "CreatorNotAllowed"  # a rule covers the request and does not name who asks
    COMPLIANT = "Compliant"  # no policy is broken
    PRIVILEGE = "Privilege"  # privileged, or a Windows host process
    PRIVILEGE_ESCALATION = "PrivilegeEscalation"  # it is not ruled out
    HOST_NAMESPACE = "HostNamespace"  # the node's network, processes or IPC
    HOST_PATH = "HostPath"  # a volume of the node's own files
    HOST_PORT = "HostPort"  # a port of the node
    CAPABILITY = "Capability"  # one is added, or not dropped
    RUNS_AS_ROOT = "RunsAsRoot"  # it may run as root
    IMAGE_SOURCE = "ImageSource"  # a registry or repository that nobody listed
    IMAGE_TAG = "ImageTag"  # a tag that is forbidden, or no digest
    LABEL_REQUIRED = "LabelRequired"  # a label is missing, or has another value

    # defaults and tuning
    DEFAULTED = "Defaulted"  # something that nobody wrote down was filled in
    DEFAULT_LEFT_OUT = "DefaultLeftOut"  # it could not be filled in, or the API server would refuse the pod with it
    TUNED = "Tuned"  # requests were scaled
    GUARANTEED = "Guaranteed"  # requests are limits: lower ones would cost the pod its quality of service
    CRITICAL_POD = "CriticalPod"  # of a priority class of the system
    CAPACITY_UNKNOWN = "CapacityUnknown"  # not all nodes and pods are known yet, or no node takes pods

    # fixed addresses
    ADDRESS_ALLOCATED = "AddressAllocated"  # the pod got one that was free
    ADDRESS_KEPT = "AddressKept"  # what an earlier pod or call of the same key was given
    ALREADY_ALLOCATED = "AlreadyAllocated"  # by an earlier call for the same pod
    OPT_IN_MISSING = "OptInMissing"  # an annotation alone, which no webhook is chosen by
    ASKED_TOO_LATE = "AskedTooLate"  # of a pod that runs already
    ADDRESS_AWAITED = "AddressAwaited"  # the pod waits behind a scheduling gate
    ADDRESS_IN_ORDER = "AddressInOrder"  # pod, key and reservation belong together
    ADDRESSES_EXHAUSTED = "AddressesExhausted"  # none that the pod may have is free
    ADDRESSES_INVALID = "AddressesInvalid"  # a list that cannot be read
    ADDRESS_OUT_OF_RANGE = "AddressOutOfRange"  # in no pool of the network, or in one that the namespace may not use
    ADDRESS_POOL_MISSING = "AddressPoolMissing"  # nobody defines the AddressPool that the pod names
    ADDRESS_NOT_RESERVED = "AddressNotReserved"  # written by hand or copied from another pod
    ADDRESS_CHANGED = "AddressChanged"  # an update that would part a pod from its reservation
    ADDRESS_BOUND = "AddressBound"  # a live pod carries it
    ADDRESS_RELEASED = "AddressReleased"  # nobody needs it any more: it is free
    ADDRESS_EXPIRED = "AddressExpired"  # reserved, and no pod ever came
    ADDRESS_RESTORED = "AddressRestored"  # the reservation of a live pod was lost, and is there again
    ADDRESS_CONFLICT = "AddressConflict"  # two live pods say that they have it
    POD_UNGATED = "PodUngated"  # a pod that waited has an address, and may be scheduled

    # database instances
    CLAIM_TAKEN = "ClaimTaken"  # another instance says that the claim is its own
    VOLUMES_WILL_GO = "VolumesWillGo"  # with the instance that is deleted
    VOLUMES_WILL_STAY = "VolumesWillStay"  # when the instance is deleted
    DELETION_WAITS = "DeletionWaits"  # for something that its status names
    DELETION_TIMED_OUT = "DeletionTimedOut"  # it still waits after its `deletionTimeout`
    VOLUMES_GONE = "VolumesGone"  # and so the instance went
    INSTANCE_LET_GO = "InstanceLetGo"  # as above, where volumes were kept
    CLAIMS_SHARED = "ClaimsShared"  # claims that something else owns as well, left alone
    SPEC_INVALID = "SpecInvalid"  # it cannot be carried out, the message says why
    SNAPSHOT_SKIPPED = "SnapshotSkipped"  # volumes were kept although they have no snapshot
    CLAIMS_NOT_OWNED = "ClaimsNotOwned"  # claims that its workloads use, and that nothing makes its own
    RECONCILIATION_FAILED = "ReconciliationFailed"  # the message says how; it is tried again

    # certificates
    CERTIFICATE_RENEWED = "CertificateRenewed"  # the served certificate is a new one
    AUTHORITY_ADDED = "AuthorityAdded"  # a new CA, before anything is served that it has signed
    AUTHORITY_DROPPED = "AuthorityDropped"  # the old CA, which nothing that is served needs any more
    SECRET_RESTORED = "SecretRestored"  # it was deleted or broken, and is there again
    CA_BUNDLE_WRITTEN = "CaBundleWritten"  # into a webhook configuration
    CA_BUNDLE_CONTESTED = "CaBundleContested"  # somebody else keeps changing it
    CERTIFICATE_NOT_KEPT = "CertificateNotKept"  # its Secret cannot be written, the message says why; it is tried again
