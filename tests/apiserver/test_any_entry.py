"""Any pod that the API server takes, with any entry, is one that it takes afterwards, or something was said of it before."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.apiserver import injection
from tests.apiserver.lengths import many
from tests.cluster import Api, ApiError, Cluster, Json
from tests.webhook.sidecars.entries import entry_strategies
from tests.webhook.sidecars.injection import strategies
from webhook.admission.draft import Draft
from webhook.sidecars.entries import source
from webhook.sidecars.injection import Scene, inject

NAMESPACE = "any-entry"
INVALID = 422  # decoded, and found wrong by validation

MANY = settings(max_examples=many(400, 200), deadline=None, suppress_health_check=list(HealthCheck))


@pytest.fixture(scope="module")
def admin(quiet_cluster: Cluster) -> Iterator[Api]:
    """An administrator, and a namespace that nobody injects."""
    with quiet_cluster.api() as api:
        injection.namespace(api, NAMESPACE, {})
        yield api


@MANY
@given(strategies.pods(), st.lists(entry_strategies.ENTRIES, min_size=1, max_size=2), strategies.scenes())
def test_an_injected_pod_is_taken_if_it_was_before(admin: Api, pod: Json, trees: list[Json], scene: Scene) -> None:
    data = {f"entry-{number}": json.dumps(tree) for number, tree in enumerate(trees)}
    found = source.read("shop", "sidecars", injection.SIDECARS, data).entries
    before = _refusal(admin, pod)
    draft = Draft(copy.deepcopy(pod))

    outcome = inject(draft, found, scene)
    after = _refusal(admin, draft.object)

    assert after is None or after.status == INVALID, f"{after}"
    if before is None and after is not None:
        assert outcome.findings, f"not a word was said of {after}"


def _refusal(admin: Api, pod: Json) -> ApiError | None:
    try:
        injection.create(admin, NAMESPACE, pod, "?dryRun=All")
    except ApiError as error:
        return error
    return None
