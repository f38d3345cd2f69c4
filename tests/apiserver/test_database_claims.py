"""The service database-instance in the path of a real API server: one owner for each claim, warnings for who deletes.

The second part registers an address where nobody listens: a deletion must not need anybody.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.apiserver.databases import Place, apply_crd, clean_volumes
from tests.apiserver.gatehouse import Gatehouse
from tests.apiserver.registration import Registration
from tests.apiserver.waiting import wait_for
from tests.cluster import Api, Cluster, Json
from tests.cluster.api import ApiError

CONFIG: Json = {"controllers": {"databaseInstance": {"enabled": True}, "edgeHealth": {"enabled": False}}}
RESOURCE = "databaseinstances"


@pytest.fixture(scope="module")
def api(quiet_cluster: Cluster) -> Iterator[Api]:
    with quiet_cluster.api() as made:
        apply_crd(made)
        yield made


@pytest.fixture(scope="module")
def gatehouse(quiet_cluster: Cluster, api: Api, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gatehouse]:
    with Gatehouse(quiet_cluster, tmp_path_factory.mktemp("claims"), config=CONFIG) as running:
        yield running
    clean_volumes()


@pytest.fixture(scope="module")
def place(api: Api, gatehouse: Gatehouse) -> Iterator[Place]:
    """A namespace with an instance that has a claim by name and one by label; reviews reach Gatehouse."""
    made = Place(api, "claims")
    made.claim("named")
    made.claim("selected")
    with gatehouse.registration().only(RESOURCE).applied(api):
        made.create_instance(volumes={"claimNames": ["named"], "selector": {"matchLabels": {"app": "db"}}})
        wait_for(lambda: _refusal(made, {"claimNames": ["named"]}) is not None, 30.0, "reviews from the API server")
        yield made
        for name in ("db", "other"):
            made.delete_instance(name)
        for name in ("db", "other"):
            made.wait_gone(name)  # the next tests may want to have no CRD


def test_a_second_instance_of_the_same_claim_is_refused(place: Place) -> None:
    refusal = _refusal(place, {"claimNames": ["named", "selected", "free"]})

    assert refusal is not None
    assert refusal.status == 422
    assert 'claim "named" belongs to DatabaseInstance "db", claim "selected" belongs to' in str(refusal)
    assert '"free"' not in str(refusal)


def test_an_instance_of_other_claims_is_not(place: Place) -> None:
    assert _refusal(place, {"claimNames": ["free"]}) is None


def test_an_update_that_takes_a_claim_is_refused_and_any_other_passes(place: Place, api: Api) -> None:
    place.create_instance("other", volumes={"claimNames": ["free"]})
    path = place.instance_path("other")

    with pytest.raises(ApiError, match="a claim has one instance only"):
        api.patch(path, {"spec": {"volumes": {"claimNames": ["free", "named"]}}})
    api.patch(path, {"spec": {"deletionPolicy": "Retain"}})

    assert api.get(path)["spec"]["deletionPolicy"] == "Retain"


def test_who_deletes_is_told_of_each_claim_that_goes(place: Place, api: Api) -> None:
    _, warnings = api.told("DELETE", f"{place.instance_path()}?dryRun=All")

    assert warnings == [
        'gatehouse: DatabaseInstance "db": claim "named" is deleted with its volume',
        'gatehouse: DatabaseInstance "db": claim "selected" is deleted with its volume',
    ]


def test_a_deletion_needs_nobody_to_answer(quiet_cluster: Cluster, api: Api, gatehouse: Gatehouse) -> None:
    place = Place(api, "unanswered")
    volume = place.claim("data")
    place.create_instance(volumes={"claimNames": ["data"]})
    nobody = Registration.printed("https://127.0.0.1:1", gatehouse.ca_file, gatehouse._config_file).only(RESOURCE)
    with nobody.applied(api):
        wait_for(lambda: _refusal(place, {"claimNames": ["else"]}) is not None, 30.0, "creations refused for want of an answer")

        place.delete_instance()
        place.wait_gone()

    assert place.reclaim(volume) is None


def _refusal(place: Place, volumes: Json) -> ApiError | None:
    """What the API server says to a new instance of *volumes*."""
    body = {
        "apiVersion": "example.com/v1",
        "kind": "DatabaseInstance",
        "metadata": {"name": "new"},
        "spec": {"volumes": volumes},
    }
    try:
        place.api.create(place.path(f"{RESOURCE}?dryRun=All", group="/apis/example.com/v1"), body)
    except ApiError as error:
        return error
    return None
