"""What lint takes, the API server takes."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, assume, given, settings

from tests.apiserver import injection
from tests.apiserver.lengths import many
from tests.cluster import Api, ApiError, Cluster, Json
from tests.webhook.sidecars.entries import entry_strategies
from webhook.admission.draft import Draft
from webhook.sidecars.entries import source
from webhook.sidecars.injection import Scene, Support, inject

NAMESPACE = "linted"

MANY = settings(max_examples=many(600, 250), deadline=None, suppress_health_check=list(HealthCheck))


@pytest.fixture(scope="module")
def admin(quiet_cluster: Cluster) -> Iterator[Api]:
    """An administrator, and a namespace that nobody injects."""
    with quiet_cluster.api() as api:
        injection.namespace(api, NAMESPACE, {})
        yield api


@MANY
@given(entry_strategies.ENTRIES)
def test_an_entry_without_fault_is_taken_in_a_small_pod(admin: Api, tree: Json) -> None:
    reading = source.read("shop", "sidecars", injection.SIDECARS, {"entry": json.dumps(tree)})
    assume(not reading.faults)
    draft = Draft(injection.pod("small"))

    outcome = inject(draft, reading.entries, Scene(NAMESPACE, None, 1.8e9, Support.MISSING))

    assert outcome.applied or outcome.findings
    try:
        injection.create(admin, NAMESPACE, draft.object, "?dryRun=All")
    except ApiError as error:
        pytest.fail(f"{error}")
