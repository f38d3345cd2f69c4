"""Which pair a replica serves, whatever the Secret says in between."""

from __future__ import annotations

import attrs
import pytest

from controllers.certificates.reading import PATIENCE_S, SYNC_PATIENCE_S, AdoptedPair, CertificateCaches
from controllers.runtime.rest import RestClient
from controllers.testing import FakeApi
from tests.controllers.certificates.builders import (
    DAY_S,
    NAME,
    NAMESPACE,
    NOW_S,
    configuration,
    content,
    real_authority,
    secret,
)
from tests.controllers.certificates.scene import MUTATING, VALIDATING, Scene, held_of
from tests.controllers.runtime.builders import refuse_death
from webhook.serving.tls import CertificateError

OLD, NEW = content("old"), content("new")


def offered(scene: Scene) -> None:
    """The Secret holds a pair of another CA, which is not trusted yet."""
    scene.settle(OLD)
    scene.put(secret(attrs.evolve(NEW, ca=NEW.ca + OLD.ca)))
    scene.sync()


def trust(scene: Scene) -> None:
    both = NEW.ca + OLD.ca
    scene.put(configuration(MUTATING, both), configuration(VALIDATING, both))
    scene.sync()


def test_a_renewal_by_the_same_ca_is_taken_up_at_once(scene: Scene) -> None:
    scene.settle(OLD)
    renewed = content("old", number=1)

    scene.put(secret(renewed))
    scene.sync()

    assert scene.served() == renewed.certificate


def test_a_pair_of_another_ca_waits_until_every_configuration_trusts_it(scene: Scene) -> None:
    offered(scene)
    assert scene.served() == OLD.certificate

    scene.put(configuration(MUTATING, NEW.ca + OLD.ca))
    scene.sync()
    assert scene.served() == OLD.certificate
    trust(scene)

    assert scene.served() == NEW.certificate


def test_trust_that_never_comes_is_not_waited_for_for_ever(scene: Scene) -> None:
    offered(scene)
    assert scene.served() == OLD.certificate

    scene.clock.advance(PATIENCE_S)

    assert scene.served() == NEW.certificate


def test_an_expired_pair_is_replaced_whoever_trusts_the_next_one(scene: Scene) -> None:
    offered(scene)

    scene.clock.step_wall(91 * DAY_S)

    assert scene.served() == NEW.certificate


def test_with_nothing_registered_a_new_ca_is_taken_up_at_once(scene: Scene) -> None:
    offered(scene)
    for kind in (MUTATING, VALIDATING):
        scene.api.objects.drop(kind, "gatehouse")
    scene.sync()

    assert scene.served() == NEW.certificate


def test_a_deleted_secret_leaves_the_last_pair_served(scene: Scene) -> None:
    scene.settle(OLD)

    scene.delete_secret()
    scene.sync()

    assert scene.served() == OLD.certificate


@pytest.mark.parametrize(
    "torn",
    [attrs.evolve(OLD, key=NEW.key), attrs.evolve(OLD, certificate=b""), attrs.evolve(OLD, certificate=b"no certificate")],
    ids=["another key", "no certificate", "rubbish"],
)
def test_a_torn_secret_is_refused_and_said(scene: Scene, torn: object) -> None:
    scene.settle(OLD)
    scene.put(secret(torn))  # type: ignore[arg-type]
    scene.sync()

    with pytest.raises(CertificateError, match=f"Secret {NAMESPACE}/{NAME}: "):
        scene.served()

    scene.put(secret(OLD))
    scene.sync()
    assert scene.served() == OLD.certificate


def test_what_is_read_shows_no_key() -> None:
    assert b"PRIVATE" not in repr((OLD, held_of(OLD))).encode()


def test_a_replica_is_ready_when_what_it_serves_is_trusted(scene: Scene) -> None:
    scene.settle(OLD)
    assert scene.adopted is not None

    assert scene.adopted.why_not_trusted() is None


def test_a_replica_that_nobody_would_believe_yet_is_not_ready(scene: Scene) -> None:
    scene.put(secret(NEW), configuration(MUTATING, OLD.ca))
    scene.sync()
    scene.serve()
    assert scene.adopted is not None

    assert scene.adopted.why_not_trusted() == "the webhook configurations do not trust the served certificate's CA yet"
    trust(scene)
    assert scene.adopted.why_not_trusted() is None


def test_a_bundle_that_is_emptied_later_makes_no_replica_unready(scene: Scene) -> None:
    scene.settle(OLD)
    assert scene.adopted is not None
    assert scene.adopted.why_not_trusted() is None

    scene.put(configuration(MUTATING, b""))
    scene.sync()

    assert scene.adopted.why_not_trusted() is None


def test_configurations_that_are_never_known_make_no_replica_unready_for_long(api: FakeApi, client: RestClient) -> None:
    scene = Scene(api, client)
    adopted = AdoptedPair(held_of(OLD), scene.caches, scene.clock)
    assert adopted.why_not_trusted() == "the webhook configurations are not known yet"

    scene.clock.advance(SYNC_PATIENCE_S)

    assert adopted.why_not_trusted() is None


def test_where_the_bundles_are_somebody_elses_a_new_pair_is_taken_up_at_once(scene: Scene, client: RestClient) -> None:
    caches = CertificateCaches(
        client, scene.telemetry, scene.clock, refuse_death, namespace=NAMESPACE, secret_name=NAME, trust=False
    )
    adopted = AdoptedPair(held_of(OLD), caches, scene.clock)
    assert caches.secrets is not None
    item = caches.secrets.resource.projection.convert(secret(NEW))

    caches.secrets.replace([item], "9", keep=())

    assert adopted.read().certificate == NEW.certificate
    assert adopted.why_not_trusted() is None
    assert real_authority("new", NOW_S).certificate == NEW.ca
