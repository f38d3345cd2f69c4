"""Which pods belong to whom."""

from __future__ import annotations

from controllers.coverage.owners import Kinship
from controllers.runtime.projection import pod_facts_from_object
from tests.controllers.coverage.builders import Json, namespace, pod, web
from tests.controllers.coverage.scene import Scene
from webhook.cluster import PodFacts

OWNER = "shop/ReplicaSet/web-5d7f"


def keyed(one: Json) -> tuple[str, PodFacts]:
    facts = pod_facts_from_object(one)
    return f"{facts.namespace}/{facts.name}", facts


def test_owners_are_found_by_namespace() -> None:
    kinship = Kinship()
    for one in (*web(2), pod("alone", owner=""), pod(namespace="other")):
        kinship.add(*keyed(one))

    assert sorted(kinship.pods_of(OWNER)) == ["shop/web-01", "shop/web-02"]
    assert sorted(kinship.owners(("shop", "nowhere"))) == ["shop/Pod/alone", OWNER]
    assert len(kinship.owners()) == 3


def test_pods_that_are_always_left_alone_are_not_kept() -> None:
    kinship = Kinship()

    kinship.add(*keyed(pod(namespace="kube-system")))

    assert kinship.owners() == []


def test_nothing_is_kept_of_pods_that_are_gone() -> None:
    kinship = Kinship()
    found = [keyed(one) for one in web(3)]

    for one in found:
        kinship.add(*one)
    for one in found:
        kinship.remove(*one)
        kinship.remove(*one)

    assert (kinship.owners(), kinship.pods_of(OWNER)) == ([], ())


def test_an_owner_is_forgotten_with_its_last_pod(scene: Scene) -> None:
    scene.put(namespace(), *web(2))
    scene.run()

    scene.drop("web-01")
    scene.drop("web-02")
    scene.run()

    scene.put(namespace(labels={}))
    assert scene.run() == 0
