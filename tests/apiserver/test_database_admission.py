"""Claims that StatefulSets make, selectors, and what kubectl and /statusz show, on a real API server."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.apiserver.databases import Place, apply_crd, clean_volumes
from tests.apiserver.gatehouse import Gatehouse
from tests.apiserver.waiting import wait_for
from tests.cluster import Api, Cluster, Json
from tests.cluster.api import ApiError
from webhook.objects.databases import VolumesSpec

CONFIG: Json = {
    "controllers": {
        "databaseInstance": {"enabled": True, "defaultDeletionPolicy": "Retain"},
        "edgeHealth": {"enabled": False},
    }
}
RESOURCE = "databaseinstances"
GROUP = "/apis/example.com/v1"
TABLE = {"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}


@pytest.fixture(scope="module")
def api(quiet_cluster: Cluster) -> Iterator[Api]:
    with quiet_cluster.api() as made:
        apply_crd(made)
        yield made


@pytest.fixture(scope="module")
def gatehouse(quiet_cluster: Cluster, api: Api, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gatehouse]:
    with Gatehouse(quiet_cluster, tmp_path_factory.mktemp("admission"), config=CONFIG) as running:
        yield running
    clean_volumes()


@pytest.fixture(scope="module")
def place(api: Api, gatehouse: Gatehouse) -> Iterator[Place]:
    """A namespace with an instance, and a StatefulSet of it with a claim; reviews reach Gatehouse."""
    made = Place(api, "admission")
    with gatehouse.registration().only(RESOURCE).applied(api):
        made.create_instance()
        owner = made.instance()
        assert owner is not None
        made.stateful_set(owner)
        api.patch(made.path("persistentvolumeclaims", "data-db-0"), {"metadata": {"labels": {"tier": "gold"}}})
        wait_for(lambda: _refused(made, {"claimNames": ["data-db-0"]}) is not None, 30.0, "reviews from the API server")
        gold = {"selector": {"matchLabels": {"tier": "gold"}}}
        wait_for(lambda: _refused(made, gold) is not None, 30.0, "the label in the cache")
        yield made
        api.delete(made.path("statefulsets", "db", "/apis/apps/v1"))
        made.delete_instance()
        made.wait_gone()  # the next tests may want to have no CRD


@pytest.mark.parametrize(
    ("volumes", "claim"),
    [
        ({"claimNames": ["data-db-0"]}, "data-db-0"),
        ({"claimNames": ["data-db-1"]}, "data-db-1"),
        ({"selector": {"matchLabels": {"tier": "gold"}}}, "data-db-0"),
    ],
    ids=["by name", "before it exists", "by label"],
)
def test_a_claim_of_an_owned_stateful_set_cannot_be_taken(place: Place, volumes: Json, claim: str) -> None:
    refusal = _refused(place, volumes)

    assert refusal is not None
    assert refusal.status == 422
    assert f'claim "{claim}" belongs to DatabaseInstance "db"; a claim has one instance only' in str(refusal)


LONG = "x" * 64


@pytest.mark.parametrize(
    ("selector", "field"),
    [
        ({"matchLabels": {"app": "db", "not a key": "x"}}, "matchLabels"),
        ({"matchLabels": {"a/b/c": "x"}}, "matchLabels"),
        ({"matchLabels": {"/a": "x"}}, "matchLabels"),
        ({"matchLabels": {"Upper.example.com/a": "x"}}, "matchLabels"),
        ({"matchLabels": {LONG: "x"}}, "matchLabels"),
        ({"matchLabels": {"app": "-db"}}, "matchLabels[app]"),
        ({"matchLabels": {"app": LONG}}, "matchLabels.app"),
        ({"matchExpressions": [{"key": "not a key", "operator": "Exists"}]}, "matchExpressions[0].key"),
        ({"matchExpressions": [{"key": "a", "operator": "In", "values": ["x y"]}]}, "matchExpressions[0].values[0]"),
        ({"matchExpressions": [{"key": "a", "operator": "In"}]}, "matchExpressions[0]"),
        ({"matchExpressions": [{"key": "a", "operator": "Exists", "values": ["x"]}]}, "matchExpressions[0]"),
        ({"matchExpressions": [{"key": "a", "operator": "Like"}]}, "matchExpressions[0].operator"),
        ({}, "selector"),
        ({"matchLabels": {}, "matchExpressions": []}, "selector"),
    ],
)
def test_a_selector_that_cannot_be_read_is_refused_by_the_api_server_with_its_field(
    place: Place, selector: Json, field: str
) -> None:
    refusal = _refused(place, {"selector": selector})

    assert refusal is not None
    assert refusal.status == 422
    assert field in str(refusal)
    assert "admission webhook" not in str(refusal)
    assert VolumesSpec.of({"selector": selector}).fault


@pytest.mark.parametrize(
    "selector",
    [
        {"matchLabels": {"app.kubernetes.io/name": "db", "a": ""}},
        {"matchExpressions": [{"key": "example.com/A_b.c", "operator": "NotIn", "values": ["x", ""]}]},
        {"matchExpressions": [{"key": "a", "operator": "DoesNotExist"}, {"key": "x" * 63, "operator": "In", "values": ["1"]}]},
    ],
)
def test_a_selector_that_the_api_server_takes_can_be_read(place: Place, selector: Json) -> None:
    other = {**selector, "matchLabels": {**selector.get("matchLabels", {}), "nobody": "has-it"}}

    assert _refused(place, {"selector": other}) is None
    assert not VolumesSpec.of({"selector": other}).fault


def test_kubectl_shows_the_policy_that_is_in_force_where_the_spec_says_none(place: Place, api: Api) -> None:
    table = api.request("GET", place.path(RESOURCE, group=GROUP), headers=TABLE)

    names = [column["name"] for column in table["columnDefinitions"]]
    (row,) = [dict(zip(names, one["cells"], strict=True)) for one in table["rows"]]
    assert (row["Name"], row["Policy"]) == ("db", "Retain")


def test_the_status_page_counts_the_databases(place: Place, gatehouse: Gatehouse) -> None:
    page = json.loads(gatehouse._connections["metrics"].call("GET", "/statusz").body)

    assert (page["databases"]["count"], page["databases"]["protected"], page["databases"]["deleting"]) == (1, 1, 0)


def _refused(place: Place, volumes: Json) -> ApiError | None:
    """What is said to a new instance of *volumes*."""
    body: dict[str, Any] = {
        "apiVersion": "example.com/v1",
        "kind": "DatabaseInstance",
        "metadata": {"name": "new"},
        "spec": {"volumes": volumes},
    }
    try:
        place.api.create(place.path(f"{RESOURCE}?dryRun=All", group=GROUP), body)
    except ApiError as error:
        return error
    return None
