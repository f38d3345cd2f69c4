"""Who may create, change or delete what: allow lists, each for some resources.

A rule covers some resources, operations and namespaces, and closes them to everyone whom its allow list does not name. Rules
add up: a request goes on when every rule that covers it names its user, as every admission policy must agree; their order
means nothing. What no rule covers stays as open as RBAC makes it. `never` takes namespaces out of a wide rule.

Resources are written as in a webhook registration (kubernetes.io/docs, "Matching requests: rules"), the group behind a dot:

    pods                one resource of any API group, without its subresources
    deployments.apps    of this group only
    pods/exec           a subresource;  pods/* each of them;  */scale of every resource
    *                   every resource;  */* every subresource, too

Of the last two, what programs write all day and nobody by hand (`HOUSEKEEPING`) is left out: a Lease that cannot be renewed
ends its holder's leadership. It is covered where it is named.

Pure; nothing here raises.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import attrs

from webhook.names import NODES_GROUP
from webhook.objects.enforcement import Mode, Namespaces, matches

UNNAMED: Final = "?????"  # what the API server will put behind a generateName: nothing that a pattern could name
SERVICE_ACCOUNT = "system:serviceaccount:"  # + namespace:name, the user name of a service account

HOUSEKEEPING: Final = (
    "leases.coordination.k8s.io",
    "events.",
    "events.events.k8s.io",
    *(f"{name}.authentication.k8s.io" for name in ("tokenreviews", "selfsubjectreviews")),
    *(
        f"{name}.authorization.k8s.io"
        for name in ("subjectaccessreviews", "localsubjectaccessreviews", "selfsubjectaccessreviews", "selfsubjectrulesreviews")
    ),
)  # resource.group


@attrs.frozen
class Subjects:
    """Who. Names of users and groups may end in "*"."""

    users: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    service_accounts: tuple[str, ...] = ()  # "namespace/name", "namespace/*"

    def __contains__(self, user: Requester) -> bool:
        if matches(user.name, self.users) or any(matches(group, self.groups) for group in user.groups):
            return True
        account = user.service_account
        return account is not None and matches(account, self.service_accounts)

    def __or__(self, other: Subjects) -> Subjects:
        """Whoever is one of either."""
        pairs = zip(attrs.astuple(self), attrs.astuple(other), strict=True)
        return Subjects(*(tuple(dict.fromkeys((*mine, *others))) for mine, others in pairs))

    def __str__(self) -> str:
        """For messages: "user ann, group dev, service account ci/deployer"; "nobody"."""
        names = [f"user {name}" for name in self.users]
        names += [f"group {name}" for name in self.groups]
        names += [f"service account {name}" for name in self.service_accounts]
        return ", ".join(names) or "nobody"


# The control plane acts for workloads that somebody was let create: a rule about pods means who creates them by hand. Kubelets
# show their static pods. kubernetes.io/docs/reference/access-authn-authz/rbac: default roles of core components.
CONTROL_PLANE = Subjects(
    users=("system:kube-controller-manager", "system:kube-scheduler", "system:apiserver"),
    groups=(NODES_GROUP, "system:serviceaccounts:kube-system"),
)


@attrs.frozen
class Requester:
    """Who asks, as the API server authenticated (or impersonated) them."""

    name: str
    groups: tuple[str, ...] = ()

    @property
    def service_account(self) -> str | None:
        """As "namespace/name"; None when it is no service account."""
        namespace, colon, name = self.name.removeprefix(SERVICE_ACCOUNT).partition(":")
        return f"{namespace}/{name}" if colon and self.name.startswith(SERVICE_ACCOUNT) else None


@attrs.frozen
class Deed:
    """What is asked for."""

    operation: str  # CREATE, UPDATE, DELETE, CONNECT
    group: str  # API group of the resource, "" for core
    resource: str  # in plural: "pods"
    subresource: str = ""
    namespace: str = ""  # "" for what belongs to no namespace; of a Namespace its own name


@attrs.frozen
class CreatorRule:
    """One rule."""

    name: str
    resources: tuple[str, ...]  # as above
    operations: tuple[str, ...] = ("CREATE",)  # "*" is every one
    namespaces: Namespaces = Namespaces()
    allow: Subjects = Subjects()
    mode: Mode = Mode.DENY

    def covers(self, deed: Deed) -> bool:
        """Whether the rule has a say."""
        return (
            self.mode is not Mode.OFF
            and (deed.operation in self.operations or "*" in self.operations)
            and deed.namespace in self.namespaces
            and any(_is_meant(resource, deed) for resource in self.resources)
        )


@attrs.frozen
class CreatorPolicy:
    """All rules."""

    rules: tuple[CreatorRule, ...] = ()
    exempt: Subjects = CONTROL_PLANE  # whom no rule concerns; registered rules never concern the control plane


def objecting(policy: CreatorPolicy, user: Requester, deed: Deed) -> Sequence[CreatorRule]:
    """The rules that cover *deed* and do not name *user*, in their order; () = nobody objects."""
    covering = [rule for rule in policy.rules if rule.covers(deed)]
    if not covering or user in policy.exempt:
        return ()
    return [rule for rule in covering if user not in rule.allow]


def parts(pattern: str) -> tuple[str, str, str]:
    """Resource, group ("" = any) and subresource of a *pattern* as above."""
    resource, _, subresource = pattern.partition("/")
    name, _, group = resource.partition(".")
    return name, group, subresource


def _is_meant(pattern: str, deed: Deed) -> bool:
    name, group, subresource = parts(pattern)
    if name == "*" and not group and f"{deed.resource}.{deed.group}" in HOUSEKEEPING:
        return False
    return (
        name in ("*", deed.resource)
        and group in ("", deed.group)
        and (subresource == deed.subresource or (subresource == "*" and (deed.subresource != "" or name == "*")))
    )
