"""What is issued: for whom, for how long, and what of the Secret stays."""

from __future__ import annotations

import subprocess
import sys

import attrs
from cryptography import x509

from controllers.certificates.issuing import carry_out
from controllers.certificates.plan import DropAuthorities, NewAuthority, NewLeaf
from controllers.certificates.wanted import Timing
from tests.controllers.certificates.builders import DAY_S, NAMES, NOW_S, content
from tests.controllers.certificates.scene import held_of
from webhook.serving.chains import certificates_in


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
