"""What an operator may decide about admission, as plain values. Filled from the configuration by `controllers.config`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from webhook.addresses.policy import AddressPolicy
from webhook.defaults.sets import PodDefaults
from webhook.defaults.tuning import Tuning
from webhook.objects.compliance import CompliancePolicy
from webhook.objects.creators import CreatorPolicy
from webhook.objects.databases import DeletionPolicy
from webhook.objects.resource_policies import ResourcePolicy
from webhook.objects.votes import VotePolicy
from webhook.sidecars.selection import Policy

if TYPE_CHECKING:
    from webhook.admission.service import Service

# Old and new object, of which the API server takes at most 3 MiB each, and 1 MiB of envelope; controller-runtime's figure.
BODY_LIMIT_BYTES = 7 * 2**20


@attrs.frozen
class Settings:
    """Frozen settings of the admission core."""

    votes: VotePolicy = VotePolicy()
    sidecars: Policy = Policy()
    home: str = Policy().home  # the namespace that we run in
    defaults: PodDefaults = PodDefaults()
    tuning: Tuning = Tuning()
    resource_policies: tuple[ResourcePolicy, ...] = ()
    typo_hints: bool = True  # of what resource_policies are asked about
    creators: CreatorPolicy = CreatorPolicy()
    compliance: tuple[CompliancePolicy, ...] = ()
    database_policy: DeletionPolicy | None = None  # the default one; None = DatabaseInstances are nobody's business
    addresses: AddressPolicy | None = None  # None = pods get no fixed addresses
    plugins: tuple[Service, ...] = ()  # rules of others, beside those of the registry
    disabled: frozenset[str] = frozenset()  # names of services that are switched off
    max_in_flight: int = 12  # per service, below the server's 16 threads; beyond it a caller gets 503 at once
    body_limit_bytes: int = BODY_LIMIT_BYTES
    verify_patches: bool = False
    watch_rules: bool = False  # tell of a plug-in's edits beside the draft; for whoever decides offline: copies each object
    client_subjects: frozenset[str] | None = None  # common names a caller's certificate may bear; None = anyone may call
