"""The bundles in our webhook configurations: whom they trust, and how they are repaired."""

from __future__ import annotations

from controllers.certificates import bundles
from controllers.certificates.bundles import KINDS, Configuration, repair
from controllers.testing.patches import json_patch
from tests.controllers.certificates.builders import Json, configuration, content
from tests.controllers.certificates.scene import MUTATING, held_of

PLURAL = next(iter(KINDS))


def kept(obj: Json) -> Configuration:
    return bundles.projection(PLURAL).convert({**obj, "metadata": {**obj["metadata"], "resourceVersion": "5"}}).facts


def test_a_repair_touches_only_the_webhooks_that_lack_the_bundle_and_tests_what_it_touches() -> None:
    ca = content().ca
    obj = configuration(MUTATING, ca, None, b"other")
    obj["metadata"]["resourceVersion"] = "5"

    operations = repair(kept(obj), ca)

    assert [one["path"] for one in operations] == [
        "/metadata/name",
        "/metadata/resourceVersion",
        "/webhooks/1/name",
        "/webhooks/1/clientConfig/caBundle",
        "/webhooks/2/name",
        "/webhooks/2/clientConfig/caBundle",
    ]
    assert json_patch(obj, operations) == configuration(MUTATING, ca, ca, ca) | {"metadata": obj["metadata"]}


def test_the_same_certificates_written_another_way_need_no_repair() -> None:
    ca = content().ca
    other_way = b"# the CA\r\n" + ca.replace(b"\n", b"\r\n")

    assert repair(kept(configuration(MUTATING, other_way)), ca) == []


def test_a_bundle_in_another_order_is_another_bundle() -> None:
    one, two = content("one").ca, content("two").ca

    assert repair(kept(configuration(MUTATING, one + two)), two + one)


def test_a_webhook_without_anything_does_not_crash() -> None:
    obj = configuration(MUTATING)
    obj["webhooks"] = [{}, {"clientConfig": None}, {"clientConfig": {"caBundle": "?"}}]

    assert [one.bundle for one in kept(obj).webhooks] == [b"", b"", b""]


def test_one_webhook_that_does_not_trust_is_enough() -> None:
    (ca,) = held_of(content()).authorities

    assert kept(configuration(MUTATING, ca.pem, ca.pem)).trusts(ca)
    assert not kept(configuration(MUTATING, ca.pem, b"")).trusts(ca)
