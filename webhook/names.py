"""Every label, annotation, taint, user, group and reason code, each with the document it comes from."""

from __future__ import annotations

from enum import StrEnum

PROJECT = "gatehouse"
DOMAIN = "gatehouse.dev"
API_VERSION = "gatehouse.dev/v1alpha1"
CONFIG_KIND = "GatehouseConfiguration"

# Our own objects bear this label (kubernetes.io/docs: recommended labels); no webhook ever matches them, so that a broken
# Gatehouse cannot keep its own pods from starting.
APP_LABEL = "app.kubernetes.io/name"

# Node health. The vote that peers write (superedge/superedge#46); released SuperEdge writes the second one instead.
VOTE_ANNOTATION = "superedgehealth/node-health"
SUPEREDGE_UNHEALTHY_ANNOTATION = "nodeunhealth"

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
