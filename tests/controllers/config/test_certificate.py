"""The section webhook.certificate: what it means, and which combinations mean nothing."""

from __future__ import annotations

import pytest

from controllers.certificates.wanted import Files, Followed, Timing, Wanted
from controllers.config.document import ConfigurationError, parse
from controllers.config.webhook import CertificateSection

HEAD = "apiVersion: gatehouse.dev/v1alpha1\nkind: GatehouseConfiguration\n"


def section(text: str) -> CertificateSection:
    return parse(f"{HEAD}webhook: {{certificate: {{{text}}}}}", "c.yaml").webhook.certificate


def test_nothing_is_followed_unless_it_is_asked_for() -> None:
    assert section("").followed("ns") is None


def test_a_self_made_one_in_a_secret_is_for_the_service_and_the_hosts() -> None:
    found = section(
        "secretName: tls, serviceName: hook, hosts: [10.0.0.1], caLifetime: 48h, leafLifetime: 24h, rotationGrace: 1m"
    )

    names = ("hook.ns.svc", "10.0.0.1")
    assert found.followed("ns") == Followed(Wanted("ns", "tls", names, Timing(172800.0, 86400.0, 60.0), ours=True), None, True)


def test_hosts_are_wanted_as_certificates_have_them_and_each_once() -> None:
    wanted = section("secretName: tls, hosts: [Hook.Example.com, 'fd00:0::1', hook.example.com, 'FD00::1', '*.A']").wanted("ns")

    assert wanted is not None
    assert wanted.names == ("gatehouse.ns.svc", "hook.example.com", "fd00::1", "*.a")


@pytest.mark.parametrize(("source", "keeps_bundle"), [("secret", True), ("cert-manager", False)])
def test_a_secret_of_somebody_else_is_not_ours(source: str, keeps_bundle: bool) -> None:
    found = section(f"source: {source}, secretName: tls").followed("ns")

    assert found is not None
    assert found.wanted is not None
    assert (found.wanted.ours, found.wanted.names, found.keeps_bundle) == (False, (), keeps_bundle)


def test_files_with_a_ca_keep_the_bundle() -> None:
    files = "source: files, certFile: c, keyFile: k"

    assert section(files).followed("ns") is None
    assert section(f"{files}, caFile: a").followed("ns") == Followed(None, Files("c", "k", "a"), True)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("source: secret", "secretName: must name the Secret that the certificate comes from"),
        ("source: cert-manager", "secretName: must name the Secret that the certificate comes from"),
        ("source: secret, secretName: tls, hosts: [a]", "hosts: has no meaning when somebody else makes the certificate"),
        (
            "source: files, certFile: c, keyFile: k, secretName: tls",
            "secretName: has no meaning when the certificate comes from",
        ),
        ("caFile: a", "source: must be files when certFile, keyFile or caFile is set"),
        ("secretName: tls, certFile: c", "source: must be files when"),
        ("hosts: [hööks.example]", "hosts[0]: must be an IP address, or a DNS name in ASCII"),
        ("hosts: [a, 'b c']", "hosts[1]: must be an IP address, or a DNS name in ASCII"),
        ("hosts: [hook.example.com.]", "hosts[0]: must be an IP address, or a DNS name in ASCII"),
        ("secretName: A", "secretName: must be the name of a Secret: lower case letters"),
        ("secretName: tls, serviceName: a.b", "serviceName: must be a DNS label"),
        ("caLifetime: 24h, leafLifetime: 25h", "leafLifetime: must not be above caLifetime"),
        ("leafLifetime: 1m", "rotationGrace: must be at most a quarter of leafLifetime"),
        ("leafLifetime: 0s", "leafLifetime: must be from 1s"),
        ("source: certmanager", 'source: must be one of self, files, secret, cert-manager, not "certmanager": did you mean'),
    ],
)
def test_what_means_nothing_is_said(text: str, said: str) -> None:
    with pytest.raises(ConfigurationError) as error:
        section(text)

    assert f"webhook.certificate.{said}" in str(error.value)
