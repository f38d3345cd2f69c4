"""A Secret of certificates: what of it can be used, and what is passed over."""

from __future__ import annotations

import attrs
import pytest

from controllers.certificates import secret
from controllers.runtime.errors import UndecodableObject
from tests.controllers.certificates.builders import DAY_S, NAME, NAMES, NAMESPACE, NOW_S, content
from tests.controllers.certificates.scene import held_of


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
