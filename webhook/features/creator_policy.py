"""Who may create, change or delete what, beyond what RBAC can say: per namespace pattern, with a warning first.

    Every resource that a registration brings here     judged by user, groups and service account; impersonation counts
    The control plane                                  passes: it acts for workloads that somebody was let create

A rule in mode Deny that does not name the user refuses the request, one in mode Warn warns. `webhook.objects.creators` says how
rules are read and add up. Pure; raises MalformedObject (400) on metadata of a type that the API forbids.
"""

from __future__ import annotations

from typing import ClassVar

import attrs

from webhook.admission.draft import Draft
from webhook.admission.review import FORBIDDEN, AdmissionRequest, Denial, Operations
from webhook.admission.service import Context, Verdict
from webhook.names import Reason
from webhook.objects import meta
from webhook.objects.creators import UNNAMED, CreatorPolicy, CreatorRule, Deed, Requester, objecting
from webhook.objects.enforcement import Mode, joined


@attrs.frozen
class RestrictCreators:
    """The rule creator-policy."""

    policy: CreatorPolicy
    name: ClassVar[str] = "creator-policy"

    def __call__(self, request: AdmissionRequest, draft: Draft, context: Context) -> Verdict:
        """See `webhook.admission.service.Rule`."""
        user = Requester(context.user.name, context.user.groups)
        resource = request.resource
        namespace = _namespace(request)
        deed = Deed(request.operation.value, resource.group, resource.resource, request.subresource, namespace)
        rules = objecting(self.policy, user, deed)
        if not rules:
            return Verdict(Reason.CREATOR_ALLOWED)
        told = [(rule.mode, _told(request, user, rule)) for rule in rules]
        warnings = tuple(text for mode, text in told if mode is Mode.WARN)
        refusing = [text for mode, text in told if mode is Mode.DENY]
        denial = Denial(FORBIDDEN, Reason.CREATOR_NOT_ALLOWED.value, joined(refusing)) if refusing else None
        return Verdict(Reason.CREATOR_NOT_ALLOWED, joined([text for _, text in told]), denial, warnings)


def _namespace(request: AdmissionRequest) -> str:
    """Where it happens. A Namespace whose name the API server will make up has nothing but the beginning of one."""
    if request.namespace or request.object is None or request.operation is not Operations.CREATE:
        return request.namespace
    if (request.resource.group, request.resource.resource) != ("", "namespaces"):
        return ""
    beginning = meta.text(meta.mapping(request.object, "metadata", ""), "generateName", "metadata")
    return beginning + UNNAMED if beginning else ""


def _told(request: AdmissionRequest, user: Requester, rule: CreatorRule) -> str:
    where = f"in namespace {request.namespace}" if request.namespace else "outside of namespaces"
    what = f"{request.operation.value} {_kind(request)} {where}"
    return f'user "{user.name}" may not {what}: rule {rule.name} allows {rule.allow}'


def _kind(request: AdmissionRequest) -> str:
    resource = request.resource
    name = f"{resource.resource}.{resource.group}" if resource.group else resource.resource
    return f"{name}/{request.subresource}" if request.subresource else name
