"""Bytes and what they are worth: Secrets, bundles, what is issued."""

from __future__ import annotations

import subprocess
import sys

import attrs
import pytest
from cryptography import x509

from controllers.certificates import bundles, secret
from controllers.certificates.bundles import KINDS, Configuration, repair
from controllers.certificates.issuing import carry_out
from controllers.certificates.plan import DropAuthorities, NewAuthority, NewLeaf
from controllers.certificates.wanted import Timing
from controllers.runtime.errors import UndecodableObject
from controllers.testing.patches import json_patch
from tests.controllers.certificates.builders import DAY_S, NAME, NAMES, NAMESPACE, NOW_S, Json, configuration, content
from tests.controllers.certificates.scene import MUTATING, held_of
from webhook.serving.chains import certificates_in

PLURAL = next(iter(KINDS))


def kept(obj: Json) -> Configuration:
    return bundles.projection(PLURAL).convert({**obj, "metadata": {**obj["metadata"], "resourceVersion": "5"}}).facts


# -- Secrets


def test_a_sound_secret_is_worth_its_pair_and_its_ca() -> None:
    found = held_of(content())

    assert found.pair is not None
    assert found.pair.leaf.names == set(NAMES)
    assert (found.pair.leaf.not_before_s, found.pair.leaf.not_after_s) == (NOW_S - 3600, NOW_S + 90 * DAY_S)
    assert [one.not_after_s for one in found.authorities] == [NOW_S + 365 * DAY_S]
    assert (found.signer, found.ca_key, found.fault) == (0, content().ca_key, "")


def test_the_signer_is_found_by_its_signature_not_by_its_place() -> None:
    both = attrs.evolve(content("old"), ca=content("new").ca + content("old").ca, ca_key=content("new").ca_key)

    assert held_of(both).signer == 1


def test_a_key_of_another_ca_is_no_key() -> None:
    assert held_of(attrs.evolve(content(), ca_key=content("other").ca_key)).ca_key == b""


@pytest.mark.parametrize("ca", [b"", b"rubbish", b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"])
def test_what_is_no_ca_counts_as_none(ca: bytes) -> None:
    found = held_of(attrs.evolve(content(), ca=ca))

    assert found.pair is not None
    assert (found.authorities, found.signer, found.ca_key) == ((), None, b"")


def test_a_servers_certificate_among_the_cas_is_passed_over() -> None:
    found = held_of(attrs.evolve(content(), ca=content().certificate + content().ca))

    assert len(found.authorities) == 1


def test_a_secret_survives_the_way_to_the_api_server_and_back() -> None:
    body = secret.new_body(NAMESPACE, NAME, content())

    assert secret.PROJECTION.convert(body).facts.content == content()


def test_a_secret_that_is_not_base64_is_named() -> None:
    body = secret.new_body(NAMESPACE, NAME, content())
    body["data"]["tls.key"] = "?"

    with pytest.raises(UndecodableObject, match=r"data\['tls.key'\] is not base64"):
        secret.PROJECTION.convert(body)


# -- bundles


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


# -- issuing


def test_a_leaf_does_not_outlive_its_ca() -> None:
    held = held_of(content())
    made = carry_out(NewLeaf(""), held, NAMES, Timing(), NOW_S + 300 * DAY_S)

    found = held_of(made)
    assert found.pair is not None
    assert found.pair.leaf.not_after_s == held.authorities[0].not_after_s


def test_a_new_authority_stands_first_and_keeps_the_pair() -> None:
    held = held_of(content())
    made = held_of(carry_out(NewAuthority(held.pair, held.authorities, ""), held, NAMES, Timing(), NOW_S))

    assert made.pair == held.pair
    assert (made.authorities[1:], made.signer) == (held.authorities, 1)
    assert made.ca_key != held.ca_key


def test_dropping_an_authority_changes_nothing_else() -> None:
    both = attrs.evolve(content("new"), ca=content("new").ca + content("old").ca)
    held = held_of(both)

    made = carry_out(DropAuthorities(held.authorities[:1]), held, NAMES, Timing(), NOW_S)

    assert made == attrs.evolve(both, ca=certificates_in(content("new").ca)[0])


def test_a_leaf_is_for_servers_of_its_names_only() -> None:
    made = carry_out(NewLeaf(""), held_of(content()), ("gatehouse.kube-system.svc", "127.0.0.1"), Timing(), NOW_S)
    leaf = x509.load_pem_x509_certificate(made.certificate)

    names = leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert [str(name.value) for name in names] == ["gatehouse.kube-system.svc", "127.0.0.1"]
    usage = leaf.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    assert [use.dotted_string for use in usage] == ["1.3.6.1.5.5.7.3.1"]


def test_a_process_that_issues_nothing_does_without_cryptography() -> None:
    code = "import sys; import controllers.process.assembly; print('cryptography' in sys.modules)"

    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True).stdout

    assert out == "False\n"
