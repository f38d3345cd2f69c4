"""The leader's passes against a scripted API server: what is written, in which order, and what is left alone."""

from __future__ import annotations

import attrs

from controllers.certificates.secret import Content
from controllers.certificates.wanted import OVERLAP_S, Timing
from controllers.runtime.damper import FREE
from controllers.runtime.rest import RestClient
from controllers.testing import FakeApi
from controllers.testing.answers import status
from tests.controllers.certificates.builders import DAY_S, NOW_S, configuration, content, real_authority, secret
from tests.controllers.certificates.scene import MUTATING, SECRET, VALIDATING, Scene, held_of, without_bundles
from webhook.serving.chains import certificates_in

GRACE_S = Timing().grace_s


def test_an_installation_at_rest_costs_no_write(scene: Scene) -> None:
    scene.settle()

    scene.run()

    assert scene.writes() == []


def test_configurations_without_a_bundle_get_one_in_each_webhook(scene: Scene) -> None:
    held = scene.settle()
    scene.put(configuration(MUTATING, None, b"", held.ca), configuration(VALIDATING, None))

    scene.run()

    assert scene.bundles() == [held.ca] * 3
    assert scene.bundles(VALIDATING) == [held.ca]
    assert scene.writes() == ["PATCH gatehouse", "PATCH gatehouse"]


def test_a_configuration_of_another_name_is_left_alone(scene: Scene) -> None:
    scene.settle()
    other = configuration(MUTATING, b"")
    other["metadata"]["name"] = "somebody-elses"
    scene.put(other)

    scene.run()

    assert scene.writes() == []


def test_an_emptied_bundle_is_written_again(scene: Scene) -> None:
    held = scene.settle()
    scene.run()
    scene.put(without_bundles(scene.api.objects.all(MUTATING)["gatehouse"]))

    scene.run()

    assert scene.bundles() == [held.ca, held.ca]
    assert scene.heard.said == [(MUTATING, "CaBundleWritten")]


def test_a_bundle_that_was_changed_meanwhile_is_written_from_newer_facts(scene: Scene) -> None:
    held = scene.settle(content("ca"))
    scene.run()
    scene.put(configuration(MUTATING, b""))
    scene.sync()
    scene.put(configuration(MUTATING, b"", b"", b""))  # the cache has not seen this one

    scene.controller.run_ready()
    assert scene.bundles() == [b"", b"", b""]  # the version that was tested is gone: nothing was written
    scene.later(1.0)

    assert scene.bundles() == [held.ca] * 3


def test_a_leaf_is_renewed_by_the_same_ca_and_the_bundles_stay(scene: Scene) -> None:
    held = scene.settle()

    scene.later(61 * DAY_S)

    stored = scene.stored()
    assert stored is not None
    assert stored.certificate != held.certificate
    assert (stored.ca, stored.ca_key) == (held.ca, held.ca_key)
    assert held_of(stored).signer == 0
    assert scene.served() == stored.certificate
    assert scene.writes() == ["PATCH gatehouse-tls"]
    assert scene.heard.said == [("Secret", "CertificateRenewed")]


def test_a_ca_is_replaced_in_the_order_in_which_nobody_notices(api: FakeApi, client: RestClient) -> None:
    scene = Scene(api, client, timing=Timing(leaf_s=300 * DAY_S))
    held = scene.settle(content(leaf_life_s=300 * DAY_S))
    scene.later(200 * DAY_S)  # the leaf has just been renewed, the CA not yet
    leaf = scene.served()

    scene.later(44 * DAY_S)
    stored = scene.stored()
    assert stored is not None
    assert certificates_in(stored.ca)[1:] == certificates_in(held.ca)
    assert stored.certificate == leaf
    assert scene.bundles() == [stored.ca] * 2
    assert scene.bundles(VALIDATING) == [stored.ca]

    scene.later(GRACE_S - 1)
    assert scene.served() == leaf
    scene.later(2)
    assert scene.served() != leaf
    renewed = scene.stored()
    assert renewed is not None
    assert held_of(renewed).signer == 0
    assert renewed.ca == stored.ca

    scene.later(OVERLAP_S)
    last = scene.stored()
    assert last is not None
    assert last.certificate == renewed.certificate
    assert certificates_in(last.ca) == certificates_in(stored.ca)[:1]
    assert scene.bundles() == [last.ca] * 2
    reasons = [reason for kind, reason in scene.heard.said if kind == "Secret"]
    assert reasons == ["CertificateRenewed", "AuthorityAdded", "CertificateRenewed", "AuthorityDropped"]
    scene.stop()


def test_a_new_ca_signs_nothing_while_one_configuration_cannot_be_written(scene: Scene) -> None:
    leaf = scene.settle().certificate
    scene.api.always("patch", status(403), f"/apis/admissionregistration.k8s.io/v1/{VALIDATING.lower()}s")
    ours = real_authority("next", NOW_S)
    held = content()
    scene.put(secret(attrs.evolve(held, ca=ours.certificate + held.ca, ca_key=ours.key)))

    scene.run()
    scene.later(GRACE_S * 3)

    assert scene.served() == leaf
    assert len(certificates_in(scene.bundles()[0])) == 2
    scene.api.behave()
    scene.later(60.0)
    scene.later(GRACE_S + 1)
    assert scene.served() != leaf


def test_a_deleted_secret_comes_back_with_the_pair_that_is_served_and_both_cas_are_trusted(scene: Scene) -> None:
    held = scene.settle()
    scene.run()
    scene.delete_secret()

    scene.run()

    stored = scene.stored()
    assert stored is not None
    assert (stored.certificate, stored.key) == (held.certificate, held.key)
    assert certificates_in(stored.ca)[1:] == certificates_in(held.ca)
    assert scene.bundles() == [stored.ca] * 2
    assert scene.served() == held.certificate
    scene.later(GRACE_S + 1)
    assert scene.served() != held.certificate
    assert ("Secret", "SecretRestored") in scene.heard.said


def test_a_secret_that_is_deleted_again_and_again_breaks_nothing(scene: Scene) -> None:
    scene.settle()
    for _ in range(6):
        scene.run()
        served = scene.served()
        scene.delete_secret()
        scene.sync()
        assert scene.served() == served
        scene.later(1.0)
        signer = scene.adopted and scene.adopted.serving().signed_by()
        assert signer
        assert all(signer.pem in certificates_in(bundle) for bundle in scene.bundles())


def test_a_torn_secret_keeps_the_last_pair_served_until_it_is_mended(scene: Scene) -> None:
    held = scene.settle()
    scene.put(secret(attrs.evolve(held, key=content(number=1).key)))
    scene.sync()
    assert scene.adopted is not None
    assert scene.adopted.serving().pair == held_of(held).pair

    scene.run()

    stored = scene.stored()
    assert stored is not None
    assert held_of(stored).signer == 0
    assert stored.ca == held.ca


def test_a_secret_whose_cas_were_emptied_is_mended_without_losing_the_trust_in_the_served_pair(scene: Scene) -> None:
    held = scene.settle()
    scene.put(secret(Content(held.certificate, held.key)))

    scene.run()

    stored = scene.stored()
    assert stored is not None
    assert stored.certificate == held.certificate
    assert certificates_in(held.ca)[0] in certificates_in(stored.ca)
    assert all(certificates_in(held.ca)[0] in certificates_in(bundle) for bundle in scene.bundles())


def test_another_leader_may_have_written_first(scene: Scene) -> None:
    scene.settle()
    scene.run()
    scene.clock.advance(61 * DAY_S)
    scene.sync()
    rival = content(number=2, now_s=NOW_S)
    scene.put(secret(rival))  # the cache has not seen it

    scene.controller.run_ready()

    assert scene.stored() == rival  # the write was refused by its version


def test_without_the_lease_nothing_is_written(scene: Scene) -> None:
    scene.settle()
    scene.put(configuration(MUTATING, b""))
    scene.lease.requests = 0

    scene.sync()
    scene.controller.run_ready()

    assert scene.writes() == []


def test_whoever_keeps_emptying_the_bundle_is_damped_and_told_of(scene: Scene) -> None:
    scene.settle()
    for _ in range(FREE + 1):
        scene.put(configuration(MUTATING, b""))
        scene.run()
    assert scene.bundles() == [b""]
    written = len(scene.writes())

    scene.later(0.5)
    assert len(scene.writes()) == written
    scene.later(1.0)

    assert scene.bundles() != [b""]
    assert ("MutatingWebhookConfiguration", "CaBundleContested") in scene.heard.said
    assert b'gatehouse_ca_bundle_repairs_damped_total{deed="mutatingwebhookconfigurations"}' in scene.telemetry.expose()


def test_what_the_api_server_refuses_is_tried_again(scene: Scene) -> None:
    held = scene.settle()
    scene.put(configuration(MUTATING, b""))
    scene.api.next("patch", status(503))

    scene.run()
    scene.later(5.0)

    assert scene.bundles() == [held.ca]


def test_the_secret_of_somebody_else_is_only_read(api: FakeApi, client: RestClient) -> None:
    scene = Scene(api, client, ours=False)
    held = scene.settle()
    scene.put(configuration(MUTATING, b""))

    scene.later(89 * DAY_S)

    assert scene.bundles() == [held.ca]
    assert scene.writes() == ["PATCH gatehouse"]
    scene.stop()


def test_a_ca_that_has_not_signed_the_certificate_is_not_let_trust(api: FakeApi, client: RestClient) -> None:
    scene = Scene(api, client, ours=False)
    held = scene.settle()
    scene.put(secret(attrs.evolve(held, ca=real_authority("stranger").certificate)))

    scene.run()

    assert scene.bundles() == [held.ca] * 2
    scene.stop()


def test_a_secret_without_a_ca_leaves_the_bundles_alone(api: FakeApi, client: RestClient) -> None:
    scene = Scene(api, client, ours=False)
    held = scene.settle()
    scene.put(secret(attrs.evolve(held, ca=b"", ca_key=b"")))

    scene.run()

    assert scene.writes() == []
    scene.stop()


def test_an_object_is_kept_but_for_its_bytes(scene: Scene) -> None:
    scene.settle()
    obj = scene.api.objects.all("Secret")[SECRET]
    obj["metadata"]["labels"]["team"] = "platform"
    scene.put(obj)

    scene.later(61 * DAY_S)

    assert scene.api.objects.all("Secret")[SECRET]["metadata"]["labels"]["team"] == "platform"
