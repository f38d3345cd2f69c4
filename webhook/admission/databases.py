"""The registrations and the rule of the service database-instance: none unless its controller is on."""

from __future__ import annotations

from webhook.admission.review import Operations
from webhook.admission.service import Entry, Match
from webhook.admission.settings import Settings
from webhook.objects.databases import GROUP, PLURAL

# Finalizers, labels and owner references change often, and a deletion must not wait for us.
SPEC_CHANGES = ("spec-changes", "request.operation == 'CREATE' || object.spec != oldObject.spec")


def database_entries(settings: Settings) -> tuple[Entry, ...]:
    """Creation and changes of the spec are refused while nobody can decide; a deletion never is: it only gets warnings."""
    if settings.database_policy is None:
        return ()
    written = Match(GROUP, "v1", PLURAL, (Operations.CREATE, Operations.UPDATE), "Namespaced")
    deleted = Match(GROUP, "v1", PLURAL, (Operations.DELETE,), "Namespaced")
    return (
        Entry((written,), match_conditions=(SPEC_CHANGES,)),
        Entry((deleted,), "-delete", failure_policy="Ignore", timeout_s=3),
    )
