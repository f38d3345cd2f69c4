"""A Gatehouse that does not answer, or is not registered as it is configured, is in the way of as little as possible."""

from __future__ import annotations

import pytest
import yaml

from tests.apiserver import bounds, injection
from tests.apiserver.bounds import (
    ANN,
    BOB,
    DEPLOYER,
    ELECTOR,
    NAMESPACE,
    POLICIES,
    PROD,
    RULES,
    SHOP,
    UNBOUND,
    container,
    creation,
    lease,
    pod,
    refusal,
)
from tests.apiserver.gatehouse import ADMISSION_ONLY, Gatehouse
from tests.apiserver.registration import Registration
from tests.apiserver.waiting import wait_for
from tests.cluster import Api, Cluster, Json
from tests.cluster.api import impersonating
from tests.cluster.kinds import object_path

APPLYING = "fieldManager=gatehouse-tests&force=true"
EVERYTHING: Json = {
    "creatorPolicy": {
        "exempt": {"users": [], "groups": []},
        "rules": [
            {"name": "all", "resources": ["*/*"], "operations": ["*"], "namespaces": {"never": ["a*", "b"]}},
            {"name": "some", "resources": ["*.apps/*", "pods/*", "*/status", "leases"], "operations": ["UPDATE", "DELETE"]},
        ],
    },
    "podCompliance": {"policies": [{"name": "a", "labels": {"mode": "Warn", "required": {"team": []}}}]},
}
MANY: Json = {
    "creatorPolicy": {
        "rules": [
            {
                "name": f"rule-{number}",
                "resources": ["pods", "deployments.apps", "*/scale", "services", "configmaps"],
                "namespaces": {"only": [f"team-{number}-*", f"team-{number}"]},
                "allow": {"users": [f"lead-{number}@example.com"], "groups": [f"team-{number}"], "serviceAccounts": ["ci/*"]},
            }
            for number in range(500)
        ]
    },
    "resourceLimits": {
        "policies": [
            {
                "name": f"team-{number}",
                "namespaces": {"only": [f"team-{number}-*"]},
                "pod": {"cpu": {"limits": {"max": number + 1}}},
            }
            for number in range(500)
        ]
    },
}
HEAD: Json = {"apiVersion": "gatehouse.dev/v1alpha1", "kind": "GatehouseConfiguration"}


def test_an_outage_stops_only_what_could_be_refused(
    cluster: Cluster, admin: Api, tmp_path_factory: pytest.TempPathFactory
) -> None:
    features = {
        "resourceLimits": {"policies": [POLICIES["resourceLimits"]["policies"][0] | {"namespaces": {"only": ["out*"]}}]}
    }
    injection.namespace(admin, "outage", {})
    with bounds.judging(cluster, admin, tmp_path_factory.mktemp("outage"), features) as gatehouse:
        bounds.wait_until_judged(admin, "outage")
        gatehouse.stop()

        assert "validate.gatehouse.dev" in refusal(admin, "outage", pod("web"))
        assert refusal(admin, UNBOUND, pod("web")) == ""
        assert refusal(admin, "kube-system", pod("web")) == ""


@pytest.mark.parametrize("serves", [POLICIES, {}], ids=["policies", "none"])
def test_a_registration_that_does_not_fit_the_configuration_refuses_nothing(
    cluster: Cluster, admin: Api, tmp_path_factory: pytest.TempPathFactory, serves: Json
) -> None:
    folder = tmp_path_factory.mktemp("unfit")
    registered = folder / "registered.yaml"
    registered.write_text(yaml.safe_dump(HEAD | {"features": {} if serves else POLICIES}))
    injection.namespace(admin, NAMESPACE, {})
    greedy = pod("web", containers=[container(resources={"requests": {"cpu": "9"}})])
    with Gatehouse(cluster, folder, config=ADMISSION_ONLY | {"features": serves}) as gatehouse:
        registration = Registration.printed(f"https://{gatehouse.addresses['webhook']}", gatehouse.ca_file, registered)
        assert ("validate.gatehouse.dev" in registration.webhooks()) is not bool(serves)
        with registration.applied(admin):
            gatehouse.wait_until_called(admin)
            if not serves:
                wait_for(
                    lambda: any("mend the webhook configuration" in one for one in _warnings(admin, greedy)), 15.0, "a call"
                )

            assert refusal(admin, NAMESPACE, greedy) == ""


def test_an_outage_of_the_creator_policy_stops_nobody_whom_the_rules_allow(
    cluster: Cluster, admin: Api, tmp_path_factory: pytest.TempPathFactory
) -> None:
    bounds.let_users_in(admin)
    with bounds.judging(cluster, admin, tmp_path_factory.mktemp("creators-outage"), RULES) as running:
        wait_for(lambda: bool(refusal(admin, SHOP, pod("web"), impersonating(ANN))), 15.0, "a refusal")
        running.stop()

        assert "validate-creators.gatehouse.dev" in refusal(admin, SHOP, pod("web"), impersonating(ANN))
        assert refusal(admin, SHOP, pod("web"), impersonating(BOB)) == ""
        assert refusal(admin, PROD, pod("web"), impersonating(DEPLOYER)) == ""
        assert refusal(admin, "kube-system", pod("web"), impersonating(ANN)) == ""
        assert creation(admin, PROD, lease(), impersonating(ELECTOR)) == ""


@pytest.mark.parametrize(
    "features", [POLICIES, RULES, POLICIES | RULES, EVERYTHING, MANY], ids=["pods", "creators", "both", "wide", "many"]
)
@pytest.mark.parametrize("service", ["kube-system/gatehouse", "edge/gatehouse"])
def test_the_api_server_takes_every_registration(
    cluster: Cluster, admin: Api, tmp_path_factory: pytest.TempPathFactory, features: Json, service: str
) -> None:
    config = tmp_path_factory.mktemp("printed") / "config.yaml"
    config.write_text(yaml.safe_dump(HEAD | {"features": features}))

    for item in Registration.for_service(service, config).configurations:
        assert admin.patch(f"{object_path(item)}?dryRun=All&{APPLYING}", item, "application/apply-patch+yaml")["webhooks"]


def _warnings(admin: Api, body: Json) -> list[str]:
    return injection.create(admin, NAMESPACE, body, "?dryRun=All")[1]
